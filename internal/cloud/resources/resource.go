package resources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// resource is a type.
type resource struct {
	Table
	schema   *native.Schema
	maker    Maker
	ready    bool
	patience time.Duration
}

// New returns the type with a table and a maker. If ready is false, the type can be declared, but requests for it
// fail. patience is how long one request may take; zero means [DefaultPatience].
func New(t Table, m Maker, ready bool, patience time.Duration) native.Type {
	return &resource{Table: t, schema: t.Schema(), maker: m, ready: ready, patience: cmp.Or(patience, DefaultPatience)}
}

// Schema implements [native.Type].
func (t *resource) Schema() *native.Schema { return t.schema }

// Declare implements [native.Declarer]. A name, and the path that is part of it, cannot be a secret, because any
// client that may list names can read it.
func (t *resource) Declare(d native.Declaration) (native.Wanted, error) {
	wanted := native.Wanted{Timeout: native.DefaultTimeout}
	for _, property := range []string{t.Named, "Path"} {
		if v, given := d.Properties.Get(property); given && v.Secret() {
			return wanted, native.BadValue(t.Dialect, property, "not be a secret: names are shown")
		}
	}
	name, given := d.Properties.Get(t.Named)
	switch {
	case !given:
		return wanted, nil
	case name.Text() == "":
		return wanted, t.badName("not be empty")
	case t.Dialect != wire.ROS && dynamic.Has(name):
		return wanted, nil // Serve checks the value of the reference
	case t.Letters != nil && (len(name.Text()) > t.Longest || !t.Letters.MatchString(name.Text())):
		return wanted, t.badName(fmt.Sprintf("be 1 to %d characters that match %s", t.Longest, t.Letters))
	}
	return wanted, nil
}

// Serve implements [native.Type].
func (t *resource) Serve(ctx context.Context, r *store.Request) (native.Result, error) {
	if !t.ready {
		return native.Result{}, ErrOff
	}
	c, err := Read(t.schema.Name, r)
	if err != nil {
		return native.Result{}, err
	}
	if c.Type != wire.Delete && t.Dialect != wire.ROS {
		if err := t.recheck(c); err != nil {
			return native.Result{}, err
		}
	}
	bounded, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	result, err := t.serve(bounded, c)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it took longer than %s: %w", t.patience, err)
	}
	return result, err
}

// recheck checks the properties again after dynamic references are resolved.
func (t *resource) recheck(c *Call) error {
	if err := t.schema.CheckValues(c.Declared); err != nil {
		return err
	}
	_, err := t.Declare(native.Declaration{StackID: c.Body.StackID, Properties: c.Declared})
	return err
}

func (t *resource) serve(ctx context.Context, c *Call) (native.Result, error) {
	switch c.Type {
	case wire.Create:
		return t.maker.Create(ctx, c)
	case wire.Update:
		result, err := t.maker.Update(ctx, c)
		if _, lost := errors.AsType[lostError](err); lost && c.Reverts() {
			return t.maker.Create(ctx, c) // reverts the drift of a resource that a client deleted
		}
		return result, err
	case store.TypeImport, store.TypeDisown:
		return t.adopt(ctx, c)
	case wire.Delete:
		return native.Result{}, t.maker.Remove(ctx, c)
	case wire.Read, wire.Plan: // only for providers
	}
	return native.Result{}, fmt.Errorf("resources of type %s are not asked for a %s", t.schema.Name, c.Type)
}
