package display_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), go test -update writes it anew:\n%s", path, diff)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func own(seconds float64, status, reason string) display.Event {
	return display.Event{
		Time: at(seconds), Logical: "shop", Physical: "arn:aws:cloudformation:eu-west-1:000000000000:stack/shop/1",
		Type: "AWS::CloudFormation::Stack", Status: status, Reason: reason, Own: true,
	}
}

func of(seconds float64, logical, status, physical, reason string) display.Event {
	return display.Event{
		Time: at(seconds), Logical: logical, Physical: physical, Type: "Custom::" + logical, Status: status, Reason: reason,
	}
}

// play shows a create that fails and is rolled back, with a tick after each part.
func play(w display.Watcher) {
	w.Events([]display.Event{
		own(0, "CREATE_IN_PROGRESS", "User Initiated"),
		of(0, "Certificate", "CREATE_IN_PROGRESS", "", ""),
		of(0, "Database", "CREATE_IN_PROGRESS", "", ""),
	})
	w.Tick(at(1.5), []display.Waiting{
		{Logical: "Certificate", Left: 3598 * time.Second},
		{Logical: "Database", Left: -1, Progress: "connection refused, retrying, 58 s left"},
	})
	w.Tick(at(3), []display.Waiting{
		{Logical: "Certificate", Left: 3597 * time.Second},
		{Logical: "Database", Left: -1, Progress: "connection refused, retrying, 56 s left"},
	})
	w.Events([]display.Event{
		of(4.25, "Certificate", "CREATE_IN_PROGRESS", "cert-1", "Resource creation Initiated"),
		of(4.25, "Certificate", "CREATE_COMPLETE", "cert-1", ""),
		of(4.25, "Website", "CREATE_IN_PROGRESS", "", ""),
		of(61, "Database", "CREATE_FAILED", "db-\x1b[31m7", "provider \x1b]0;title\x07db: refused\nLast lines of its log:\nno"),
		of(61, "Website", "CREATE_FAILED", "shop-Website-1", "Resource creation cancelled"),
		own(61, "ROLLBACK_IN_PROGRESS", "The following resource(s) failed to create: [Database, Website]."),
		of(62, "Certificate", "DELETE_IN_PROGRESS", "cert-1", ""),
	})
	w.Tick(at(125), []display.Waiting{{Logical: "Certificate", Left: 3537 * time.Second}})
	w.Events([]display.Event{
		of(126, "Certificate", "DELETE_COMPLETE", "cert-1", ""),
		own(126, "ROLLBACK_COMPLETE", ""),
	})
	w.Tick(at(127), nil)
	w.End()
}

func TestLines(t *testing.T) {
	var out strings.Builder
	play(display.NewLines(&out, time.UTC))
	golden(t, "lines.txt", out.String())
}

func TestDatedLines(t *testing.T) {
	var out strings.Builder
	lines := display.NewLines(&out, time.FixedZone("here", 3600))
	lines.Dated = true
	lines.Events([]display.Event{of(0, strings.Repeat("Long", 15), "CREATE_COMPLETE", "id", "")})
	want := "2026-03-01 13:00:00  LongLongLongLongLongLongLongLongLongLon…  CREATE_COMPLETE       id\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReplacement checks that a replaced resource is not shown as deleted: the old instance has a row below it.
func TestReplacement(t *testing.T) {
	var out strings.Builder
	table := display.NewTable(&out, screen(100, 30, false), "shop")
	table.Events([]display.Event{
		own(0, "UPDATE_IN_PROGRESS", "User Initiated"),
		of(0, "Site", "UPDATE_IN_PROGRESS", "site-1", ""),
		of(1, "Site", "UPDATE_COMPLETE", "site-2", ""),
		own(1, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", ""),
		of(1, "Site", "DELETE_IN_PROGRESS", "site-1", ""),
		of(3, "Site", "DELETE_COMPLETE", "site-1", ""),
		of(3, "Gone", "DELETE_COMPLETE", "gone-1", ""),
		own(3, "UPDATE_COMPLETE", ""),
	})
	table.Tick(at(3), nil)
	want := "shop  UPDATE_COMPLETE  3.0 s\n" +
		"  Site  Custom::Site  UPDATE_COMPLETE  1.0 s  site-2\n" +
		"  Site  Custom::Site  DELETE_COMPLETE  2.0 s  site-1\n" +
		"  Gone  Custom::Gone  DELETE_COMPLETE  0 ms   gone-1\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func screen(columns, rows int, colour bool) *display.Screen {
	return &display.Screen{Colour: colour, Size: func() (int, int) { return columns, rows }}
}

func TestTable(t *testing.T) {
	for _, test := range []struct {
		name          string
		columns, rows int
		colour        bool
	}{
		{"wide", 120, 30, false},
		{"colour", 120, 30, true},
		{"narrow", 60, 30, false},
		{"tiny", 20, 5, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			play(display.NewTable(&out, screen(test.columns, test.rows, test.colour), "shop"))
			// A drawing begins by erasing the one before; the file shows where.
			text := strings.ReplaceAll(out.String(), "\x1b", "␛")
			golden(t, "table-"+test.name+".txt", text)
			if test.colour {
				return
			}
			for line := range strings.Lines(out.String()) {
				line = line[strings.LastIndex(line, "\x1b[J")+1:]
				if n := len([]rune(strings.TrimSuffix(strings.TrimPrefix(line, "[J"), "\n"))); n > test.columns {
					t.Errorf("a line has %d columns of %d: %q", n, test.columns, line)
				}
			}
		})
	}
}

func TestTableChoosesRows(t *testing.T) {
	var out strings.Builder
	table := display.NewTable(&out, screen(80, 8, false), "shop")
	events := []display.Event{own(0, "CREATE_IN_PROGRESS", "User Initiated")}
	for i := range 20 {
		events = append(events, of(0, fmt.Sprintf("Done%02d", i), "CREATE_COMPLETE", "id", ""))
	}
	events = append(events, of(0, "Failed", "CREATE_FAILED", "", "no"), of(0, "Busy", "CREATE_IN_PROGRESS", "", ""))
	table.Events(events)
	table.Tick(at(1), nil)
	golden(t, "table-many.txt", out.String())
}

func TestTableDrawsOnlyChanges(t *testing.T) {
	var out strings.Builder
	table := display.NewTable(&out, screen(80, 24, false), "shop")
	table.Events([]display.Event{own(0, "CREATE_COMPLETE", "")})
	table.Tick(at(1), nil)
	once := out.String()
	table.Tick(at(2), nil)
	if diff := cmp.Diff(once, out.String()); diff != "" {
		t.Errorf("the same was drawn again:\n%s", diff)
	}
}

func TestClean(t *testing.T) {
	for _, test := range []struct{ text, line, lines string }{
		{"plain", "plain", "plain"},
		{"  two\n lines\t\r\n", "two lines", "  two\n lines \n"},
		{"\x1b[31;1mred\x1b[0m", "red", "red"},
		{"\x1b]0;title\x07after \x1b]8;;http://x\x1b\\link", "after link", "after link"},
		{"\x1bc\x1b(Breset", "reset", "reset"},
		{"bell\a back\b\x7f\u009b31m", "bell back31m", "bell back31m"},
		{"turned \u202etxt.exe", "turned txt.exe", "turned txt.exe"},
		{"bad \xff byte", "bad � byte", "bad � byte"},
		{"日本 é", "日本 é", "日本 é"},
	} {
		if got := display.Clean(test.text); got != test.line {
			t.Errorf("Clean(%q) = %q, want %q", test.text, got, test.line)
		}
		if got := display.CleanLines(test.text); got != test.lines {
			t.Errorf("CleanLines(%q) = %q, want %q", test.text, got, test.lines)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, text := range []string{"a\x1b[31mb", "\x1b]0;x", "\x1b\x1b[[J", "\u202e\u009b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := display.CleanLines(text)
		for _, r := range clean {
			if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("CleanLines(%q) = %q, which has %U", text, clean, r)
			}
		}
		if again := display.CleanLines(clean); again != clean {
			t.Errorf("CleanLines(%q) = %q, and once more %q", text, clean, again)
		}
		if line := display.Clean(text); strings.Contains(line, "\n") {
			t.Errorf("Clean(%q) = %q has two lines", text, line)
		}
	})
}

func TestSpan(t *testing.T) {
	for _, test := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0 ms"},
		{40 * time.Millisecond, "40 ms"},
		{999 * time.Millisecond, "999 ms"},
		{1490 * time.Millisecond, "1.4 s"},
		{12900 * time.Millisecond, "12 s"},
		{125 * time.Second, "2 m 05 s"},
		{3720 * time.Second, "1 h 02 m"},
		{100 * time.Hour, "100 h 00 m"},
	} {
		if got := display.Span(test.d); got != test.want {
			t.Errorf("Span(%v) = %q, want %q", test.d, got, test.want)
		}
	}
}

func TestColumns(t *testing.T) {
	got := display.Columns([][]string{{"a", "日本", "x"}, {"long", "b"}, {"", "", "y\x1b[2J"}})
	want := "a     日本  x\nlong  b\n            y\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDifference(t *testing.T) {
	show := func(screen *display.Screen) string {
		var b strings.Builder
		d := display.NewDifference(&b, screen)
		d.Resource(display.Added, "A", "Custom::A", "")
		d.Value(display.Added, "P", "", "x\x1b[31m\ny", "")
		d.Resource(display.Changed, "B", "Custom::B", "id", "may follow")
		d.Value(display.Changed, "P", "x", "y", "parameter Q")
		d.Value(display.Removed, "Q", "x", "", "")
		d.Note("a note")
		d.Warn("a warning")
		d.Resource(display.Removed, "C\x1b[2J")
		return b.String()
	}
	want := `  + A  Custom::A
      + P: x y
  ~ B  Custom::B  id  may follow
      ~ P: x → y  (parameter Q)
      - Q: x
      a note
      ! a warning
  - C
`
	for _, screen := range []*display.Screen{nil, {}} {
		if diff := cmp.Diff(want, show(screen)); diff != "" {
			t.Errorf("without colours (-want +got):\n%s", diff)
		}
	}
	coloured := show(&display.Screen{Colour: true})
	for _, part := range []string{
		"  \x1b[32m+\x1b[0m \x1b[1mA\x1b[0m  Custom::A\n", "\x1b[33m~\x1b[0m P: x → y  \x1b[2m(parameter Q)\x1b[0m\n",
		"\x1b[31m-\x1b[0m Q: x\n", "\x1b[31m! a warning\x1b[0m\n",
	} {
		if !strings.Contains(coloured, part) {
			t.Errorf("there is no %q in %q", part, coloured)
		}
	}
}

// silent is a wait for a handler that returned without an answer.
func silent(left time.Duration) display.Waiting {
	return display.Waiting{
		Logical: "Certificate", Type: "Create", Provider: "function Certificates", Since: at(0), Left: left, Silent: true,
		Progress: "its handler returned without an answer", Answer: "pintle respond shop Certificate --status SUCCESS",
	}
}

func TestLinesOfASilentReturn(t *testing.T) {
	var out strings.Builder
	lines := display.NewLines(&out, time.UTC)
	lines.Tick(at(1), []display.Waiting{silent(5 * time.Second)})
	lines.Tick(at(2), []display.Waiting{silent(4 * time.Second)})
	want := "12:00:01  Certificate       …                     its handler returned without an answer; fails in 5.0 s; " +
		"answer by hand: pintle respond shop Certificate --status SUCCESS\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTableOfASilentReturn(t *testing.T) {
	var out strings.Builder
	table := display.NewTable(&out, screen(44, 20, false), "shop")
	table.Events([]display.Event{own(0, "CREATE_IN_PROGRESS", ""), of(0, "Certificate", "CREATE_IN_PROGRESS", "", "")})
	table.Tick(at(1), []display.Waiting{silent(5 * time.Second)})
	want := []string{
		"  Certificate: its handler returned without…", "    pintle respond shop Certificate --status", " SUCCESS", "",
	}
	lines := strings.Split(out.String(), "\n")
	if diff := cmp.Diff(want, lines[max(len(lines)-4, 0):]); diff != "" {
		t.Error(diff)
	}
}

func TestHeartbeat(t *testing.T) {
	var out strings.Builder
	lines := display.NewLines(&out, time.UTC)
	lines.Heartbeat = 30 * time.Second
	waiting := []display.Waiting{
		{
			Logical: "Certificate", Type: "Create", Provider: "function Certificates", Since: at(1), Left: time.Hour,
			Answer: "pintle respond shop Certificate --status SUCCESS",
		},
		{Logical: "Later", Type: "Create", Left: -1}, // has not come to its provider
	}
	for second := range 91 {
		waiting[0].Left = time.Hour - time.Duration(second)*time.Second
		lines.Tick(at(float64(second)), waiting)
	}
	lines.Tick(at(119), nil)
	lines.Tick(at(120), nil)
	many := make([]display.Waiting, 7)
	for i := range many {
		many[i] = display.Waiting{Logical: "R", Type: "Delete", Since: at(140), Left: -1}
	}
	lines.Tick(at(150), many)
	want := strings.Join([]string{
		"12:00:30  Certificate       …                     waiting for Certificate (Create, function Certificates): 29 s, fails in 59 m 30 s",
		"12:01:00  Certificate       …                     waiting for Certificate (Create, function Certificates): 59 s, " +
			"fails in 59 m 00 s; answer by hand: pintle respond shop Certificate --status SUCCESS",
		"12:01:30  Certificate       …                     waiting for Certificate (Create, function Certificates): 1 m 29 s, " +
			"fails in 58 m 30 s; answer by hand: pintle respond shop Certificate --status SUCCESS",
		strings.Repeat("12:02:30  R                 …                     waiting for R (Delete): 10 s\n", 5) +
			"12:02:30                    …                     and 2 more pending\n",
	}, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
