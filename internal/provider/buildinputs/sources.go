// Package buildinputs lists the files that a provider program is built from.
//
//   - A Go package: its files, the files of the packages that it needs from the same module, the same workspace or a
//     replaced directory, the files that they embed, and go.mod, go.sum and go.work. Tests and other modules are not
//     included.
//   - A Python or Node handler: the files of its language in its directory and those below, and package.json.
//   - A Java handler: its jar, or the classes, jars and resources of its directory.
//   - A directory with a bootstrap: its executable files and its scripts.
//   - An executable: the file.
//
// Other files that a program reads are not included, because they cannot be distinguished from files that it writes.
package buildinputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/filewatch"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

const (
	listTimeout = time.Minute
	maxList     = 64 << 20 // bytes of the output of go list
)

// Files returns the files of a program as a group with a name. If the imports of a Go package cannot be determined, it
// returns an error and the files of the package's own directory.
func Files(ctx context.Context, name string, target local.Target) (filewatch.Group, error) {
	path := target.Path()
	switch target.Kind() {
	case local.Executable:
		return filewatch.Group{Name: name, Files: []string{path}}, nil
	case local.Folder:
		return filewatch.Group{Name: name, Trees: []filewatch.Tree{{
			Root: path, Deep: true, Executables: true, Extensions: []string{".py", ".js", ".mjs", ".cjs", ".rb", ".sh"},
		}}}, nil
	case local.Script:
		return script(name, path), nil
	case local.Java:
		if info, _ := os.Stat(path); info == nil || !info.IsDir() {
			return filewatch.Group{Name: name, Files: []string{path}}, nil
		}
		return filewatch.Group{Name: name, Trees: []filewatch.Tree{{
			Root: path, Deep: true, Extensions: []string{".class", ".jar", ".properties", ".json", ".xml"},
		}}}, nil
	case local.GoPackage:
		return goPackage(ctx, name, path)
	case local.URL:
	}
	return filewatch.Group{Name: name}, nil
}

// script returns the files of a handler, which is a file or a directory.
func script(name, path string) filewatch.Group {
	tree := filewatch.Tree{Root: path, Deep: true}
	if language, ok := bootstrap.Of(path); ok {
		tree.Root, tree.Extensions = filepath.Dir(path), language.Sources()
	} else { // the directory may hold either language
		tree.Extensions = slices.Concat(bootstrap.Python.Sources(), bootstrap.Node.Sources())
	}
	tree.Extensions = append(slices.Clone(tree.Extensions), "package.json", "tsconfig.json")
	return filewatch.Group{Name: name, Trees: []filewatch.Tree{tree}}
}

// goFiles are the extensions of files that go build reads in a package's directory.
var goFiles = []string{".go", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".m", ".s", ".S", ".sx", ".syso"}

// listed is the output of go list for a package.
type listed struct {
	ImportPath    string
	Dir           string
	Standard      bool
	EmbedPatterns []string
	Module        *struct {
		Path, Dir, GoMod string
		Main             bool
		Replace          *struct{ Dir, GoMod, Version string }
	}
}

// goPackage returns the files of a Go package in a directory.
func goPackage(ctx context.Context, name, folder string) (filewatch.Group, error) {
	group := filewatch.Group{Name: name, Trees: []filewatch.Tree{ofPackage(folder)}}
	packages, err := list(ctx, folder)
	if err != nil {
		return group, err
	}
	files, roots, modules := map[string]bool{}, map[string]bool{folder: true}, map[string]string{}
	for _, p := range packages {
		if p.Module != nil && p.Module.Main {
			modules[p.Module.Path] = p.Module.Dir
		}
	}
	for _, p := range packages {
		if p.Standard || p.Module != nil && !p.Module.Main && (p.Module.Replace == nil || p.Module.Replace.Version != "") {
			continue
		}
		if p.Dir == "" { // the package is imported but does not exist yet
			p.Dir = expected(p.ImportPath, modules)
		}
		if p.Dir == "" {
			continue
		}
		if p.Module != nil && p.Module.GoMod != "" {
			files[p.Module.GoMod] = true
			files[filepath.Join(filepath.Dir(p.Module.GoMod), "go.sum")] = true
		}
		if !roots[p.Dir] {
			roots[p.Dir] = true
			group.Trees = append(group.Trees, ofPackage(p.Dir))
		}
		for _, pattern := range p.EmbedPatterns {
			group.Trees = append(group.Trees, embedded(p.Dir, pattern))
		}
	}
	if work := workspace(folder); work != "" {
		files[work], files[strings.TrimSuffix(work, ".work")+".work.sum"] = true, true
	}
	for file := range files {
		group.Files = append(group.Files, file)
	}
	slices.Sort(group.Files)
	return group, nil
}

func ofPackage(folder string) filewatch.Tree {
	return filewatch.Tree{Root: folder, Extensions: goFiles, Except: []string{"_test.go"}}
}

// embedded returns the files that a pattern can embed, or more: all files below its directory up to the first wildcard.
// For a pattern such as *.txt, it returns only files with that extension.
func embedded(folder, pattern string) filewatch.Tree {
	const wild = `*?[\`
	pattern = strings.TrimPrefix(pattern, "all:")
	ending := ""
	if i := strings.IndexAny(pattern, wild); i >= 0 {
		if rest := pattern[i+1:]; pattern[i] == '*' && !strings.ContainsAny(rest, wild+"/") {
			ending = rest
		}
		pattern = pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
	}
	path := filepath.Join(folder, filepath.FromSlash(pattern))
	if ending != "" {
		return filewatch.Tree{Root: path, Extensions: []string{ending}}
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filewatch.Tree{Root: filepath.Dir(path), Extensions: []string{filepath.Base(path)}}
	}
	return filewatch.Tree{Root: path, Deep: true, All: true}
}

// expected returns the directory where a missing package of a main module belongs, or "" if no main module contains it.
func expected(importPath string, modules map[string]string) string {
	for module, folder := range modules {
		if rest, ok := strings.CutPrefix(importPath, module+"/"); ok && folder != "" {
			return filepath.Join(folder, filepath.FromSlash(rest))
		}
	}
	return ""
}

// workspace returns the go.work that applies to a directory, or "".
func workspace(folder string) string {
	for {
		file := filepath.Join(folder, "go.work")
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
		if filepath.Dir(folder) == folder {
			return ""
		}
		folder = filepath.Dir(folder)
	}
}

// list returns the packages that the package in a directory needs, from go list. It includes packages that do not
// compile or do not exist.
func list(ctx context.Context, folder string) ([]listed, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	fail := func(err error) ([]listed, error) { return nil, fmt.Errorf("go list in %s: %w", folder, err) }
	gotool, err := exec.LookPath("go")
	if err != nil {
		return fail(err)
	}
	cmd := exec.CommandContext(ctx, gotool, "list", "-e", "-deps", "-json=ImportPath,Dir,Standard,EmbedPatterns,Module", ".")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PWD="+folder)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	var packages []listed
	decoder := json.NewDecoder(io.LimitReader(out, maxList))
	for {
		var p listed
		if err = decoder.Decode(&p); err != nil {
			break
		}
		packages = append(packages, p)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	} else {
		cancel() // otherwise go list waits until the rest is read
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fail(err)
	}
	return packages, nil
}
