package imports_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of packages in CONTRIBUTING.md")

const (
	root   = "../../.."
	module = "github.com/pintle-dev/pintle"
)

// tiers are the tiers of package directories. A package imports packages of its own tier and of earlier ones. "." is
// the root package.
var tiers = [][]string{
	{"internal/base"},
	{"internal/language", "internal/protocol", "wire"},
	{".", "awscall", "awslambda", "cdkprovider", "pintletest", "statemachine", "waiter"},
	{"internal/store"},
	{"internal/engine"},
	{"internal/provider"},
	{"internal/api"},
	{"internal/cloud"},
	{"internal/author"},
	{"internal/server"},
	{"cmd"},
	{"internal/dev"}, // only for tests and make targets
}

// apart are packages that do not import each other although their tiers allow it.
var apart = map[string][]string{
	"internal/engine":   {".", "awscall"},    // it decides, and never connects to anything
	"internal/provider": {"internal/engine"}, // cmd/pintle connects the two through interfaces with one method
	"internal/store":    {".", "awscall"},
	"internal/server":   {"internal/cloud"}, // cmd/pintle adds the APIs of services
}

// inherited are packages whose imports, including test imports, become dependencies of SDK users. They may import
// only the standard library and each other.
var inherited = []string{
	".", "awslambda", "cdkprovider", "pintletest", "statemachine", "waiter", "wire", "internal/language/value",
	"internal/base/awssign", "internal/base/clearjson", "internal/base/clock", "internal/base/seal", "internal/base/redact", "internal/base/suggest", "internal/base/trace",
}

// modules are the third-party modules, and the packages that may import them.
var modules = map[string][]string{
	"github.com/aws/aws-lambda-go":        {"awslambda"},
	"github.com/aws/aws-sdk-go-v2":        {"awscall", "cmd", "internal/api/fetch", "internal/dev/bench", "internal/provider"},
	"github.com/aws/smithy-go":            {"awscall", "cmd", "internal/provider/delivery", "internal/server"},
	"github.com/fsnotify/fsnotify":        {"internal/base/filewatch"},
	"github.com/google/go-cmp":            {"internal/store/storetest"},
	"github.com/google/uuid":              {"cmd", "internal"},
	"github.com/itchyny/gojq":             {"internal/language/jq"},
	"github.com/jackc/pgx/v5":             {"internal/dev/pgtest", "internal/store/postgres"},
	"github.com/prometheus/client_golang": {"internal/api/metrics"},
	"github.com/spf13/cobra":              {"cmd"},
	"github.com/spf13/pflag":              {"cmd"},
	"go.yaml.in/yaml/v3":                  {"cmd", "internal/language/template", "internal/provider/project"},
	"golang.org/x/sync":                   {"cmd", "internal/cloud", "internal/provider"},
	"golang.org/x/sys":                    {"cmd", "internal/provider"},
	"golang.org/x/term":                   {"cmd"},
	"modernc.org/sqlite":                  {"internal/store/sqlite"},
	"software.sslmate.com/src/go-pkcs12":  {"internal/base/loopbacktls"},
}

// code is a package of this module.
type code struct {
	dir      string // with slashes, relative to the root
	synopsis string
	imports  map[string][]string // the importing files by imported package
	tested   map[string][]string // likewise for tests
}

// packages reads the packages of this module except its examples.
func packages(t *testing.T) []*code {
	t.Helper()
	return slices.DeleteFunc(read(t, root), func(c *code) bool { return within(c.dir, []string{"bench", "examples", "tools"}) })
}

// read reads the packages below a directory.
func read(t *testing.T, folder string) []*code {
	t.Helper()
	found := map[string]*code{}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		is := found[dir]
		if is == nil {
			is = &code{dir: dir, imports: map[string][]string{}, tested: map[string][]string{}}
			found[dir] = is
		}
		is.add(t, name, parsed)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *code) int { return strings.Compare(a.dir, b.dir) })
}

func (c *code) add(t *testing.T, name string, file *ast.File) {
	test := strings.HasSuffix(name, "_test.go")
	if text := file.Doc.Text(); text != "" && !test {
		paragraph, _, _ := strings.Cut(text, "\n\n")
		first, _, _ := strings.Cut(strings.Join(strings.Fields(paragraph), " "), ". ")
		c.synopsis = strings.NewReplacer("[", "", "]", "").Replace(strings.TrimRight(first, ".:"))
	}
	for _, spec := range file.Imports {
		what, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if test {
			c.tested[what] = append(c.tested[what], name)
		} else {
			c.imports[what] = append(c.imports[what], name)
		}
	}
}

// within reports whether a directory is in a list, or below a directory in it. The root matches only itself.
func within(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return dir == folder || folder != "." && strings.HasPrefix(dir, folder+"/")
	})
}

func tier(dir string) int {
	return slices.IndexFunc(tiers, func(folders []string) bool { return within(dir, folders) })
}

// ours returns the directory of a package in this module.
func ours(what string) (string, bool) {
	if what == module {
		return ".", true
	}
	return strings.CutPrefix(what, module+"/")
}

func standard(what string) bool { return !strings.Contains(strings.Split(what, "/")[0], ".") }

// TestTiers checks that imports follow the tiers. Tests may use later tiers, except in the core packages.
func TestTiers(t *testing.T) {
	heart := []string{"internal/base", "internal/language", "internal/store", "internal/engine", "wire"}
	for _, c := range packages(t) {
		own := tier(c.dir)
		if own < 0 {
			t.Errorf("%s is in no tier: put it below one of internal's folders, or give it a tier here", c.dir)
		}
		for what, files := range c.imports {
			if dir, ok := ours(what); ok && tier(dir) > own {
				t.Errorf("%s imports %s, which is in a later tier", files[0], dir)
			}
		}
		for what, files := range c.tested {
			if dir, ok := ours(what); ok && tier(dir) > own && within(c.dir, heart) && !within(dir, []string{"internal/dev"}) {
				t.Errorf("%s imports %s, which is in a later tier", files[0], dir)
			}
		}
		for folder, others := range apart {
			for _, other := range others {
				what := strings.TrimSuffix(module+"/"+other, "/.")
				files := slices.Concat(c.imports[what], c.tested[what])
				if within(c.dir, []string{folder}) && len(files) > 0 {
					t.Errorf("%s imports %s: %s does not", files[0], other, folder)
				}
			}
		}
	}
}

// TestExamples checks that examples import only packages that their readers can import.
func TestExamples(t *testing.T) {
	for _, c := range read(t, filepath.Join(root, "examples")) {
		for what, files := range c.imports {
			if dir, ok := ours(what); ok && within(dir, []string{"internal"}) {
				t.Errorf("%s imports %s, which is internal", files[0], dir)
			}
		}
	}
}

// TestInherited checks that the SDK has no further dependencies.
func TestInherited(t *testing.T) {
	for _, c := range packages(t) {
		if !slices.Contains(inherited, c.dir) {
			continue
		}
		for _, imports := range []map[string][]string{c.imports, c.tested} {
			for what, files := range imports {
				dir, ok := ours(what)
				lambda := c.dir == "awslambda" && strings.HasPrefix(what, "github.com/aws/aws-lambda-go/")
				if !standard(what) && !lambda && !(ok && slices.Contains(inherited, dir)) {
					t.Errorf("%s imports %s, which users of the SDK would inherit", files[0], what)
				}
			}
		}
	}
}

// TestModules checks where third-party modules are imported.
func TestModules(t *testing.T) {
	used := map[string]bool{}
	for _, c := range packages(t) {
		for what, files := range c.imports {
			if _, ok := ours(what); ok || standard(what) {
				continue
			}
			allowed := ""
			for name := range modules {
				if what == name || strings.HasPrefix(what, name+"/") {
					allowed = name
				}
			}
			used[allowed] = true
			if allowed == "" || !within(c.dir, modules[allowed]) {
				t.Errorf("%s imports %s: if it should, say so in the table of this test", files[0], what)
			}
		}
	}
	for name := range modules {
		if !used[name] {
			t.Errorf("nothing imports %s: take it out of the table", name)
		}
	}
}

// TestMap checks that CONTRIBUTING.md lists each package with its synopsis. With -update it writes the list.
func TestMap(t *testing.T) {
	const begin, end = "<!-- packages -->\n", "<!-- end of packages -->"
	var list strings.Builder
	for _, c := range packages(t) {
		if c.synopsis == "" {
			if len(c.imports) > 0 || !strings.Contains(c.dir, "/internal/") {
				t.Errorf("%s says nothing of itself: give it a package comment", c.dir)
			}
			continue
		}
		name := c.dir
		if name == "." {
			name = "pintle"
		}
		list.WriteString("- `" + name + "` " + about(c) + "\n")
	}
	page := filepath.Join(root, "CONTRIBUTING.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the packages", page)
	}
	want := before + begin + list.String() + end + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatal("the list of packages is not what they say of themselves: go test ./internal/dev/imports -update")
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// about returns the synopsis of a package without its name.
func about(c *code) string {
	for _, start := range []string{"Package " + path.Base(c.dir) + " ", "Package pintle ", "Command " + path.Base(c.dir) + " "} {
		if rest, ok := strings.CutPrefix(c.synopsis, start); ok {
			return rest
		}
	}
	return c.synopsis
}
