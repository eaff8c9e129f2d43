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

// Limits of the symbolic links in a package, and of the length of a chain of links.
const (
	maxLink  = 4 << 10 // bytes of a target
	maxLinks = 4 << 20 // bytes of all targets
	maxHops  = 40
)

// links maps the names of symbolic links in a package to their targets.
type links map[string]string

// checkLinks returns an error if a link leads out of the package, possibly through other links, or if an entry is
// below a link.
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
	if len(found) == 0 { // the case for most packages
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

// follow resolves a name as the system does. It returns an error if the name leads out of the package or forms a
// cycle.
func (l links) follow(name string) error {
	at := "." // contains no link
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
