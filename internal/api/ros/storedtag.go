package ros

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/store"
)

// withTags returns the tags with others set.
func withTags(has, set []store.Tag) []store.Tag {
	has = slices.Clone(has)
	for _, t := range set {
		at := slices.IndexFunc(has, func(known store.Tag) bool { return known.Key == t.Key })
		if at < 0 {
			has = append(has, t)
		} else {
			has[at] = t
		}
	}
	return has
}

// tagTemplates changes the tags of templates. All of them must exist.
func (f storedTemplates) tagTemplates(ctx context.Context, ids []string, change func([]store.Tag) []store.Tag) (rpc.None, error) {
	for _, id := range ids {
		kept, _, err := f.templateOf(ctx, id)
		if err != nil {
			return rpc.None{}, noTagged(id, err)
		}
		if n := len(change(slices.Clone(kept.Tags))); n > maxTags {
			return rpc.None{}, rpc.Invalid("Tags", "template %s would have %d tags and can have %d at most", id, n, maxTags)
		}
	}
	for _, id := range ids {
		err := f.changed(ctx, id, func(kept *keptTemplate) error {
			kept.Tags = change(slices.Clone(kept.Tags))
			return nil
		})
		if err != nil {
			return rpc.None{}, noTagged(id, err)
		}
	}
	return rpc.None{}, nil
}

// maxTags is the maximum number of a template's tags. Source: ROS, TagResources.
const maxTags = 20

// noTagged is the error of a call that changes the tags of a missing template.
func noTagged(id string, err error) error {
	if refused, ok := errors.AsType[*rpc.Error](err); ok && refused.Code == "TemplateNotFound" {
		return rpc.Invalid("ResourceIds", "the template %s does not exist", id)
	}
	return err
}

// tagsOfTemplates returns the tags of templates. The call filters by ID, by tag, or both.
func (f storedTemplates) tagsOfTemplates(ctx context.Context, in listTagResourcesInput) ([]tagResourceView, error) {
	list := []tagResourceView{}
	err := f.eachTemplate(ctx, func(id string, kept keptTemplate) {
		named := slices.ContainsFunc(in.ResourceID, func(name string) bool { return strings.EqualFold(name, id) })
		if len(in.ResourceID) > 0 && !named || !has(kept.Tags, in.Tag) {
			return
		}
		for _, t := range kept.Tags {
			list = append(list, tagResourceView{id, in.ResourceType, t.Key, t.Value})
		}
	})
	return list, err
}
