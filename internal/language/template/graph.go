package template

import (
	"fmt"
	"slices"
	"strings"
)

// Active returns the resources that exist in a scope, in template order, with the policies that Fn::If selects there.
func (t *Template) Active(s *Scope) []*Resource {
	var active []*Resource
	for _, r := range t.Resources {
		if r.Condition == "" || s.Conditions[r.Condition] {
			active = append(active, r.in(s))
		}
	}
	return active
}

// Graph returns, for every resource that exists in a scope, the logical IDs of its dependencies: the references in the
// selected branches of its properties and metadata, then DependsOn, each once. It leaves out a DependsOn on a resource
// whose condition is false. The error is an [Errors]: references from resources or outputs to resources that do not
// exist in the scope, or circular dependencies.
func (t *Template) Graph(s *Scope) (needs map[string][]string, err error) {
	g := &graph{language: t.Language, needs: make(map[string][]string)}
	active := t.Active(s)
	for _, r := range active {
		g.needs[r.LogicalID] = nil
	}
	for _, r := range active {
		for _, n := range []Node{r.Properties, r.Metadata} {
			for _, reference := range references(n, s, r.parameters) {
				g.need(r, reference)
			}
		}
		for _, name := range r.DependsOn {
			if _, exists := g.needs[name]; exists {
				g.edge(r.LogicalID, name)
			}
		}
	}
	g.report("Resources")
	for _, o := range t.activeOutputs(s) {
		for _, reference := range references(o.Value, s, o.parameters) {
			if _, exists := g.needs[reference.Resource]; !exists {
				g.miss(reference, path{"Outputs", o.Key})
			}
		}
	}
	g.report("Outputs")
	ids := make([]string, len(active))
	for i, r := range active {
		ids[i] = r.LogicalID
	}
	if _, cycle := sortByNeeds(ids, g.needs); len(cycle) > 0 {
		g.add(t.circular(cycle))
	}
	if len(g.found) > 0 {
		return nil, g.found
	}
	return g.needs, nil
}

func (t *Template) circular(cycle []string) *Error {
	first := t.Resource(cycle[0])
	if t.Language == ROS {
		return &Error{
			Message: fmt.Sprintf("Circular Dependency Found: %s.", strings.Join(cycle, ", ")), Code: rosCircular,
			Path: path{"Resources", first.LogicalID}.String(), Line: first.Line, Column: first.Column,
		}
	}
	return &Error{
		Message: fmt.Sprintf("Circular dependency between resources: [%s]", strings.Join(cycle, ", ")),
		Path:    path{"Resources", first.LogicalID}.String(), Line: first.Line, Column: first.Column,
	}
}

// graph is one run of [Template.Graph].
type graph struct {
	problems
	language Language
	needs    map[string][]string
	missing  names
	first    Error // the place of the first missing one
}

func (g *graph) need(r *Resource, to Reference) {
	if _, exists := g.needs[to.Resource]; !exists {
		g.miss(to, path{"Resources", r.LogicalID})
		return
	}
	g.edge(r.LogicalID, to.Resource)
}

func (g *graph) edge(from, to string) {
	if !slices.Contains(g.needs[from], to) {
		g.needs[from] = append(g.needs[from], to)
	}
}

// miss records that the target of a reference does not exist in the scope.
func (g *graph) miss(to Reference, from path) {
	if g.language == ROS {
		g.coded(rosInvalidReference, Node{line: to.Line, column: to.Column}, from, "%s", rosReference(to.Resource, from))
		g.explain("its condition does not hold")
		return
	}
	if len(g.missing.list) == 0 {
		g.first = Error{Line: to.Line, Column: to.Column}
	}
	g.missing.add(to.Resource)
}

// report turns the missing names in a block into one problem.
func (g *graph) report(block string) {
	if len(g.missing.list) == 0 {
		return
	}
	e := g.first
	e.Message, e.Path = unresolved(block, g.missing.list...), "/"+block
	g.add(&e)
	g.missing = names{}
}

// names is a set of names in insertion order. Its zero value is empty.
type names struct {
	list []string
	seen map[string]bool
}

func (n *names) add(name string) {
	if n.seen[name] {
		return
	}
	if n.seen == nil {
		n.seen = make(map[string]bool)
	}
	n.seen[name] = true
	n.list = append(n.list, name)
}

// sortByNeeds sorts names after those that they need. If that is impossible, it returns the names on a cycle, or
// between two cycles, instead. Needs that are not among names do not count.
func sortByNeeds(names []string, needs map[string][]string) (order, cycle []string) {
	order, rest := peel(names, needs)
	if len(rest) == 0 {
		return order, nil
	}
	// Each remaining name is on a cycle or needs one. Remove the names that no name on a cycle needs: they are not on a
	// cycle.
	neededBy := make(map[string][]string)
	for _, name := range rest {
		for _, need := range needs[name] {
			neededBy[need] = append(neededBy[need], name)
		}
	}
	_, cycle = peel(rest, neededBy)
	return nil, cycle
}

// peel repeatedly removes names whose needs are all removed, and returns them and the rest, both in order.
func peel(names []string, needs map[string][]string) (order, rest []string) {
	open := make(map[string]int, len(names)) // number of needs that are not removed yet
	for _, name := range names {
		open[name] = 0
	}
	neededBy := make(map[string][]string)
	for _, name := range names {
		for _, need := range needs[name] {
			if _, given := open[need]; given {
				open[name]++
				neededBy[need] = append(neededBy[need], name)
			}
		}
	}
	for _, name := range names {
		if open[name] == 0 {
			order = append(order, name)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, name := range neededBy[order[i]] {
			if open[name]--; open[name] == 0 {
				order = append(order, name)
			}
		}
	}
	for _, name := range names {
		if open[name] > 0 {
			rest = append(rest, name)
		}
	}
	return order, rest
}
