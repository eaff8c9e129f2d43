package logs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/logs"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

var (
	home = registry.Scope{Account: "111122223333", Region: "eu-west-1"}
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

// world is a store in a directory, with the retention of its groups.
type world struct {
	t    *testing.T
	dir  string
	now  time.Time
	days map[string]int
	*logs.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), now: noon, days: map[string]int{"g": 0}}
	w.open()
	return w
}

// open opens the directory again, as after a crash.
func (w *world) open() {
	w.t.Helper()
	var err error
	w.Store, err = logs.New(logs.Config{
		Dir: w.dir, Now: func() time.Time { return w.now },
		Retention: func(_ context.Context, _ registry.Scope, group string) (int, error) {
			days, ok := w.days[group]
			if !ok {
				return 0, registry.ErrNotFound
			}
			return days, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) append(stream string, at time.Time, messages ...string) {
	w.t.Helper()
	var events []logs.Event
	for _, m := range messages {
		events = append(events, logs.Event{Time: at.UnixMilli(), Message: m})
	}
	if _, err := w.Append(home, "g", stream, events...); err != nil {
		w.t.Fatal(err)
	}
}

// read returns the messages of a query with their streams, and whether there are more.
func (w *world) read(q logs.Query) (list []string, more bool) {
	w.t.Helper()
	if q.Limit == 0 {
		q.Limit = 10_000
	}
	if q.Bytes == 0 {
		q.Bytes = 1 << 20
	}
	found, more, err := w.Read(home, "g", q)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range found {
		list = append(list, f.Stream+" "+f.Message)
	}
	return list, more
}

func (w *world) files() (list []string) {
	w.t.Helper()
	list, err := filepath.Glob(filepath.Join(w.dir, "*", "*.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func TestNew(t *testing.T) {
	if _, err := logs.New(logs.Config{}); err == nil {
		t.Error("no error")
	}
}

// TestRead checks that events survive a restart, in the order of their times, with any characters.
func TestRead(t *testing.T) {
	w := newWorld(t)
	odd := "a\\n\nb\r\\ ü\t"
	w.append("one", noon, "1", odd)
	w.append("two", noon.Add(-time.Second), "0")
	w.append("one", noon.Add(time.Second), "2")
	w.open()
	w.append("one", noon.Add(2*time.Second), "3")
	all := []string{"two 0", "one 1", "one " + odd, "one 2", "one 3"}
	for name, test := range map[string]struct {
		query logs.Query
		want  []string
		more  bool
	}{
		"all":       {want: all},
		"first":     {query: logs.Query{Limit: 2}, want: all[:2], more: true},
		"last":      {query: logs.Query{Limit: 2, Last: true}, want: all[3:], more: true},
		"times":     {query: logs.Query{From: noon.UnixMilli(), Until: noon.UnixMilli()}, want: all[1:3]},
		"a stream":  {query: logs.Query{Streams: []string{"two", "three"}}, want: all[:1]},
		"a prefix":  {query: logs.Query{Prefix: "tw"}, want: all[:1]},
		"a pattern": {query: logs.Query{Match: func(m string) bool { return m > "1" && m < "3" }}, want: all[3:4]},
		"bytes":     {query: logs.Query{Bytes: 2}, want: all[:2], more: true},
		"one event": {query: logs.Query{Bytes: 1, Streams: []string{"one"}, From: noon.UnixMilli() + 1}, want: all[3:4], more: true},
	} {
		got, more := w.read(test.query)
		if diff := cmp.Diff(test.want, got); diff != "" || more != test.more {
			t.Errorf("%s: more %t, %s", name, more, diff)
		}
	}
}

// TestPages checks that a caller that continues from the position of the last event sees each event once.
func TestPages(t *testing.T) {
	w := newWorld(t)
	for i := range 3000 {
		w.append(fmt.Sprint("s", i%3), noon, fmt.Sprint(i))
	}
	seen := map[string]bool{}
	q := logs.Query{Limit: 700, Bytes: 1 << 20}
	for {
		found, more, err := w.Read(home, "g", q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if seen[f.Message] {
				t.Fatalf("%s is there twice", f.Message)
			}
			seen[f.Message] = true
		}
		if !more {
			break
		}
		q.After = &found[len(found)-1].Position
	}
	if len(seen) != 3000 {
		t.Errorf("%d events, want 3000", len(seen))
	}
}

func TestStreams(t *testing.T) {
	w := newWorld(t)
	if err := w.Create(home, "g", "a"); err != nil {
		t.Fatal(err)
	}
	if err := w.Create(home, "g", "a"); !errors.Is(err, logs.ErrExists) {
		t.Error(err)
	}
	w.append("b", noon.Add(-time.Minute), "1")
	w.append("b", noon, "2")
	w.open()
	list, err := w.Streams(home, "g")
	if err != nil {
		t.Fatal(err)
	}
	at := noon.UnixMilli()
	want := []logs.Stream{
		{Name: "a", Made: at, Bytes: list[0].Bytes},
		{Name: "b", Made: at, First: at - 60_000, Last: at, Ingested: at, Bytes: list[1].Bytes},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if err := w.Delete(home, "g", "b"); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(home, "g", "b"); !errors.Is(err, logs.ErrNotFound) {
		t.Error(err)
	}
	if err := w.DeleteGroup(home, "g"); err != nil {
		t.Fatal(err)
	}
	if list, err := w.Streams(home, "g"); err != nil || len(list) > 0 {
		t.Errorf("%v, error %v", list, err)
	}
	w.append("b", noon, "again")
	if got, _ := w.read(logs.Query{}); !cmp.Equal(got, []string{"b again"}) {
		t.Errorf("%q", got)
	}
}

// TestLineThatWasCutOff checks that a line truncated by a crash is dropped, and that the events around it are kept.
func TestLineThatWasCutOff(t *testing.T) {
	w := newWorld(t)
	w.append("s", noon, "1")
	file := w.files()[0]
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("179"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w.open()
	w.append("s", noon, "2")
	if got, _ := w.read(logs.Query{}); !cmp.Equal(got, []string{"s 1", "s 2"}) {
		t.Errorf("%q", got)
	}
}

// TestBounds checks that the newest events of a stream that is too large are kept, and the most recently written
// streams of a group.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 100_000)
	for i := range 60 {
		w.append("s", noon.Add(time.Duration(i)*time.Second), fmt.Sprint(i)+long)
	}
	list, err := w.Streams(home, "g")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(w.files()[0])
	if err != nil {
		t.Fatal(err)
	}
	if list[0].Bytes > logs.MaxStream || info.Size() != list[0].Bytes {
		t.Errorf("%d bytes, and the file has %d", list[0].Bytes, info.Size())
	}
	got, _ := w.read(logs.Query{Bytes: logs.MaxStream})
	if len(got) < 15 || !strings.HasPrefix(got[len(got)-1], "s 59x") {
		t.Errorf("%d events", len(got))
	}
	if first := got[0]; list[0].First != noon.Add(60*time.Second).UnixMilli()-int64(len(got))*1000 || strings.HasPrefix(first, "s 0x") {
		t.Errorf("the first event is %.10s at %d", first, list[0].First)
	}
	for i := range logs.MaxStreams + 5 {
		w.now = w.now.Add(time.Second)
		w.append(fmt.Sprint("t", i), w.now, "x")
	}
	if list, err = w.Streams(home, "g"); err != nil || len(list) != logs.MaxStreams {
		t.Fatalf("%d streams, error %v", len(list), err)
	}
	if _, more := w.read(logs.Query{Streams: []string{"s"}}); more || len(w.files()) != logs.MaxStreams {
		t.Errorf("%d files", len(w.files()))
	}
}

// TestSweep checks that a sweep removes streams whose events are all expired, and deleted groups.
func TestSweep(t *testing.T) {
	w := newWorld(t)
	w.days["g"] = 1
	w.append("old", noon, "1")
	if err := w.Create(home, "g", "empty"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Append(home, "gone", "s", logs.Event{Time: noon.UnixMilli(), Message: "x"}); err != nil {
		t.Fatal(err)
	}
	w.now = noon.Add(25 * time.Hour)
	w.append("new", w.now, "2")
	w.Sweep(t.Context())
	list, err := w.Streams(home, "g")
	if err != nil || len(list) != 2 || list[0].Name != "empty" || list[1].Name != "new" {
		t.Errorf("%+v, error %v", list, err)
	}
	if list, err := w.Streams(home, "gone"); err != nil || len(list) > 0 || len(w.files()) != 2 {
		t.Errorf("%+v, error %v, files %q", list, err, w.files())
	}
}
