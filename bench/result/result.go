// Package result stores measurements: a JSON file for each, in the directory results of this module.
//
// A program that measures makes a [File] with [New], adds a [Row] for each figure and a [Goal] for each figure with a
// goal, and writes the file. The command report reads all files. It makes the tables and pictures of docs/performance.md
// only from them.
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

// Folder is the directory of the files, relative to the module's own directory, in which its commands run.
const Folder = "results"

// File has the measurements of one program in one run.
type File struct {
	Name    string    // file name without extension, such as proof-idle: lower-case letters, digits and hyphens
	Made    time.Time // end of the run, in UTC and whole seconds
	Machine string    // description of the machine
	Commit  string    // short, with -dirty if files were changed; empty if git has none
	Rows    []Row
	Goals   []Goal `json:",omitempty"`
}

// Row is one figure.
type Row struct {
	Case  string    // the measured case, such as "sqlite, 16 chains"; the same for all entrants
	Who   string    // the entrant, such as "pintle", "floor" or "river"
	Unit  string    // such as "cycles/s", "ms" or "MB"; an entrant has one row per case and unit
	Value float64   // the median of Runs
	Runs  []float64 // one figure per round; equal indexes were measured in turns; empty if there is only a note
	Note  string    `json:",omitempty"` // an explanation for readers
}

// Goal is a figure with a limit.
type Goal struct {
	Name  string  // such as "sqlite, 16 chains: share of the floor"
	Unit  string  // of both numbers; may be empty for a ratio
	Value float64 // the measured figure
	Limit float64 // the limit
	Least bool    // Limit is a minimum, not a maximum
}

// Met reports whether the figure is within the limit.
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

// Asked returns the goal as text, such as "at most 40 MB".
func (g Goal) Asked() string {
	word := "at most "
	if g.Least {
		word = "at least "
	}
	return strings.TrimSpace(word + Number(g.Limit) + " " + g.Unit)
}

// New returns a file with the time and place of the measurement, and no rows.
func New(name string) File {
	return File{Name: name, Made: time.Now().UTC().Truncate(time.Second), Machine: machine(), Commit: commit()}
}

// Add adds a row for a figure that was measured once in each round.
func (f *File) Add(what, who, unit string, runs ...float64) *Row {
	f.Rows = append(f.Rows, Row{Case: what, Who: who, Unit: unit, Value: Median(runs), Runs: runs})
	return &f.Rows[len(f.Rows)-1]
}

// Row returns the row of a case, an entrant and a unit; ok reports whether it exists.
func (f File) Row(what, who, unit string) (row Row, ok bool) {
	for _, row := range f.Rows {
		if row.Case == what && row.Who == who && row.Unit == unit {
			return row, true
		}
	}
	return Row{}, false
}

// Ratio returns the ratio of one entrant's figure to another's, in the same case and unit: the median of the rounds'
// ratios if both have the same number of rounds, otherwise the ratio of the medians. ok is false if a row is missing or
// the other's figure is 0.
func (f File) Ratio(what, unit, one, other string) (ratio float64, ok bool) {
	a, found := f.Row(what, one, unit)
	b, also := f.Row(what, other, unit)
	if !found || !also || b.Value == 0 {
		return 0, false
	}
	return Ratio(a, b), true
}

// Ratio returns the ratio of a's figure to b's, like [File.Ratio]. It is infinite or NaN if b's figure is 0.
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

// Cases returns the cases in the order of their first rows.
func (f File) Cases() []string {
	return f.distinct(func(r Row) string { return r.Case })
}

// Whos returns the entrants in the order of their first rows.
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

// Median returns the middle number, the mean of the middle two, or 0 for an empty list. It does not change the list.
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

// Number formats a number for people: three significant digits, whole from 100 on, with thousands separators.
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

// Write writes the file into a directory and replaces an earlier one with its name. It creates the directory if
// necessary.
func (f File) Write(folder string) error {
	if err := f.check(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("result %s: %w", f.Name, err) // a figure that is infinite or NaN
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, f.Name+".json"), append(text, '\n'), 0o644) //nolint:gosec // figures are readable for everyone
}

// check rejects names that would be paths, and values that no table can show.
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

// Read reads the file with a name. The error is [fs.ErrNotExist] if the file does not exist.
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

// ReadAll reads all files of a directory whose names begin with prefix, sorted by name. A missing directory has none.
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

// machine describes the machine, but not its owner.
func machine() string {
	said := fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if memory := memory(); memory > 0 {
		said += fmt.Sprintf(", %d GiB", memory>>20)
	}
	return said + ", " + runtime.Version()
}

// memory returns the memory of the machine in KiB, or 0 if it is unknown.
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

// commit ignores files that measuring changes: an earlier result, and the page made from them.
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
