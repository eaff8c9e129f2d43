package console

import (
	"html/template"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maxDrawn is the maximum number of resources in a picture of a graph.
const maxDrawn = 150

// graphView is the content of the dependency graph's page.
type graphView struct {
	Stack  *store.Stack
	Chosen string
	// Missing means that the selected resource does not exist.
	Missing bool
	Graph   template.HTML
	Rows    []graphRow
	All     int
}

// graphRow is a resource in the text version of the graph.
type graphRow struct {
	engine.Dependency
	Status status
}

// graphPage shows the dependency graph. For a large stack, it shows the neighbourhood of one resource.
func (sp *stackPages) graphPage(v *visit) error {
	stack, err := sp.stack(v)
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	all, err := sp.Engine.Dependencies(ctx, stack)
	if err != nil {
		return err
	}
	view := graphView{Stack: &stack, Chosen: strings.TrimSpace(v.r.URL.Query().Get("around")), All: len(all)}
	drawn, found := neighbours(all, wire.LogicalID(view.Chosen), maxDrawn)
	view.Missing = view.Chosen != "" && !found
	ids := make([]wire.LogicalID, len(drawn))
	for i, d := range drawn {
		ids[i] = d.Logical
	}
	instances, err := sp.Rows.InstancesOf(ctx, stack.Key, ids)
	if err != nil {
		return err
	}
	stands := map[wire.LogicalID]status{}
	for _, i := range instances {
		if i.Role == store.RoleCurrent {
			stands[i.Logical] = resourceStatus(stack.Dialect, i.Verb, i.Progress)
		}
	}
	nodes := make([]picture.Node, len(drawn))
	for i, d := range drawn {
		is, ok := stands[d.Logical]
		if !ok {
			is = status{"not created", picture.Waiting}
		}
		nodes[i] = picture.Node{
			ID: string(d.Logical), Status: is.Text, State: is.Class,
			Link: stackURL(stack.ID) + "?logical=" + template.URLQueryEscaper(string(d.Logical)) + "#resources",
		}
		for _, need := range d.Needs {
			nodes[i].Needs = append(nodes[i].Needs, string(need))
		}
		view.Rows = append(view.Rows, graphRow{d, is})
	}
	var svg strings.Builder
	options := picture.Options{Title: "Dependencies of " + stack.Name, Chosen: view.Chosen, Limit: maxDrawn}
	if err := picture.Graph(&svg, nodes, options); err != nil {
		return err
	}
	view.Graph = template.HTML(svg.String()) // picture escapes its input
	sp.show(v, 200, "graph.html", page{Title: "Dependencies of " + stack.Name, Here: "stacks", Content: view})
	return nil
}

// neighbours returns up to limit resources in the order of the template. If there are more, it returns those nearest to
// the chosen one, or to the first if the chosen one does not exist. found reports whether the chosen one exists.
func neighbours(all []engine.Dependency, chosen wire.LogicalID, limit int) (near []engine.Dependency, found bool) {
	at := make(map[wire.LogicalID]int, len(all))
	for i, d := range all {
		at[d.Logical] = i
	}
	begin, found := at[chosen]
	if len(all) <= limit {
		return all, found
	}
	adjacent := make([][]int, len(all))
	for i, d := range all {
		for _, need := range d.Needs {
			if j, ok := at[need]; ok {
				adjacent[i], adjacent[j] = append(adjacent[i], j), append(adjacent[j], i)
			}
		}
	}
	taken := make([]bool, len(all))
	var queue []int
	take := func(i int) {
		if !taken[i] && len(queue) < limit {
			taken[i] = true
			queue = append(queue, i)
		}
	}
	take(begin)
	for next, other := 0, 0; len(queue) < limit; next++ {
		for ; next == len(queue); other++ { // no other resource is connected to these
			take(other)
		}
		for _, j := range adjacent[queue[next]] {
			take(j)
		}
	}
	slices.Sort(queue)
	for _, i := range queue {
		near = append(near, all[i])
	}
	return near, found
}
