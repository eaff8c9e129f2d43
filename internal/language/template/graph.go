package template

import (
	"fmt"
	"slices"
	"strings"
)

// Active returns the resources that exist in a scope, in the order of the template, with the policies that Fn::If chooses there.
func (t *Template) Active(s *Scope) []*Resource {
	var active []*Resource
	for _, r := range t.Resources {
		if r.Condition == "" || s.Conditions[r.Condition] {
			active = append(active, r.in(s))
		}
	}
	return active
}

// Graph returns for every resource that exists in a scope the logical IDs of those it needs: what its properties and
// metadata refer to in the branches that are taken, then DependsOn, each once. DependsOn of a resource whose condition
// does not hold is left out. The error is an [Errors]: references to resources that do not exist in the scope, from
// resources or from outputs, or resources that need each other.
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
	first    Error // the place of the first that is missing
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

// miss notes that what is referred to from a place does not exist in the scope.
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

// report turns what is missing in a block into one problem.
func (g *graph) report(block string) {
	if len(g.missing.list) == 0 {
		return
	}
	e := g.first
	e.Message, e.Path = unresolved(block, g.missing.list...), "/"+block
	g.add(&e)
	g.missing = names{}
}

// names is a set of names in the order in which they came. Its zero value is empty.
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

// sortByNeeds puts names after those they need. If that cannot be done it returns the
// names that lie on a cycle, or between two, instead. Needs of names it was not given do not count.
func sortByNeeds(names []string, needs map[string][]string) (order, cycle []string) {
	order, rest := peel(names, needs)
	if len(rest) == 0 {
		return order, nil
	}
	// Each remaining name is on a cycle or needs one. Remove those that no name on a cycle needs: they are on none.
	neededBy := make(map[string][]string)
	for _, name := range rest {
		for _, need := range needs[name] {
			neededBy[need] = append(neededBy[need], name)
		}
	}
	_, cycle = peel(rest, neededBy)
	return nil, cycle
}

// peel takes away names whose needs are all taken away, and returns them and the rest, both in order.
func peel(names []string, needs map[string][]string) (order, rest []string) {
	open := make(map[string]int, len(names)) // how many needs are not taken away yet
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
