package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// target is a platform.
type target struct{ os, arch string }

func parseTarget(text string) (target, error) {
	system, arch, ok := strings.Cut(strings.TrimSpace(text), "/")
	if !ok || system == "" || arch == "" {
		return target{}, fmt.Errorf("target %q: want os/arch, such as linux/amd64", text)
	}
	return target{system, arch}, nil
}

func (t target) String() string { return t.os + "/" + t.arch }

// release is a release build.
type release struct {
	name    string // of the program
	source  string // the directory of the module
	command string // the program's package, relative to source
	out     string

	version, commit string
	// date is the date of the commit and of all files.
	date    time.Time
	targets []target
}

// made is a file of the release.
type made struct {
	name string
	size int64
	sum  [sha256.Size]byte
}

// Program metadata in packages.
const (
	summary    = "Run, test and debug custom resources of CloudFormation and ROS on your own machine"
	repository = "https://github.com/pintle-dev/pintle"
)

// documents are the documents that archives contain if the source has them.
var documents = []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"}

// build builds all targets, and returns the written files, sorted by name.
func (r *release) build(ctx context.Context) (files []made, err error) {
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return nil, err
	}
	extras, err := r.extras(ctx, work)
	if err != nil {
		return nil, err
	}
	for _, t := range r.targets {
		program, err := r.compile(ctx, t, work)
		if err != nil {
			return nil, err
		}
		base := fmt.Sprintf("%s_%s_%s_%s", r.name, strings.TrimPrefix(r.version, "v"), t.os, t.arch)
		text, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		archive, extension, err := r.pack(t, append([]entry{{filepath.Base(program), text, true}}, extras...))
		if err != nil {
			return nil, fmt.Errorf("archive of %v: %w", t, err)
		}
		bill, err := r.bill(program)
		if err != nil {
			return nil, fmt.Errorf("bill of materials of %v: %w", t, err)
		}
		texts := map[string][]byte{base + extension: archive, base + ".cdx.json": bill}
		for _, pack := range []func(target, string, []byte, []entry) (string, []byte, bool, error){r.wheel, r.npm} {
			name, packed, ok, err := pack(t, filepath.Base(program), text, extras)
			if err != nil {
				return nil, fmt.Errorf("package of %v: %w", t, err)
			}
			if ok {
				texts[name] = packed
			}
		}
		written, err := r.writeAll(texts)
		if err != nil {
			return nil, err
		}
		files = append(files, written...)
	}
	name, packed, err := r.npmMain(extras)
	if err != nil {
		return nil, fmt.Errorf("package for npm: %w", err)
	}
	texts := map[string][]byte{name: packed}
	for what, pack := range map[string]func([]entry) (string, []byte, bool, error){
		"plugin for pytest": r.plugin, "library for Python": r.providerLibrary, "library for Node": r.npmProvider,
	} {
		name, packed, ok, err := pack(extras)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if ok {
			texts[name] = packed
		}
	}
	written, err := r.writeAll(texts)
	if err != nil {
		return nil, err
	}
	files = append(files, written...)
	slices.SortFunc(files, func(a, b made) int { return strings.Compare(a.name, b.name) })
	var sums bytes.Buffer
	for _, file := range files {
		fmt.Fprintf(&sums, "%x  %s\n", file.sum, file.name)
	}
	file, err := r.write("checksums.txt", sums.Bytes())
	return append(files, file), err
}

// compile builds the program for one target and returns its path. The program contains no data about the build
// machine.
func (r *release) compile(ctx context.Context, t target, work string) (string, error) {
	name := r.name
	if t.os == "windows" {
		name += ".exe"
	}
	path := filepath.Join(work, t.os+"_"+t.arch, name)
	stamp := fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s -X main.date=%s", r.version, r.commit, r.date.Format(time.RFC3339))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", stamp, "-o", path, r.command)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build for %v: %w", t, err)
	}
	return path, nil
}

// extras returns the files of every archive: documents, and files that the program generates when run here.
func (r *release) extras(ctx context.Context, work string) ([]entry, error) {
	var list []entry
	for _, name := range documents {
		text, err := os.ReadFile(filepath.Join(r.source, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, entry{name, text, false})
	}
	others, err := r.licenses(ctx)
	if err != nil {
		return nil, err
	}
	list = append(list, entry{licensesName, others, false})
	program, err := r.compile(ctx, target{runtime.GOOS, runtime.GOARCH}, work)
	if err != nil {
		return nil, err
	}
	for shell, name := range map[string]string{
		"bash": r.name + ".bash", "zsh": "_" + r.name, "fish": r.name + ".fish", "powershell": r.name + ".ps1",
	} {
		text, err := exec.CommandContext(ctx, program, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion for %s: %w", shell, err)
		}
		list = append(list, entry{"completions/" + name, text, false})
	}
	pages := filepath.Join(work, "man1")
	if err := exec.CommandContext(ctx, program, "man", pages).Run(); err != nil {
		return nil, fmt.Errorf("manual pages: %w", err)
	}
	written, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	for _, page := range written {
		text, err := os.ReadFile(filepath.Join(pages, page.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, entry{"man1/" + page.Name(), text, false})
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

// integration reads files of a directory below integrations. It returns none if the source has no such directory.
func (r *release) integration(dir string, names ...string) ([]entry, error) {
	dir = filepath.Join(r.source, "integrations", dir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var files []entry
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, entry{name, text, false})
	}
	return files, nil
}

// writeAll writes files, of which it has the contents by their names.
func (r *release) writeAll(texts map[string][]byte) ([]made, error) {
	var files []made
	for name, text := range texts {
		file, err := r.write(name, text)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func (r *release) write(name string, text []byte) (made, error) {
	err := os.WriteFile(filepath.Join(r.out, name), text, 0o644) //nolint:gosec // G306: it is made to be given away
	return made{name, int64(len(text)), sha256.Sum256(text)}, err
}

// compare builds the first target again from a copy of the source, and returns an error if any byte differs.
func (r *release) compare(ctx context.Context) (err error) {
	elsewhere, err := os.MkdirTemp("", "release-again-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(elsewhere)) }()
	again := *r
	again.source, again.out = filepath.Join(elsewhere, "source"), filepath.Join(elsewhere, "dist")
	again.targets = r.targets[:1]
	if err := copySource(ctx, r.source, again.source); err != nil {
		return fmt.Errorf("copy the source: %w", err)
	}
	files, err := again.build(ctx)
	if err != nil {
		return err
	}
	for _, file := range files {
		if file.name == "checksums.txt" && len(r.targets) > 1 {
			continue
		}
		text, err := os.ReadFile(filepath.Join(r.out, file.name))
		if err != nil {
			return err
		}
		if sha256.Sum256(text) != file.sum {
			return fmt.Errorf("%s is not the same when it is built again elsewhere", file.name)
		}
		fmt.Println(file.name, "is the same when it is built again elsewhere")
	}
	return nil
}

// copySource copies the files that git tracks or would add.
func copySource(ctx context.Context, from, to string) error {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = from
	list, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil || !info.Mode().IsRegular() {
		return err // a link in an example is not source
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // opened for reading only
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, file.Close())
}
