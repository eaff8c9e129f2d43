// Package plan compares the old graph of a stack with the new one and returns the candidates for change.
//
// A plan does not determine the execution. Whether a resource is updated is known only when its properties are
// resolved, and whether it is replaced only when its provider has answered. So a [Candidate] says what may happen to
// one logical resource and what it depends on before and after, and the engine walks the graph. Everything here is
// pure.
package plan

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// Side is one revision of a stack: its template, and the parameters and conditions that were bound to it.
type Side struct {
	Template *template.Template
	Scope    *template.Scope
}

// Candidate is one logical resource of an operation.
type Candidate struct {
	Logical string
	// Old and New are the declarations on either side; nil if the resource is not declared, or its condition is false.
	// One of them or Tried is set, except for a resource that only [Delete] was given.
	Old, New *template.Resource
	// Tried is the declaration of a resource that neither side declares, from the newest revision tried in between.
	Tried *template.Resource
	// OldNeeds and NewNeeds are the logical IDs that the resource depends on, by reference or by DependsOn. OldFeeds
	// and NewFeeds are those that depend on it. All name candidates of the same side, or tried ones.
	OldNeeds, NewNeeds []string
	OldFeeds, NewFeeds []string
}

// TypeError is the error of an update that changes the type of resources.
type TypeError struct {
	// Resources are their logical IDs, sorted.
	Resources []string
}

// Error returns CloudFormation's text.
func (e *TypeError) Error() string {
	return "Update of resource type is not permitted. The new template modifies resource type of the following resources: [" +
		strings.Join(e.Resources, ", ") + "]"
}

// Create returns the candidates of a new stack, in template order. Its errors are those of the template's graph.
func Create(to Side) ([]Candidate, error) { return candidates(nil, &to) }

// Update returns the candidates of an update: those of the new side in template order, then the removed ones. It
// returns a [TypeError] if a resource would change its type.
func Update(from, to Side) ([]Candidate, error) { return Retry(&from, to, nil) }

// Retry returns the candidates of an update from the last complete revision (nil for none), after other revisions were
// tried, newest first, and not rolled back. They are those of [Update], then resources that only the tried revisions
// declare.
func Retry(from *Side, to Side, tried []Side) ([]Candidate, error) {
	list, err := candidates(from, &to)
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, c := range list {
		if c.Old != nil && c.New != nil && c.Old.Type != c.New.Type {
			changed = append(changed, c.Logical)
		}
	}
	if changed != nil {
		slices.Sort(changed)
		return nil, &TypeError{changed}
	}
	return withTried(list, tried)
}

// withTried adds resources that only the tried revisions declare. Each takes its dependencies from the newest revision
// that declares it, so its dependents are declared there too and the graph has no cycle.
func withTried(list []Candidate, tried []Side) ([]Candidate, error) {
	at := make(map[string]int, len(list))
	for i, c := range list {
		at[c.Logical] = i
	}
	for _, side := range tried {
		needs, err := side.Template.Graph(side.Scope)
		if err != nil {
			return nil, err
		}
		for _, r := range side.Template.Active(side.Scope) {
			if _, known := at[r.LogicalID]; known {
				continue
			}
			at[r.LogicalID] = len(list)
			slices.Sort(needs[r.LogicalID])
			own := slices.Compact(needs[r.LogicalID])
			list = append(list, Candidate{Logical: r.LogicalID, Tried: r, OldNeeds: own, NewNeeds: own})
		}
	}
	for _, c := range list {
		if c.Tried == nil {
			continue
		}
		for _, need := range c.OldNeeds {
			of := &list[at[need]]
			of.OldFeeds, of.NewFeeds = append(of.OldFeeds, c.Logical), append(of.NewFeeds, c.Logical)
		}
	}
	return list, nil
}

// Delete returns the candidates of a delete. Normally a stack has one side. After an update that could not be rolled
// back it has two, and instances of both may be left: the first side's graph then applies to the resources it declares,
// and the second's to the rest. extra are logical IDs with instances, with or without a declaration.
func Delete(sides []Side, extra []string) ([]Candidate, error) {
	var list []Candidate
	at := map[string]int{}
	for _, side := range sides {
		more, err := candidates(&side, nil)
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			if _, known := at[c.Logical]; !known {
				at[c.Logical] = len(list)
				c.OldFeeds = nil // set again below, over both sides
				list = append(list, c)
			}
		}
	}
	for _, logical := range extra {
		if _, known := at[logical]; !known {
			at[logical] = len(list)
			list = append(list, Candidate{Logical: logical})
		}
	}
	for _, c := range list {
		for _, need := range c.OldNeeds {
			list[at[need]].OldFeeds = append(list[at[need]].OldFeeds, c.Logical)
		}
	}
	for i := range list {
		slices.Sort(list[i].OldFeeds)
	}
	return list, nil
}

func candidates(from, to *Side) ([]Candidate, error) {
	var list []Candidate
	at := map[string]int{}
	for _, side := range []*Side{to, from} {
		if side == nil {
			continue
		}
		needs, err := side.Template.Graph(side.Scope)
		if err != nil {
			return nil, err
		}
		for id, list := range needs {
			slices.Sort(list)
			needs[id] = slices.Compact(list)
		}
		feeds := invert(needs)
		for _, r := range side.Template.Active(side.Scope) {
			i, known := at[r.LogicalID]
			if !known {
				i = len(list)
				at[r.LogicalID] = i
				list = append(list, Candidate{Logical: r.LogicalID})
			}
			if side == to {
				list[i].New, list[i].NewNeeds, list[i].NewFeeds = r, needs[r.LogicalID], feeds[r.LogicalID]
			} else {
				list[i].Old, list[i].OldNeeds, list[i].OldFeeds = r, needs[r.LogicalID], feeds[r.LogicalID]
			}
		}
	}
	return list, nil
}

func invert(needs map[string][]string) map[string][]string {
	feeds := make(map[string][]string, len(needs))
	for id, list := range needs {
		for _, need := range list {
			feeds[need] = append(feeds[need], id)
		}
	}
	for _, list := range feeds {
		slices.Sort(list)
	}
	return feeds
}

// Differs reports whether the declarations give an update anything to do: a resource's type, properties or metadata,
// the set of resources, or the outputs. As in CloudFormation, policies, DependsOn, descriptions, and the order and
// layout of the text do not count alone, but the removal of an UpdateReplacePolicy does. The caller compares values of
// parameters and tags.
func Differs(from, to Side) bool {
	before, after := from.Template.Active(from.Scope), to.Template.Active(to.Scope)
	if len(before) != len(after) {
		return true
	}
	old := make(map[string]*template.Resource, len(before))
	for _, r := range before {
		old[r.LogicalID] = r
	}
	for _, r := range after {
		o := old[r.LogicalID]
		if o == nil || o.Type != r.Type || !o.Properties.Equal(r.Properties) || !o.Metadata.Equal(r.Metadata) {
			return true
		}
		if o.UpdateReplacePolicy != "" && r.UpdateReplacePolicy == "" {
			return true // recorded answers, D12 (2025-08-08)
		}
	}
	for name, holds := range from.Scope.Conditions {
		if now, still := to.Scope.Conditions[name]; still && now != holds {
			return true // a function that uses it takes the other branch
		}
	}
	return OutputsDiffer(from.Template, to.Template)
}

// OutputsDiffer reports whether two templates declare different outputs.
func OutputsDiffer(from, to *template.Template) bool {
	return !slices.EqualFunc(from.Outputs, to.Outputs, func(a, b *template.DeclaredOutput) bool {
		return a.Key == b.Key && a.Description == b.Description && a.Condition == b.Condition &&
			a.Value.Equal(b.Value) && a.ExportName.Equal(b.ExportName)
	})
}
