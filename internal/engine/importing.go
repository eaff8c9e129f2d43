package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ImportResource is an existing resource that a change set is to import.
type ImportResource struct {
	Type    string
	Logical wire.LogicalID
	// Identifier has the values of the properties that identify the resource.
	Identifier map[string]string
}

// importing is what a change set imports. Decisions only read it; what exists is looked up between them.
type importing struct {
	// only says that the change set does nothing else, and listed what it imports then. Otherwise it imports those
	// of the resources to be added that exist already.
	only   bool
	listed []ImportResource
	// found has the results of lookups by logical ID.
	found map[wire.LogicalID]lookup
}

// lookup is the result of looking for an existing resource.
type lookup struct {
	exists bool
	of     native.Existing
	// owner is the stack that holds the resource; empty for none.
	owner wire.StackID
	// missing says why the resource cannot be imported, if it does not exist.
	missing string
}

// needLookups is the error of a decision that cannot be made before existing resources are looked up.
type needLookups struct {
	stack     store.Stack
	resources []ImportResource
}

func (*needLookups) Error() string { return "existing resources have to be looked up" }

// importsOf is the result of an import's plan: the resources by logical ID, or why the change set fails.
type importsOf struct {
	resources map[wire.LogicalID]store.Import
	problem   string
}

// The status reason of a change set that imports. Source: CloudFormation, as others measured it.
const importReview = "Verify that resources and their properties defined in the template match the intended " +
	"configuration of the resource import to avoid unexpected changes."

// draftImports decides what a draft imports. from is nil for a stack that is to be created; changes are those
// without imports.
func (m *machine) draftImports(in *Options, from *plan.Side, to plan.Side, changes []plan.Change) (importsOf, error) {
	of := in.importing
	if of == nil {
		return importsOf{}, nil
	}
	wanted := of.listed
	if of.only {
		if err := m.checkImport(in, from, to, changes); err != nil {
			return importsOf{}, err
		}
	} else {
		wanted = m.namedLiterally(to.Template, changes)
	}
	var unknown []ImportResource
	for _, r := range wanted {
		if _, known := of.found[r.Logical]; !known {
			unknown = append(unknown, r)
		}
	}
	if unknown != nil {
		return importsOf{}, &needLookups{m.stack, unknown}
	}
	result := importsOf{resources: map[wire.LogicalID]store.Import{}}
	taken := map[recordKey]wire.LogicalID{}
	var unretained []string
	for _, r := range wanted {
		switch found := of.found[r.Logical]; {
		case !found.exists && of.only:
			result.problem = cmp.Or(result.problem, found.missing)
		case !found.exists:
		case found.owner != "":
			held := r.text() + " already exists in stack " + string(found.owner)
			result.problem = cmp.Or(result.problem, held)
		case !of.only && !strings.HasPrefix(to.Template.Resource(string(r.Logical)).DeletionPolicy, policyRetain):
			unretained = append(unretained, string(r.Logical)+" ("+r.pairs()+")")
		case taken[recordKey{r.Type, found.of.ID}] != "":
			first := taken[recordKey{r.Type, found.of.ID}]
			twice := r.text() + " cannot be imported as " + string(first) + " and as " + string(r.Logical)
			result.problem = cmp.Or(result.problem, twice)
		default:
			taken[recordKey{r.Type, found.of.ID}] = r.Logical
			result.resources[r.Logical] = store.Import{ID: found.of.ID, Holder: found.of.Holder}
		}
	}
	if unretained != nil {
		result.problem = "CloudFormation is attempting to import some resources because they already exist in your " +
			"account. The resources must have the DeletionPolicy attribute set to 'Retain' or " +
			"'RetainExceptOnCreate' in the template for successful import. The affected resources are " + strings.Join(unretained, ", ")
	}
	return result, nil
}

// checkImport refuses an import that does something else, or that is not possible. It checks in the order in which
// CloudFormation does.
func (m *machine) checkImport(in *Options, from *plan.Side, to plan.Side, changes []plan.Change) error {
	if frozen := m.frozen(in, from, to.Template); frozen != nil {
		return invalid("As part of the import operation, you cannot modify or add [" + strings.Join(frozen, ", ") + "]")
	}
	active := set[string]{}
	for _, r := range to.Template.Active(to.Scope) {
		active.add(r.LogicalID)
	}
	listed := map[wire.LogicalID]bool{}
	var undeclared []string
	for _, r := range in.importing.listed {
		if listed[r.Logical] {
			return invalid("Every resource to import must have unique LogicalResourceId")
		}
		listed[r.Logical] = true
		if !active[string(r.Logical)] { // also one whose condition is false
			undeclared = append(undeclared, string(r.Logical))
		}
	}
	if undeclared != nil {
		return invalid("The logical resource ids [" + strings.Join(undeclared, ", ") +
			"] provided in ResourceToImport do not exist in the template.")
	}
	for _, r := range in.importing.listed {
		if err := m.checkIdentifier(&r, to.Template.Resource(string(r.Logical)).Type); err != nil {
			return err
		}
	}
	var added, unlisted, there, modified []string
	for _, c := range changes {
		switch {
		case c.Action == plan.Add:
			added = append(added, c.LogicalID)
			if !listed[wire.LogicalID(c.LogicalID)] {
				unlisted = append(unlisted, c.LogicalID)
			}
		case !c.May():
			modified = append(modified, c.LogicalID)
		}
	}
	for _, r := range in.importing.listed {
		if !slices.Contains(added, string(r.Logical)) {
			there = append(there, string(r.Logical))
		}
	}
	slices.Sort(modified)
	switch {
	case added == nil:
		return invalid("The template should contain at least one new resource to import.")
	case there != nil:
		return invalid("Resources [" + strings.Join(there, ", ") +
			"] passed in ResourceToImport are already in a stack and cannot be imported.")
	case unlisted != nil:
		return invalid("Resources [" + strings.Join(unlisted, ", ") + "] is missing from ResourceToImport list")
	case modified != nil:
		return invalid("You have modified resources [" + strings.Join(modified, ", ") +
			"] in your template that are not being imported. " +
			"Update, create or delete operations cannot be executed during import operations.")
	}
	return checkImportPolicies(in.importing.listed, to.Template)
}

// checkImportPolicies refuses an import of resources without a DeletionPolicy.
func checkImportPolicies(listed []ImportResource, t *template.Template) error {
	var lacking []string
	for _, r := range listed {
		if t.Resource(string(r.Logical)).DeletionPolicy == "" {
			lacking = append(lacking, string(r.Logical))
		}
	}
	if lacking == nil {
		return nil
	}
	return invalid("The following resources to import [" + strings.Join(lacking, ", ") +
		"] must have DeletionPolicy attribute specified in the template.")
}

// frozen names what an import changes though it must not.
func (m *machine) frozen(in *Options, from *plan.Side, to *template.Template) []string {
	var names []string
	outputs, tags := len(to.Outputs) > 0, len(in.Tags) > 0
	if from != nil {
		before := m.view.Stack.Tagged(m.view.Revisions[m.view.Stack.Revision])
		outputs = plan.OutputsDiffer(from.Template, to)
		tags = in.Tags != nil && !sameTags(in.Tags, before.Tags)
	}
	if outputs {
		names = append(names, "Outputs")
	}
	if from != nil && in.RoleARN != "" && in.RoleARN != m.view.Stack.RoleARN {
		names = append(names, "RoleArn")
	}
	if tags {
		names = append(names, "Tags")
	}
	return names
}

func sameTags(a, b []store.Tag) bool {
	byKey := func(tags []store.Tag) map[string]string {
		m := make(map[string]string, len(tags))
		for _, t := range tags {
			m[t.Key] = t.Value
		}
		return m
	}
	return maps.Equal(byKey(a), byKey(b))
}

// checkIdentifier refuses an identifier that is not one of the resource's type, and a type that does not support
// imports.
func (m *machine) checkIdentifier(r *ImportResource, declared string) error {
	schema := m.native.Schema(r.Type)
	if schema == nil || schema.Identifier == nil && !schema.Recorded {
		return invalid("The following resource types are not supported for resource import: " + r.Type)
	}
	if want := schema.Identifier; want != nil {
		got := slices.Sorted(maps.Keys(r.Identifier))
		if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			return invalid("Invalid resource identifier for resource type " + r.Type +
				". Expected [" + strings.Join(want, ", ") + "]")
		}
	}
	if r.Type != declared {
		return invalid("Resource type of [" + string(r.Logical) +
			"] passed in ResourceToImport does not match with resource type defined in the template. " +
			"Resource type in ResourceToImport: " + r.Type + "; Resource type in Template: " + declared + ".")
	}
	return nil
}

// namedLiterally returns the resources to be added whose type supports imports and whose identifier is text in the
// template. Source: CloudFormation User Guide, "Import AWS resources into a CloudFormation stack automatically".
func (m *machine) namedLiterally(t *template.Template, changes []plan.Change) []ImportResource {
	var list []ImportResource
	for _, c := range changes {
		schema := m.native.Schema(c.Type)
		if c.Action != plan.Add || schema == nil || schema.Identifier == nil {
			continue
		}
		r := ImportResource{Type: c.Type, Logical: wire.LogicalID(c.LogicalID), Identifier: map[string]string{}}
		for _, name := range schema.Identifier {
			n := t.Resource(c.LogicalID).Properties.Get(name)
			if n.Kind() == value.String && !n.Computed() && n.Text() != "" {
				r.Identifier[name] = n.Text()
			}
		}
		if len(r.Identifier) == len(schema.Identifier) {
			list = append(list, r)
		}
	}
	return list
}

// pairs returns the identifier as people read it.
func (r *ImportResource) pairs() string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(r.Identifier)) {
		pairs = append(pairs, key+"="+r.Identifier[key])
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// text returns the values of the identifier as one text.
func (r *ImportResource) text() string {
	var values []string
	for _, key := range slices.Sorted(maps.Keys(r.Identifier)) {
		values = append(values, r.Identifier[key])
	}
	return strings.Join(values, "|")
}

// lookUp finds out for a decision which resources exist, and runs the decision again.
func (e *Engine) lookUp(ctx context.Context, of *importing, decide func() error) error {
	for try := 0; ; try++ {
		err := decide()
		need, ok := errors.AsType[*needLookups](err)
		switch {
		case !ok:
			return err
		case of == nil || try == mostTries:
			return invalid("Other operations changed the stack while Pintle looked for existing resources. Try again.")
		}
		records := map[recordKey]wire.StackID{}
		for _, r := range need.resources {
			if e.env.native.Schema(r.Type).Recorded {
				records[recordKey{r.Type, wire.PhysicalID(r.text())}] = ""
			}
		}
		if err := e.recordOwners(ctx, &need.stack, "", records); err != nil {
			return err
		}
		for _, r := range need.resources {
			if of.found == nil {
				of.found = map[wire.LogicalID]lookup{}
			}
			if of.found[r.Logical], err = e.existing(ctx, &need.stack, r, records); err != nil {
				return fmt.Errorf("look for %s: %w", r.text(), err)
			}
		}
	}
}

// Identifier returns the properties that together identify an existing resource of a type for its import; nil if the
// type is not known to support imports.
func (e *Engine) Identifier(resourceType string) []string {
	if schema := e.env.native.Schema(resourceType); schema != nil {
		return schema.Identifier
	}
	return nil
}

// existing looks for a resource. records has the owners of recorded ones.
func (e *Engine) existing(
	ctx context.Context, stack *store.Stack, r ImportResource, records map[recordKey]wire.StackID,
) (lookup, error) {
	request := &store.Request{Type: store.TypeImport, Logical: r.Logical, Body: &store.RequestBody{
		Dialect: stack.Dialect, StackID: stack.ID, Region: stack.Region, ResourceType: r.Type,
		PhysicalID: wire.PhysicalID(r.text()), Properties: value.Object(),
	}}
	of, err := e.env.native.Find(ctx, request)
	if missing, ok := errors.AsType[*native.MissingError](err); ok {
		return lookup{missing: missing.Text}, nil
	}
	if err != nil {
		return lookup{}, err
	}
	found := lookup{exists: true, of: of}
	if schema := e.env.native.Schema(r.Type); schema.Recorded {
		found.owner = records[recordKey{r.Type, of.ID}]
	} else {
		found.owner, err = e.holds(ctx, stack, of)
	}
	return found, err
}

// holds returns the live stack that holds what its holder says, empty if none does any more. near is the stack that
// asks.
func (e *Engine) holds(ctx context.Context, near *store.Stack, of native.Existing) (wire.StackID, error) {
	if of.Holder == "" {
		return "", nil
	}
	id, rest, _ := strings.Cut(of.Holder, "|") // see catalog.Holder
	logical, made, _ := strings.Cut(rest, "|")
	stack, err := e.store.Stack(ctx, wire.StackID(id))
	if errors.Is(err, store.ErrNotFound) || err == nil && !stack.Live {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	instances, err := e.store.InstancesOf(ctx, stack.Key, []wire.LogicalID{wire.LogicalID(logical)})
	if err != nil {
		return "", err
	}
	for _, i := range instances {
		lost := stack.ID == near.ID && i.Imported && i.Unborn() // imported by a request whose answer was lost
		if i.PhysicalID == of.ID && stands(i) && !lost {
			return stack.ID, nil
		}
	}
	// While a request runs that made the resource, no instance has its physical ID yet.
	request, err := e.store.Request(ctx, wire.RequestID(made))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case request.State != store.RequestSettled && request.Stack == stack.Key:
		return stack.ID, nil
	}
	return "", nil
}

// stands reports whether an instance is its stack's.
func stands(i store.Instance) bool {
	return i.Role == store.RoleCurrent || i.Role == store.RoleCondemned
}

// stacksAtOnce is how many stacks are read at a time.
const stacksAtOnce = 100

// recordKey names a recorded resource. It exists in stacks only.
type recordKey struct {
	resourceType string
	id           wire.PhysicalID
}

// recordOwners finds the stacks of the same account and region that have recorded resources, and sets the owner of
// each record that one has. It ignores the resource own of the stack near. All stacks are read, once.
func (e *Engine) recordOwners(
	ctx context.Context, near *store.Stack, own wire.LogicalID, records map[recordKey]wire.StackID,
) error {
	for after := store.StackKey(0); len(records) > 0; {
		stacks, err := e.store.Stacks(ctx, near.Account, near.Region, false, after, stacksAtOnce)
		if err != nil {
			return err
		}
		for _, stack := range stacks {
			instances, err := e.store.Instances(ctx, stack.Key)
			if err != nil {
				return err
			}
			for _, i := range instances {
				of := recordKey{i.Body.Type, i.PhysicalID}
				_, wanted := records[of]
				failed := i.Imported && i.Unborn()
				if wanted && stands(i) && !failed && (own == "" || stack.ID != near.ID || i.Logical != own) {
					records[of] = stack.ID
				}
			}
			after = stack.Key
		}
		if len(stacks) < stacksAtOnce {
			return nil
		}
	}
	return nil
}

// CheckRecordedImport refuses a request of [store.TypeImport] for a recorded resource that another resource of a
// stack has become since the import was planned. No service knows of such a resource, so that the stacks have to be
// asked.
func (e *Engine) CheckRecordedImport(ctx context.Context, r *store.Request) error {
	stack, err := e.store.Stack(ctx, r.Body.StackID)
	if err != nil {
		return fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
	of := recordKey{r.Body.ResourceType, r.Body.PhysicalID}
	owners := map[recordKey]wire.StackID{of: ""}
	if err := e.recordOwners(ctx, &stack, r.Logical, owners); err != nil {
		return fmt.Errorf("%w: %w", native.ErrAgain, err)
	}
	if owner := owners[of]; owner != "" {
		return errors.New(string(of.id) + " already exists in stack " + string(owner))
	}
	return nil
}

// listedJSON is what a change set keeps of the resources that its client listed.
func (of *importing) listedJSON() (json.RawMessage, error) {
	if of == nil || !of.only {
		return nil, nil
	}
	text, err := json.Marshal(of.listed)
	if err != nil {
		return nil, fmt.Errorf("write the resources to import: %w", err)
	}
	return text, nil
}
