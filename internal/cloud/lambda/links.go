package lambda

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Limits of the symbolic links of a package, and of how many lead from one to the next.
const (
	maxLink  = 4 << 10 // bytes of a target
	maxLinks = 4 << 20 // bytes of all targets
	maxHops  = 40
)

// links are the symbolic links of a package: their targets by their names.
type links map[string]string

// checkLinks returns an error if a link leads out of the package, also by way of others, or if an entry lies below one.
func checkLinks(archive *zip.Reader) error {
	found, total := links{}, 0
	for _, entry := range archive.File {
		if entry.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := linkTarget(entry)
		if total += len(target); err == nil && total > maxLinks {
			err = errors.New("the links of the package are too long")
		}
		if err != nil {
			return fmt.Errorf("%.100q: %w", entry.Name, err)
		}
		found[path.Clean(entry.Name)] = target
	}
	if len(found) == 0 { // as most packages
		return nil
	}
	for _, entry := range archive.File {
		name := path.Clean(entry.Name)
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := found[dir]; ok {
				return fmt.Errorf("%.100q: %.100q is a link", entry.Name, dir)
			}
		}
		if entry.Mode()&fs.ModeSymlink != 0 {
			if err := found.follow(name); err != nil {
				return fmt.Errorf("%.100q: %w", entry.Name, err)
			}
		}
	}
	return nil
}

func linkTarget(entry *zip.File) (string, error) {
	body, err := entry.Open()
	if err != nil {
		return "", err
	}
	defer body.Close()
	target, err := io.ReadAll(io.LimitReader(body, maxLink+1))
	if err == nil && len(target) > maxLink {
		err = errors.New("the target of the link is too long")
	}
	return string(target), err
}

var errLeadsOut = errors.New("the link leads out of the package")

// follow resolves a name as the system does, and returns an error if it leads out of the package or round in a circle.
func (l links) follow(name string) error {
	at := "." // which has no link in it
	rest := strings.Split(name, "/")
	for hops := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return errLeadsOut
			}
			at = path.Dir(at)
			continue
		}
		at = path.Join(at, part)
		target, ok := l[at]
		if !ok {
			continue
		}
		if hops++; hops > maxHops {
			return errors.New("the link leads round in a circle")
		}
		if path.IsAbs(target) {
			return errLeadsOut
		}
		at = path.Dir(at)
		rest = append(strings.Split(target, "/"), rest...)
	}
	return nil
}
