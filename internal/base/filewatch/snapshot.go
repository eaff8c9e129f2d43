// Package filewatch reports when files are saved. It compares snapshots of the files' contents, so it does not matter
// how an editor saves, whether events come twice, or whether a file was only touched. Events of the operating system
// only say when to compare again. Many network file systems send none, so the package also polls.
package filewatch

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds of what is looked at.
const (
	maxHashed = 16 << 20 // bytes of a file; a larger one has changed when its size or time has
	maxFiles  = 20_000   // of one group; what is beyond is not looked at
	maxDepth  = 32       // of directories
)

// Group is a set of files that are watched together, such as a program's source.
type Group struct {
	// Name names the group among others.
	Name string
	// Files are paths, of files that may not be there.
	Files []string
	// Trees are directories with files.
	Trees []Tree
}

// Tree says which files of a directory count. The zero fields mean none of them.
type Tree struct {
	// Root is the directory's path. It may not be there.
	Root string
	// Deep has directories in it looked into, but not those whose names begin with a dot, and those in which tools put what they make:
	// node_modules, __pycache__, venv.
	Deep bool
	// Extensions are the endings of names that count, with the dot.
	Extensions []string
	// Except are endings of names that do not count in any case.
	Except []string
	// Executables has those files count that may be executed, whatever their names.
	Executables bool
	// All has all files count.
	All bool
}

// counts reports whether a file of the tree counts.
func (t Tree) counts(name string, mode fs.FileMode) bool {
	ends := func(list []string) bool {
		return slices.ContainsFunc(list, func(end string) bool { return strings.HasSuffix(name, end) })
	}
	return !ends(t.Except) && (t.All || ends(t.Extensions) || t.Executables && mode&0o111 != 0)
}

// made are the names of directories in which tools put what they make or fetch.
var made = []string{"node_modules", "__pycache__", "venv"}

// Snapshot is what groups held at one time, by their names.
type Snapshot map[string][sha256.Size]byte

// Changed returns the names of the groups that hold something else than they did, or did not exist, in order.
func (s Snapshot) Changed(since Snapshot) []string {
	var names []string
	for name, sum := range s {
		if before, ok := since[name]; !ok || before != sum {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Looker takes snapshots. It remembers what files held, so that only those are read again that may have changed. It is for one
// goroutine. The zero Looker is ready.
type Looker struct {
	known map[string]entry
}

// entry is what a file held when it had that size, time and mode.
type entry struct {
	size    int64
	written time.Time
	mode    fs.FileMode
	sum     [sha256.Size]byte
}

// racy is how young a file may be for its time to say nothing: what is written within the file system's grain has the same.
const racy = 2 * time.Second

// Look returns what the groups hold now, and the directories in which something about it would change.
func (l *Looker) Look(groups []Group) (Snapshot, []string) {
	snapshot, next, folders := Snapshot{}, map[string]entry{}, map[string]bool{}
	for _, group := range groups {
		sum := sha256.New()
		left := maxFiles
		for _, path := range group.Files {
			folders[filepath.Dir(path)] = true
			l.file(path, sum, next)
		}
		for _, tree := range group.Trees {
			l.tree(tree, tree.Root, 0, &left, sum, next, folders)
		}
		snapshot[group.Name] = [sha256.Size]byte(sum.Sum(nil))
	}
	l.known = next
	list := make([]string, 0, len(folders))
	for folder := range folders {
		list = append(list, there(folder))
	}
	slices.Sort(list)
	return snapshot, slices.Compact(list)
}

// there returns the directory, or the nearest one above it that exists.
func there(folder string) string {
	for {
		if info, err := os.Stat(folder); err == nil && info.IsDir() || filepath.Dir(folder) == folder {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}

// tree adds the files of a directory, in the order of their names. A directory that cannot be read holds nothing.
func (l *Looker) tree(t Tree, folder string, depth int, left *int, sum hash.Hash, next map[string]entry, folders map[string]bool) {
	folders[folder] = true
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(folder, e.Name())
		info, err := os.Stat(path) // what a link leads to
		if err != nil {
			continue
		}
		if info.IsDir() {
			link := e.Type()&fs.ModeSymlink != 0 // it may lead up again
			if t.Deep && !link && depth < maxDepth && !strings.HasPrefix(name, ".") && !slices.Contains(made, name) {
				l.tree(t, path, depth+1, left, sum, next, folders)
			}
			continue
		}
		if !info.Mode().IsRegular() || !t.counts(name, info.Mode()) || *left == 0 {
			continue
		}
		*left--
		l.file(path, sum, next)
	}
}

// file adds a file to a sum: its path, and what it holds or that it is not there.
func (l *Looker) file(path string, sum hash.Hash, next map[string]entry) {
	e, there := next[path]
	if !there {
		e, there = l.read(path)
		if there {
			next[path] = e
		}
	}
	_, _ = io.WriteString(sum, path)
	state := byte(0)
	if there {
		state = 1
		if e.mode&0o111 != 0 {
			state = 2
		}
	}
	_, _ = sum.Write([]byte{0, state})
	_, _ = sum.Write(e.sum[:])
}

// read returns what a file holds, from memory if it cannot have changed. ok is false if there is no such file.
func (l *Looker) read(path string) (e entry, ok bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return entry{}, false
	}
	e = entry{size: info.Size(), written: info.ModTime(), mode: info.Mode()}
	if old, ok := l.known[path]; ok && old.size == e.size && old.written.Equal(e.written) && !old.written.IsZero() {
		e.sum = old.sum
		return e, true
	}
	sum := sha256.New()
	if e.size > maxHashed {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(e.size)), uint64(e.written.UnixNano())))
	} else {
		file, err := os.Open(path)
		if err != nil {
			return entry{}, false
		}
		_, err = io.Copy(sum, io.LimitReader(file, maxHashed+1))
		_ = file.Close() // it was only read
		if err != nil {
			return entry{}, false
		}
	}
	e.sum = [sha256.Size]byte(sum.Sum(nil))
	if time.Since(e.written) < racy {
		e.written = time.Time{} // it is read again next time
	}
	return e, true
}
