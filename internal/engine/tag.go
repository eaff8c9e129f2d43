package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
)

// maxTags is the maximum number of tags of a stack. Source: ROS, TagResources.
const maxTags = 20

// TagStack is the input of [Engine.Tag].
type TagStack struct {
	Stack Ref
	// Set contains tags to add, or to replace by key.
	Set []store.Tag
	// Drop contains keys to remove; missing ones are ignored. DropAll removes every tag.
	Drop    []string
	DropAll bool
}

// Tag changes the tags of a stack without an update. No provider is called, and the stack's status and times stay.
// The tags remain until an update sets others, and return if that update is rolled back. Errors that the client can
// fix are of type [Error].
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
