package objects_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

type bucketItem = registry.Item[registry.Bucket]

func TestBucket(t *testing.T) {
	w := newWorld(t, nil)
	ctx := t.Context()
	asked := bucketItem{Scope: home, Name: "things", Owner: "stack|Bucket|1", Of: registry.Bucket{Tags: map[string]string{"a": "b"}}}
	made, err := w.Make(ctx, asked)
	if err != nil {
		t.Fatal(err)
	}
	want := bucketItem{Scope: registry.Global, Name: "things", Owner: asked.Owner, Version: 1,
		Of: registry.Bucket{Owner: home, Made: made.Of.Made, Tags: asked.Of.Tags}}
	if diff := cmp.Diff(want, made); diff != "" || made.Of.Made.IsZero() {
		t.Error(diff, made.Of.Made)
	}
	asked.Of.Tags = nil
	if made, err = w.Make(ctx, asked); err != nil || made.Version != 2 || made.Of.Tags != nil {
		t.Errorf("asked again by the same: %+v, %v", made, err)
	}
	away := registry.Scope{Account: "222222222222", Region: "us-east-1"}
	for _, other := range []bucketItem{{Scope: home, Name: "things"}, {Scope: away, Name: "things", Owner: asked.Owner}} {
		if _, err := w.Make(ctx, other); !errors.Is(err, registry.ErrExists) {
			t.Errorf("made by %v of %v: %v", other.Owner, other.Account, err)
		}
	}
	if _, err := w.Make(ctx, bucketItem{Scope: home, Name: "No"}); !errors.Is(err, objects.ErrBucketName) {
		t.Errorf("a name that is none: %v", err)
	}
	made.Of = registry.Bucket{Owner: away, Settings: map[string]string{"policy": "{}"}}
	updated, err := w.Update(ctx, made)
	if err != nil || updated.Of.Owner != home || updated.Of.Settings["policy"] != "{}" {
		t.Errorf("updated: %+v, %v", updated, err)
	}
	if _, err := w.Update(ctx, made); !errors.Is(err, registry.ErrChanged) {
		t.Errorf("updated from an older version: %v", err)
	}
	w.put(t, "things", "a", "text")
	if err := w.Remove(ctx, home, "things"); !errors.Is(err, objects.ErrNotEmpty) {
		t.Errorf("removed with an object: %v", err)
	}
	if err := w.Delete(ctx, "things", "a", objects.Condition{}); err != nil {
		t.Error(err)
	}
	if _, err := w.Begin(ctx, "things", objects.Upload{Key: "k"}); err != nil {
		t.Error(err)
	}
	if err := w.Remove(ctx, away, "things"); !errors.Is(err, objects.ErrNoBucket) {
		t.Errorf("removed by another account: %v", err)
	}
	if err := w.Remove(ctx, home, "things"); err != nil {
		t.Error(err)
	}
	if left := w.files(t, "buckets"); left != 0 {
		t.Errorf("%d files are left", left)
	}
	if err := w.Remove(ctx, home, "things"); !errors.Is(err, objects.ErrNoBucket) {
		t.Errorf("removed again: %v", err)
	}
	if _, err := w.Update(ctx, updated); !errors.Is(err, objects.ErrNoBucket) {
		t.Errorf("updated what is gone: %v", err)
	}
}

// TestBucketAssets tests the buckets that exist without being created.
func TestBucketAssets(t *testing.T) {
	w := newWorld(t, nil)
	ctx := t.Context()
	name := "cdk-hnb659fds-assets-123456789012-eu-central-1"
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if item, err := w.Bucket(ctx, name); err != nil || item.Of.Owner != (registry.Scope{Account: "123456789012", Region: "eu-central-1"}) {
				t.Errorf("%+v, %v", item, err)
			}
		})
	}
	group.Wait()
	if list, err := w.Buckets(ctx, "123456789012", "", 10); err != nil || len(list) != 0 {
		t.Errorf("made by a look: %v, %v", list, err)
	}
	for range 4 {
		group.Go(func() { w.put(t, name, "k", "text") })
	}
	group.Wait()
	if list, err := w.Buckets(ctx, "123456789012", "", 10); err != nil || len(list) != 1 || list[0].Of.Made.IsZero() {
		t.Errorf("made by a write: %v, %v", list, err)
	}
	w.put(t, "cdk-mine-assets-123456789012-us-gov-west-1", "k", "text")
	for _, none := range []string{"cdk-hnb659fds-assets-12345678901-eu-central-1", "cdk-hnb659fds-assets-123456789012-", "cdk-assets-123456789012-eu-central-1"} {
		if _, err := w.Bucket(ctx, none); !errors.Is(err, objects.ErrNoBucket) {
			t.Errorf("%s: %v", none, err)
		}
	}
	// A template may take it over, as the CDK's bootstrap template does.
	owner := registry.Scope{Account: "123456789012", Region: "eu-central-1"}
	item, err := w.Make(ctx, bucketItem{Scope: owner, Name: name, Owner: "stack|StagingBucket|1"})
	if err != nil || item.Owner == "" {
		t.Errorf("%+v, %v", item, err)
	}
	if _, err := w.Make(ctx, bucketItem{Scope: owner, Name: name, Owner: "stack|Other|1"}); !errors.Is(err, registry.ErrExists) {
		t.Errorf("made by another resource: %v", err)
	}
}

func TestBuckets(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 205 {
		place := home
		if i%2 == 1 {
			place.Account = "222222222222"
		}
		if _, err := w.Make(t.Context(), bucketItem{Scope: place, Name: fmt.Sprintf("bucket-%03d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		after string
		limit int
		want  int
	}{{limit: 1000, want: 103}, {limit: 5, want: 5}, {after: "bucket-200", limit: 10, want: 2}, {limit: 0}} {
		list, err := w.Buckets(t.Context(), home.Account, test.after, test.limit)
		if err != nil || len(list) != test.want {
			t.Errorf("after %q, up to %d: %d, %v", test.after, test.limit, len(list), err)
		}
	}
}

// racing is the catalog with a concurrent change before a write.
type racing struct {
	objects.Buckets
	before func()
}

func (r *racing) Put(ctx context.Context, item bucketItem) (bucketItem, error) {
	if before := r.before; before != nil {
		r.before = nil
		before()
	}
	return r.Buckets.Put(ctx, item)
}

func TestChange(t *testing.T) {
	shelf := &racing{}
	w := newWorld(t, func(c *objects.Config) { shelf.Buckets, c.Buckets = c.Buckets, shelf })
	w.make(t, "things")
	set := func(name string) error {
		return w.Change(t.Context(), "things", func(b *registry.Bucket) error {
			b.Tags = map[string]string{"first": b.Tags["second"], "second": name}
			return nil
		})
	}
	shelf.before = func() {
		if err := set("faster"); err != nil {
			t.Error(err)
		}
	}
	if err := set("slower"); err != nil {
		t.Fatal(err)
	}
	item, err := w.Bucket(t.Context(), "things")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"first": "faster", "second": "slower"}, item.Of.Tags); diff != "" {
		t.Error(diff)
	}
	refused := errors.New("refused")
	if err := w.Change(t.Context(), "things", func(*registry.Bucket) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
}
