package objects

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

var everywhere = registry.Global

func noBucket(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return ErrNoBucket
	}
	return err
}

func objectsDir(bucket string) string { return bucketDir(bucket) + "/objects" }

func objectFile(bucket, key string) string { return objectsDir(bucket) + "/" + encodeName(key) }

func dirOf(file string) string { return path.Dir(file) }

// Query selects the objects to list.
type Query struct {
	// Prefix is the prefix of keys.
	Prefix string
	// Delimiter groups keys: keys that share the text from Prefix up to the delimiter are listed as one common
	// prefix. Empty means no groups.
	Delimiter string
	// After is the key or common prefix after which the page begins. Empty means the start.
	After string
	// Limit is the maximum number of keys and common prefixes. Zero means none.
	Limit int
}

// Page is a part of a list, in the byte order of the keys.
type Page struct {
	Objects  []Info
	Prefixes []string
	// Next is After of the next page. It is empty on the last page.
	Next string
}

// List returns a page of a bucket, or [ErrNoBucket]. It skips and logs damaged files.
func (s *Store) List(ctx context.Context, bucket string, q Query) (Page, error) {
	if _, err := s.Bucket(ctx, bucket); err != nil {
		return Page{}, err
	}
	keys, err := s.keysOf(bucket)
	if err != nil {
		return Page{}, err
	}
	var page Page
	count, last := 0, ""
	from, found := slices.BinarySearch(keys, max(q.Prefix, q.After))
	if found && q.After >= q.Prefix {
		from++ // past After itself
	}
	for _, key := range keys[from:] {
		rest, ok := strings.CutPrefix(key, q.Prefix)
		if !ok {
			break // all keys with the prefix are adjacent
		}
		name, common := key, false
		if q.Delimiter != "" {
			if head, _, cut := strings.Cut(rest, q.Delimiter); cut {
				name, common = q.Prefix+head+q.Delimiter, true
			}
		}
		if common && (name == last || name == q.After) {
			continue
		}
		if count >= q.Limit {
			if count > 0 {
				page.Next = last
			}
			break
		}
		if err := ctx.Err(); err != nil {
			return Page{}, err
		}
		if common {
			page.Prefixes = append(page.Prefixes, name)
		} else {
			info, ok := s.listed(ctx, bucket, key)
			if !ok {
				continue
			}
			page.Objects = append(page.Objects, info)
		}
		count++
		last = name
	}
	return page, nil
}

// listed returns the info of an object. It returns false if the object was deleted or is damaged.
func (s *Store) listed(ctx context.Context, bucket, key string) (Info, bool) {
	file, info, err := s.readFile(objectFile(bucket, key))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.log.ErrorContext(ctx, "an object can not be listed", "bucket", bucket, "error", cleanError("read", bucket, err))
		}
		return info, false
	}
	_ = file.Close() // opened for reading only
	return info, true
}

// keysOf returns the sorted keys of a bucket.
func (s *Store) keysOf(bucket string) ([]string, error) {
	keys, err := s.walk(objectsDir(bucket), "", nil)
	if err != nil {
		return nil, cleanError("list", bucket, err)
	}
	slices.Sort(keys)
	return keys, nil
}
