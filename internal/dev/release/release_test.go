package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// program has all that a release needs, and a dependency.
const program = `package main

import (
	"fmt"
	"os"

	"example.com/dependency"
)

var version, commit, date string

func main() {
	switch os.Args[1] {
	case "man":
		os.MkdirAll(os.Args[2], 0o755)
		os.WriteFile(os.Args[2]+"/tool.1", []byte("of "+version), 0o644)
	case "exit":
		os.Exit(3)
	case "completion":
		fmt.Println("for", os.Args[2], dependency.Name)
	default:
		fmt.Println(version, commit, date)
	}
}
`

// source writes the module of a small program.
func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.com/tool\n\ngo 1.26\n\nrequire example.com/dependency v1.2.3\n\nreplace example.com/dependency => ./dependency\n",
		"dependency/go.mod":  "module example.com/dependency\n\ngo 1.26\n",
		"dependency/LICENSE": "free as well\n",
		"dependency/name.go": "package dependency\n\nconst Name = \"dependency\"\n",
		"main.go":            program,
		"LICENSE":            "free\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// unbuilt returns a release of the small program.
func unbuilt(t *testing.T, targets ...target) release {
	t.Helper()
	return release{
		name: "tool", source: source(t), command: ".", out: filepath.Join(t.TempDir(), "dist"), version: "v1.0.0", commit: "abc",
		date: time.Date(2026, 11, 23, 1, 2, 4, 0, time.UTC), targets: targets,
	}
}

func built(t *testing.T, targets ...target) (release, []made) {
	t.Helper()
	r := unbuilt(t, targets...)
	files, err := r.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r, files
}

func read(t *testing.T, r release, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.out, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestRelease(t *testing.T) {
	here := target{runtime.GOOS, runtime.GOARCH}
	base := "tool_1.0.0_" + here.os + "_" + here.arch
	r, files := built(t, here)
	var names []string
	var sums strings.Builder
	for _, file := range files {
		names = append(names, file.name)
		if file.name != "checksums.txt" {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(read(t, r, file.name)), file.name)
		}
	}
	packages := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(name, ".whl") && !strings.HasSuffix(name, ".tgz") })
	if len(packages) != 3 { // TestWheel and TestNPM install them
		t.Errorf("the packages are %q", packages)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(packages, name) })
	if diff := cmp.Diff([]string{base + ".cdx.json", base + ".tar.gz", "checksums.txt"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(sums.String(), string(read(t, r, "checksums.txt"))); diff != "" {
		t.Error(diff)
	}

	tape := untar(t, read(t, r, base+".tar.gz"), r.date)
	want := []string{
		"LICENSE", "THIRD-PARTY-LICENSES", "completions/_tool", "completions/tool.bash", "completions/tool.fish", "completions/tool.ps1", "man1/tool.1", "tool",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(tape))); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"Go, LICENSE", "example.com/dependency v1.2.3, LICENSE", "free as well"} {
		if !strings.Contains(string(tape["THIRD-PARTY-LICENSES"]), want) {
			t.Errorf("the licenses of others lack %q", want)
		}
	}
	if got := string(tape["man1/tool.1"]); got != "of v1.0.0" {
		t.Errorf("the manual page is %q", got)
	}
	path := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(path, tape["tool"], 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), path, "version").Output(); err != nil || string(out) != "v1.0.0 abc 2026-11-23T01:02:04Z\n" {
		t.Errorf("the program says %q, %v", out, err)
	}

	// The bill of materials lists the contents of the program.
	var bill document
	if err := json.Unmarshal(read(t, r, base+".cdx.json"), &bill); err != nil {
		t.Fatal(err)
	}
	if bill.Metadata.Component.PURL != "pkg:golang/example.com/tool@v1.0.0" || len(bill.Components) != 2 ||
		!strings.HasPrefix(bill.Components[0].PURL, "pkg:golang/std@1.") || bill.Components[1].Name != "./dependency" {
		t.Errorf("the bill is %+v", bill)
	}
}

// TestZip checks the archive for Windows, which has no common tar program and no file modes.
func TestZip(t *testing.T) {
	r := release{date: time.Date(2026, 11, 23, 1, 2, 4, 0, time.UTC)}
	archive, extension, err := r.pack(target{"windows", "amd64"}, []entry{{"tool.exe", []byte("MZ"), true}, {"LICENSE", []byte("free"), false}})
	if err != nil || extension != ".zip" {
		t.Fatalf("%s, %v", extension, err)
	}
	opened, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range opened.File {
		names = append(names, file.Name)
		if !file.Modified.Equal(r.date) {
			t.Errorf("%s is of %v", file.Name, file.Modified)
		}
	}
	if diff := cmp.Diff([]string{"tool.exe", "LICENSE"}, names); diff != "" {
		t.Error(diff)
	}
}

// untar returns the contents of an archive.
func untar(t *testing.T, archive []byte, date time.Time) map[string][]byte {
	t.Helper()
	press, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for tape := tar.NewReader(press); ; {
		header, err := tape.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(date) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s is of %v, %q", header.Name, header.ModTime, header.Uname)
		}
		if files[header.Name], err = io.ReadAll(tape); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReproducible checks that the same source in another directory gives the same bytes, and that another source
// does not.
func TestReproducible(t *testing.T) {
	r, _ := built(t, target{runtime.GOOS, runtime.GOARCH})
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = r.source
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
	if err := r.compare(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(r.source, "LICENSE"), []byte("not free\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.compare(t.Context()); err == nil || !strings.Contains(err.Error(), "is not the same") {
		t.Errorf("another source: %v", err)
	}
}

// TestCommit checks that a release records its commit, and whether the source differs from it.
func TestCommit(t *testing.T) {
	r := release{source: source(t)}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = r.source
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "--no-gpg-sign", "--message", "all")
	commit := git("rev-parse", "HEAD")
	for _, want := range []string{commit, commit + "-dirty"} {
		if err := r.fromGit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.commit != want || !strings.HasPrefix(want, r.version[:7]) || r.date.IsZero() {
			t.Errorf("commit %q, version %q of %v; want %q", r.commit, r.version, r.date, want)
		}
		if err := os.WriteFile(filepath.Join(r.source, "main.go"), []byte(program+"// changed\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, text := range []string{"linux", "/amd64", ""} {
		if got, err := parseTarget(text); err == nil {
			t.Errorf("target %q is %v", text, got)
		}
	}
}
