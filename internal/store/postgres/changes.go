package postgres

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// changes are the encoded changes that the members of a batch made to one stack. If several members wrote a row, only
// its last state is kept.
type changes struct {
	stack      *stackChange
	revisions  []revisionChange
	operations map[int]*operationChange
	ids        []operationID // of one member; the batch collects them
	dropSteps  bool
	steps      map[wire.LogicalID]stepChange
	instances  map[int]instanceChange
	requests   map[wire.RequestID]requestChange
	dropSets   []store.ChangeSetID
	sets       []setChange // in the order of the decisions
	// exports and imports are the complete lists after a decision; nil if no decision has set them.
	exports, imports *[]string
	events           []eventChange
	audit            []auditChange
}

type stackChange struct {
	row           *store.Stack
	made, moved   bool // new stack; changed narrow columns
	plain, values []byte
}

type revisionChange struct {
	number        int
	hash          [sha256.Size]byte
	template      string
	plain, values []byte
}

type operationChange struct {
	version int64
	made    bool
	before  int64 // the version in the database, unless it is new
	plain   []byte
}

// operationID is an ID by which clients find an operation.
type operationID struct {
	id     string
	stack  store.StackKey
	number int
}

type stepChange struct {
	next, plain []byte
	needs, plan []byte // plan is nil if unchanged
}

type instanceChange struct {
	row        *store.Instance
	plain      []byte
	body, vals []byte // body is nil if unchanged
}

type requestChange struct {
	row          *store.Request
	plain        []byte
	body, values []byte // body is nil if unchanged
}

type eventChange struct {
	operation, number int
	events            []byte
}

type auditChange struct {
	at    int64 // Unix milliseconds
	entry []byte
}

// separator separates the names of a list that is passed as one argument.
const separator = "\x1f"

// encode encodes a delta into separate changes, so that an error leaves the batch unchanged.
func (im *image) encode(codec store.Codec, d *store.Delta) (c changes, err error) {
	if err := im.checkBodies(d); err != nil {
		return c, err
	}
	if d.Stack != nil {
		c.stack = &stackChange{row: d.Stack, made: im.Stack.Key == 0, moved: im.Stack.Live != d.Stack.Live || !im.Stack.Created.Equal(d.Stack.Created)}
		if c.stack.plain, c.stack.values, err = codec.Encode(d.Stack); err != nil {
			return c, err
		}
		for _, text := range []string{string(d.Stack.ID), d.Stack.Account, d.Stack.Region, d.Stack.Name} {
			if !clean(text) {
				return c, fmt.Errorf("stack %q: id, account, region or name has a NUL or is not UTF-8", d.Stack.ID)
			}
		}
	}
	for i := range d.Revisions {
		r := revisionChange{number: d.Revisions[i].Number, template: d.Revisions[i].Template, hash: sha256.Sum256([]byte(d.Revisions[i].Template))}
		if r.plain, r.values, err = codec.Encode(&d.Revisions[i]); err != nil {
			return c, err
		}
		c.revisions = append(c.revisions, r)
	}
	if o := d.Operation; o != nil {
		change := &operationChange{version: o.Version, made: o.Number != im.Operation.Number, before: im.Operation.Version}
		if change.plain, _, err = codec.Encode(o); err != nil {
			return c, err
		}
		c.operations = map[int]*operationChange{o.Number: change}
		for _, id := range o.NewIDs(&im.Operation) {
			if !clean(id) {
				return c, errName
			}
			c.ids = append(c.ids, operationID{id, o.Stack, o.Number})
		}
	}
	c.dropSteps = d.DropSteps
	if err := c.encodeSteps(codec, d.Steps); err != nil {
		return c, err
	}
	if err := c.encodeInstances(codec, d.Instances); err != nil {
		return c, err
	}
	if err := c.encodeRequests(codec, d.Requests); err != nil {
		return c, err
	}
	if err := c.encodeSets(codec, d); err != nil {
		return c, err
	}
	if err := c.encodeExports(d); err != nil {
		return c, err
	}
	return c, c.encodeHistory(d)
}

// checkBodies rejects rows without a body that do not exist yet.
func (im *image) checkBodies(d *store.Delta) error {
	const missing = "%s is not there, and without its body it cannot be made"
	written := make(map[wire.LogicalID]bool)
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Plan == nil && (!im.HasStep(s.Logical) || d.DropSteps) && !written[s.Logical] {
			return fmt.Errorf(missing, "step "+string(s.Logical))
		}
		written[s.Logical] = true
	}
	for i := range d.Instances {
		if d.Instances[i].Body == nil && !im.HasInstance(d.Instances[i].Number) {
			return fmt.Errorf(missing, fmt.Sprint("instance ", d.Instances[i].Number))
		}
	}
	for i := range d.Requests {
		if _, ok := im.Request(d.Requests[i].ID); !ok && d.Requests[i].Body == nil {
			return fmt.Errorf(missing, "request "+string(d.Requests[i].ID))
		}
	}
	if len(d.ChangeSets) > 0 {
		return im.checkSets(d)
	}
	return nil
}

func (c *changes) encodeSteps(codec store.Codec, rows []store.Step) (err error) {
	c.steps = make(map[wire.LogicalID]stepChange, len(rows))
	for i := range rows {
		row := &rows[i]
		change := c.steps[row.Logical]
		if change.next, err = list(row.Next); err != nil {
			return err
		}
		if _, err := list([]wire.LogicalID{row.Logical}); err != nil {
			return err
		}
		if change.plain, _, err = codec.Encode(row); err != nil {
			return err
		}
		if row.Plan != nil {
			if change.needs, err = list(append(append([]wire.LogicalID{}, row.Plan.OldNeeds...), row.Plan.NewNeeds...)); err != nil {
				return err
			}
			if change.plan, _, err = codec.Encode(row.Plan); err != nil {
				return err
			}
		}
		c.steps[row.Logical] = change
	}
	return nil
}

func (c *changes) encodeInstances(codec store.Codec, rows []store.Instance) (err error) {
	c.instances = make(map[int]instanceChange, len(rows))
	for i := range rows {
		row := &rows[i]
		change := c.instances[row.Number]
		change.row = row
		if !clean(string(row.Logical)) {
			return errName
		}
		if change.plain, _, err = codec.Encode(row); err != nil {
			return err
		}
		if row.Body != nil {
			if change.body, change.vals, err = codec.Encode(row.Body); err != nil {
				return err
			}
		}
		c.instances[row.Number] = change
	}
	return nil
}

func (c *changes) encodeRequests(codec store.Codec, rows []store.Request) (err error) {
	c.requests = make(map[wire.RequestID]requestChange, len(rows))
	for i := range rows {
		row := &rows[i]
		change := c.requests[row.ID]
		change.row = row
		if !clean(string(row.ID)) || !clean(string(row.Logical)) || !clean(string(row.Type)) {
			return errName
		}
		if change.plain, _, err = codec.Encode(row); err != nil {
			return err
		}
		if row.Body != nil {
			if change.body, change.values, err = codec.Encode(row.Body); err != nil {
				return err
			}
		}
		c.requests[row.ID] = change
	}
	return nil
}

func (c *changes) encodeHistory(d *store.Delta) error {
	if len(d.Events) > 0 {
		events, err := json.Marshal(d.Events)
		if err != nil {
			return fmt.Errorf("encode events: %w", err)
		}
		c.events = []eventChange{{d.Operation.Number, d.Operation.Events, events}}
	}
	for _, audit := range d.Audit {
		entry, err := json.Marshal(audit)
		if err != nil {
			return fmt.Errorf("encode audit: %w", err)
		}
		c.audit = append(c.audit, auditChange{audit.Time.UnixMilli(), entry})
	}
	return nil
}

var errName = errors.New("a name has a character that no name may have")

// list joins names into one argument.
func list(names []wire.LogicalID) ([]byte, error) {
	size := 0
	for _, name := range names {
		if size += len(name) + 1; name == "" || !clean(string(name)) || strings.Contains(string(name), separator) {
			return nil, errName
		}
	}
	joined := make([]byte, 0, size)
	for i, name := range names {
		if i > 0 {
			joined = append(joined, separator...)
		}
		joined = append(joined, name...)
	}
	return joined, nil
}

// add merges the changes of a later member into c.
func (c *changes) add(later changes) {
	if later.stack != nil {
		if c.stack != nil {
			later.stack.made = c.stack.made
			later.stack.moved = later.stack.moved || c.stack.moved
		}
		c.stack = later.stack
	}
	c.revisions = append(c.revisions, later.revisions...)
	for number, change := range later.operations {
		if before := c.operations[number]; before != nil {
			change.made, change.before = before.made, before.before
		}
		c.operations = put(c.operations, number, change)
	}
	if later.dropSteps {
		c.dropSteps = true
		clear(c.steps)
	}
	for logical, change := range later.steps {
		if change.plan == nil {
			change.plan, change.needs = c.steps[logical].plan, c.steps[logical].needs
		}
		c.steps = put(c.steps, logical, change)
	}
	for number, change := range later.instances {
		if change.body == nil {
			change.body, change.vals = c.instances[number].body, c.instances[number].vals
		}
		c.instances = put(c.instances, number, change)
	}
	for id, change := range later.requests {
		if change.body == nil {
			change.body, change.values = c.requests[id].body, c.requests[id].values
		}
		c.requests = put(c.requests, id, change)
	}
	c.addSets(later)
	if later.exports != nil {
		c.exports = later.exports
	}
	if later.imports != nil {
		c.imports = later.imports
	}
	c.events = append(c.events, later.events...)
	c.audit = append(c.audit, later.audit...)
}

func put[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	if m == nil {
		m = make(map[K]V)
	}
	m[key] = value
	return m
}

// nothing reports whether c is empty.
func (c *changes) nothing() bool {
	return c.stack == nil && len(c.revisions) == 0 && len(c.operations) == 0 && !c.dropSteps && len(c.steps) == 0 &&
		len(c.instances) == 0 && len(c.requests) == 0 && len(c.dropSets) == 0 && len(c.sets) == 0 && c.exports == nil && c.imports == nil &&
		len(c.events) == 0 && len(c.audit) == 0
}
