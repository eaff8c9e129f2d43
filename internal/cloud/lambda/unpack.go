package lambda

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// unpacked returns the directory with the contents of a zip file. It unpacks the file if necessary. Concurrent
// callers wait for the first.
func (cs *codeStore) unpacked(place registry.Scope, sum string) (string, error) {
	cs.touch(sum)
	dir := filepath.Join(cs.config.CacheDir, sum)
	_, err, _ := cs.unpack.Do(sum, func() (any, error) {
		if _, err := os.Stat(dir); err == nil {
			return nil, nil
		}
		return nil, extract(cs.codeFile(place, sum), dir)
	})
	return dir, err
}

// extract unpacks a zip file into a directory, atomically.
func extract(file, dir string) (err error) {
	archive, err := zip.OpenReader(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the code is not in %s, which the nodes of one engine share: %w", filepath.Dir(file), err)
	}
	if err != nil {
		return fmt.Errorf("open code: %w", err)
	}
	defer archive.Close()
	if err := examine(&archive.Reader); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), "new-*")
	if err != nil {
		return fmt.Errorf("unpack code: %w", err)
	}
	defer os.RemoveAll(temporary) // already renamed on success
	root, err := os.OpenRoot(temporary)
	if err != nil {
		return fmt.Errorf("unpack code: %w", err)
	}
	defer root.Close()
	x := extraction{root: root, left: maxUnpacked}
	for _, entry := range archive.File {
		if err := x.add(entry); err != nil {
			return fmt.Errorf("unpack code: %.200q: %w", entry.Name, err)
		}
	}
	if err := x.link(); err != nil {
		return fmt.Errorf("unpack code: %w", err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		if _, there := os.Stat(dir); there == nil {
			return nil // another process unpacked the same contents first
		}
		return fmt.Errorf("unpack code: %w", err)
	}
	return nil
}

// extraction unpacks a zip file. It creates links last, so that no file is written through one.
type extraction struct {
	root  *os.Root
	left  int64 // bytes that may still be written
	links []link
}

type link struct{ name, target string }

func (x *extraction) add(entry *zip.File) error {
	name := filepath.FromSlash(strings.TrimSuffix(entry.Name, "/"))
	if entry.Mode().IsDir() || strings.HasSuffix(entry.Name, "/") {
		return x.root.MkdirAll(name, 0o700)
	}
	if err := x.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if entry.Mode()&fs.ModeSymlink != 0 {
		target, err := linkTarget(entry)
		if err != nil {
			return err
		}
		x.links = append(x.links, link{name, target})
		return nil
	}
	body, err := entry.Open()
	if err != nil {
		return err
	}
	defer body.Close()
	// The user that unpacks the file must be able to read it. No other user needs access.
	file, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, entry.Mode().Perm()&0o755|0o600)
	if err != nil {
		return err
	}
	// The size in the directory may be wrong.
	n, err := io.Copy(file, io.LimitReader(body, x.left+1))
	if x.left -= n; x.left < 0 {
		err = errors.Join(err, tooLarge())
	}
	return errors.Join(err, file.Close())
}

// link creates the links and checks their targets.
func (x *extraction) link() error {
	for _, l := range x.links {
		if err := x.root.Symlink(l.target, l.name); err != nil {
			return fmt.Errorf("link %.200q: %w", l.name, err)
		}
	}
	for _, l := range x.links {
		if _, err := x.root.Stat(l.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("link %.200q: %w", l.name, err)
		}
	}
	return nil
}
