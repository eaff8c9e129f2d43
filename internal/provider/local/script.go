package local

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// script is a function in a Python or Node file.
type script struct {
	language bootstrap.Language
	root     string // the LAMBDA_TASK_ROOT
	file     string
	function string // empty means that the default names of the role are tried
}

// isScript reports whether a file is a handler rather than a program. For compatibility, an executable script is a
// program unless its handler or role makes sense only for a handler.
func isScript(path string, info fs.FileInfo, handler string, role bootstrap.Role) bool {
	if _, ok := bootstrap.Of(path); !ok || !info.Mode().IsRegular() {
		return false
	}
	return handler != "" || role != bootstrap.Handler ||
		runtime.GOOS != "windows" && info.Mode()&0o111 == 0 || !hasShebang(path)
}

// fileScript returns the handler in a file. The handler is FUNCTION or FILE.FUNCTION.
func fileScript(path, handler string) (script, error) {
	language, _ := bootstrap.Of(path)
	s := script{language: language, root: filepath.Dir(path), file: path, function: handler}
	if language == bootstrap.Python {
		s.root = packageRoot(path)
	}
	name := filepath.Base(path)
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	if function, ok := strings.CutPrefix(handler, stem+"."); ok {
		s.function = function
	} else if strings.Contains(handler, ".") {
		return script{}, fmt.Errorf("handler %s is not in the file %s: want the name of a function there, or %s.NAME",
			handler, name, stem)
	}
	return s, s.check(handler)
}

// maxHeader is how much of a Python file is searched for relative imports, in bytes.
const maxHeader = 1 << 20

// relativeImport matches an import from the file's own package. An indented one may be optional.
var relativeImport = regexp.MustCompile(`(?m)^from[ \t]+(\.+)[ \t]*[\w ]`)

// packageRoot returns the directory that a Python file is imported from. It is that of the file, unless the file has relative imports, which
// work only in a package. Then it is the directory that contains the package.
func packageRoot(file string) string {
	dir := filepath.Dir(file)
	levels := 0
	for _, found := range relativeImport.FindAllSubmatch(Beginning(file, maxHeader), -1) { // the process reports an unreadable file
		levels = max(levels, len(found[1]))
	}
	if levels == 0 {
		return dir
	}
	for range levels {
		dir = filepath.Dir(dir)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "__init__.py")); err != nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// Beginning returns at most limit bytes from the beginning of a file. It returns fewer if the file is shorter or reading fails, and nil
// if the path is not a regular file that can be opened. It is safe for concurrent use.
func Beginning(path string, limit int64) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // opening a named pipe would wait for its writer
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // read only
	text, _ := io.ReadAll(io.LimitReader(f, limit))
	return text
}

// indexes are the possible files of an unnamed handler in a directory.
var indexes = []string{"index.js", "index.mjs", "index.cjs", "index.py", "lambda_function.py"}

// folderScript returns the handler in a directory with the layout of an unpacked Lambda package. The handler is
// FILE.FUNCTION.
func folderScript(folder, handler string) (script, error) {
	candidates := map[string]string{} // the function, by file
	var names []string
	add := func(file, function string) {
		candidates[file] = function
		names = append(names, file)
	}
	if handler == "" {
		for _, name := range indexes {
			add(name, "")
		}
	} else {
		for _, language := range []bootstrap.Language{bootstrap.Python, bootstrap.Node} {
			files, function := handlerFiles(language, handler)
			for _, file := range files {
				add(file, function)
			}
		}
		if len(names) == 0 {
			return script{}, fmt.Errorf("handler %s: want FILE.FUNCTION, such as index.handler", handler)
		}
	}
	if slices.ContainsFunc(names, func(name string) bool { return !filepath.IsLocal(filepath.FromSlash(name)) }) {
		return script{}, fmt.Errorf("handler %s is not in the directory", handler)
	}
	found := existing(folder, names)
	if len(found) == 0 { // compiled files take precedence over their sources
		for _, name := range names {
			if stem, ok := strings.CutSuffix(name, "js"); ok {
				candidates[stem+"ts"] = candidates[name]
				found = append(found, existing(folder, []string{stem + "ts"})...)
			}
		}
	}
	switch {
	case len(found) > 1:
		return script{}, fmt.Errorf("the directory has %s, and each may be the handler's: use the path of the file",
			strings.Join(found, " and "))
	case len(found) == 1:
		name := found[0]
		language, _ := bootstrap.Of(name)
		s := script{
			language: language, root: folder, file: filepath.Join(folder, filepath.FromSlash(name)), function: candidates[name],
		}
		return s, s.check(handler)
	case handler != "":
		return script{}, fmt.Errorf("handler %s: the directory has none of %s", handler, strings.Join(names, ", "))
	}
	return script{}, fmt.Errorf("the directory has no Go package, no file named bootstrap, and none of %s: %s",
		strings.Join(indexes, ", "), wantTarget)
}

// existing returns the names of regular files in a directory.
func existing(folder string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name)))
		return err != nil || !info.Mode().IsRegular()
	})
}

// handlerFiles returns the possible files of a handler in an unpacked package, and its function, by the rules of
// Lambda's runtimes: a.b.c is c in a/b.py, or b.c in a.js.
func handlerFiles(language bootstrap.Language, handler string) (files []string, function string) {
	switch language {
	case bootstrap.Python:
		if i := strings.LastIndexByte(handler, '.'); i > 0 {
			return []string{strings.ReplaceAll(handler[:i], ".", "/") + ".py"}, handler[i+1:]
		}
	case bootstrap.Node:
		dir, base := "", handler
		if i := strings.LastIndexByte(handler, '/'); i >= 0 {
			dir, base = handler[:i+1], handler[i+1:]
		}
		if stem, function, ok := strings.Cut(base, "."); ok {
			for _, extension := range bootstrap.Node.Extensions() {
				files = append(files, dir+stem+extension)
			}
			return files, function
		}
	}
	return nil, ""
}

// check returns an error if the language does not allow the function's name.
func (s script) check(handler string) error {
	if handler == "" {
		return nil
	}
	parts := strings.Split(s.function, ".")
	bad := s.language == bootstrap.Python && len(parts) > 1
	for _, part := range parts {
		bad = bad || part == "" || strings.ContainsAny(part, "/\\ \t\r\n\x00")
	}
	if bad {
		return fmt.Errorf("handler %s: %q is not the name of a %s function", handler, s.function, s.language)
	}
	return nil
}

// names returns the possible names of the function.
func (s script) names(role bootstrap.Role) []string {
	if s.function != "" {
		return []string{s.function}
	}
	return s.language.Names(role)
}

// command returns the command to run. It looks for the interpreter each time, so that a virtual environment can be
// created later.
func (s script) command(config *Config, provider Provider) (command, error) {
	interpreter, venv, err := s.interpreter(active(config, provider), provider.Function != nil)
	if err != nil {
		return command{}, err
	}
	program, err := s.language.Install(filepath.Join(config.CacheDir, "bootstrap"), interpreter)
	if err != nil {
		return command{}, err
	}
	c := command{
		path: program.Interpreter, args: program.Args(s.file, s.names(provider.Role)), runtime: filepath.Dir(program.Script),
		schema: program.SchemaArgs(s.file, s.names(provider.Role)),
	}
	if program.Modules != "" {
		c.env = append(c.env, "NODE_PATH="+program.Modules)
	}
	if venv != "" { // activate the environment for the handler's child processes
		c.env = append(c.env, virtualEnvVar+"="+venv, "PATH="+venvPrograms(venv))
	}
	if provider.Function == nil {
		c.env = append(c.env, bootstrap.ProjectVariable+"="+projectDir(filepath.Dir(s.file)))
	}
	return c, nil
}

// published reports whether a handler may publish a schema.
func (s script) published(provider Provider) bool {
	return provider.Role == bootstrap.Handler && provider.Contract != bootstrap.FC && s.language.HasLibrary(s.file)
}

// handler returns the process's _HANDLER. The program that runs a script sets it again when it has found the function.
func (p Provider) handler() string {
	if p.Target.Kind() != Script {
		return cmp.Or(p.Handler, "bootstrap")
	}
	s := p.Target.script
	path, err := filepath.Rel(s.root, s.file)
	if err != nil {
		path = filepath.Base(s.file)
	}
	path = filepath.ToSlash(path)
	return strings.TrimSuffix(path, filepath.Ext(path)) + "." + s.names(p.Role)[0]
}

// mistaken returns a hint for a program that exited before it asked for an event. A handler that runs as a program either defines its
// function and exits, or fails to import a module that only the runtimes of handlers provide, such as cfnresponse.
func (t Target) mistaken() string {
	if _, ok := bootstrap.Of(t.path); !ok || t.kind != Executable {
		return ""
	}
	return fmt.Sprintf(": it is executable and begins with #!, so it was run as a program; if it is a handler, say so with "+
		"chmod -x %s, or name its function with handler: in pintle.yaml", t.path)
}
