package engine

import (
	"cmp"
	"encoding/json"
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

// ImportResource is an existing resource for a change set to import.
type ImportResource struct {
	Type    string
	Logical wire.LogicalID
	// Identifier has the values of the properties that identify the resource.
	Identifier map[string]string

	// custom is set for a custom resource, and token names its provider; empty if it is unknown before the import.
	custom bool
	token  string
}

// pairs formats the identifier for people.
func (r *ImportResource) pairs() string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(r.Identifier)) {
		pairs = append(pairs, key+"="+r.Identifier[key])
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// text joins the values of the identifier.
func (r *ImportResource) text() string {
	var values []string
	for _, key := range slices.Sorted(maps.Keys(r.Identifier)) {
		values = append(values, r.Identifier[key])
	}
	return strings.Join(values, "|")
}

// importRequest describes the imports of a change set. Decisions only read it; the engine looks up resources between
// decisions.
type importRequest struct {
	// only is set if the change set does nothing but import listed. Otherwise it imports
	// the added resources that already exist.
	only   bool
	listed []ImportResource
	// found has the results of lookups by logical ID.
	found map[wire.LogicalID]lookup

	// unattended is set if no client waits for the decision because macros have run. A failed lookup then becomes the
	// problem of the change set. Otherwise the client gets the error.
	unattended bool
	problem    string
	fetches    int
}

// listedJSON returns the stored form of the resources that the client listed.
func (of *importRequest) listedJSON() (json.RawMessage, error) {
	if of == nil || !of.only {
		return nil, nil
	}
	text, err := json.Marshal(of.listed)
	if err != nil {
		return nil, fmt.Errorf("write the resources to import: %w", err)
	}
	return text, nil
}

// lookup is the result of a lookup of an existing resource.
type lookup struct {
	exists bool
	of     native.Existing
	// owner is the stack that holds the resource; empty for none.
	owner wire.StackID
	// missing is the reason why the resource cannot be imported, if it does not exist.
	missing string
}

// importsOf is the result of an import's plan: the resources by logical ID, or why the change set fails.
type importsOf struct {
	resources map[wire.LogicalID]store.Import
	problem   string
	// unsought has the added custom resources that may exist, and for which nothing looks.
	unsought []string
}

// The status reason of a change set that imports. Source: CloudFormation, as published measurements show it.
const importReview = "Verify that resources and their properties defined in the template match the intended " +
	"configuration of the resource import to avoid unexpected changes."

// importPlan plans the imports of a change set.
type importPlan struct{ *decision }

// draw determines the imports of a draft. from is nil for a new stack. changes are the changes without imports.
func (d importPlan) draw(in *Options, from *plan.Side, to plan.Side, changes []plan.Change) (importsOf, error) {
	of := in.importing
	if of == nil {
		return importsOf{}, nil
	}
	wanted := of.listed
	if of.only {
		if err := d.check(in, from, to, changes); err != nil {
			return importsOf{}, err
		}
	} else {
		wanted = d.namedLiterally(to.Template, changes)
	}
	var unknown []ImportResource
	for _, r := range wanted {
		if _, known := of.found[r.Logical]; !known {
			d.findProvider(&r, to.Template, to.Scope)
			unknown = append(unknown, r)
		}
	}
	if of.problem != "" {
		return importsOf{}, invalid(of.problem)
	}
	if unknown != nil {
		return importsOf{}, &needLookups{of, d.stack, unknown}
	}
	result := importsOf{resources: map[wire.LogicalID]store.Import{}}
	if !of.only {
		result.unsought = d.unsought(to.Template, changes)
	}
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
			of := store.Import{ID: found.of.ID, Holder: found.of.Holder}
			if d.native.ForwardedTo(r.Type) != "" {
				of.Identifier = r.Identifier
			}
			result.resources[r.Logical] = of
		}
	}
	if unretained != nil {
		result.problem = "CloudFormation is attempting to import some resources because they already exist in your " +
			"account. The resources must have the DeletionPolicy attribute set to 'Retain' or " +
			"'RetainExceptOnCreate' in the template for successful import. The affected resources are " + strings.Join(unretained, ", ")
	}
	return result, nil
}

// check rejects an import that makes other changes, or that is not possible. It checks in CloudFormation's order.
func (d importPlan) check(in *Options, from *plan.Side, to plan.Side, changes []plan.Change) error {
	if frozen := d.frozen(in, from, to.Template); frozen != nil {
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
		if !active[string(r.Logical)] { // also rejects one whose condition is false
			undeclared = append(undeclared, string(r.Logical))
		}
	}
	if undeclared != nil {
		return invalid("The logical resource ids [" + strings.Join(undeclared, ", ") +
			"] provided in ResourceToImport do not exist in the template.")
	}
	for _, r := range in.importing.listed {
		if err := d.checkIdentifier(&r, to.Template.Resource(string(r.Logical)).Type); err != nil {
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
		case !c.May() && !slices.Equal(c.Scope, []string{plan.Tags}): // an import leaves the tags of the others
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

// checkImportPolicies rejects an import of resources without a DeletionPolicy.
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

// frozen names the settings that an import changes but must not.
func (d importPlan) frozen(in *Options, from *plan.Side, to *template.Template) []string {
	var names []string
	outputs, tags := len(to.Outputs) > 0, len(in.Tags) > 0
	if from != nil {
		before := d.view.Stack.Tagged(d.view.Revisions[d.view.Stack.Revision])
		outputs = plan.OutputsDiffer(from.Template, to)
		tags = in.Tags != nil && !sameTags(in.Tags, before.Tags)
	}
	if outputs {
		names = append(names, "Outputs")
	}
	if from != nil && in.RoleARN != "" && in.RoleARN != d.view.Stack.RoleARN {
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

// checkIdentifier rejects an identifier that does not fit the resource's type, and a type that does not support
// imports.
func (d importPlan) checkIdentifier(r *ImportResource, declared string) error {
	schema := d.native.Schema(r.Type)
	custom, forwarded := schema == nil && isCustom(r.Type) && d.readers, schema != nil && schema.Forwarded != ""
	if !custom && !forwarded && (schema == nil || schema.Identifier == nil && !schema.Recorded) {
		return invalid("The following resource types are not supported for resource import: " + r.Type)
	}
	want := []string{customIdentifier}
	if !custom {
		want = schema.Identifier
	}
	if want != nil {
		got := slices.Sorted(maps.Keys(r.Identifier))
		if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			return invalid("Invalid resource identifier for resource type " + r.Type +
				". Expected [" + strings.Join(want, ", ") + "]")
		}
	}
	if id := r.text(); (custom || forwarded) && (id == "" || len(id) > wire.MaxPhysicalID || wire.CleanText(id) != id) {
		name := customIdentifier
		if forwarded { // whose endpoint checks the names of the properties
			name = "identifier"
		}
		return invalid(fmt.Sprintf("Invalid %s of %s: a physical ID has 1 to %d bytes and no control characters", name, r.Logical,
			wire.MaxPhysicalID))
	}
	if r.Type != declared {
		return invalid("Resource type of [" + string(r.Logical) +
			"] passed in ResourceToImport does not match with resource type defined in the template. " +
			"Resource type in ResourceToImport: " + r.Type + "; Resource type in Template: " + declared + ".")
	}
	return nil
}

// unsought returns the added custom resources that a change set would import if they could be found: those that outlive their stacks. A
// template does not contain their physical IDs, so no provider can be asked whether they exist.
func (d importPlan) unsought(t *template.Template, changes []plan.Change) []string {
	var names []string
	for _, c := range changes {
		if c.Action == plan.Add && d.readers && d.native.Schema(c.Type) == nil && isCustom(c.Type) &&
			strings.HasPrefix(t.Resource(c.LogicalID).DeletionPolicy, policyRetain) {
			names = append(names, c.LogicalID)
		}
	}
	return names
}

// notice returns a sentence about the custom resources for which nothing looks, or "".
func (i importsOf) notice() string {
	if i.unsought == nil {
		return ""
	}
	names := i.unsought
	if len(names) > maxWarnings {
		names = append(names[:maxWarnings:maxWarnings], fmt.Sprintf("%d more", len(names)-maxWarnings))
	}
	return "[INFO] ImportExistingResources does not look for custom resources, so these are created even if they exist: " + strings.Join(names, ", ") +
		". To import one of them, use a change set of type IMPORT."
}

// namedLiterally returns the added resources whose type supports imports and whose identifier is literal text in the
// template. Source: CloudFormation User Guide, "Import AWS resources into a CloudFormation stack automatically".
func (d importPlan) namedLiterally(t *template.Template, changes []plan.Change) []ImportResource {
	var list []ImportResource
	for _, c := range changes {
		schema := d.native.Schema(c.Type)
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
