// Package filewatch reports when files are saved. It compares snapshots of the files' contents, so it does not matter
// how an editor saves, whether events are duplicated, or whether a file was only touched. Operating system events
// only trigger a comparison. Many network file systems send none, so the package also polls.
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

// Limits of a snapshot.
const (
	maxHashed = 16 << 20 // bytes; a larger file counts as changed if its size or time changed
	maxFiles  = 20_000   // in a group; further files are ignored
	maxDepth  = 32       // of directories
)

// Group is a set of files that are watched together, such as the source of a program.
type Group struct {
	// Name identifies the group.
	Name string
	// Files are paths of files, which need not exist.
	Files []string
	// Trees are directories with files.
	Trees []Tree
}

// Tree selects files of a directory. The zero fields select none.
type Tree struct {
	// Root is the path of the directory, which need not exist.
	Root string
	// Deep includes subdirectories, except those whose names begin with a dot and those with generated files:
	// node_modules, __pycache__, venv.
	Deep bool
	// Extensions are the name suffixes to include, with the dot.
	Extensions []string
	// Except are name suffixes to exclude, even if another field includes them.
	Except []string
	// Executables includes all executable files.
	Executables bool
	// All includes all files.
	All bool
}

// counts reports whether the tree includes a file.
func (t Tree) counts(name string, mode fs.FileMode) bool {
	ends := func(list []string) bool {
		return slices.ContainsFunc(list, func(end string) bool { return strings.HasSuffix(name, end) })
	}
	return !ends(t.Except) && (t.All || ends(t.Extensions) || t.Executables && mode&0o111 != 0)
}

// made are the names of directories with generated or downloaded files.
var made = []string{"node_modules", "__pycache__", "venv"}

// Snapshot holds a hash of each group, by the group's name.
type Snapshot map[string][sha256.Size]byte

// Changed returns the sorted names of the groups that are new or differ from since.
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

// Looker takes snapshots. It caches file hashes, so that it reads only files that may have changed. It is not safe
// for concurrent use. The zero Looker is ready to use.
type Looker struct {
	known map[string]entry
}

// entry is the cached hash of a file with that size, time and mode.
type entry struct {
	size    int64
	written time.Time
	mode    fs.FileMode
	sum     [sha256.Size]byte
}

// racy is the age below which a file's time is not reliable: two writes within the file system's time resolution get
// the same time.
const racy = 2 * time.Second

// Look returns a snapshot of the groups, and the directories to watch for changes.
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

// there returns the directory, or its nearest existing ancestor.
func there(folder string) string {
	for {
		if info, err := os.Stat(folder); err == nil && info.IsDir() || filepath.Dir(folder) == folder {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}

// tree adds the files of a directory to sum, in the order of their names. It treats an unreadable directory as empty.
func (l *Looker) tree(t Tree, folder string, depth int, left *int, sum hash.Hash, next map[string]entry, folders map[string]bool) {
	folders[folder] = true
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		name, path := e.Name(), filepath.Join(folder, e.Name())
		info, err := os.Stat(path) // follows links
		if err != nil {
			continue
		}
		if info.IsDir() {
			link := e.Type()&fs.ModeSymlink != 0 // a link may lead to an ancestor
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

// file adds the path and the contents of a file to sum, or that the file does not exist.
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

// read returns the entry of a file, from the cache if the file cannot have changed. ok is false if the file does not
// exist.
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
		_ = file.Close() // opened for reading only
		if err != nil {
			return entry{}, false
		}
	}
	e.sum = [sha256.Size]byte(sum.Sum(nil))
	if time.Since(e.written) < racy {
		e.written = time.Time{} // forces a read next time
	}
	return e, true
}
