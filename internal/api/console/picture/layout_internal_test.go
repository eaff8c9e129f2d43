package picture

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestCost checks that the cost of drawing grows with the input, plus at most a fixed cost for the drawn part. It
// counts steps instead of time.
func TestCost(t *testing.T) {
	t.Parallel()
	const drawnAtMost = 2_000_000 // for 300 nodes, 1,500 edges and 4,000 bends in all rounds
	for _, needs := range []int{0, 1, 3, 30} {
		r := rand.New(rand.NewPCG(1, uint64(needs))) // #nosec G404,G115 -- the same ones each time
		nodes := make([]Node, 10_000)
		given := len(nodes)
		for i := range nodes {
			nodes[i].ID = fmt.Sprint("R", i)
			for range min(needs, i) {
				nodes[i].Needs = append(nodes[i].Needs, fmt.Sprint("R", r.IntN(i)))
				given++
			}
		}
		for _, o := range []Options{{}, {Chosen: "R5000"}, {Chosen: "R9999"}} {
			p := choose(nodes, o)
			if p.steps > 8*given {
				t.Errorf("choosing among %d nodes and needs took %d steps", given, p.steps)
			}
			if l := newLayout(len(p.nodes), p.edges); l.steps > drawnAtMost {
				t.Errorf("laying %d nodes and %d edges out took %d steps", len(p.nodes), len(p.edges), l.steps)
			}
		}
	}
	for _, ends := range []func(i, j int) bool{
		func(i, j int) bool { return i < j },                        // everything depends on all earlier nodes
		func(i, j int) bool { return i%150 != j%150 },               // cycles
		func(i, j int) bool { return i < 150 && j >= 150 },          // two layers, all connected
		func(i, j int) bool { return j == i+1 || j == 299-i },       // a chain with crossing arrows
		func(i, j int) bool { return j-i == 1 || i == 0 && j > i },  // a chain whose nodes all depend on the first
		func(i, j int) bool { return i < j && j-i <= 5 && i%3 > 0 }, // a band
	} {
		var edges []edge
		for i := range maxNodes {
			for j := range maxNodes {
				if i != j && ends(i, j) {
					edges = append(edges, edge{i, j})
				}
			}
		}
		if l := newLayout(maxNodes, edges); l.steps > drawnAtMost {
			t.Errorf("laying %d edges out took %d steps", len(edges), l.steps)
		}
	}
}

// TestCut checks that a shortened name shows both ends and has at most the given number of columns.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		s       string
		columns int
		want    string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abc…fg"},
		{"図表図表図表", 6, "図…表"},
		{"", 0, ""},
		{"ab", 1, "…"},
	} {
		if got := cut(test.s, test.columns); got != test.want {
			t.Errorf("cut(%q, %d) = %q, want %q", test.s, test.columns, got, test.want)
		}
	}
}
