package objects

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// ChangeKind is the kind of a change to an object. Its text is the name of S3's event.
type ChangeKind string

// The kinds of changes.
const (
	PutObject ChangeKind = "ObjectCreated:Put"
	Copied    ChangeKind = "ObjectCreated:Copy"
	Completed ChangeKind = "ObjectCreated:CompleteMultipartUpload"
	Deleted   ChangeKind = "ObjectRemoved:Delete"
	Tagged    ChangeKind = "ObjectTagging:Put"
	Untagged  ChangeKind = "ObjectTagging:Delete"
)

// Change is a durable change to an object.
type Change struct {
	Kind ChangeKind
	Key  string
	// Size and ETag are those of the object. They are zero for [Deleted].
	Size int64
	ETag string
	At   time.Time
}

// changed reports changes to [Config].Changed.
func (s *Store) changed(ctx context.Context, bucket string, kind ChangeKind, infos ...Info) {
	if s.config.Changed == nil {
		return
	}
	item, err := s.config.Buckets.Get(ctx, registry.Global, bucket)
	if err != nil {
		return // it was removed meanwhile
	}
	for _, info := range infos {
		s.config.Changed(ctx, item, Change{Kind: kind, Key: info.Key, Size: info.Size, ETag: info.ETag, At: s.config.Now()})
	}
}
