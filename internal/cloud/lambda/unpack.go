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

// unpacked returns the directory of a zip file's content, unpacked if it is not there. One caller unpacks, the others wait for it.
func (f *Functions) unpacked(place registry.Scope, sum string) (string, error) {
	f.touch(sum)
	dir := filepath.Join(f.config.CacheDir, sum)
	_, err, _ := f.unpack.Do(sum, func() (any, error) {
		if _, err := os.Stat(dir); err == nil {
			return nil, nil
		}
		return nil, extract(f.codeFile(place, sum), dir)
	})
	return dir, err
}

// extract unpacks a zip file into a directory, which is there as a whole or not at all.
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
	defer os.RemoveAll(temporary) // which is gone if all went well
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
			return nil // another process was quicker, with the same content
		}
		return fmt.Errorf("unpack code: %w", err)
	}
	return nil
}

// extraction is a zip file on its way to the disk. Links are made last, so that nothing is written through one.
type extraction struct {
	root  *os.Root
	left  int64 // bytes that may be written
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
	// Who unpacks must be able to read it; nobody else has to.
	file, err := x.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, entry.Mode().Perm()&0o755|0o600)
	if err != nil {
		return err
	}
	// The list may lie about the size.
	n, err := io.Copy(file, io.LimitReader(body, x.left+1))
	if x.left -= n; x.left < 0 {
		err = errors.Join(err, tooLarge())
	}
	return errors.Join(err, file.Close())
}

// link makes the links and looks where they lead.
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
