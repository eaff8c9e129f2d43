package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
)

// maxTags is how many tags a stack can have. Source: ROS, TagResources.
const maxTags = 20

// TagStack is a request for [Engine.Tag].
type TagStack struct {
	Stack Ref
	// Set holds tags to add or to replace by key.
	Set []store.Tag
	// Drop holds keys to remove; one that the stack does not have is no error. DropAll removes every tag.
	Drop    []string
	DropAll bool
}

// Tag changes the tags of a stack without an update: no provider is called, and the stack's status and times stay. The tags
// stay until an update sets others; when that update is rolled back they return. Errors that the client can fix are of type
// [Error].
func (e *Engine) Tag(ctx context.Context, in TagStack) error {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return err
	}
	return e.apply(ctx, target, func(d *decision) error {
		if !d.stack.Live {
			return noStack(in.Stack)
		}
		revision := d.revisionInForce()
		tags := slices.Clone(revision.Tags)
		if in.DropAll {
			tags = nil
		}
		for _, key := range in.Drop {
			tags = slices.DeleteFunc(tags, func(t store.Tag) bool { return t.Key == key })
		}
		for _, given := range in.Set {
			if at := slices.IndexFunc(tags, func(t store.Tag) bool { return t.Key == given.Key }); at >= 0 {
				tags[at] = given
			} else {
				tags = append(tags, given)
			}
		}
		if len(tags) > maxTags {
			return &Error{CodeInvalidParameter, fmt.Sprintf("The specified parameter Tags is invalid, "+
				"stack %s would have %d tags and can have %d at most.", d.stack.Name, len(tags), maxTags)}
		}
		if !slices.Equal(tags, revision.Tags) {
			d.stack.Tagging, d.stackChanged = &store.Tagging{Revision: revision.Number, Tags: tags}, true
		}
		return nil
	})
}
