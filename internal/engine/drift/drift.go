// Package drift compares the resources of a stack with their live state. It keeps the result of the last detection
// of each stack.
//
// It compares only declared properties, and of those only the ones that a type can read back. Stored and returned
// values contain no secrets.
//
// Source: CloudFormation API Reference, StackResourceDrift and PropertyDifference; User Guide, "Detect unmanaged
// configuration changes".
package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Status is the state of a resource compared with its declaration. The set is closed.
type Status string

// The states.
const (
	InSync   Status = "IN_SYNC"
	Modified Status = "MODIFIED"
	Deleted  Status = "DELETED"
	// NotChecked is the state of a resource that was not compared, or has changed since.
	NotChecked Status = "NOT_CHECKED"
	// Unknown is the state of a resource whose provider could not read it.
	Unknown Status = "UNKNOWN"
)

// Drifted reports whether a resource differs from its declaration.
func (s Status) Drifted() bool { return s == Modified || s == Deleted }

// Resource is the result for one resource.
type Resource struct {
	Logical  wire.LogicalID  `json:"logical"`
	Physical wire.PhysicalID `json:"physical"`
	Type     string          `json:"type"`
	Status   Status          `json:"status"`
	// Expected and Actual are JSON of the compared properties, with secrets masked. Actual is empty for a deleted
	// resource.
	Expected    string       `json:"expected,omitempty"`
	Actual      string       `json:"actual,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
	// Problem is the reason why the state is unknown, or why a resource was not checked that perhaps could be.
	Problem string `json:"problem,omitempty"`
	// Forwarded is the endpoint that provides the resource, for people; empty for all other resources.
	Forwarded string `json:"forwarded,omitempty"`
	// Checked is the time of the comparison. Changed is the time of the stack's last change to the resource before
	// that.
	Checked time.Time `json:"checked"`
	Changed time.Time `json:"changed"`
}

// Report is the last result for a stack.
type Report struct {
	// Resources are the compared resources, sorted by logical ID, without those that have changed since. A resource that was
	// not checked is in it only with a Problem.
	Resources []Resource `json:"resources"`
	// Pending are the resources whose providers have not answered yet. They may have an earlier result.
	Pending []Pending `json:"pending,omitempty"`
	// Checked is the time of the last check of the whole stack; zero if there was none since its last operation.
	Checked time.Time `json:"checked,omitzero"`
	// Stack and Operation identify the subject of the report.
	Stack     wire.StackID `json:"stack"`
	Operation int          `json:"operation"`
}

// Of returns the state of a resource.
func (r Report) Of(logical wire.LogicalID) (Status, time.Time) {
	for _, resource := range r.Resources {
		if resource.Logical == logical && resource.Status != NotChecked {
			return resource.Status, resource.Checked
		}
	}
	return NotChecked, time.Time{}
}

// Drifted counts the resources that differ from their declarations.
func (r Report) Drifted() (n int) {
	for _, resource := range r.Resources {
		if resource.Status.Drifted() {
			n++
		}
	}
	return n
}

// Checks counts the resources that were compared, or that could not be read.
func (r Report) Checks() (n int) {
	for _, resource := range r.Resources {
		if resource.Status != NotChecked {
			n++
		}
	}
	return n
}

// Unasked returns the resources that were not checked because their providers could not be asked whether they can read, or because
// their endpoints did not check them.
func (r Report) Unasked() []Resource {
	return slices.DeleteFunc(slices.Clone(r.Resources), func(r Resource) bool { return r.Status != NotChecked })
}

// Unknown returns the resources whose providers could not read them.
func (r Report) Unknown() []Resource {
	return slices.DeleteFunc(slices.Clone(r.Resources), func(r Resource) bool { return r.Status != Unknown })
}

// Rows is the part of [store.Store] that a [Detector] needs.
type Rows interface {
	Request(ctx context.Context, id wire.RequestID) (store.Request, error)
	Entry(ctx context.Context, key store.EntryKey) (store.Entry, error)
	PutEntry(ctx context.Context, entry store.Entry) (version int64, err error)
}

// Detector detects drift. It is safe for concurrent use.
type Detector struct {
	types *native.Registry
	rows  Rows
	now   func() time.Time
	// providers may be nil.
	providers Providers
}

// New returns a detector that reads resources with types and stores results in rows. A nil clock means the system
// clock.
func New(types *native.Registry, rows Rows, now func() time.Time) *Detector {
	if now == nil {
		now = time.Now
	}
	return &Detector{types: types, rows: rows, now: now}
}

// Ask makes the detector ask providers too. Call it first.
func (d *Detector) Ask(providers Providers) { d.providers = providers }

// key is the key of a stack's report. It contains the name, so that a recreated stack replaces the report.
func key(stack store.Stack) store.EntryKey {
	return store.EntryKey{Account: stack.Account, Region: stack.Region, Kind: "drift", Name: stack.Name}
}

// Last returns the last report of a stack, limited to results that are still valid. It may be empty.
func (d *Detector) Last(ctx context.Context, stack store.Stack, instances []store.Instance) (Report, error) {
	report, _, err := d.read(ctx, stack)
	if err != nil {
		return report, err
	}
	return report.held(stack, instances), nil
}

// held returns the results that are still valid.
func (r Report) held(stack store.Stack, instances []store.Instance) Report {
	report := r
	now := make(map[wire.LogicalID]store.Instance, len(instances))
	for _, i := range instances {
		now[i.Logical] = i
	}
	var held []Resource
	for _, r := range report.Resources {
		if i, ok := now[r.Logical]; ok && i.PhysicalID == r.Physical && i.Changed.Equal(r.Changed) {
			held = append(held, r)
		}
	}
	report.Resources = held
	report.Pending = slices.DeleteFunc(slices.Clone(report.Pending), func(p Pending) bool {
		i, ok := now[p.Logical]
		return !ok || i.PhysicalID != p.Physical || !i.Changed.Equal(p.Changed)
	})
	if report.Operation != stack.Operation {
		report.Checked = time.Time{}
	}
	return report
}

// OfStack returns the last report on a whole stack. It is empty if the stack was not checked since its last
// operation.
func (d *Detector) OfStack(ctx context.Context, stack store.Stack) (Report, error) {
	report, _, err := d.read(ctx, stack)
	if report.Operation != stack.Operation || report.Checked.IsZero() {
		report = Report{Stack: stack.ID}
	}
	return report, err
}

func (d *Detector) read(ctx context.Context, stack store.Stack) (report Report, version int64, err error) {
	entry, err := d.rows.Entry(ctx, key(stack))
	if errors.Is(err, store.ErrNotFound) {
		return Report{Stack: stack.ID}, 0, nil
	}
	if err != nil {
		return report, 0, err
	}
	if err := json.Unmarshal(entry.Definition, &report); err != nil {
		return report, 0, fmt.Errorf("decode the drift of stack %s: %w", stack.Name, err)
	}
	if report.Stack != stack.ID {
		report = Report{Stack: stack.ID}
	}
	return d.collect(ctx, stack, report, entry.Version)
}

// tries is the number of attempts to write a report that other detections change at the same time.
const tries = 10

// Detect compares some of a stack's resources and returns its report with them. It keeps earlier results of the
// others. The providers of custom resources answer later, so these resources are pending in the report.
func (d *Detector) Detect(ctx context.Context, stack store.Stack, instances, all []store.Instance) (Report, error) {
	checked, err := d.compareAll(ctx, stack, instances)
	if err != nil {
		return Report{}, err
	}
	asked, unasked, err := d.ask(ctx, stack, instances)
	if err != nil {
		return Report{}, fmt.Errorf("ask the providers: %w", err)
	}
	for _, i := range instances {
		if problem, ok := unasked[i.Logical]; ok {
			r := checked[i.Logical]
			r.Type, r.Problem = i.Body.Type, problem
			checked[i.Logical] = r
		}
	}
	for try := 1; ; try++ {
		before, version, err := d.read(ctx, stack)
		if err != nil {
			return Report{}, err
		}
		report := before.held(stack, all)
		report.take(all, checked, asked)
		if report.Operation = stack.Operation; len(instances) == len(all) || !report.Checked.IsZero() {
			report.Checked = d.now().UTC()
		}
		_, err = d.write(ctx, stack, report, version)
		if again := errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists); !again || try == tries {
			return report, err
		}
	}
}

// take adds results and pending resources to the report. all are the resources of the stack.
func (r *Report) take(all []store.Instance, checked map[wire.LogicalID]Resource, asked map[wire.LogicalID]Pending) {
	results, pending := make(map[wire.LogicalID]Resource, len(r.Resources)), make(map[wire.LogicalID]Pending, len(r.Pending))
	for _, one := range r.Resources {
		results[one.Logical] = one
	}
	for _, p := range r.Pending {
		pending[p.Logical] = p
	}
	r.Resources, r.Pending = nil, nil
	for _, i := range all {
		p, waits := asked[i.Logical]
		one, ok := checked[i.Logical]
		switch {
		case waits:
			r.Pending = append(r.Pending, p)
			one = results[i.Logical]
		case !ok:
			if p, waits := pending[i.Logical]; waits {
				r.Pending = append(r.Pending, p)
			}
			one = results[i.Logical]
		}
		if one.Status != "" && (one.Status != NotChecked || one.Problem != "") {
			r.Resources = append(r.Resources, one)
		}
	}
}

// write replaces the version of a report that was read, and returns the new version.
func (d *Detector) write(ctx context.Context, stack store.Stack, report Report, version int64) (int64, error) {
	text, err := json.Marshal(report)
	if err != nil {
		return 0, fmt.Errorf("encode the drift of stack %s: %w", stack.Name, err)
	}
	return d.rows.PutEntry(ctx, store.Entry{EntryKey: key(stack), Version: version, Definition: text})
}

// typed converts top-level texts to the numbers and booleans that the schema declares.
func typed(schema *native.Schema, properties value.Value) value.Value {
	if schema == nil {
		return properties
	}
	for _, p := range schema.Properties {
		v, given := properties.Get(p.Name)
		if !given || v.Kind() != value.String || v.HasSecret() || p.Kind != native.Integer && p.Kind != native.Truth {
			continue
		}
		if parsed, err := value.Parse([]byte(v.Text())); err == nil && parsed.Kind() != value.String && parsed.IsScalar() {
			properties = properties.With(p.Name, parsed)
		}
	}
	return properties
}

// mostProblems is the maximum number of resources that [Problems] names.
const mostProblems = 5

// Problems returns why resources could not be compared, in one line that names at most five of them.
func Problems(resources []Resource) string {
	var texts []string
	for _, r := range resources[:min(len(resources), mostProblems)] {
		texts = append(texts, string(r.Logical)+": "+r.Problem)
	}
	if more := len(resources) - mostProblems; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}
