package objects

import (
	"errors"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync"
)

// disk is the directory of a [Store]: its files, and the locks for changing them.
type disk struct {
	root *os.Root
	// seed distributes names over the locks.
	seed    maphash.Seed
	buckets [64]sync.RWMutex // read-locked while placing an object, write-locked while creating or removing its bucket
	keys    [256]sync.Mutex  // locked while changing an object or an upload
}

func (on *disk) bucketLock(bucket string) *sync.RWMutex {
	return &on.buckets[maphash.String(on.seed, bucket)%uint64(len(on.buckets))]
}

// keyLock returns the lock of an object or an upload. No two are held at a time.
func (on *disk) keyLock(file string) *sync.Mutex {
	return &on.keys[maphash.String(on.seed, file)%uint64(len(on.keys))]
}

// makeDir creates a directory and its parents, durably.
func (on *disk) makeDir(dir string) error {
	if dir == "." {
		return nil
	}
	if info, err := on.root.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	above := path.Dir(dir)
	if err := on.makeDir(above); err != nil {
		return err
	}
	if err := on.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return on.syncDir(above)
}

// syncDir makes the names in a directory durable, if the system supports it.
func (on *disk) syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := on.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// names returns the entries of a directory, or none if it does not exist.
func (on *disk) names(dir string) ([]fs.DirEntry, error) {
	d, err := on.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := d.ReadDir(-1)
	return entries, errors.Join(err, d.Close())
}

// readFile opens a file and reads its info. The caller closes it.
func (on *disk) readFile(name string) (*os.File, Info, error) {
	file, err := on.root.Open(name)
	if err != nil {
		return nil, Info{}, err
	}
	info, err := readInfo(file)
	if err != nil {
		return nil, info, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// walk adds the names encoded in a directory. Each begins with start, which the directory stands for.
func (on *disk) walk(dir, start string, names []string) ([]string, error) {
	entries, err := on.names(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		part, ok := decodePart(e.Name()[1:])
		switch {
		case !ok:
			// A file that this package did not create.
		case e.Name()[0] == moreMark && e.IsDir():
			if names, err = on.walk(dir+"/"+e.Name(), start+part, names); err != nil {
				return nil, err
			}
		case e.Name()[0] == nameMark && e.Type().IsRegular():
			names = append(names, start+part)
		}
	}
	return names, nil
}
