package drift

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// within bounds the time for all forwarded resources of a detection. It is less than a minute, after which clients
	// time out.
	within = 45 * time.Second
	// atOnce is the number of forwarded resources that are compared at the same time.
	atOnce = 8
)

// compareAll compares resources. Forwarded resources are compared at the same time, because their endpoints may take
// seconds for each.
func (d *Detector) compareAll(ctx context.Context, stack store.Stack, instances []store.Instance) (map[wire.LogicalID]Resource, error) {
	var (
		mu        sync.Mutex
		problem   error
		calls     sync.WaitGroup
		checked   = make(map[wire.LogicalID]Resource, len(instances))
		forwarded []store.Instance
		slots     = make(chan struct{}, atOnce)
	)
	compare := func(ctx context.Context, i store.Instance) {
		r, err := d.compare(ctx, stack, i)
		mu.Lock()
		defer mu.Unlock()
		if checked[i.Logical] = r; err != nil && problem == nil {
			problem = fmt.Errorf("detect the drift of %s: %w", i.Logical, err)
		}
	}
	for _, i := range instances {
		if i.Body == nil || d.types.ForwardedTo(i.Body.Type) == "" {
			compare(ctx, i)
		} else {
			forwarded = append(forwarded, i)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, i := range forwarded {
		calls.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			compare(bounded, i)
		})
	}
	calls.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return checked, problem
}

// compare compares one resource.
func (d *Detector) compare(ctx context.Context, stack store.Stack, i store.Instance) (Resource, error) {
	r := Resource{Logical: i.Logical, Physical: i.PhysicalID, Status: NotChecked, Checked: d.now().UTC(), Changed: i.Changed}
	if i.Body == nil || !i.Body.Token.IsNull() || i.PhysicalID == "" {
		return r, nil
	}
	r.Type = i.Body.Type
	schema := d.types.Schema(r.Type)
	if schema == nil {
		return r, nil
	}
	if r.Forwarded = schema.Forwarded; r.Forwarded == "" && i.Body.Forwarded != nil {
		r.Status, r.Problem = Unknown, "It was created through --forward, which does not list "+r.Type+" now: start Pintle with that flag."
		return r, nil
	}
	live, err := d.types.Live(ctx, &store.Request{Stack: stack.Key, Logical: i.Logical, Type: wire.Update, Body: &store.RequestBody{
		Dialect: stack.Dialect, StackID: stack.ID, Account: stack.Account, Region: stack.Region, ResourceType: r.Type,
		PhysicalID: i.PhysicalID, Properties: i.Body.Properties, OldProperties: i.Body.Properties, Tags: i.Body.Tags,
	}})
	unchecked, because := errors.AsType[*native.UncheckedError](err)
	unknown, failed := errors.AsType[*native.UnknownError](err)
	switch {
	case because:
		r.Problem = redact.Of(i.Body.Properties.Secrets()).Mask(unchecked.Text)
		return r, nil
	case errors.Is(err, native.ErrUnchecked):
		return r, nil
	case errors.Is(err, native.ErrDeleted):
		r.Status, r.Expected = Deleted, string(typed(schema, i.Body.Properties).Masked().JSON())
		return r, nil
	case failed:
		r.Status, r.Problem = Unknown, redact.Of(i.Body.Properties.Secrets()).Mask(unknown.Text)
		return r, nil
	case err != nil && ctx.Err() != nil: // the limit for forwarded resources
		r.Status, r.Problem = Unknown, "There was no time to read it. Detect drift again, or only that of this resource."
		return r, nil //nolint:nilerr // the report has it
	case err != nil:
		return r, err
	}
	r.compare(schema, i.Body.Properties, live.TaintedWith(i.Body.Properties.Secrets()))
	return r, nil
}
