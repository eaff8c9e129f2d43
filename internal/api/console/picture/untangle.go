package picture

import (
	"cmp"
	"slices"
	"sort"
)

// untangle orders the vertices of each layer to reduce edge crossings. It sorts them by the mean position of their
// neighbours, alternating between the previous and the next layer. It keeps the best order of all rounds.
func (l *layout) untangle() {
	best, least := l.orders(), l.crossings()
	for round, stale := 0, 0; round < maxRounds && stale < 4 && least > 0; round++ {
		if round%2 == 0 {
			for i := 1; i < len(l.layers); i++ {
				l.sort(l.layers[i], l.above)
			}
		} else {
			for i := len(l.layers) - 2; i >= 0; i-- {
				l.sort(l.layers[i], l.below)
			}
		}
		stale++
		if n := l.crossings(); n < least {
			best, least, stale = l.orders(), n, 0
		}
	}
	l.layers = best
	for _, vertices := range l.layers {
		l.number(vertices)
	}
}

func (l *layout) orders() [][]int {
	orders := make([][]int, len(l.layers))
	for i, vertices := range l.layers {
		orders[i] = slices.Clone(vertices)
	}
	return orders
}

func (l *layout) number(vertices []int) {
	for i, v := range vertices {
		l.order[v] = i
	}
}

// sort orders vertices by the mean position of their adjacent vertices. A vertex without one keeps its position.
func (l *layout) sort(vertices []int, neighbours [][]int) {
	type mean struct{ sum, count int }
	means := make(map[int]mean, len(vertices))
	for _, v := range vertices {
		m := mean{sum: l.order[v], count: 1}
		if n := len(neighbours[v]); n > 0 {
			m = mean{count: n}
			for _, u := range neighbours[v] {
				m.sum += l.order[u]
				l.steps++
			}
		}
		means[v] = m
	}
	slices.SortStableFunc(vertices, func(a, b int) int {
		// Compare fractions, because sums of floating-point numbers may differ between machines.
		return cmp.Compare(means[a].sum*means[b].count, means[b].sum*means[a].count)
	})
	l.number(vertices)
}

// crossings counts the pairs of edges that cross between layers.
func (l *layout) crossings() int {
	n := 0
	for i := 1; i < len(l.layers); i++ {
		n += l.crossingsBefore(i)
	}
	return n
}

// crossingsBefore counts the crossings between a layer and the previous one. In the order of their upper ends, an edge
// crosses all previous edges whose lower end is behind its own. A binary indexed tree counts these.
func (l *layout) crossingsBefore(layer int) int {
	size := len(l.layers[layer])
	tree := make([]int, size+1)
	crossings, edges := 0, 0
	for _, upper := range l.layers[layer-1] {
		ends := make([]int, 0, len(l.below[upper]))
		for _, lower := range l.below[upper] {
			ends = append(ends, l.order[lower])
		}
		sort.Ints(ends)
		for _, end := range ends {
			crossings += edges
			for i := end + 1; i > 0; i -= i & -i {
				crossings -= tree[i]
				l.steps++
			}
		}
		for _, end := range ends {
			for i := end + 1; i <= size; i += i & -i {
				tree[i]++
				l.steps++
			}
		}
		edges += len(ends)
	}
	return crossings
}

// spread sets the position of every vertex across: as close to its neighbours as the order of its layer and the size of
// boxes allow.
func (l *layout) spread() {
	l.centre = make([]int, len(l.layer))
	for _, vertices := range l.layers {
		at := 0
		for i, v := range vertices {
			if i > 0 {
				at += l.distance(vertices[i-1], v)
			}
			l.centre[v] = at
		}
	}
	for range maxRounds / 2 {
		for i := 1; i < len(l.layers); i++ {
			l.pull(l.layers[i], l.above)
		}
		for i := len(l.layers) - 2; i >= 0; i-- {
			l.pull(l.layers[i], l.below)
		}
	}
	if len(l.layers) == 0 {
		return
	}
	first := l.layers[0][0]
	least, most := l.centre[first], l.centre[first]
	for _, vertices := range l.layers {
		for _, v := range []int{vertices[0], vertices[len(vertices)-1]} {
			least = min(least, l.centre[v]-l.extent(v)/2)
			most = max(most, l.centre[v]+l.extent(v)/2)
		}
	}
	for _, vertices := range l.layers {
		for _, v := range vertices {
			l.centre[v] += graphMargin - least
		}
	}
	l.width = most - least
}

// distance returns the minimum distance between the centres of two adjacent vertices.
func (l *layout) distance(a, b int) int {
	gap := boxGap
	if a >= l.nodes && b >= l.nodes {
		gap = bendGap
	}
	return (l.extent(a)+l.extent(b))/2 + gap
}

// pull moves the vertices of a layer towards the mean of their adjacent vertices, as close as their distances allow.
// With the distances subtracted, this is isotonic regression by least squares, which the pool adjacent violators
// algorithm solves.
func (l *layout) pull(vertices []int, neighbours [][]int) {
	type pool struct{ sum, count int } // a run of vertices with one value, sum/count
	pools := make([]pool, 0, len(vertices))
	offset := 0
	for i, v := range vertices {
		if i > 0 {
			offset += l.distance(vertices[i-1], v)
		}
		want := l.centre[v]
		if n := len(neighbours[v]); n > 0 {
			want = 0
			for _, u := range neighbours[v] {
				want += l.centre[u]
				l.steps++
			}
			want /= n
		}
		p := pool{sum: want - offset, count: 1}
		for len(pools) > 0 {
			last := pools[len(pools)-1]
			if last.sum*p.count <= p.sum*last.count {
				break
			}
			p.sum, p.count = p.sum+last.sum, p.count+last.count
			pools = pools[:len(pools)-1]
			l.steps++
		}
		pools = append(pools, p)
	}
	i, offset := 0, 0
	for _, p := range pools {
		value := p.sum / p.count
		if p.sum%p.count < 0 {
			value-- // round down as for positive values, or a pool could be placed before the one to its left
		}
		for range p.count {
			if i > 0 {
				offset += l.distance(vertices[i-1], vertices[i])
			}
			l.centre[vertices[i]] = value + offset
			i++
		}
	}
}
