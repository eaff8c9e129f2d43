package main

import (
	"path/filepath"
	"strings"
)

// workdir is the working directory of the user. It is the base of the paths that the user types, and it finds and reads the files and
// projects that a command line names.
type workdir struct {
	cwd string // absolute
}

// path makes a path that the user gave absolute.
func (w *workdir) path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(w.cwd, path)
}

// short returns a path as the user would type it.
func (w *workdir) short(path string) string {
	if relative, err := filepath.Rel(w.cwd, path); err == nil && !strings.HasPrefix(relative, "..") {
		return relative
	}
	return path
}
