package ros

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// tagFilter selects a tag. Without a value, any value matches.
type tagFilter struct {
	Key   string `rpc:",required" length:",128"`
	Value string `length:",128"`
}

// has reports whether tags match all filters.
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

// checkTags returns an error for tags that ROS rejects. Source: ROS, TagResources.
func checkTags(name string, tags []store.Tag) *rpc.Error {
	for _, t := range tags {
		for _, text := range []string{t.Key, t.Value} {
			lower := strings.ToLower(text)
			switch {
			case strings.HasPrefix(lower, "aliyun") || strings.HasPrefix(lower, "acs:"):
				return rpc.Invalid(name, "neither the key nor the value of a tag can begin with aliyun or acs:")
			case strings.Contains(lower, "http://") || strings.Contains(lower, "https://"):
				return rpc.Invalid(name, "neither the key nor the value of a tag can contain http:// or https://")
			}
		}
	}
	return nil
}

// duplicateTag returns the error for a duplicate key.
func duplicateTag() error {
	return &rpc.Error{Code: "Duplicate.TagKey", Message: "The Tag.N.Key contain duplicate key."}
}

// taggedInput identifies the resources whose tags a call changes.
type taggedInput struct {
	region
	ResourceType string   `rpc:",required" enum:"stack,stackgroup,template,templatescratch"`
	ResourceID   []string `rpc:"ResourceId,required" length:",50"`
}

// tags answers the actions on tags.
type tags struct{ *handler }

// tagged returns the stacks of a call. All of them must exist, so that a call does not change only some of them.
func (f tags) tagged(ctx context.Context, in taggedInput) ([]engine.Ref, error) {
	var refs []engine.Ref
	for _, id := range in.ResourceID {
		if in.ResourceType != "stack" {
			return nil, rpc.Invalid("ResourceIds", "the %s %s does not exist: only stacks and templates are kept here", in.ResourceType, id)
		}
		stack, err := f.find(ctx, stackInput{in.region, id})
		if refused, ok := errors.AsType[*rpc.Error](err); ok && refused.Code == "StackNotFound" || err == nil && !stack.Live {
			return nil, rpc.Invalid("ResourceIds", "the stack %s does not exist", id)
		}
		if err != nil {
			return nil, err
		}
		refs = append(refs, engine.Ref{Account: stack.Account, Region: stack.Region, Stack: string(stack.ID), ByID: true})
	}
	return refs, nil
}

func (f tags) tag(ctx context.Context, refs []engine.Ref, change engine.TagStack) (rpc.None, error) {
	for _, ref := range refs {
		change.Stack = ref
		if err := f.engine.Tag(ctx, change); err != nil {
			return rpc.None{}, err
		}
	}
	return rpc.None{}, nil
}

type tagResourcesInput struct {
	taggedInput
	Tag []tagInput `rpc:",required" length:",20"`
}

func (f tags) tagResources(ctx context.Context, in tagResourcesInput) (rpc.None, error) {
	var tags []store.Tag
	seen := map[string]bool{}
	for _, t := range in.Tag {
		if seen[t.Key] {
			return rpc.None{}, duplicateTag()
		}
		seen[t.Key] = true
		tags = append(tags, store.Tag(t))
	}
	if refused := checkTags("Tags", tags); refused != nil {
		return rpc.None{}, refused
	}
	if in.ResourceType == "template" {
		return storedTemplates(f).tagTemplates(ctx, in.ResourceID, func(has []store.Tag) []store.Tag { return withTags(has, tags) })
	}
	refs, err := f.tagged(ctx, in.taggedInput)
	if err != nil {
		return rpc.None{}, err
	}
	return f.tag(ctx, refs, engine.TagStack{Set: tags})
}

type untagResourcesInput struct {
	taggedInput
	TagKey []string `length:",20"`
	All    bool
}

// untagResources removes the tags with the given keys, or all tags if no key is given and All is true.
func (f tags) untagResources(ctx context.Context, in untagResourcesInput) (rpc.None, error) {
	seen := map[string]bool{}
	for _, key := range in.TagKey {
		if seen[key] {
			return rpc.None{}, duplicateTag()
		}
		seen[key] = true
	}
	if in.ResourceType == "template" {
		return storedTemplates(f).tagTemplates(ctx, in.ResourceID, func(has []store.Tag) []store.Tag {
			return slices.DeleteFunc(has, func(t store.Tag) bool { return seen[t.Key] || in.All && len(seen) == 0 })
		})
	}
	refs, err := f.tagged(ctx, in.taggedInput)
	if err != nil {
		return rpc.None{}, err
	}
	return f.tag(ctx, refs, engine.TagStack{Drop: in.TagKey, DropAll: in.All && len(in.TagKey) == 0})
}

type listTagResourcesInput struct {
	region
	ResourceType string      `rpc:",required" enum:"stack,stackgroup,template,templatescratch"`
	ResourceID   []string    `rpc:"ResourceId" length:",50"`
	Tag          []tagFilter `length:",20"`
	NextToken    string      `length:",64"`
}

type tagResourceView struct {
	ResourceID   string `json:"ResourceId"`
	ResourceType string
	TagKey       string
	TagValue     string
}

type listTagResourcesOutput struct {
	TagResources []tagResourceView
	// NextToken is empty on the last page.
	NextToken string
}

// tagPage is the number of stacks per page, the same as the maximum in a call.
const tagPage = 50

// listTagResources returns the tags of stacks or templates. The call filters by ID, by tag, or both. Missing stacks and
// templates are ignored. All templates are on one page. Other resource types have no resources.
func (f tags) listTagResources(ctx context.Context, in listTagResourcesInput) (out listTagResourcesOutput, err error) {
	out.TagResources = []tagResourceView{}
	after, ok := stackAfter(in.NextToken)
	switch {
	case !ok, after != 0 && len(in.ResourceID) > 0: // a list filtered by ID has only one page
		return out, errTagToken
	case len(in.ResourceID) == 0 && len(in.Tag) == 0:
		return out, &rpc.Error{Code: "MissingParameter", Message: "One of the input parameters ResourceIds,Tags should be specified."}
	case in.ResourceType == "template":
		out.TagResources, err = storedTemplates(f).tagsOfTemplates(ctx, in)
		return out, err
	case in.ResourceType != "stack":
		return out, nil
	}
	stacks, last := 0, store.StackKey(0)
	add := func(stack store.Stack) error {
		revision, err := f.revision(ctx, stack)
		if err != nil || len(revision.Tags) == 0 || !has(revision.Tags, in.Tag) {
			return err
		}
		if stacks == tagPage {
			out.NextToken = pageToken("stack", strconv.FormatInt(int64(last), 10))
			return errPageFull
		}
		stacks, last = stacks+1, stack.Key
		for _, t := range revision.Tags {
			out.TagResources = append(out.TagResources, tagResourceView{string(stack.ID), in.ResourceType, t.Key, t.Value})
		}
		return nil
	}
	if len(in.ResourceID) == 0 {
		switch err := f.eachStack(ctx, in.RegionID, false, after, add); {
		case errors.Is(err, errPageFull):
			return out, nil
		case errors.Is(err, store.ErrNotFound): // the stack in the token was deleted permanently
			return out, errTagToken
		default:
			return out, err
		}
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

// errTagToken is the error for an invalid token.
var errTagToken = rpc.Invalid("NextToken", "it is not one that ListTagResources has returned for such a call")

// errPageFull ends an iteration over stacks.
var errPageFull = errors.New("the page is full")

// stackAfter returns the stack after which a page begins, 0 for the first page, or false for an invalid token.
func stackAfter(token string) (store.StackKey, bool) {
	last, ok := readPageToken("stack", token)
	if !ok || last == "" {
		return 0, ok
	}
	key, err := strconv.ParseInt(last, 10, 64)
	return store.StackKey(key), err == nil && key > 0
}
