package local

import (
	"cmp"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// TargetKind is the kind of a [Target]. The set is closed.
type TargetKind uint8

// The kinds of targets. The zero TargetKind is invalid.
const (
	Executable TargetKind = iota + 1 // a file that is run directly: a program, or a script with a #! line
	Folder                           // a directory with an executable named bootstrap, as in a Lambda package
	GoPackage                        // a directory with a Go main package, which is built before it runs
	Script                           // a Python or Node file, or a directory with one, whose function is called
	Java                             // a jar, or a directory with classes, whose method is called
	URL                              // an http or https address, which no local process serves
)

// String returns a phrase for the kind, e.g. "Go package".
func (k TargetKind) String() string {
	switch k {
	case Executable:
		return "executable"
	case Folder:
		return "folder with bootstrap"
	case GoPackage:
		return "Go package"
	case Script:
		return "Python or Node handler"
	case Java:
		return "Java handler"
	case URL:
		return "URL"
	}
	return fmt.Sprintf("target kind %d", uint8(k))
}

// Target is the program behind a provider's name. [ParseTarget] returns one. The zero Target is invalid.
type Target struct {
	kind   TargetKind
	text   string
	path   string
	script script // of a Script
	// args are the arguments of an Executable, each after a zero byte. dir is its working directory if that is not its
	// own directory. For a jar, dir is its directory; for a directory of classes it is empty.
	args, dir string
}

// Kind returns the kind of the target, or zero for the zero Target.
func (t Target) Kind() TargetKind { return t.kind }

// Path returns the absolute path of the file or directory, or the URL, which may contain a password.
func (t Target) Path() string { return t.path }

// Source returns the absolute path of a Python or Node handler's file, or of a Go package's directory. It is empty for
// other targets.
func (t Target) Source() string {
	switch t.kind {
	case Script:
		return t.script.file
	case GoPackage:
		return t.path
	case Executable, Folder, Java, URL:
	}
	return ""
}

// root returns the directory of a Java target.
func (t Target) root() string { return cmp.Or(t.dir, t.path) }

// String returns the text that the target was parsed from. For a URL, it is the same as [Target.Path].
func (t Target) String() string { return t.text }

const wantTarget = "want a Go package's folder, a folder with an executable bootstrap or an index file of Python or Node, an " +
	"executable file, a .py, .js, .ts or .jar file, or an http(s) URL"

// ParseTarget parses a target. A relative path is relative to dir. The file or directory must exist. A directory with
// both a Go main package and a bootstrap is a Go package, so that no stale build runs; to run the bootstrap, use its
// path. A .py file, or a .js, .ts, .cjs, .mjs, .cts or .mts file, is a handler, unless it is executable and begins with
// #!. A handler needs its interpreter on PATH or, for Python, in a virtual environment. A .jar file, or a directory that contains the handler's
// class, is a Java handler.
func ParseTarget(dir, text string) (Target, error) {
	return parseTarget(dir, text, "", bootstrap.Handler)
}

// parseTarget is ParseTarget for a role and a handler, which may be empty.
func parseTarget(dir, text, handler string, role bootstrap.Role) (Target, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Target{}, fmt.Errorf("the target is empty: %s", wantTarget)
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		return parseURL(scheme, text)
	}
	path := text
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return Target{}, fmt.Errorf("target %s: %w", text, err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Target{}, fmt.Errorf("target %s: %s does not exist: %s: %w", text, path, wantTarget, fs.ErrNotExist)
	case err != nil:
		return Target{}, fmt.Errorf("target %s: %w", text, err)
	}
	t := Target{text: text, path: path}
	switch {
	case isJava(path, info, handler):
		t.kind, err = Java, checkJava(filepath.Base(path), handler)
		if !info.IsDir() {
			t.dir = filepath.Dir(path)
		}
	case info.IsDir():
		t.kind, t.script, err = folderKind(path, handler)
	case isScript(path, info, handler, role):
		t.kind = Script
		t.script, err = fileScript(path, handler)
	default:
		t.kind, err = Executable, checkExecutable(path, info)
	}
	if err == nil && t.kind == Script {
		_, _, err = t.script.interpreter(os.Getenv(virtualEnvVar), false)
	}
	if err != nil {
		return Target{}, fmt.Errorf("target %s: %w", text, err)
	}
	return t, nil
}

func parseURL(scheme, text string) (Target, error) {
	if !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return Target{}, fmt.Errorf("target with scheme %q: %s", scheme, wantTarget)
	}
	u, err := url.Parse(text)
	if err != nil {
		// The parse error would repeat the URL, which may contain a password.
		return Target{}, errors.New("target is not a valid URL")
	}
	if u.Hostname() == "" {
		return Target{}, fmt.Errorf("target %s: the URL has no host", u.Redacted())
	}
	return Target{kind: URL, text: text, path: text}, nil
}

func folderKind(path, handler string) (TargetKind, script, error) {
	pkg, err := build.ImportDir(path, 0)
	var none *build.NoGoError
	switch {
	case errors.As(err, &none), err == nil && len(pkg.GoFiles)+len(pkg.CgoFiles) == 0: // or only tests
		err = nil
	case err != nil:
	case pkg.Name == "main":
		return GoPackage, script{}, nil
	default:
		err = fmt.Errorf("the Go package there is %s, and only package main can be run", pkg.Name)
	}
	file := filepath.Join(path, "bootstrap")
	if info, statErr := os.Stat(file); statErr == nil {
		return Folder, script{}, checkExecutable(file, info)
	}
	if err != nil {
		return 0, script{}, err
	}
	s, err := folderScript(path, handler)
	return Script, s, err
}

// checkExecutable returns an error if the file is not executable, as far as that can be checked without running it.
func checkExecutable(path string, info fs.FileInfo) error {
	name := filepath.Base(path)
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".go":
		return fmt.Errorf("%s is Go source: use the directory of its package", name)
	case ".yaml", ".yml", ".json", ".template":
		return fmt.Errorf("%s is not a program: use the file with the handler's code. Code in a template must be in a file of its own", name)
	}
	if runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is not executable: run chmod +x %s", name, path)
	}
	return nil
}

func hasShebang(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	n, _ := f.Read(head[:])
	return string(head[:n]) == "#!"
}
