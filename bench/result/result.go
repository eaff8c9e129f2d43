// Package result is what measurements leave behind: a file of JSON for each, in the folder results of this module.
//
// A program that measures makes a [File] with [New], adds a [Row] for each figure and a [Goal] for each figure that has to
// reach one, and writes it. The command report reads all of them, and makes the tables and pictures of docs/performance.md
// from nothing else.
package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Folder is where the files lie, seen from the module's own folder, in which its commands are run.
const Folder = "results"

// File is what one program measured in one run.
type File struct {
	Name    string    // of the file without its ending, such as proof-idle: lower-case letters, digits and hyphens
	Made    time.Time // when the run ended, in UTC and whole seconds
	Machine string    // what it ran on, for people
	Commit  string    // of the repository, short, with -dirty if files were changed; empty where git knows none
	Rows    []Row
	Goals   []Goal `json:",omitempty"`
}

// Row is one figure.
type Row struct {
	Case  string    // what was done, such as "sqlite, 16 chains"; the same for all that are compared
	Who   string    // who did it, such as "pintle", "floor" or "river"
	Unit  string    // such as "cycles/s", "ms" or "MB"; a case has as many rows of one who as it has units
	Value float64   // the median of Runs
	Runs  []float64 // the figure of each round; those of the same index were measured in turns; none if all there is is the note
	Note  string    `json:",omitempty"` // what a reader has to know of it
}

// Goal is a figure that has to reach something.
type Goal struct {
	Name  string  // what is asked, such as "sqlite, 16 chains: share of the floor"
	Unit  string  // of both numbers; may be empty for a ratio
	Value float64 // what was measured
	Limit float64 // what it has to reach
	Least bool    // Limit is the least that is good, not the most
}

// Met reports whether the goal is reached.
func (g Goal) Met() bool {
	if g.Least {
		return g.Value >= g.Limit
	}
	return g.Value <= g.Limit
}

// Verdict returns "met" or "MISS".
func (g Goal) Verdict() string {
	if g.Met() {
		return "met"
	}
	return "MISS"
}

// Asked returns what is asked as text, such as "at most 40 MB".
func (g Goal) Asked() string {
	word := "at most "
	if g.Least {
		word = "at least "
	}
	return strings.TrimSpace(word + Number(g.Limit) + " " + g.Unit)
}

// New returns a file that says when and where it was made, and has no rows.
func New(name string) File {
	return File{Name: name, Made: time.Now().UTC().Truncate(time.Second), Machine: machine(), Commit: commit()}
}

// Add adds the row of a figure that was measured once in each round.
func (f *File) Add(what, who, unit string, runs ...float64) *Row {
	f.Rows = append(f.Rows, Row{Case: what, Who: who, Unit: unit, Value: Median(runs), Runs: runs})
	return &f.Rows[len(f.Rows)-1]
}

// Row returns the row of a case, of who and in a unit; ok tells whether there is one.
func (f File) Row(what, who, unit string) (row Row, ok bool) {
	for _, row := range f.Rows {
		if row.Case == what && row.Who == who && row.Unit == unit {
			return row, true
		}
	}
	return Row{}, false
}

// Ratio returns how many times one's figure is another's, in the same case and unit: the median of the rounds' ratios if both
// have as many rounds, else the ratio of the medians. ok is false if one of the rows is missing or nothing can be divided by.
func (f File) Ratio(what, unit, one, other string) (ratio float64, ok bool) {
	a, found := f.Row(what, one, unit)
	b, also := f.Row(what, other, unit)
	if !found || !also || b.Value == 0 {
		return 0, false
	}
	return Ratio(a, b), true
}

// Ratio returns how many times a's figure is b's, as [File.Ratio] does. It is infinite or NaN if b's is 0.
func Ratio(a, b Row) float64 {
	if len(a.Runs) != len(b.Runs) || slices.Contains(b.Runs, 0) {
		return a.Value / b.Value
	}
	var ratios []float64
	for i := range a.Runs {
		ratios = append(ratios, a.Runs[i]/b.Runs[i])
	}
	if len(ratios) == 0 {
		return a.Value / b.Value
	}
	return Median(ratios)
}

// Cases returns the cases in the order in which they first come.
func (f File) Cases() []string {
	return f.distinct(func(r Row) string { return r.Case })
}

// Whos returns those who did something, in the order in which they first come.
func (f File) Whos() []string {
	return f.distinct(func(r Row) string { return r.Who })
}

func (f File) distinct(of func(Row) string) []string {
	var list []string
	for _, row := range f.Rows {
		if item := of(row); !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

// Median returns the middle one of the numbers, or the mean of the middle two, and 0 of none. It leaves the list as it is.
func Median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Number returns a number as people read it: three digits that count, whole from 100 on, thousands apart.
func Number(n float64) string {
	switch size := math.Abs(n); {
	case n == math.Trunc(n) && size < 1e15 || size >= 99.95:
		return thousands(fmt.Sprintf("%.0f", n))
	case size >= 9.995:
		return fmt.Sprintf("%.1f", n)
	default:
		return fmt.Sprintf("%.2f", n)
	}
}

func thousands(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Write writes the file into a folder, which is made if it is not there, in place of an earlier one of its name.
func (f File) Write(folder string) error {
	if err := f.check(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("result %s: %w", f.Name, err) // a figure that is infinite or no number
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, f.Name+".json"), append(text, '\n'), 0o644) //nolint:gosec // figures for everybody
}

// check keeps names from leading elsewhere and files from having what no table can show.
func (f File) check() error {
	if f.Name == "" || strings.Trim(f.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("result %q: a name has lower-case letters, digits and hyphens", f.Name)
	}
	for i, row := range f.Rows {
		if row.Case == "" || row.Who == "" {
			return fmt.Errorf("result %s: row %d has no case or nobody who did it", f.Name, i+1)
		}
		for _, earlier := range f.Rows[:i] {
			if row.Case == earlier.Case && row.Who == earlier.Who && row.Unit == earlier.Unit {
				return fmt.Errorf("result %s: two rows are of %q, %q and %q", f.Name, row.Case, row.Who, row.Unit)
			}
		}
	}
	return nil
}

// Read reads the file of a name. The error is [fs.ErrNotExist] if it has not been made.
func Read(folder, name string) (File, error) {
	text, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err != nil {
		return File{}, err
	}
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return File{}, fmt.Errorf("%s: %w", filepath.Join(folder, name+".json"), err)
	}
	if f.Name != name {
		return File{}, fmt.Errorf("%s: it is the result of %q", filepath.Join(folder, name+".json"), f.Name)
	}
	return f, f.check()
}

// ReadAll reads all files of a folder whose names begin with prefix, by their names. A folder that is not there has none.
func ReadAll(folder, prefix string) ([]File, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []File
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || !strings.HasPrefix(name, prefix) {
			continue
		}
		f, err := Read(folder, name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// machine says on what this runs: nothing of whose it is.
func machine() string {
	said := fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if memory := memory(); memory > 0 {
		said += fmt.Sprintf(", %d GiB", memory>>20)
	}
	return said + ", " + runtime.Version()
}

// memory returns how much the machine has, in KiB, or 0 where that is not known.
func memory() int {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kib int
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kib); err == nil {
			return kib
		}
	}
	return 0
}

// commit does not count what measuring itself changes: an earlier result, and the page that is made of them.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	name := strings.TrimSpace(string(out))
	status := exec.Command("git", "status", "--porcelain", "--", ":/", ":(exclude,top)bench/results", ":(exclude,top)docs")
	changed, err := status.Output()
	if err == nil && len(changed) > 0 {
		name += "-dirty"
	}
	return name
}
