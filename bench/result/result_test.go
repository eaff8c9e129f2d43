package result_test

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/bench/result"
)

func TestFilesComeBack(t *testing.T) {
	folder := t.TempDir()
	f := result.New("proof-idle")
	f.Add("sqlite", "pintle", "MB", 31, 30, 35).Note = "idle"
	f.Add("sqlite", "pintle", "%", 0.1)
	f.Goals = []result.Goal{{Name: "sqlite", Unit: "MB", Value: 31, Limit: 40}}
	if err := f.Write(folder); err != nil {
		t.Fatal(err)
	}
	if err := result.New("compare-river").Write(folder); err != nil {
		t.Fatal(err)
	}
	got, err := result.Read(folder, "proof-idle")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, got); diff != "" {
		t.Error(diff)
	}
	all, err := result.ReadAll(folder, "proof-")
	if err != nil || len(all) != 1 {
		t.Errorf("%d files, error %v", len(all), err)
	}
	if _, err := result.Read(folder, "proof-start"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if all, err := result.ReadAll(folder+"/none", ""); err != nil || len(all) != 0 {
		t.Errorf("a folder that is not there: %d files, error %v", len(all), err)
	}
	if f.Machine == "" || strings.Contains(f.Machine, "/home") {
		t.Errorf("machine %q", f.Machine)
	}
}

func TestInvalidFiles(t *testing.T) {
	folder := t.TempDir()
	twice := result.New("twice")
	twice.Add("a", "pintle", "ms", 1)
	twice.Add("a", "pintle", "ms", 2)
	nobody := result.New("nobody")
	nobody.Add("a", "", "ms", 1)
	endless := result.New("endless")
	endless.Add("a", "pintle", "ms", math.Inf(1))
	for _, f := range []result.File{result.New(""), result.New("../elsewhere"), twice, nobody, endless} {
		if err := f.Write(folder); err == nil {
			t.Errorf("%q was written", f.Name)
		}
	}
	if all, err := result.ReadAll(folder, ""); err != nil || len(all) != 0 {
		t.Errorf("%d files, error %v", len(all), err)
	}
}

func TestRatiosAreOfRounds(t *testing.T) {
	f := result.New("x")
	f.Add("a", "pintle", "/s", 10, 100, 30)
	f.Add("a", "floor", "/s", 20, 100, 40)
	f.Add("a", "river", "/s", 5)
	f.Add("a", "none", "/s", 0)
	for _, want := range []struct {
		other string
		ratio float64
		ok    bool
	}{{"floor", 0.75, true}, {"river", 6, true}, {"none", 0, false}, {"nobody", 0, false}} {
		if ratio, ok := f.Ratio("a", "/s", "pintle", want.other); ratio != want.ratio || ok != want.ok {
			t.Errorf("to %s: %v %v", want.other, ratio, ok)
		}
	}
	if got := f.Whos(); !cmp.Equal(got, []string{"pintle", "floor", "river", "none"}) {
		t.Error(got)
	}
	if got := f.Cases(); !cmp.Equal(got, []string{"a"}) {
		t.Error(got)
	}
}

func TestMedian(t *testing.T) {
	list := []float64{3, 1, 2}
	if got := result.Median(list); got != 2 || list[0] != 3 {
		t.Errorf("%v, and the list is %v", got, list)
	}
	if got := result.Median([]float64{4, 1, 2, 3}); got != 2.5 {
		t.Error(got)
	}
	if got := result.Median(nil); got != 0 {
		t.Error(got)
	}
}

func TestNumbersAndGoals(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0", 0.123: "0.12", 9.994: "9.99", 9.996: "10.0", 12.34: "12.3",
		99.96: "100", 345.6: "346", 1234567: "1,234,567", -4321.5: "-4,322", 7: "7", -0.5: "-0.50",
	} {
		if got := result.Number(n); got != want {
			t.Errorf("%v is %s, not %s", n, got, want)
		}
	}
	for _, test := range []struct {
		goal           result.Goal
		asked, verdict string
	}{
		{result.Goal{Unit: "MB", Value: 40, Limit: 40}, "at most 40 MB", "met"},
		{result.Goal{Unit: "MB", Value: 40.1, Limit: 40}, "at most 40 MB", "MISS"},
		{result.Goal{Value: 0.6, Limit: 0.6, Least: true}, "at least 0.60", "met"},
		{result.Goal{Value: 0.59, Limit: 0.6, Least: true}, "at least 0.60", "MISS"},
	} {
		if asked, verdict := test.goal.Asked(), test.goal.Verdict(); asked != test.asked || verdict != test.verdict {
			t.Errorf("%+v: %s, %s", test.goal, asked, verdict)
		}
	}
}
