package picture

import (
	"cmp"
	"slices"
)

// layout is the position of the boxes and edges of a graph. Vertices are numbered: first the nodes, then the bends. A
// bend is the place where an edge passes through a layer and takes up room there.
//
// Positions have two parts: along the layers, from the first to the last, and across, within a layer. Only the drawing
// code knows which of them is x.
type layout struct {
	nodes   int
	edges   []placed
	dropped int  // edges beyond maxEdges
	rings   int  // edges omitted because they close a cycle
	down    bool // whether layers go down; otherwise to the right

	layer  []int   // of each vertex; -1 for nodes without neighbours
	layers [][]int // the vertices of each layer, in order
	above  [][]int // the neighbours of each vertex in the previous layer
	below  [][]int // and in the next layer
	order  []int   // the position of each vertex in its layer
	centre []int   // of each vertex, across
	alone  []int   // the nodes without a neighbour
	width  int     // of the widest layer, across

	steps int // loop iterations, which tests limit
}

// placed is an edge with its bends.
type placed struct {
	edge
	bends []int
}

func newLayout(nodes int, edges []edge) *layout {
	l := &layout{nodes: nodes}
	edges = l.acyclic(edges)
	l.assign(edges)
	if len(edges) > maxEdges {
		slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(l.length(a), l.length(b)) })
		l.dropped = len(edges) - maxEdges
		edges = edges[:maxEdges]
	}
	l.bend(edges)
	l.fill()
	l.down = len(l.layers) > maxDown && len(l.layers) > l.widest()
	l.untangle()
	l.spread()
	return l
}

// acyclic returns edges without the back edges of a depth-first search that begins at the first node.
func (l *layout) acyclic(edges []edge) []edge {
	out := make([][]int, l.nodes) // indexes of edges
	for i, e := range edges {
		out[e.from] = append(out[e.from], i)
	}
	const fresh, open, closed = 0, 1, 2
	state := make([]int, l.nodes)
	next := make([]int, l.nodes)
	back := make([]bool, len(edges))
	for root := range l.nodes {
		if state[root] != fresh {
			continue
		}
		state[root] = open
		for path := []int{root}; len(path) > 0; l.steps++ {
			n := path[len(path)-1]
			if next[n] == len(out[n]) {
				state[n] = closed
				path = path[:len(path)-1]
				continue
			}
			i := out[n][next[n]]
			next[n]++
			switch to := edges[i].to; state[to] {
			case fresh:
				state[to] = open
				path = append(path, to)
			case open:
				back[i] = true
				l.rings++
			}
		}
	}
	kept := make([]edge, 0, len(edges))
	for i, e := range edges {
		if !back[i] {
			kept = append(kept, e)
		}
	}
	return kept
}

// assign puts every node with an edge into the layer after the last of its dependencies.
func (l *layout) assign(edges []edge) {
	out := make([][]int, l.nodes)
	missing := make([]int, l.nodes)
	l.layer = make([]int, l.nodes)
	for _, e := range edges {
		out[e.from] = append(out[e.from], e.to)
		missing[e.to]++
	}
	var ready []int
	for n := range l.nodes {
		switch {
		case missing[n] > 0:
		case len(out[n]) == 0:
			l.layer[n] = -1
			l.alone = append(l.alone, n)
		default:
			ready = append(ready, n)
		}
	}
	for ; len(ready) > 0; ready = ready[1:] {
		n := ready[0]
		for _, to := range out[n] {
			l.layer[to] = max(l.layer[to], l.layer[n]+1)
			if missing[to]--; missing[to] == 0 {
				ready = append(ready, to)
			}
			l.steps++
		}
	}
}

// length returns the number of layers between the ends of e.
func (l *layout) length(e edge) int { return l.layer[e.to] - l.layer[e.from] }

// bend gives edges their bends, the shortest edges first. When no bends are left, edges are straight and pass behind
// boxes.
func (l *layout) bend(edges []edge) {
	byLength := slices.Clone(edges)
	slices.SortStableFunc(byLength, func(a, b edge) int { return cmp.Compare(l.length(a), l.length(b)) })
	bends := 0
	l.above, l.below = make([][]int, l.nodes), make([][]int, l.nodes)
	for _, e := range byLength {
		p := placed{edge: e}
		if between := l.length(e) - 1; between > 0 && bends+between > maxBends {
			l.edges = append(l.edges, p)
			continue
		}
		last := e.from
		for layer := l.layer[e.from] + 1; layer < l.layer[e.to]; layer++ {
			v := len(l.layer)
			l.layer = append(l.layer, layer)
			l.above, l.below = append(l.above, nil), append(l.below, nil)
			p.bends = append(p.bends, v)
			l.join(last, v)
			last = v
			bends++
		}
		l.join(last, e.to)
		l.edges = append(l.edges, p)
	}
}

func (l *layout) join(upper, lower int) {
	l.below[upper] = append(l.below[upper], lower)
	l.above[lower] = append(l.above[lower], upper)
	l.steps++
}

// fill lists the vertices of each layer in numerical order.
func (l *layout) fill() {
	l.order = make([]int, len(l.layer))
	for v, layer := range l.layer {
		if layer < 0 {
			continue
		}
		for len(l.layers) <= layer {
			l.layers = append(l.layers, nil)
		}
		l.order[v] = len(l.layers[layer])
		l.layers[layer] = append(l.layers[layer], v)
	}
}

// widest returns the number of vertices in the largest layer.
func (l *layout) widest() int {
	most := 0
	for _, vertices := range l.layers {
		most = max(most, len(vertices))
	}
	return most
}

// depth is the size of a box along the layers, and extent the size of a vertex across.
func (l *layout) depth() int {
	if l.down {
		return boxHeight
	}
	return boxWidth
}

func (l *layout) extent(v int) int {
	switch {
	case v >= l.nodes:
		return 0
	case l.down:
		return boxWidth
	}
	return boxHeight
}

// along returns the position of a layer.
func (l *layout) along(layer int) int { return graphMargin + layer*(l.depth()+layerGap) }

// size returns the size of the picture without its notes.
func (l *layout) size() (width, height int) {
	along, across := 0, 0
	if len(l.layers) > 0 {
		along, across = l.along(len(l.layers)-1)+l.depth()+graphMargin, l.width+2*graphMargin
	}
	width, height = along, across
	if l.down {
		width, height = across, along
	}
	if n := len(l.alone); n > 0 {
		last := l.at(l.alone[n-1])
		columns := min(n, l.columns())
		width = max(width, 2*graphMargin+columns*(boxWidth+boxGap)-boxGap)
		height = last.y + boxHeight + graphMargin
	}
	return max(width, 2*graphMargin), max(height, 2*graphMargin)
}

// at returns the upper left corner of a node's box.
func (l *layout) at(n int) point {
	if i, ok := slices.BinarySearch(l.alone, n); ok {
		top := graphMargin
		if len(l.layers) > 0 {
			top += l.layeredHeight() + boxGap
		}
		return point{
			x: graphMargin + i%l.columns()*(boxWidth+boxGap),
			y: top + i/l.columns()*(boxHeight+boxGap),
		}
	}
	along, across := l.along(l.layer[n]), l.centre[n]-l.extent(n)/2
	if l.down {
		return point{x: across, y: along}
	}
	return point{x: along, y: across}
}

// layeredHeight returns the height of the layers.
func (l *layout) layeredHeight() int {
	if l.down {
		return l.along(len(l.layers)-1) + l.depth()
	}
	return graphMargin + l.width
}

// columns returns the number of columns for nodes without neighbours: as many as fit below the layers, and at least 4.
func (l *layout) columns() int {
	width := l.width
	if !l.down {
		width = len(l.layers) * (boxWidth + layerGap)
	}
	return max(4, width/(boxWidth+boxGap))
}
