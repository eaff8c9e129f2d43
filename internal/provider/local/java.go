package local

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// errNoJavaFC means that a Java handler has the contract of Function Compute, which is not supported.
var errNoJavaFC = errors.New("a Java handler is called as Lambda calls it only: remove runtime: fc, or put it behind a token of AWS")

const wantJava = "PACKAGE.CLASS, or PACKAGE.CLASS::METHOD"

// isJava reports whether a file or directory is a Java handler: a jar, or a directory that contains the handler's
// class, laid out as in a Lambda package.
func isJava(path string, info fs.FileInfo, handler string) bool {
	if !info.IsDir() {
		return info.Mode().IsRegular() && strings.EqualFold(filepath.Ext(path), ".jar")
	}
	class, _, method := strings.Cut(handler, "::")
	if handler == "" || strings.ContainsAny(handler, "/\\") {
		return false
	}
	if method {
		return true
	}
	file := strings.ReplaceAll(class, ".", "/") + ".class"
	return slices.ContainsFunc(javaCode(path, path), func(entry string) bool {
		found, err := bootstrap.HasEntry(entry, file)
		return err == nil && found
	})
}

// checkJava returns an error if the text is not a Java handler. jar is the name of its file, or "".
func checkJava(jar, handler string) error {
	class, method, named := strings.Cut(handler, "::")
	switch {
	case handler == "":
		return fmt.Errorf("%s holds classes, and none is named: name the handler with handler: %s", jar, wantJava)
	case class == "" || named && method == "" || strings.ContainsAny(handler, "/\\ \t\r\n\x00") || strings.HasPrefix(handler, "-"):
		return fmt.Errorf("bad handler %q: want %s", handler, wantJava)
	}
	return nil
}

// javaCode returns the class path of the code at path, a jar or a directory: path itself, then the jars of root/lib, by
// name.
func javaCode(path, root string) []string {
	jars, _ := filepath.Glob(filepath.Join(globbed(root), "lib", "*.jar")) // Glob fails only on a bad pattern
	return append([]string{path}, jars...)
}

// globbed returns a pattern that matches only the path.
func globbed(path string) string {
	if filepath.Separator != '/' {
		return path // a backslash is not an escape on Windows
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// javaCommand returns the command for a Java handler.
func javaCommand(config *Config, provider Provider) (command, error) {
	if provider.Contract == bootstrap.FC {
		return command{}, errNoJavaFC
	}
	inherited := map[string]string{}
	for _, kv := range config.Environ {
		name, text, _ := strings.Cut(kv, "=")
		inherited[name] = text
	}
	path, err := bootstrap.JavaPath(inherited["JAVA_HOME"])
	if err != nil {
		return command{}, err
	}
	run := bootstrap.Java{
		Code: javaCode(provider.Target.Path(), provider.Target.root()), Path: path, CacheDir: filepath.Join(config.CacheDir, "bootstrap"),
	}
	if home := cmp.Or(inherited["HOME"], inherited["USERPROFILE"]); home != "" {
		run.Repository = filepath.Join(home, ".m2", "repository")
	}
	if provider.Function != nil {
		for _, layer := range provider.Function.Layers {
			jars, _ := filepath.Glob(filepath.Join(globbed(layer), "java", "lib", "*.jar")) // Glob fails only on a bad pattern
			run.Code = append(run.Code, jars...)
		}
	}
	args, err := run.Args(provider.Handler)
	if err != nil {
		return command{}, err
	}
	return command{path: path, args: args, runtime: run.CacheDir}, nil
}
