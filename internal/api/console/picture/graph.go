package picture

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Node is a box of a graph: one resource.
type Node struct {
	// ID is the node's id for Needs of other nodes. If several nodes have the same id, the first is used.
	ID string
	// Name is the text in the box, and defaults to the id. Status describes the node's status, and defaults to the name
	// of the state.
	Name, Status string
	State        State
	// Link is the path of a page with details, as for [Bar].
	Link string
	// Needs are the ids of the node's dependencies. Unknown ids and the node's own are ignored.
	Needs []string
}

// Measures of a graph, in pixels.
const (
	boxWidth    = 208
	boxHeight   = 46
	boxGap      = 18 // between boxes of a layer
	bendGap     = 10 // next to an edge that passes through a layer
	layerGap    = 72 // between layers, where edges run
	graphMargin = 12
)

// Limits of the drawing effort and the size of a graph.
const (
	maxNodes  = 300
	maxEdges  = 1500
	maxBends  = 4000
	maxRounds = 12
	// maxDown is the maximum number of layers of a graph that is deeper than wide and still drawn to the right. Graphs
	// with more layers are drawn downwards.
	maxDown = 6
)

// Graph draws nodes in layers. Each node is in a layer after its dependencies, and arrows lead from a node to its
// dependents. Layers go to the right, or down if they are many and narrow. Nodes without neighbours are drawn below.
//
// Graph draws at most [Options].Limit nodes. If there are more, it draws those nearest to the chosen one, or to the
// first if none is chosen, and then those nearest to the next unrelated node. It draws at most 1,500 arrows, the
// shortest. The picture says what is omitted. If nodes form a cycle, one arrow of the cycle is omitted. The only errors
// are those of w.
//
// Layers are assigned by the longest path, ordered by barycentres, and positioned by least squares within that order,
// after Sugiyama, Tagawa and Toda (1981). Each step has a limited number of rounds.
func Graph(w io.Writer, nodes []Node, o Options) error {
	p := choose(nodes, o)
	l := newLayout(len(p.nodes), p.edges)
	var c canvas
	for _, e := range l.edges {
		l.draw(&c, e)
	}
	linked := false
	for i, n := range p.nodes {
		linked = linked || local(n.Link)
		drawNode(&c, n, l.at(i), n.ID == o.Chosen && o.Chosen != "")
	}
	width, height := l.size()
	for _, note := range p.notes(l) {
		c.text("note", graphMargin, height+10, note, max(width, 640))
		c.printf("\n")
		width = max(width, min(columnsOf(note)*charWidth, 640)+2*graphMargin)
		height += noteHeight
	}
	return c.frame(w, "graph", o, "Dependencies", p.describe(l), width, height, linked)
}

// part is the drawn part of a graph.
type part struct {
	nodes  []Node
	edges  []edge // between indexes of nodes
	all    int    // number of nodes in the whole graph
	around string // name of the chosen node whose neighbourhood is drawn; empty if none is chosen
	steps  int    // cost of choosing, which tests limit
}

// edge leads from a node to its dependent.
type edge struct{ from, to int }

// choose selects the nodes to draw, in the order given.
func choose(nodes []Node, o Options) part {
	var p part
	index := make(map[string]int, len(nodes))
	distinct := make([]Node, 0, len(nodes))
	for _, n := range nodes {
		if _, ok := index[n.ID]; !ok {
			index[n.ID] = len(distinct)
			distinct = append(distinct, n)
		}
		p.steps += 1 + len(n.Needs)
	}
	p.all = len(distinct)
	limit := within(o.Limit, maxNodes, 1, maxNodes)
	drawn := make([]int, len(distinct)) // indexes
	for i := range drawn {
		drawn[i] = i
	}
	if len(distinct) > limit {
		from, chosen := index[o.Chosen]
		if chosen {
			p.around = distinct[from].title()
		}
		drawn = p.nearest(distinct, index, from, chosen, limit)
	}
	place := make(map[int]int, len(drawn)) // from index in distinct to index in p.nodes
	for _, i := range drawn {
		place[i] = len(p.nodes)
		p.nodes = append(p.nodes, distinct[i])
	}
	seen := map[edge]bool{}
	for to, n := range p.nodes {
		for _, id := range n.Needs {
			i, known := index[id]
			from, isDrawn := place[i]
			e := edge{from: from, to: to}
			if known && isDrawn && from != to && !seen[e] {
				seen[e] = true
				p.edges = append(p.edges, e)
			}
			p.steps++
		}
	}
	return p
}

// nearest returns the indexes of up to limit nodes, ascending. It selects them by distance from one node, along
// dependencies in both directions. If that node was not chosen, it fills the rest with the nodes nearest to the first
// remaining one.
func (p *part) nearest(nodes []Node, index map[string]int, from int, chosen bool, limit int) []int {
	neighbours := make([][]int, len(nodes))
	for i, n := range nodes {
		for _, id := range n.Needs {
			if j, ok := index[id]; ok {
				neighbours[i] = append(neighbours[i], j)
				neighbours[j] = append(neighbours[j], i)
			}
			p.steps++
		}
	}
	seen := make([]bool, len(nodes))
	var found []int
	visit := func(start int) {
		seen[start] = true
		for queue := []int{start}; len(queue) > 0 && len(found) < limit; queue = queue[1:] {
			found = append(found, queue[0])
			for _, j := range neighbours[queue[0]] {
				if !seen[j] {
					seen[j] = true
					queue = append(queue, j)
				}
				p.steps++
			}
		}
	}
	visit(from)
	for i := 0; i < len(nodes) && len(found) < limit && !chosen; i++ {
		if !seen[i] {
			visit(i)
		}
		p.steps++
	}
	slices.Sort(found)
	return found
}

// notes returns the picture's remarks about omitted parts.
func (p part) notes(l *layout) []string {
	var notes []string
	if len(p.nodes) < p.all {
		which := "the first, and those nearest to them"
		if p.around != "" {
			which = "those nearest to " + cut(p.around, 40)
		}
		notes = append(notes, fmt.Sprintf("%s of %s resources: %s.", grouped(len(p.nodes)), grouped(p.all), which))
	}
	if l.dropped > 0 {
		notes = append(notes, fmt.Sprintf("%s more arrows are not drawn, the longest.", grouped(l.dropped)))
	}
	if l.rings > 0 {
		notes = append(notes, fmt.Sprintf("Resources need each other in a ring: %s not drawn.", counted(l.rings, "arrow")))
	}
	return notes
}

func (p part) describe(l *layout) string {
	counts := map[string]int{}
	var statuses []string
	for _, n := range p.nodes {
		status := n.said()
		if counts[status]++; counts[status] == 1 {
			statuses = append(statuses, status)
		}
	}
	slices.Sort(statuses)
	said := make([]string, 0, 9)
	for i, s := range statuses {
		if i == 8 {
			said = append(said, fmt.Sprintf("%d other statuses", len(statuses)-i))
			break
		}
		said = append(said, fmt.Sprintf("%s %s", grouped(counts[s]), cut(s, 60)))
	}
	text := counted(len(p.nodes), "resource")
	if len(said) > 0 {
		text += ": " + strings.Join(said, ", ")
	}
	text += fmt.Sprintf("; %s. Arrows lead from a resource to those that need it.", counted(len(l.edges), "arrow"))
	return strings.Join(append([]string{text}, p.notes(l)...), " ")
}

// title returns the text in the box.
func (n Node) title() string {
	if n.Name != "" {
		return n.Name
	}
	return n.ID
}

// said returns the text of the node's status.
func (n Node) said() string {
	if n.Status != "" {
		return n.Status
	}
	return string(n.State.known())
}

// point is a position in the picture, in pixels.
type point struct{ x, y int }

// drawNode draws the box of n with its upper left corner at p.
func drawNode(c *canvas, n Node, p point, chosen bool) {
	class := "node is-" + string(n.State.known())
	if chosen {
		class += " is-chosen"
	}
	c.printf(`<g class="%s">`, class)
	end := c.link(n.Link)
	c.printf("<title>%s</title>", escaped(n.title()+": "+n.said()))
	stroke := 1
	if chosen {
		stroke = 3
	}
	c.printf(`<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="6" fill-opacity="0.05" stroke="currentColor" stroke-width="%d"/>`,
		p.x, p.y, boxWidth, boxHeight, stroke)
	c.text("name", p.x+10, p.y+19, n.title(), boxWidth-20)
	c.text("status", p.x+10, p.y+37, n.said(), boxWidth-20)
	c.printf("%s</g>\n", end)
}

// draw draws an edge: curves between layers, and straight lines through layers.
func (l *layout) draw(c *canvas, e placed) {
	at := func(along, across int) string {
		if l.down {
			return fmt.Sprintf("%d %d", across, along)
		}
		return fmt.Sprintf("%d %d", along, across)
	}
	along, across := l.along(l.layer[e.from])+l.depth(), l.centre[e.from]
	c.printf(`<path class="edge" fill="none" stroke="currentColor" stroke-opacity="0.6" d="M%s`, at(along, across))
	curve := func(toAlong, toAcross int) {
		middle := (along + toAlong) / 2
		c.printf("C%s %s %s", at(middle, across), at(middle, toAcross), at(toAlong, toAcross))
		along, across = toAlong, toAcross
	}
	for _, bend := range e.bends {
		start := l.along(l.layer[bend])
		curve(start, l.centre[bend])
		along = start + l.depth()
		c.printf("L%s", at(along, across))
	}
	curve(l.along(l.layer[e.to]), l.centre[e.to])
	c.printf("M%sL%sL%s", at(along-7, across-4), at(along, across), at(along-7, across+4))
	c.printf(`"/>` + "\n")
}
