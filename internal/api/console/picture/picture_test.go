package picture_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
)

var update = flag.Bool("update", false, "write the golden files anew")

// begin is the start time of all tests.
var begin = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return begin.Add(d) }

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, draw := range map[string]func(io.Writer) error{
		"timeline": func(w io.Writer) error {
			return picture.Timeline(w, steps(), picture.Options{Now: after(34 * time.Second), Offset: 10, Total: 10_000})
		},
		"timeline-narrow": func(w io.Writer) error {
			return picture.Timeline(w, steps(), picture.Options{Now: after(34 * time.Second), Offset: 10, Total: 10_000, Narrow: true})
		},
		"timeline-none": func(w io.Writer) error {
			return picture.Timeline(w, nil, picture.Options{Title: "Nothing yet"})
		},
		"graph": func(w io.Writer) error {
			return picture.Graph(w, resources(), picture.Options{Chosen: "Service"})
		},
		"graph-down": func(w io.Writer) error { return picture.Graph(w, chain(8), picture.Options{}) },
		"graph-part": func(w io.Writer) error {
			return picture.Graph(w, chain(10_000), picture.Options{Chosen: "Link5000", Limit: 5})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			if err := draw(&got); err != nil {
				t.Fatal(err)
			}
			parse(t, got.Bytes())
			path := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s has changed; look at it, then go test ./internal/api/console/picture -update (-want +got)\n%s", path, diff)
			}
		})
	}
}

func steps() []picture.Bar {
	return []picture.Bar{
		{
			Name: "Network", Status: "CREATE_COMPLETE", State: picture.Done, Link: "/console/requests/a",
			Start: begin, End: after(3200 * time.Millisecond),
		},
		{
			Name: "Database", Status: "CREATE_IN_PROGRESS", State: picture.Running, Link: "/console/requests/b",
			Start: after(3300 * time.Millisecond), Deadline: after(time.Hour),
			Retries: []time.Time{after(9 * time.Second), after(21 * time.Second)},
		},
		{
			Name: "Certificate", Status: "CREATE_IN_PROGRESS", State: picture.Running,
			Start: after(20 * time.Second), Deadline: after(50 * time.Second),
		},
		{
			Name: "Rule <of> \"many\" & names that are much too long for the column they stand in", Status: "CREATE_FAILED",
			State: picture.Failed, Start: after(4 * time.Second), End: after(4 * time.Second),
		},
		{Name: "Service", Status: "", State: picture.Waiting},
	}
}

func resources() []picture.Node {
	return []picture.Node{
		{ID: "Service", Status: "CREATE_IN_PROGRESS", State: picture.Running, Needs: []string{"Database", "Role", "Network"}},
		{ID: "Database", Status: "CREATE_COMPLETE", State: picture.Done, Link: "/console/stacks/a?r=Database", Needs: []string{"Network"}},
		{ID: "Network", Status: "CREATE_COMPLETE", State: picture.Done},
		{ID: "Role", Status: "CREATE_COMPLETE", State: picture.Done},
		{ID: "Alarm", Status: "", State: picture.Waiting, Needs: []string{"Service", "Topic", "Nowhere"}},
		{ID: "Topic", Status: "CREATE_FAILED", State: picture.Failed, Needs: []string{"Topic"}},
		{ID: "Record", Status: "", State: picture.Waiting, Needs: []string{"Service"}},
		{ID: "Log", Name: "A log by itself", Status: "DELETE_SKIPPED", State: picture.Stopped},
	}
}

func chain(n int) []picture.Node {
	nodes := make([]picture.Node, n)
	for i := range nodes {
		nodes[i] = picture.Node{ID: fmt.Sprintf("Link%d", i), Status: "CREATE_COMPLETE", State: picture.Done}
		if i > 0 {
			nodes[i].Needs = []string{fmt.Sprintf("Link%d", i-1)}
		}
	}
	return nodes
}

// TestRole checks that a picture with links does not have the role img, because screen readers ignore links within an
// image.
func TestRole(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"":                     "img",
		"/console/requests/a":  "group",
		"?from=100":            "group",
		"javascript:alert(1)":  "img",
		"https://example.com/": "img",
		"//example.com/":       "img",
		`/\example.com/`:       "img",
	} {
		bar, node := picture.Bar{Name: "A", Start: begin, Link: link}, picture.Node{ID: "A", Link: link}
		for kind, root := range map[string]element{
			"timeline": timeline(t, []picture.Bar{bar}, picture.Options{}),
			"graph":    graph(t, []picture.Node{node}, picture.Options{}),
		} {
			if got := root.attr("role"); got != want {
				t.Errorf("role of a %s with a link to %q is %s, want %s", kind, link, got, want)
			}
			if links := len(root.all("a")); links != map[string]int{"img": 0, "group": 1}[want] {
				t.Errorf("a %s with a link to %q has %d links", kind, link, links)
			}
		}
	}
}

// TestLabels checks that the title and the description label the root, and that pictures on one page share no ids.
func TestLabels(t *testing.T) {
	t.Parallel()
	root := timeline(t, steps(), picture.Options{ID: "op 7\"", Title: "Create <it>", Now: after(time.Minute)})
	if got, want := root.attr("id"), "op_7_"; got != want {
		t.Errorf("id %q, want %q", got, want)
	}
	for attr, name := range map[string]string{"aria-labelledby": "title", "aria-describedby": "desc"} {
		if got, want := root.attr(attr), "op_7_-"+name; got != want || root.all(name)[0].attr("id") != want {
			t.Errorf("%s is %q, and the first %s has %q", attr, got, name, root.all(name)[0].attr("id"))
		}
	}
	if got, want := root.all("title")[0].Text, "Create <it>"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	if got, want := root.all("desc")[0].Text,
		"5 steps: 1 failed, 2 running, 1 waiting, 1 done; 1 min since the beginning."; got != want {
		t.Errorf("description %q, want %q", got, want)
	}
}

func TestWriteError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the pipe is broken")
	for _, room := range []int{0, 1000} {
		w := &narrow{room: room, err: broken}
		if err := picture.Timeline(w, steps(), picture.Options{}); !errors.Is(err, broken) {
			t.Errorf("Timeline with room for %d bytes: %v", room, err)
		}
		w = &narrow{room: room, err: broken}
		if err := picture.Graph(w, resources(), picture.Options{}); !errors.Is(err, broken) {
			t.Errorf("Graph with room for %d bytes: %v", room, err)
		}
	}
}

// narrow accepts a limited number of bytes.
type narrow struct {
	room int
	err  error
}

func (n *narrow) Write(p []byte) (int, error) {
	if n.room -= len(p); n.room < 0 {
		return 0, n.err
	}
	return len(p), nil
}

// FuzzText checks that any texts result in XML with the right number of rows and boxes, which shows the texts.
func FuzzText(f *testing.F) {
	f.Add("Name", "CREATE_COMPLETE", "/console/", "Title")
	f.Add("</svg><script>", "\"'&<>", "javascript:alert(1)", "]]>")
	f.Add("\x00\x1b[31m", "\xff\xfe", "/\"onload=", "\u202e")
	f.Add("図表図表図表図表図表図表図表図表図表図表図表図表図表図表図表図表", "", "//x", "")
	f.Fuzz(func(t *testing.T, name, status, link, title string) {
		o := picture.Options{ID: title, Title: title, Chosen: name}
		root := timeline(t, []picture.Bar{{Name: name, Status: status, State: picture.State(status), Link: link, Start: begin}}, o)
		if n := len(root.classed("row")); n != 1 {
			t.Errorf("%d rows", n)
		}
		check(t, root, name, link)
		root = graph(t, []picture.Node{{ID: name, Status: status, State: picture.State(status), Link: link, Needs: []string{status}}}, o)
		if n := len(root.classed("box")); n != 1 {
			t.Errorf("%d boxes", n)
		}
		check(t, root, name, link)
	})
}

func check(t *testing.T, root element, name, link string) {
	t.Helper()
	for _, a := range root.all("a") {
		if got := a.attr("href"); got != link {
			t.Errorf("a link leads to %q, and was to %q", got, link)
		}
	}
	if len(root.all("script")) > 0 {
		t.Error("there is a script")
	}
	plain := strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) < 0
	if plain && len(name) < 20 {
		if got := root.classed("name")[0].Text; got != name {
			t.Errorf("the name is %q, want %q", got, name)
		}
	}
}

// element is an element of a parsed picture.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// number returns an attribute that must be a number.
func (e element) number(t testing.TB, name string) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(e.attr(name), "%d", &n); err != nil {
		t.Fatalf("%s of %s is %q", name, e.XMLName.Local, e.attr(name))
	}
	return n
}

// find returns the elements below e that match want, in order.
func (e element) find(want func(element) bool) []element {
	var found []element
	for _, c := range e.Children {
		if want(c) {
			found = append(found, c)
		}
		found = append(found, c.find(want)...)
	}
	return found
}

func (e element) all(name string) []element {
	return e.find(func(e element) bool { return e.XMLName.Local == name })
}

// classed returns the elements with a class.
func (e element) classed(class string) []element {
	return e.find(func(e element) bool { return strings.Contains(" "+e.attr("class")+" ", " "+class+" ") })
}

func parse(t testing.TB, svg []byte) element {
	t.Helper()
	var root element
	if err := xml.Unmarshal(svg, &root); err != nil {
		t.Fatalf("%v in\n%s", err, svg)
	}
	return root
}

func timeline(t testing.TB, bars []picture.Bar, o picture.Options) element {
	t.Helper()
	var b bytes.Buffer
	if err := picture.Timeline(&b, bars, o); err != nil {
		t.Fatal(err)
	}
	return parse(t, b.Bytes())
}

func graph(t testing.TB, nodes []picture.Node, o picture.Options) element {
	t.Helper()
	var b bytes.Buffer
	if err := picture.Graph(&b, nodes, o); err != nil {
		t.Fatal(err)
	}
	return parse(t, b.Bytes())
}
