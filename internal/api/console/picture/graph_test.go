package picture_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
)

// TestGraphs checks that boxes do not overlap and are inside the picture. Every arrow begins at the far side of its box
// and ends at the near side of a later one. Without cycles, every dependency has an arrow.
func TestGraphs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 11)) // #nosec G404 -- the same ones each time
		nodes, needs := randomGraph(r)
		root := graph(t, nodes, picture.Options{})
		boxes := checkBoxes(t, fmt.Sprint("seed ", seed), root)
		if len(boxes) != len(nodes) {
			t.Errorf("seed %d: %d boxes of %d nodes", seed, len(boxes), len(nodes))
		}
		edges := root.classed("edge")
		if len(edges) != needs {
			t.Errorf("seed %d: %d arrows of %d needs", seed, len(edges), needs)
		}
		for _, e := range edges {
			checkEdge(t, seed, boxes, e.attr("d"))
		}
	}
}

// randomGraph returns nodes in random order, and the number of dependencies. Each node depends only on nodes with
// smaller numbers.
func randomGraph(r *rand.Rand) (nodes []picture.Node, needs int) {
	n := 1 + r.IntN(40)
	dense := r.IntN(4)
	for i := range n {
		node := picture.Node{ID: fmt.Sprint("R", i), Status: "CREATE_COMPLETE"}
		for j := range i {
			if r.IntN(n) < dense || (dense == 3 && j == i-1) {
				node.Needs = append(node.Needs, fmt.Sprint("R", j), fmt.Sprint("R", j)) // a duplicate counts once
				needs++
			}
		}
		nodes = append(nodes, node)
	}
	r.Shuffle(n, func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes, needs
}

type box struct{ left, top, right, bottom int }

func checkBoxes(t *testing.T, where string, root element) []box {
	t.Helper()
	var boxes []box
	for _, e := range root.classed("box") {
		x, y := e.number(t, "x"), e.number(t, "y")
		b := box{x, y, x + e.number(t, "width"), y + e.number(t, "height")}
		if b.left < 0 || b.top < 0 || b.right > root.number(t, "width") || b.bottom > root.number(t, "height") {
			t.Errorf("%s: %+v is outside of %s by %s", where, b, root.attr("width"), root.attr("height"))
		}
		for _, o := range boxes {
			if b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom {
				t.Errorf("%s: %+v and %+v overlap", where, b, o)
			}
		}
		boxes = append(boxes, b)
	}
	return boxes
}

var numbers = regexp.MustCompile(`-?\d+`)

// checkEdge checks that an arrow connects its boxes. The path goes from its first point to the last one before the
// arrowhead.
func checkEdge(t *testing.T, seed uint64, boxes []box, path string) {
	t.Helper()
	line, _, _ := strings.Cut(path[1:], "M")
	var at []int
	for _, s := range numbers.FindAllString(line, -1) {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, n)
	}
	x, y, toX, toY := at[0], at[1], at[len(at)-2], at[len(at)-1]
	right, down := false, false
	for _, from := range boxes {
		for _, to := range boxes {
			right = right || x == from.right && from.top < y && y < from.bottom &&
				toX == to.left && to.top < toY && toY < to.bottom && from.right < to.left
			down = down || y == from.bottom && from.left < x && x < from.right &&
				toY == to.top && to.left < toX && toX < to.right && from.bottom < to.top
		}
	}
	if !right && !down {
		t.Errorf("seed %d: the arrow %s leads from no box to a later one", seed, path)
	}
}

// TestUntangled checks that arrows do not cross in a graph that can be drawn without crossings: two rows of a ladder,
// given in opposite orders.
func TestUntangled(t *testing.T) {
	t.Parallel()
	var nodes []picture.Node
	for i := range 8 {
		nodes = append(nodes, picture.Node{ID: fmt.Sprint("A", i)})
	}
	for i := range 8 {
		nodes = append(nodes, picture.Node{ID: fmt.Sprint("B", i), Needs: []string{fmt.Sprint("A", 7-i)}})
	}
	for _, e := range graph(t, nodes, picture.Options{}).classed("edge") {
		at := numbers.FindAllString(e.attr("d"), 8)
		if at[1] != at[7] {
			t.Errorf("the arrow %s is not level", e.attr("d"))
		}
	}
}

func TestRings(t *testing.T) {
	t.Parallel()
	nodes := []picture.Node{
		{ID: "A", Needs: []string{"C"}}, {ID: "B", Needs: []string{"A"}}, {ID: "C", Needs: []string{"B"}},
		{ID: "A", Needs: []string{"B"}}, // not the first with this id
	}
	root := graph(t, nodes, picture.Options{})
	if n := len(checkBoxes(t, "ring", root)); n != 3 {
		t.Errorf("%d boxes", n)
	}
	if n := len(root.classed("edge")); n != 2 {
		t.Errorf("%d arrows", n)
	}
	if got, want := root.classed("note")[0].Text, "Resources need each other in a ring: 1 arrow not drawn."; got != want {
		t.Errorf("note %q, want %q", got, want)
	}
}

// TestBounds checks that any picture has a limited size and reports omissions.
func TestBounds(t *testing.T) {
	t.Parallel()
	const many = 10_000
	alone, star, crowd := make([]picture.Node, many), make([]picture.Node, many), make([]picture.Node, 300)
	for i := range many {
		alone[i] = picture.Node{ID: fmt.Sprint("R", i)}
		star[i] = picture.Node{ID: fmt.Sprint("R", i), Needs: []string{"R5000"}}
	}
	for i := range crowd {
		crowd[i] = picture.Node{ID: fmt.Sprint("R", i)}
		for j := range i {
			crowd[i].Needs = append(crowd[i].Needs, fmt.Sprint("R", j))
		}
	}
	for name, test := range map[string]struct {
		nodes        []picture.Node
		o            picture.Options
		boxes, edges int
		note         string
	}{
		"alone":       {alone, picture.Options{}, 300, 0, "300 of 10,000 resources: the first, and those nearest to them."},
		"single node": {alone, picture.Options{Chosen: "R77"}, 1, 0, "1 of 10,000 resources: those nearest to R77."},
		"star":        {star, picture.Options{Chosen: "R7"}, 300, 299, "300 of 10,000 resources: those nearest to R7."},
		"few":         {star, picture.Options{Chosen: "R5000", Limit: 20}, 20, 19, "20 of 10,000 resources: those nearest to R5000."},
		"chain":       {chain(many), picture.Options{Chosen: "Link9999"}, 300, 299, "300 of 10,000 resources: those nearest to Link9999."},
		"crowd":       {crowd, picture.Options{}, 300, 1500, "43,350 more arrows are not drawn, the longest."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := picture.Graph(&b, test.nodes, test.o); err != nil {
				t.Fatal(err)
			}
			root := parse(t, b.Bytes())
			if boxes, edges := len(checkBoxes(t, name, root)), len(root.classed("edge")); boxes != test.boxes || edges != test.edges {
				t.Errorf("%d boxes and %d arrows, want %d and %d", boxes, edges, test.boxes, test.edges)
			}
			if got := root.classed("note")[0].Text; got != test.note {
				t.Errorf("note %q, want %q", got, test.note)
			}
			if b.Len() > 600_000 {
				t.Errorf("%d bytes", b.Len())
			}
		})
	}
}
