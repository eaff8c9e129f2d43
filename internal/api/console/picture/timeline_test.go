package picture_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
)

// TestTextBelowName checks the text below the name: the status, the elapsed time and the remaining time. A long status is
// truncated, but not the times.
func TestTextBelowName(t *testing.T) {
	t.Parallel()
	var got []string
	bars := append(steps(), picture.Bar{
		Name: "Wide", Status: "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", Start: begin, Deadline: after(time.Minute),
	}, picture.Bar{Name: "Late", Start: begin, Deadline: after(time.Second)})
	for _, e := range timeline(t, bars, picture.Options{Now: after(34 * time.Second)}).classed("status") {
		got = append(got, e.Text)
	}
	want := []string{
		"CREATE_COMPLETE · 3.2 s",
		"CREATE_IN_PROGRESS · 30 s · 59 min 26 s left",
		"CREATE_IN_PROGRESS · 14 s · 16 s left",
		"CREATE_FAILED · 0 ms",
		"waits",
		"UPDATE_ROLLBA…P_IN_PROGRESS · 34 s · 26 s left",
		"34 s · no time left",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for span, want := range map[time.Duration]string{
		0:                       "0, 1 ms",
		7 * time.Millisecond:    "0, 1 ms, 2 ms, 3 ms, 4 ms, 5 ms, 6 ms, 7 ms",
		4 * time.Second:         "0, 500 ms, 1 s, 1.5 s, 2 s, 2.5 s, 3 s, 3.5 s, 4 s",
		90 * time.Second:        "0, 15 s, 30 s, 45 s, 1 min, 1 min 15 s, 1 min 30 s",
		2 * time.Hour:           "0, 15 min, 30 min, 45 min, 1 h, 1 h 15 min, 1 h 30 min, 1 h 45 min, 2 h",
		30 * 24 * time.Hour:     "0, 5 d, 10 d, 15 d, 20 d, 25 d, 30 d",
		36525 * 24 * time.Hour:  "0, 5120 d, 10240 d, 15360 d, 20480 d, 25600 d, 30720 d, 35840 d",
		106751 * 24 * time.Hour: "0, 5120 d, 10240 d, 15360 d, 20480 d, 25600 d, 30720 d, 35840 d", // the longest Duration
	} {
		root := timeline(t, []picture.Bar{{Name: "A", Start: begin, End: after(span)}}, picture.Options{})
		var got []string
		for _, e := range root.classed("axis") {
			got = append(got, e.Text)
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("ticks over %v (-want +got)\n%s", span, diff)
		}
	}
}

// TestWindow checks that a window has at most the allowed rows, and names the range.
func TestWindow(t *testing.T) {
	t.Parallel()
	bars := make([]picture.Bar, 10_000)
	for i := range bars {
		bars[i] = picture.Bar{Name: fmt.Sprint("Step", i), Start: after(time.Duration(i) * time.Second)}
	}
	for _, test := range []struct {
		bars []picture.Bar
		o    picture.Options
		rows int
		note string
	}{
		{bars, picture.Options{}, 100, "Rows 1 to 100 of 10,000."},
		{bars, picture.Options{Rows: 5000}, 1000, "Rows 1 to 1,000 of 10,000."},
		{bars[200:300], picture.Options{Offset: 200, Total: 10_000}, 100, "Rows 201 to 300 of 10,000."},
		{bars[9990:], picture.Options{Offset: 9990}, 10, "Rows 9,991 to 10,000 of 10,000."},
		{nil, picture.Options{Offset: 200, Total: 200}, 0, "Rows 200 to 200 of 200."},
		{bars[:3], picture.Options{}, 3, ""},
	} {
		root := timeline(t, test.bars, test.o)
		note := ""
		for _, e := range root.classed("note") {
			note += e.Text
		}
		if rows := len(root.classed("row")); rows != test.rows || note != test.note {
			t.Errorf("%d rows, %q; want %d, %q", rows, note, test.rows, test.note)
		}
		if desc := root.all("desc")[0].Text; !strings.HasSuffix(desc, note) {
			t.Errorf("the description is %q, without %q", desc, note)
		}
	}
}

// TestBars checks that bars, ghosts and retries are inside the chart. Bars are in the order of their start times, and
// of two bars with the same start, the one with more time left has no smaller ghost.
func TestBars(t *testing.T) {
	t.Parallel()
	const left, right = 340, 960 - 16
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7)) // #nosec G404 -- the same ones each time
		bars := randomBars(r)
		root := timeline(t, bars, picture.Options{Now: after(time.Hour)})
		rows := root.classed("row")
		if len(rows) != len(bars) {
			t.Fatalf("seed %d: %d rows of %d bars", seed, len(rows), len(bars))
		}
		begins := make([]int, len(rows))
		for i, row := range rows {
			drawn := row.classed("bar")
			if (len(drawn) == 1) == bars[i].Start.IsZero() {
				t.Fatalf("seed %d: %d bars of %+v", seed, len(drawn), bars[i])
			}
			for _, e := range append(drawn, row.classed("ghost")...) {
				x, width := e.number(t, "x"), e.number(t, "width")
				if x < left || x+width > right+2 || width < 0 {
					t.Errorf("seed %d: row %d has %s from %d to %d", seed, i, e.attr("class"), x, x+width)
				}
			}
			if len(drawn) == 1 {
				begins[i] = drawn[0].number(t, "x")
			}
			if n := len(row.classed("retry")); n != min(len(bars[i].Retries), 50) && len(drawn) == 1 {
				t.Errorf("seed %d: row %d has %d retries", seed, i, n)
			}
			runs := !bars[i].Start.IsZero() && bars[i].End.IsZero() && bars[i].Deadline.After(after(time.Hour))
			if n := len(row.classed("ghost")); (n == 1) != runs {
				t.Errorf("seed %d: row %d has %d ghosts: %+v", seed, i, n, bars[i])
			}
		}
		for i := range bars {
			for j := range bars {
				if begins[i] > 0 && begins[j] > begins[i] && bars[j].Start.Before(bars[i].Start) {
					t.Errorf("seed %d: %d is drawn before %d, which began before it", seed, i, j)
				}
			}
		}
	}
}

// TestNarrow checks that a narrow timeline has no width of its own, and that everything is between its edges.
func TestNarrow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9)) // #nosec G404 -- the same ones each time
		root := timeline(t, randomBars(r), picture.Options{Now: after(time.Hour), Narrow: true})
		if root.attr("viewBox") != "" || root.attr("width") != "100%" {
			t.Fatalf("seed %d: viewBox %q, width %q", seed, root.attr("viewBox"), root.attr("width"))
		}
		for _, e := range append(root.classed("bar"), root.classed("ghost")...) {
			var x, width float64
			if _, err := fmt.Sscanf(e.attr("x")+" "+e.attr("width"), "%f%% %f%%", &x, &width); err != nil {
				t.Fatalf("seed %d: x %q, width %q", seed, e.attr("x"), e.attr("width"))
			}
			if x < 0 || width < 0 || x+width > 100 {
				t.Errorf("seed %d: %s from %f to %f %%", seed, e.attr("class"), x, x+width)
			}
		}
		for _, e := range append(root.classed("name"), root.classed("status")...) {
			if n := utf8.RuneCountInString(e.Text); n > 52 {
				t.Errorf("seed %d: %q has %d characters", seed, e.Text, n)
			}
		}
	}
}

func randomBars(r *rand.Rand) []picture.Bar {
	bars := make([]picture.Bar, r.IntN(12))
	for i := range bars {
		b := picture.Bar{Name: fmt.Sprint("Step", i), State: picture.State([]string{"done", "running", "?"}[r.IntN(3)])}
		if r.IntN(4) > 0 {
			b.Start = after(time.Duration(r.Int64N(int64(time.Hour))))
			if r.IntN(2) > 0 {
				b.End = b.Start.Add(time.Duration(r.Int64N(int64(time.Hour))) - time.Minute) // some end before they begin
			}
			b.Deadline = after(time.Duration(r.Int64N(int64(1000 * time.Hour))))
			for range r.IntN(70) {
				b.Retries = append(b.Retries, after(time.Duration(r.Int64N(int64(time.Hour)))))
			}
		}
		bars[i] = b
	}
	return bars
}
