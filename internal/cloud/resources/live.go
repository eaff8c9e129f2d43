package resources

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// Viewer is a [Maker] that can read back its resources.
type Viewer interface {
	// View returns the current properties of the resource with the call's physical ID, as far as they can be compared
	// with declared ones. The error is [registry.ErrNotFound] if the resource does not exist.
	View(ctx context.Context, c *Call) (value.Value, error)
}

// Live implements [native.Viewer].
func (t *resource) Live(ctx context.Context, r *store.Request) (value.Value, error) {
	viewer, ok := t.maker.(Viewer)
	if !ok || !t.ready {
		return value.Value{}, native.ErrUnchecked
	}
	c, err := Read(t.schema.Name, r)
	if err != nil {
		return value.Value{}, err
	}
	live, err := viewer.View(ctx, c)
	if errors.Is(err, registry.ErrNotFound) {
		err = native.ErrDeleted
	}
	return c.withoutStackTags(live), err
}

// withoutStackTags removes the tags of the stack from live properties, because no property declares them.
func (c *Call) withoutStackTags(live value.Value) value.Value {
	tags, has := live.Get("Tags")
	if !has || len(c.Body.Tags) == 0 {
		return live
	}
	declared := map[string]bool{}
	for _, tag := range c.At("Tags").Items() {
		key, _ := tag.Get("Key")
		declared[key.Text()] = true
	}
	ofStack := TagMap(c.Body.Tags)
	own := slices.DeleteFunc(slices.Clone(tags.Items()), func(tag value.Value) bool {
		key, _ := tag.Get("Key")
		_, found := ofStack[key.Text()]
		return found && !declared[key.Text()]
	})
	return live.With("Tags", value.Items(own...))
}

// View implements [Viewer].
func (t recorder) View(ctx context.Context, c *Call) (value.Value, error) {
	there, err := t.things.Records.Get(ctx, t.Place(c), c.RecordName(c.Physical()))
	if err != nil {
		return value.Value{}, err
	}
	return value.Parse(there.Of.Properties)
}

// TagList returns tags as a property value, sorted by key.
func TagList(tags map[string]string) value.Value {
	items := make([]value.Value, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		items = append(items, value.Object(value.Member{Key: "Key", Value: value.Str(key)}, value.Member{Key: "Value", Value: value.Str(tags[key])}))
	}
	return value.Items(items...)
}
