package engine

import (
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// scope returns the values that a revision binds to the template's names.
func (d *decision) scope(number int) (*template.Scope, error) {
	if scope := d.scopes[number]; scope != nil {
		return scope, nil
	}
	revision, ok := d.view.Revisions[number]
	if !ok {
		return nil, fmt.Errorf("revision %d of stack %s was not loaded", number, d.stack.ID)
	}
	scope := d.scopeOf(&revision)
	d.scopes[number] = scope
	return scope, nil
}

// scopeOf rebuilds the scope of a revision from its row.
func (d *decision) scopeOf(revision *store.Revision) *template.Scope {
	parameters := map[string]value.Value{}
	for _, p := range revision.Parameters.Members() {
		parameters[p.Key] = p.Value
	}
	scope := template.NewScope(parameters, revision.Conditions, pseudoOf(&d.stack, revision))
	scope.Language = d.dialect.language()
	scope.Outside = template.NewOutside(revision.Outside)
	return scope
}

func pseudoOf(stack *store.Stack, revision *store.Revision) template.Pseudo {
	partition := wire.Partition(stack.Region)
	suffix := "amazonaws.com"
	if partition == "aws-cn" {
		suffix = "amazonaws.com.cn"
	}
	return template.Pseudo{
		AccountID: stack.Account, Region: stack.Region, Partition: partition, StackID: string(stack.ID),
		StackName: stack.Name, URLSuffix: suffix, NotificationARNs: revision.NotificationARNs, TenantID: stack.Account,
		ResourceGroupID: stack.ResourceGroup,
	}
}

// template returns the template of a revision. Parsing takes O(stack) if it is not cached, so call it only with a
// whole view.
func (d *decision) template(number int) (*template.Template, error) {
	if t := d.templates[number]; t != nil {
		return t, nil
	}
	revision := d.view.Revisions[number]
	t, err := d.parsed.of(d.dialect.language(), &revision)
	if err != nil {
		return nil, fmt.Errorf("parse revision %d of stack %s: %w", number, d.stack.ID, err)
	}
	d.templates[number] = t
	return t, nil
}

// side returns a revision in the form that plans need.
func (d *decision) side(number int) (plan.Side, error) {
	t, err := d.template(number)
	if err != nil {
		return plan.Side{}, err
	}
	scope, err := d.scope(number)
	return plan.Side{Template: t, Scope: scope}, err
}

// sides returns revisions in the form that plans need.
func (d *decision) sides(numbers []int) ([]plan.Side, error) {
	sides := make([]plan.Side, len(numbers))
	for i, number := range numbers {
		var err error
		if sides[i], err = d.side(number); err != nil {
			return nil, err
		}
	}
	return sides, nil
}

// declaration reads a declaration from a step's plan.
func declaration(text json.RawMessage) (*template.Resource, error) {
	var r template.Resource
	if err := r.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("read a resource's declaration: %w", err)
	}
	return &r, nil
}

// revisionInForce returns the revision in force, with the stack's current tags.
func (d *decision) revisionInForce() store.Revision {
	return d.stack.Tagged(d.view.Revisions[d.stack.Revision])
}

func (d *decision) addRevision(revision store.Revision) {
	d.stack.Revisions, d.stack.Revision = revision.Number, revision.Number
	d.delta.Revisions = append(d.delta.Revisions, revision)
	d.view.Revisions = cloneWith(d.view.Revisions, revision.Number, revision)
}
