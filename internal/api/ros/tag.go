package ros

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/store"
)

// tagFilter is a tag that is asked for; without a value, any.
type tagFilter struct {
	Key   string `rpc:",required" length:",128"`
	Value string `length:",128"`
}

// has reports whether tags have all that is asked for.
func has(tags []store.Tag, asked []tagFilter) bool {
	for _, a := range asked {
		found := false
		for _, t := range tags {
			found = found || t.Key == a.Key && (a.Value == "" || a.Value == t.Value)
		}
		if !found {
			return false
		}
	}
	return true
}

type listTagResourcesInput struct {
	region
	ResourceType string      `rpc:",required" enum:"stack,stackgroup,template"`
	ResourceID   []string    `rpc:"ResourceId" length:",50"`
	Tag          []tagFilter `length:",20"`
	NextToken    string
}

type tagResourceView struct {
	ResourceID   string `json:"ResourceId"`
	ResourceType string
	TagKey       string
	TagValue     string
}

type listTagResourcesOutput struct {
	TagResources []tagResourceView
}

// listTagResources tells the tags of stacks, all at once. There are neither stack groups nor templates.
func (f *face) listTagResources(ctx context.Context, in listTagResourcesInput) (listTagResourcesOutput, error) {
	out := listTagResourcesOutput{TagResources: []tagResourceView{}}
	switch {
	case in.NextToken != "":
		return out, rpc.Invalid("NextToken", "there is one page only")
	case len(in.ResourceID) == 0 && len(in.Tag) == 0:
		return out, &rpc.Error{Code: "MissingParameter", Message: "One of the input parameters ResourceId and Tag should be specified."}
	case in.ResourceType != "stack":
		return out, nil
	}
	add := func(stack store.Stack) error {
		revision, err := f.revision(ctx, stack)
		if err != nil || !has(revision.Tags, in.Tag) {
			return err
		}
		for _, t := range revision.Tags {
			out.TagResources = append(out.TagResources, tagResourceView{string(stack.ID), in.ResourceType, t.Key, t.Value})
		}
		return nil
	}
	if len(in.ResourceID) == 0 {
		return out, f.eachStack(ctx, in.RegionID, false, add)
	}
	for _, id := range in.ResourceID {
		stack, err := f.find(ctx, stackInput{in.region, id})
		if refused, ok := errors.AsType[*rpc.Error](err); ok && refused.Code == "StackNotFound" || err == nil && !stack.Live {
			continue
		}
		if err == nil {
			err = add(stack)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}
