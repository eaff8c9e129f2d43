package drift

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Providers asks the providers of custom resources for their current state. The engine implements it.
type Providers interface {
	// Read returns the requests by logical ID. The row of a settled request has the result. Read leaves out resources
	// that cannot be read. unasked has those whose providers could not be asked whether they can read, with the reason.
	Read(ctx context.Context, stack store.Stack, instances []store.Instance) (
		sent map[wire.LogicalID]wire.RequestID, unasked map[wire.LogicalID]string, err error)
}

// Pending is a resource whose provider has not answered the Read yet.
type Pending struct {
	Logical  wire.LogicalID  `json:"logical"`
	Physical wire.PhysicalID `json:"physical"`
	Type     string          `json:"type"`
	Request  wire.RequestID  `json:"request"`
	// Changed is the time of the stack's last change to the resource.
	Changed time.Time `json:"changed"`
}

// ask asks the providers of the custom resources among the instances. unasked has the resources whose providers could not be asked.
func (d *Detector) ask(ctx context.Context, stack store.Stack, instances []store.Instance) (
	asked map[wire.LogicalID]Pending, unasked map[wire.LogicalID]string, err error,
) {
	custom := slices.DeleteFunc(slices.Clone(instances), func(i store.Instance) bool { return i.Body == nil || i.Body.Token.IsNull() })
	if d.providers == nil || len(custom) == 0 {
		return nil, nil, nil
	}
	requests, unasked, err := d.providers.Read(ctx, stack, custom)
	if err != nil {
		return nil, nil, err
	}
	asked = make(map[wire.LogicalID]Pending, len(requests))
	for _, i := range custom {
		if id, ok := requests[i.Logical]; ok {
			asked[i.Logical] = Pending{Logical: i.Logical, Physical: i.PhysicalID, Type: i.Body.Type, Request: id, Changed: i.Changed}
		}
	}
	return asked, unasked, nil
}

// collect moves the results of settled requests into a report, and writes it if there are any. Every reader of the
// report does this, so no process has to wait for the answers. If the report has changed meanwhile, another reader
// has already done it.
func (d *Detector) collect(ctx context.Context, stack store.Stack, report Report, version int64) (Report, int64, error) {
	var still []Pending
	for _, p := range report.Pending {
		found, settled, err := d.result(ctx, p)
		if err != nil {
			return report, 0, err
		}
		if !settled {
			still = append(still, p)
			continue
		}
		report.Resources = slices.DeleteFunc(slices.Clone(report.Resources), func(r Resource) bool { return r.Logical == p.Logical })
		report.Resources = append(report.Resources, found)
	}
	if len(still) == len(report.Pending) {
		return report, version, nil
	}
	report.Pending = still
	slices.SortFunc(report.Resources, func(a, b Resource) int { return cmp.Compare(a.Logical, b.Logical) })
	switch now, err := d.write(ctx, stack, report, version); {
	case err == nil:
		return report, now, nil
	case errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrNotFound):
		return report, version, nil
	default:
		return report, version, err
	}
}

// result returns the result of a pending resource, and whether there is one.
func (d *Detector) result(ctx context.Context, p Pending) (Resource, bool, error) {
	found := Resource{Logical: p.Logical, Physical: p.Physical, Type: p.Type, Status: Unknown, Checked: d.now().UTC(), Changed: p.Changed}
	request, err := d.rows.Request(ctx, p.Request)
	switch {
	case errors.Is(err, store.ErrNotFound):
		found.Problem = "the answer of the provider is no longer kept"
		return found, true, nil
	case err != nil:
		return found, false, err
	case request.State != store.RequestSettled:
		return found, false, nil
	}
	if err := json.Unmarshal([]byte(request.Body.Pending.Text()), &found); err != nil {
		return found, false, fmt.Errorf("decode the state of %s: %w", p.Logical, err)
	}
	found.Changed = p.Changed
	return found, true, nil
}
