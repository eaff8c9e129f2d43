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
func (cs *codeStore) touch(sum string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.used[sum] = cs.config.Now()
}

// sweep removes the unused files of all scopes.
func (f *Functions) sweep(ctx context.Context) {
	accounts, _ := os.ReadDir(f.config.CodeDir) // unreadable directories are swept another time
	for _, account := range accounts {
		regions, _ := os.ReadDir(filepath.Join(f.config.CodeDir, account.Name()))
		for _, region := range regions {
			f.code.collect(ctx, registry.Scope{Account: account.Name(), Region: region.Name()})
		}
	}
	f.ready.sweepPrepared(ctx)
	f.ready.sweepCache()
}

// sweepPrepared forgets functions that another node deleted.
func (pr *preparer) sweepPrepared(ctx context.Context) {
	pr.mu.Lock()
	names := slices.Collect(maps.Keys(pr.prepared))
	pr.mu.Unlock()
	for _, name := range names {
		r, err := ParseReference(registry.Scope{}, name, "")
		if err != nil {
			continue // not a valid region or account
		}
		if _, err := pr.config.Catalog.Functions.Get(ctx, r.Scope, r.row()); errors.Is(err, registry.ErrNotFound) {
			pr.forget(name)
		}
	}
}

// collect removes the zip files of a scope that no function, version or layer uses, unless they are new.
func (cs *codeStore) collect(ctx context.Context, place registry.Scope) {
	dir := filepath.Dir(cs.codeFile(place, "x"))
	files, _ := os.ReadDir(dir)
	var old []string
	for _, file := range files {
		if info, err := file.Info(); err == nil && cs.config.Now().Sub(info.ModTime()) > lasts {
			old = append(old, file.Name())
		}
	}
	if len(old) == 0 {
		return
	}
	needed, err := cs.needed(ctx, place)
	if err != nil {
		cs.config.Log.WarnContext(ctx, "unused code could not be searched for", "error", err)
		return
	}
	for _, name := range old {
		if needed[strings.TrimSuffix(name, ".zip")] {
			continue
		}
		if err := cs.discard(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			cs.config.Log.WarnContext(ctx, "unused code was not removed", "error", err)
		}
	}
}

// discard removes a file, unless it was written or renewed since it was checked. It renames the file first, and
// restores it if it is new.
func (cs *codeStore) discard(file string) error {
	away := filepath.Join(filepath.Dir(file), "old-"+filepath.Base(file))
	if err := os.Rename(file, away); err != nil {
		return err
	}
	info, err := os.Stat(away)
	if err != nil {
		return err
	}
	if cs.config.Now().Sub(info.ModTime()) <= lasts {
		return os.Rename(away, file)
	}
	return os.Remove(away)
}

// renew sets the modification time of a zip file to now, because a row that refers to it is about to be written.
func (cs *codeStore) renew(place registry.Scope, sum string) error {
	now := cs.config.Now()
	return os.Chtimes(cs.codeFile(place, sum), now, now)
}

// needed returns the hashes of the code that a scope uses.
func (cs *codeStore) needed(ctx context.Context, place registry.Scope) (map[string]bool, error) {
	const limit = 100
	needed := map[string]bool{}
	for after := ""; ; {
		page, err := cs.config.Catalog.Functions.List(ctx, place, after, limit)
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
		page, err := cs.config.Catalog.Layers.List(ctx, place, after, limit)
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
func (pr *preparer) sweepCache() {
	pr.mu.Lock()
	var needed []string
	for _, p := range pr.prepared {
		needed = append(needed, p.code...)
	}
	pr.mu.Unlock()
	pr.code.sweepCache(needed)
}

// sweepCache removes unpacked code that was not used recently, except the needed code.
func (cs *codeStore) sweepCache(needed []string) {
	entries, _ := os.ReadDir(cs.config.CacheDir)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	now := cs.config.Now()
	for _, sum := range needed {
		cs.used[sum] = now
	}
	for _, entry := range entries {
		name := entry.Name()
		last, known := cs.used[name]
		switch {
		case !entry.IsDir() || !cacheForm.MatchString(name): // not created by this package
		case !known:
			cs.used[name] = now // from before this process, and may be needed soon
		case now.Sub(last) > lasts:
			delete(cs.used, name)
			if err := os.RemoveAll(filepath.Join(cs.config.CacheDir, name)); err != nil {
				cs.config.Log.Warn("unused unpacked code was not removed", "error", err)
			}
		}
	}
}
