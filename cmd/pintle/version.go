package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// The linker stamps a release with these: -X main.version=v1.2.3 and so on. If they are empty, the version that Go
// recorded in the build applies.
var version, commit, date string

// release identifies this program.
type release struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Date is the date of the commit, not of the build: the same source builds the same program.
	Date string `json:"date,omitempty"`
	// Modified says that the source differed from the commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildRelease() release {
	r := release{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		r.note(info)
	}
	r.Version, r.Commit, r.Date = cmp.Or(version, r.Version), cmp.Or(commit, r.Commit), cmp.Or(date, r.Date)
	return r
}

// note reads the build information of Go: the version of a module that was installed, the commit of a clone.
func (r *release) note(info *debug.BuildInfo) {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		r.Version = v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			r.Commit = setting.Value
		case "vcs.time":
			r.Date = setting.Value
		case "vcs.modified":
			r.Modified = setting.Value == "true"
		}
	}
}

// tagged matches the version of a release, but not the output of git describe for other commits.
var tagged = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// published reports whether the module can be had by the version: a program that was built from a module of the cache notes no commit,
// and that of a release is stamped with its tag.
func (r release) published() bool {
	if r.Modified {
		return false
	}
	return r.Commit == "" && r.Version != "devel" || tagged.MatchString(r.Version)
}

// String is the line for people: name, version, commit and its date if they are known, Go, platform.
func (r release) String() string {
	words := []string{"pintle", r.Version, r.Commit, r.Date}
	if r.Modified {
		words = append(words, "modified")
	}
	return strings.Join(slices.DeleteFunc(append(words, r.Go, r.Platform), func(word string) bool { return word == "" }), " ")
}

func (a *manualCommands) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit, date, Go version and platform",
		Args:  cobra.NoArgs,
		RunE: runE(func(context.Context, []string) error {
			asJSON, err := wantJSON(output)
			if err != nil {
				return err
			}
			r := buildRelease()
			if asJSON {
				return a.document(r)
			}
			fmt.Fprintln(a.stdout, r)
			return nil
		}),
	}
	outputFlag(cmd, &output)
	return cmd
}
