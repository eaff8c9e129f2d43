package registry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

func TestShelf(t *testing.T) {
	ctx := context.Background()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	things := registry.New(rows)
	home := registry.Scope{Account: "000000000000", Region: "us-east-1"}
	f := registry.Item[registry.Function]{Scope: home, Name: "f", Owner: "me", Of: registry.Function{Runtime: "nodejs24.x", Environment: map[string]string{"A": "b"}}}
	made, err := things.Functions.Put(ctx, f)
	if err != nil {
		t.Fatal(err)
	}
	f.Version = 1
	if diff := cmp.Diff(f, made); diff != "" {
		t.Error(diff)
	}
	if _, err := things.Functions.Put(ctx, registry.Item[registry.Function]{Scope: home, Name: "f"}); !errors.Is(err, registry.ErrExists) {
		t.Errorf("made again: %v", err)
	}
	if _, err := things.Topics.Get(ctx, home, "f"); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("a topic of the function's name: %v", err)
	}
	raced := false
	changed, err := things.Functions.Change(ctx, home, "f", func(i *registry.Item[registry.Function]) error {
		if !raced { // a concurrent change
			raced = true
			other := *i
			other.Of.Handler = "index.handler"
			if _, err := things.Functions.Put(ctx, other); err != nil {
				t.Error(err)
			}
		}
		i.Of.Memory = 128
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Version, f.Of.Memory, f.Of.Handler = 3, 128, "index.handler"
	if diff := cmp.Diff(f, changed); diff != "" {
		t.Error(diff)
	}
	list, err := things.Functions.List(ctx, home, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]registry.Item[registry.Function]{f}, list); diff != "" {
		t.Error(diff)
	}
	if err := things.Functions.Delete(ctx, home, "f", 1); !errors.Is(err, registry.ErrChanged) {
		t.Errorf("deleted at an older version: %v", err)
	}
	if err := things.Functions.Delete(ctx, home, "f", 0); err != nil {
		t.Error(err)
	}
	if _, err := things.Functions.Change(ctx, home, "f", func(*registry.Item[registry.Function]) error { return nil }); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("changed what is gone: %v", err)
	}
}
