// Package bootstrap holds the runtimes that connect the Lambda Runtime API to a handler in a Python, Node or Java
// file. For handlers in Java it finds AWS's own program.
//
// A program takes the handler's file and the possible names of its function as arguments. Everything else is in the
// environment, as on Lambda. The caller chooses the interpreter, such as the python3 or node on PATH, and nothing is
// installed. The programs include reimplementations of cfn-response and cfnresponse, the modules that Lambda provides
// to functions with inline code. A missing module is reported in one sentence with the command that installs it.
//
// Handlers commonly send their answer by https to the response URL's host and ignore its scheme and port. If an event
// has a response URL with plain HTTP on loopback, both programs redirect connections to port 443 of its host to the
// URL's port. That port must also speak TLS. The program for Node also sends requests of the https module to the host
// and path of any such URL without TLS.
//
// Source: AWS Lambda developer guide, "Using the Lambda runtime API for custom runtimes", "Define Lambda function
// handler in Python", "… in Node.js", "Using the Lambda context object".
package bootstrap

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed all:files
var files embed.FS

// Language is the programming language of a handler. The set is closed.
type Language uint8

// The languages. The zero Language is invalid.
const (
	Python Language = iota + 1 // .py
	Node                       // .js, .cjs and .mjs, and the same in TypeScript
)

// Of returns the language of a file by its extension, or false if the extension is unknown.
func Of(file string) (Language, bool) {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".py":
		return Python, true
	case ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts":
		return Node, true
	}
	return 0, false
}

// ForRuntime returns the language of a Lambda runtime identifier, such as nodejs22.x or python3.13. It returns false if
// the runtime is neither Node nor Python.
func ForRuntime(runtime string) (Language, bool) {
	for prefix, language := range map[string]Language{"nodejs": Node, "python": Python} {
		if version, ok := strings.CutPrefix(runtime, prefix); ok {
			return language, version == "" || version[0] >= '0' && version[0] <= '9'
		}
	}
	return 0, false
}

// String returns the language's name.
func (l Language) String() string {
	switch l {
	case Python:
		return "Python"
	case Node:
		return "Node"
	}
	return fmt.Sprintf("language %d", uint8(l))
}

// Extensions returns the extensions of the files that Lambda runs, the most common first.
func (l Language) Extensions() []string {
	switch l {
	case Python:
		return []string{".py"}
	case Node:
		return []string{".js", ".mjs", ".cjs"}
	}
	return nil
}

// Sources returns the extensions of the files that can be written by hand: [Language.Extensions], and those of TypeScript. The program for
// Node compiles TypeScript with the compiler of the handler's project, esbuild or typescript.
func (l Language) Sources() []string {
	if l == Node {
		return append(l.Extensions(), ".ts", ".mts", ".cts")
	}
	return l.Extensions()
}

// ErrNoInterpreter means that the interpreter of a language is not on PATH.
var ErrNoInterpreter = errors.New("no interpreter")

// Interpreter returns the path of the program on PATH that runs the language. The error is [ErrNoInterpreter].
func (l Language) Interpreter() (string, error) {
	name, install := "python3", "install Python 3.8 or later"
	if l == Node {
		name, install = "node", "install Node.js 18 or later"
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: a %s handler needs %s, which is not on PATH: %s", ErrNoInterpreter, l, name, install)
	}
	return path, nil
}

// Role is the purpose of a function, which decides the names to look for. The set is closed.
type Role uint8

// The roles.
const (
	Handler    Role = iota // an ordinary Lambda function
	OnEvent                // returns the result of a request
	IsComplete             // reports whether the work that a request began is done
)

// Names returns the default names of a function with the role, in the order to try them.
func (l Language) Names(role Role) []string {
	var names []string
	switch role {
	case Handler:
	case OnEvent:
		names = []string{"on_event", "onEvent"}
	case IsComplete:
		names = []string{"is_complete", "isComplete"}
	}
	switch l {
	case Python:
		return append(names, "handler", "lambda_handler")
	case Node:
		return append(names, "handler", "default")
	}
	return names
}

// Program is a program that runs handlers of one language.
type Program struct {
	// Interpreter is the path of python3 or node.
	Interpreter string
	// Script is the path of Pintle's script that the interpreter runs.
	Script string
	// Modules is the directory of the included modules, to be added to NODE_PATH. It is empty for Python, whose script
	// adds its own directory.
	Modules string
}

// Args returns the arguments for a handler's file and the names of its function; the first is the interpreter.
func (p Program) Args(file string, names []string) []string {
	return append([]string{p.Interpreter, p.Script, file}, names...)
}

// SchemaArgs returns the arguments for the schema of a handler. The program prints it, or exits with [NoSchema] if the handler has none.
// What the handler's file prints goes to standard error.
func (p Program) SchemaArgs(file string, names []string) []string {
	return append([]string{p.Interpreter, p.Script, "--schema", file}, names...)
}

// NoSchema is the exit status of a program whose handler has no schema.
const NoSchema = 3

// libraries are texts that files contain which use the libraries for authors, also if a bundler has put the library into the file.
var libraries = map[Language][]byte{Python: []byte("pintle_provider"), Node: []byte("@pintle-dev/provider")}

// HasLibrary reports whether a handler's file uses the library for authors in its language. Only such a handler can have a schema, so
// that no other file has to be run to find out.
func (l Language) HasLibrary(file string) bool {
	text, err := os.ReadFile(file)
	return err == nil && bytes.Contains(text, libraries[l])
}

// ProjectVariable is the variable with the directory of the handler's project, where missing modules are to be
// installed. It is not set for a function whose code came with a template. The handler does not see it.
const ProjectVariable = "PINTLE_PROJECT"

// PatientVariable is the variable that, if not empty, makes the program keep the pauses of helper libraries. crhelper
// pauses for two minutes before it answers a Delete, so that CloudWatch Logs has the log by then. The handler does not
// see the variable.
const PatientVariable = "PINTLE_PATIENT"

// Install writes the program's files below dir unless they exist. The interpreter is the one to use, such as the result
// of [Language.Interpreter]. It leaves the programs of other versions alone, because running processes may use them. It
// is safe for concurrent use, also by several processes.
func (l Language) Install(dir, interpreter string) (Program, error) {
	folder, script := "files/python", "bootstrap.py"
	if l == Node {
		folder, script = "files/node", "bootstrap.cjs"
	}
	tree, err := fs.Sub(files, folder)
	if err != nil {
		return Program{}, err
	}
	root, err := install(dir, strings.ToLower(l.String()), tree)
	if err != nil {
		return Program{}, fmt.Errorf("install what runs %s handlers: %w", l, err)
	}
	p := Program{Interpreter: interpreter, Script: filepath.Join(root, script)}
	if l == Node {
		p.Modules = filepath.Join(root, "modules")
	}
	return p, nil
}

// install writes the tree into a directory below dir whose name derives from its contents.
func install(dir, name string, tree fs.FS) (string, error) {
	contents := map[string][]byte{}
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		contents[path] = text
		return err
	})
	if err != nil {
		return "", err
	}
	return keep(dir, name, contents)
}

// keep does the same as install with a map of files by path.
func keep(dir, name string, contents map[string][]byte) (string, error) {
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(contents)) {
		fmt.Fprintf(sum, "%s %d\n%s", path, len(contents[path]), contents[path])
	}
	root := filepath.Join(dir, fmt.Sprintf("%s-%x", name, sum.Sum(nil)[:8]))
	for path, text := range contents {
		if err := write(filepath.Join(root, filepath.FromSlash(path)), text); err != nil {
			return "", err
		}
	}
	return root, nil
}

// write replaces the file's content atomically: a concurrent reader sees either the old or the new content.
func write(file string, text []byte) error {
	if found, err := os.ReadFile(file); err == nil && bytes.Equal(found, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "new-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // the first error says more
	}
	return err
}
