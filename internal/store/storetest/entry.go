package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
)

func entryKey(name string) store.EntryKey {
	return store.EntryKey{Account: "000000000000", Region: "us-east-1", Kind: "function", Name: name}
}

// entries checks that entries are created once, changed from a known version, listed by name within their kind, and
// removed.
func entries(t *testing.T, b *bench) {
	ctx := context.Background()
	entry := func(key store.EntryKey, version int64, text string) store.Entry {
		return store.Entry{EntryKey: key, Version: version, Holder: "who", Definition: json.RawMessage(text)}
	}
	put := func(e store.Entry) {
		t.Helper()
		version, err := b.PutEntry(ctx, e)
		if err != nil || version != e.Version+1 {
			t.Fatalf("put %s at %d: version %d, error %v", e.Name, e.Version, version, err)
		}
	}
	key := entryKey("a b/ü:1")
	others := []store.EntryKey{key, key, key}
	others[0].Account, others[1].Region, others[2].Kind = "111111111111", "eu-west-1", "functio"
	for what, err := range map[string]error{
		"read":    second(b.Entry(ctx, key)),
		"changed": second(b.PutEntry(ctx, entry(key, 1, "{}"))),
		"dropped": b.DropEntry(ctx, key, 0),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s before there is one: %v", what, err)
		}
	}
	put(entry(key, 0, `{"n":1}`))
	for _, other := range others {
		put(entry(other, 0, `"other"`))
	}
	if _, err := b.PutEntry(ctx, entry(key, 0, "{}")); !errors.Is(err, store.ErrExists) {
		t.Errorf("made again: %v", err)
	}
	put(entry(key, 1, `{"n":2}`))
	for what, err := range map[string]error{
		"changed": second(b.PutEntry(ctx, entry(key, 1, "{}"))),
		"dropped": b.DropEntry(ctx, key, 1),
	} {
		if !errors.Is(err, store.ErrChanged) {
			t.Errorf("%s from an older version: %v", what, err)
		}
	}
	got, err := b.Entry(ctx, key)
	checkRow(t, key.Name, got, entry(key, 2, `{"n":2}`), err)

	for _, name := range []string{"c", "b", "a"} {
		put(entry(entryKey(name), 0, "[]"))
	}
	var names []string
	for after := entryKey(""); ; {
		list, err := b.Entries(ctx, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			names = append(names, e.Name)
		}
		after = list[len(list)-1].EntryKey
	}
	if got, want := fmt.Sprint(names), fmt.Sprint([]string{"a", "a b/ü:1", "b", "c"}); got != want {
		t.Errorf("the names are %s, want %s", got, want)
	}
	if err := b.DropEntry(ctx, key, 2); err != nil {
		t.Error(err)
	}
	if _, err := b.Entry(ctx, key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("dropped: %v", err)
	}
	if err := b.DropEntry(ctx, entryKey("a"), 0); err != nil {
		t.Error(err)
	}
	for _, other := range others {
		got, err := b.Entry(ctx, other)
		checkRow(t, other.Row(), got, entry(other, 1, `"other"`), err)
	}
	put(entry(key, 0, `"anew"`))
	for _, bad := range []store.Entry{
		entry(entryKey(""), 0, "{}"), entry(entryKey("a\nb"), 0, "{}"), entry(entryKey("x"), 0, "{"),
		entry(store.EntryKey{Account: "1 2", Region: "r", Kind: "k", Name: "n"}, 0, "{}"),
	} {
		if _, err := b.PutEntry(ctx, bad); err == nil {
			t.Errorf("%q was put", bad.Row())
		}
	}
}

// entriesAtOnce checks that only one of several concurrent changes of a version succeeds.
func entriesAtOnce(t *testing.T, b *bench) {
	ctx := context.Background()
	for version := range int64(3) {
		var won atomic.Int32
		race(func(i int) {
			e := store.Entry{EntryKey: entryKey("e"), Version: version, Definition: json.RawMessage(fmt.Sprint(i))}
			switch _, err := b.PutEntry(ctx, e); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, store.ErrChanged) && !errors.Is(err, store.ErrExists):
				t.Error(err)
			}
		})
		if n := won.Load(); n != 1 {
			t.Errorf("version %d was changed %d times", version, n)
		}
	}
}

func second[T any](_ T, err error) error { return err }
