package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/store"
)

func parameterKey(name string) store.ParameterKey {
	return store.ParameterKey{Account: "000000000000", Region: "us-east-1", Name: name}
}

// parameters checks that versions count up, the newest is the default, parameters are separate, and a deleted one
// starts again.
func parameters(t *testing.T, b *bench) {
	ctx := context.Background()
	text := func(key store.ParameterKey, value string) store.Parameter {
		return store.Parameter{ParameterKey: key, Type: store.ParameterSecure, Value: value, Description: "d", Modified: start}
	}
	put := func(p store.Parameter, overwrite bool, want int64) {
		t.Helper()
		version, err := b.PutParameter(ctx, p, overwrite)
		if err != nil || version != want {
			t.Fatalf("put %s: version %d, want %d, error %v", p.Name, version, want, err)
		}
	}
	check := func(key store.ParameterKey, version int64, want string, number int64) {
		t.Helper()
		p, err := b.Parameter(ctx, key, version)
		expected := text(key, want)
		expected.Version = number
		checkRow(t, key.Name, p, expected, err)
	}
	key, elsewhere := parameterKey("/a/b"), parameterKey("/a/b")
	elsewhere.Region = "eu-west-1"
	near := []store.ParameterKey{parameterKey("/a/b0"), parameterKey("/a"), parameterKey("/a/b/c"), elsewhere}
	if _, err := b.Parameter(ctx, key, 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("before there is one: %v", err)
	}
	if err := b.DeleteParameter(ctx, key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted before there is one: %v", err)
	}
	put(text(key, "one"), false, 1)
	for _, other := range near {
		put(text(other, "other"), true, 1)
	}
	if _, err := b.PutParameter(ctx, text(key, "two"), false); !errors.Is(err, store.ErrExists) {
		t.Errorf("put again: %v", err)
	}
	put(text(key, "two"), true, 2)
	check(key, 0, "two", 2)
	check(key, 1, "one", 1)
	check(elsewhere, 0, "other", 1)
	if _, err := b.Parameter(ctx, key, 3); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a version that never was: %v", err)
	}
	for i := 3; i <= store.ParameterVersions+1; i++ {
		put(text(key, fmt.Sprint(i)), true, int64(i))
	}
	if _, err := b.Parameter(ctx, key, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the first version is still there: %v", err)
	}
	check(key, 2, "two", 2)
	if err := b.DeleteParameter(ctx, key); err != nil {
		t.Fatal(err)
	}
	for _, version := range []int64{0, 2} {
		if _, err := b.Parameter(ctx, key, version); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("deleted, version %d: %v", version, err)
		}
	}
	for _, other := range near {
		check(other, 0, "other", 1)
	}
	put(text(key, "anew"), false, 1)
	check(key, 1, "anew", 1)
	for _, bad := range []store.Parameter{
		text(parameterKey("with blank"), "x"), text(parameterKey(""), "x"), {ParameterKey: key, Type: "Secret", Value: "x"},
	} {
		if _, err := b.PutParameter(ctx, bad, true); err == nil {
			t.Errorf("%q of the type %s was put", bad.Name, bad.Type)
		}
	}
}

// parametersAtOnce checks that concurrent puts each get a version of their own.
func parametersAtOnce(t *testing.T, b *bench) {
	const many = 20
	var mu sync.Mutex
	seen := make(map[int64]bool)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			p := store.Parameter{ParameterKey: parameterKey("p"), Type: store.ParameterString, Value: fmt.Sprint(i), Modified: start}
			version, err := b.PutParameter(context.Background(), p, true)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[version] = true
		})
	}
	wg.Wait()
	if len(seen) != many || !seen[1] || !seen[many] {
		t.Errorf("versions %v", seen)
	}
}
