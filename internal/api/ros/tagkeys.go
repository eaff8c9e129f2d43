package ros

import (
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/store"
)

type listTagKeysInput struct {
	region
	ResourceType string `enum:"stack,stackgroup,template,templatescratch"`
	NextToken    string `length:",64"`
}

type listTagKeysOutput struct {
	Keys []string
}

// listTagKeys returns the keys of the tags in use, sorted, on one page.
func (f tags) listTagKeys(ctx context.Context, in listTagKeysInput) (listTagKeysOutput, error) {
	keys, err := f.used(ctx, in, func(t store.Tag) (string, bool) { return t.Key, true })
	return listTagKeysOutput{keys}, err
}

type listTagValuesInput struct {
	listTagKeysInput
	Key string `rpc:",required" length:",128"`
}

type listTagValuesOutput struct {
	Values []string
}

// listTagValues returns the values of a tag key, sorted, on one page.
func (f tags) listTagValues(ctx context.Context, in listTagValuesInput) (listTagValuesOutput, error) {
	values, err := f.used(ctx, in.listTagKeysInput, func(t store.Tag) (string, bool) { return t.Value, t.Key == in.Key })
	return listTagValuesOutput{values}, err
}

// used returns the distinct texts that take selects from the tags of stacks and templates.
func (f tags) used(ctx context.Context, in listTagKeysInput, take func(store.Tag) (string, bool)) ([]string, error) {
	if in.NextToken != "" {
		return nil, rpc.Invalid("NextToken", "no page has one")
	}
	found := map[string]bool{}
	add := func(tags []store.Tag) {
		for _, t := range tags {
			if text, ok := take(t); ok {
				found[text] = true
			}
		}
	}
	if in.ResourceType == "" || in.ResourceType == "stack" {
		err := f.eachStack(ctx, in.RegionID, false, 0, func(stack store.Stack) error {
			revision, err := f.revision(ctx, stack)
			add(revision.Tags)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if in.ResourceType == "" || in.ResourceType == "template" {
		if err := storedTemplates(f).eachTemplate(ctx, func(_ string, kept keptTemplate) { add(kept.Tags) }); err != nil {
			return nil, err
		}
	}
	all := []string{}
	for text := range found {
		all = append(all, text)
	}
	slices.Sort(all)
	return all, nil
}
