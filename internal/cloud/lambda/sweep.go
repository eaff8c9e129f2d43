package lambda

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// lasts is how long an unused file is kept. A row that refers to it may be about to be written, and a process that
// uses the directory may still run.
const lasts = time.Hour

// cacheForm matches the name of a directory with unpacked code, or one that is being unpacked.
var cacheForm = regexp.MustCompile(`^([0-9a-f]{64}|new-[0-9]+)$`)

// touch marks the unpacked contents of a zip file as used.
func (f *Functions) touch(sum string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used[sum] = f.config.Now()
}

// sweep removes the unused files of all scopes.
func (f *Functions) sweep(ctx context.Context) {
	accounts, _ := os.ReadDir(f.config.CodeDir) // unreadable directories are swept another time
	for _, account := range accounts {
		regions, _ := os.ReadDir(filepath.Join(f.config.CodeDir, account.Name()))
		for _, region := range regions {
			f.collect(ctx, registry.Scope{Account: account.Name(), Region: region.Name()})
		}
	}
	f.sweepPrepared(ctx)
	f.sweepCache()
}

// sweepPrepared forgets functions that another node deleted.
func (f *Functions) sweepPrepared(ctx context.Context) {
	f.mu.Lock()
	names := slices.Collect(maps.Keys(f.prepared))
	f.mu.Unlock()
	for _, name := range names {
		r, err := ParseReference(registry.Scope{}, name, "")
		if err != nil {
			continue // not a valid region or account
		}
		if _, err := f.config.Catalog.Functions.Get(ctx, r.Scope, r.row()); errors.Is(err, registry.ErrNotFound) {
			f.forget(name)
		}
	}
}

// collect removes the zip files of a scope that no function, version or layer uses, unless they are new.
func (f *Functions) collect(ctx context.Context, place registry.Scope) {
	dir := filepath.Dir(f.codeFile(place, "x"))
	files, _ := os.ReadDir(dir)
	var old []string
	for _, file := range files {
		if info, err := file.Info(); err == nil && f.config.Now().Sub(info.ModTime()) > lasts {
			old = append(old, file.Name())
		}
	}
	if len(old) == 0 {
		return
	}
	needed, err := f.needed(ctx, place)
	if err != nil {
		f.config.Log.WarnContext(ctx, "unused code could not be searched for", "error", err)
		return
	}
	for _, name := range old {
		if needed[strings.TrimSuffix(name, ".zip")] {
			continue
		}
		if err := f.discard(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.config.Log.WarnContext(ctx, "unused code was not removed", "error", err)
		}
	}
}

// discard removes a file, unless it was written or renewed since it was checked. It renames the file first, and
// restores it if it is new.
func (f *Functions) discard(file string) error {
	away := filepath.Join(filepath.Dir(file), "old-"+filepath.Base(file))
	if err := os.Rename(file, away); err != nil {
		return err
	}
	info, err := os.Stat(away)
	if err != nil {
		return err
	}
	if f.config.Now().Sub(info.ModTime()) <= lasts {
		return os.Rename(away, file)
	}
	return os.Remove(away)
}

// renew sets the modification time of a zip file to now, because a row that refers to it is about to be written.
func (f *Functions) renew(place registry.Scope, sum string) error {
	now := f.config.Now()
	return os.Chtimes(f.codeFile(place, sum), now, now)
}

// needed returns the hashes of the code that a scope uses.
func (f *Functions) needed(ctx context.Context, place registry.Scope) (map[string]bool, error) {
	const limit = 100
	needed := map[string]bool{}
	for after := ""; ; {
		page, err := f.config.Catalog.Functions.List(ctx, place, after, limit)
		if err != nil {
			return nil, err
		}
		for _, i := range page {
			after, needed[i.Of.Code] = i.Name, true
			for _, layer := range i.Of.LayerCode {
				needed[layer.Code] = true
			}
		}
		if len(page) < limit {
			break
		}
	}
	for after := ""; ; {
		page, err := f.config.Catalog.Layers.List(ctx, place, after, limit)
		if err != nil {
			return nil, err
		}
		for _, i := range page {
			after, needed[i.Of.Code] = i.Name, true
		}
		if len(page) < limit {
			return needed, nil
		}
	}
}

// sweepCache removes unpacked code that is not in use.
func (f *Functions) sweepCache() {
	entries, _ := os.ReadDir(f.config.CacheDir)
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.config.Now()
	for _, p := range f.prepared {
		for _, sum := range p.code {
			f.used[sum] = now
		}
	}
	for _, entry := range entries {
		name := entry.Name()
		last, known := f.used[name]
		switch {
		case !entry.IsDir() || !cacheForm.MatchString(name): // not created by this package
		case !known:
			f.used[name] = now // from before this process, and may be needed soon
		case now.Sub(last) > lasts:
			delete(f.used, name)
			if err := os.RemoveAll(filepath.Join(f.config.CacheDir, name)); err != nil {
				f.config.Log.Warn("unused unpacked code was not removed", "error", err)
			}
		}
	}
}
