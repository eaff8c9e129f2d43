package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// licensesName is the file with third-party licenses in archives and images.
const licensesName = "THIRD-PARTY-LICENSES"

// licensePrefixes are the name prefixes of license files, in capitals.
var licensePrefixes = []string{"LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "PATENTS", "AUTHORS"}

// licenses returns the license texts of Go and of every module that is linked into the program on any platform, by
// module. It returns an error if a module has no license.
func (r *release) licenses(ctx context.Context) ([]byte, error) {
	modules := map[string]string{} // directories by path and version
	var all []target               // all platforms, so that every archive has the same text
	for text := range strings.SplitSeq(platforms, ",") {
		t, err := parseTarget(text)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	for _, t := range all {
		const format = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"
		text, err := r.goTool(ctx, t, "list", "-deps", "-f", format, r.command)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				modules[name] = dir
			}
		}
	}
	root, err := r.goTool(ctx, all[0], "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s contains Go and the modules below. Their licenses are:\n", r.name)
	if err := addLicenses(&out, "Go", strings.TrimSpace(root)); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		if err := addLicenses(&out, name, modules[name]); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// addLicenses appends the license texts in the directory of a module.
func addLicenses(out *bytes.Buffer, name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	licensed := false
	for _, file := range entries {
		upper := strings.ToUpper(file.Name())
		is := slices.ContainsFunc(licensePrefixes, func(prefix string) bool { return strings.HasPrefix(upper, prefix) })
		if !is || !file.Type().IsRegular() || strings.HasSuffix(upper, ".GO") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		licensed = licensed || !strings.HasPrefix(upper, "AUTHORS") && !strings.HasPrefix(upper, "PATENTS") && !strings.HasPrefix(upper, "NOTICE")
		fmt.Fprintf(out, "\n%s\n%s, %s\n%s\n\n%s\n", strings.Repeat("=", 78), name, file.Name(), strings.Repeat("=", 78), bytes.TrimSpace(text))
	}
	if !licensed {
		return fmt.Errorf("%s has no license text in %s", name, dir)
	}
	return nil
}

// goTool runs the go command for a target in the source directory.
func (r *release) goTool(ctx context.Context, t target, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOFLAGS=-mod=readonly")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}
