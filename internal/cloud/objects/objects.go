// Package objects is the local stand-in for S3 and OSS: it stores buckets and objects on disk.
//
// A bucket is an item of the catalog; its objects are files below one directory:
//
//	DIR/buckets/=BUCKET/objects/=KEY          an object, followed by its info
//	DIR/buckets/=BUCKET/uploads/=ID/…         the parts of an incomplete upload
//	DIR/incoming/…                            files that are being written
//
// Names are encoded so that none can escape its directory, is special to an operating system, or equals another on a
// case-insensitive file system. All access also goes through an [os.Root].
//
// # Durability
//
// The store writes an object to a temporary file, flushes it, and renames it as the last step. The metadata is in the
// same file. Readers see the old object or the new one, and continue to read the one they have opened. [New] removes
// the temporary files that a crash has left. Only one Store may use a directory at a time.
//
// # Limits
//
// Objects are streamed, never held in memory. Their size, the length of keys and metadata and the number of parts are
// limited. A listing reads all the names of a bucket, and the metadata of the objects that it returns.
//
// Source: Amazon S3 User Guide and API Reference, version 2006-03-01.
package objects

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Errors for callers to check.
var (
	ErrNoBucket     = errors.New("the specified bucket does not exist")
	ErrDenied       = fmt.Errorf("%w: the bucket is another account's", fs.ErrPermission)
	ErrNoObject     = errors.New("the specified key does not exist")
	ErrNoVersion    = errors.New("the specified version does not exist: objects have one version here, named null")
	ErrNoUpload     = errors.New("the specified upload does not exist: it may have been aborted or completed")
	ErrNotEmpty     = errors.New("the bucket you tried to delete is not empty")
	ErrBucketName   = errors.New("the specified bucket is not valid: a name has 3 to 63 lower-case letters, digits, hyphens and dots")
	ErrKey          = errors.New("the key is not valid: it has 1 to 1,024 bytes of UTF-8 that XML can hold")
	ErrTooLarge     = errors.New("the proposed upload exceeds the maximum allowed size")
	ErrTooSmall     = errors.New("a part that is not the last is smaller than the minimum allowed size")
	ErrMetadata     = errors.New("the metadata exceed the maximum allowed size")
	ErrPart         = errors.New("one or more of the specified parts could not be found, or their entity tags are others")
	ErrPartOrder    = errors.New("the list of parts was not in ascending order")
	ErrPrecondition = errors.New("at least one of the preconditions you specified did not hold")
)

// Limits.
const (
	// DefaultMaxObject is the default maximum size of an object in bytes. It is S3's limit for one PUT.
	DefaultMaxObject = 5 << 30
	// MinPart is the default minimum size of every part but the last, in bytes.
	MinPart = 5 << 20
	// MaxParts is the highest part number.
	MaxParts = 10_000
	// MaxKey is the maximum length of a key in bytes.
	MaxKey = 1024
	// MaxMetadata is the maximum length in bytes of the names and values of an object's own metadata.
	MaxMetadata = 2 << 10
	// MaxTags is the maximum number of tags of an object.
	MaxTags = 10
)

// Buckets is the part of the catalog that a [Store] needs. [registry.Catalog].Buckets implements it.
type Buckets interface {
	Get(ctx context.Context, place registry.Scope, name string) (registry.Item[registry.Bucket], error)
	List(ctx context.Context, place registry.Scope, after string, limit int) ([]registry.Item[registry.Bucket], error)
	Put(ctx context.Context, item registry.Item[registry.Bucket]) (registry.Item[registry.Bucket], error)
	Delete(ctx context.Context, place registry.Scope, name string, version int64) error
}

// Config configures a [Store].
type Config struct {
	// Dir is the directory of the files. New creates it if it does not exist. Required.
	Dir string
	// Buckets are the rows of the buckets. Required.
	Buckets Buckets
	// URL is the URL of this server for clients, for [Store.Locate]. Nil means that no URL belongs to the server.
	URL *url.URL
	// MaxObject is the maximum size of an object in bytes. Zero means [DefaultMaxObject].
	MaxObject int64
	// Changed is called after each durable change of an object, with the bucket. It must return quickly. Nil is not
	// called.
	Changed func(ctx context.Context, bucket registry.Item[registry.Bucket], change Change)
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets messages for operators. Nil discards them.
	Log *slog.Logger
}

// Store stores buckets and objects in a directory. It is safe for concurrent use. Create one with [New].
type Store struct {
	*disk

	config Config
	log    *slog.Logger
}

const (
	bucketsDir  = "buckets"
	incomingDir = "incoming"
)

// New opens the directory, and removes the leftovers of interrupted writes.
func New(config Config) (*Store, error) {
	if config.Dir == "" || config.Buckets == nil {
		return nil, errors.New("objects: the directory and the buckets are required")
	}
	if config.MaxObject < 0 {
		return nil, errors.New("objects: MaxObject must not be negative")
	}
	if config.MaxObject == 0 {
		config.MaxObject = DefaultMaxObject
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(config.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("objects: %w", err)
	}
	root, err := os.OpenRoot(config.Dir)
	if err != nil {
		return nil, fmt.Errorf("objects: %w", err)
	}
	s := &Store{config: config, disk: &disk{root: root, seed: maphash.MakeSeed()}, log: config.Log}
	err = root.RemoveAll(incomingDir)
	for _, dir := range []string{bucketsDir, incomingDir} {
		if err == nil {
			err = s.makeDir(dir)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("objects in %s: %w", config.Dir, err), root.Close())
	}
	return s, nil
}

// Close closes the directory. Open objects stay readable, but no other method may be called.
func (s *Store) Close() error { return s.root.Close() }

// MaxObject returns the maximum size of an object in bytes.
func (s *Store) MaxObject() int64 { return s.config.MaxObject }

// now returns the time to the second, as in S3.
func (s *Store) now() time.Time { return s.config.Now().UTC().Truncate(time.Second) }

// cleanError removes the file path from an error, because clients need not know it.
func cleanError(doing, bucket string, err error) error {
	if err == nil {
		return nil
	}
	if broken, ok := errors.AsType[*fs.PathError](err); ok && strings.Contains(err.Error(), broken.Path) {
		err = broken.Err
	}
	return fmt.Errorf("%s in bucket %s: %w", doing, bucket, err)
}
