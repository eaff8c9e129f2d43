package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// Reopen opens the same database again, each time with the given keys.
type Reopen func(codec store.Codec) (store.Store, error)

// RunKeys runs the tests of a store that seals secrets. Every test gets its own database from fresh.
func RunKeys(t *testing.T, fresh func(t *testing.T) Reopen) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *ring)
	}{
		{"rotation", rotation}, {"killed between", killedBetween}, {"while stacks run", whileStacksRun},
		{"a key that is missing", missingKey}, {"root", rootStays}, {"another key of the same id", forgedKey},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &ring{t: t, reopen: fresh(t)}) })
	}
}

// ring opens a database with keys that are named by letters: "ba" is key b, which seals, and key a.
type ring struct {
	t      *testing.T
	reopen Reopen
}

func (r *ring) codec(letters string) store.Codec {
	r.t.Helper()
	keys := make([]store.Key, len(letters))
	for i, letter := range letters {
		keys[i] = store.Key{ID: string(letter), Secret: bytes.Repeat([]byte{byte(letter)}, store.KeySize)}
	}
	ring, err := store.NewKeys(keys...)
	if err != nil {
		r.t.Fatal(err)
	}
	return store.NewCodec(ring)
}

// with opens the database with keys and runs a function on it.
func (r *ring) with(letters string, use func(*bench)) {
	r.t.Helper()
	s, err := r.reopen(r.codec(letters))
	if err != nil {
		r.t.Fatalf("open with %s: %v", letters, err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			r.t.Error("close:", err)
		}
	}()
	use(&bench{t: r.t, Store: s, clock: &Clock{now: time.Now()}})
}

// refused opens the database with keys that it must reject, with an error that contains want.
func (r *ring) refused(letters, want string) {
	r.t.Helper()
	s, err := r.reopen(r.codec(letters))
	if err == nil {
		_ = s.Close()
		r.t.Errorf("it opens with the keys %s", letters)
		return
	}
	if !strings.Contains(err.Error(), want) {
		r.t.Errorf("error %v, want %q", err, want)
	}
}

// secretStack returns a stack with a secret at every possible place.
func secretStack(key store.StackKey) store.Delta {
	d := full(key, fmt.Sprint("secret-", key))
	secret := value.Object(value.Member{Key: "a", Value: value.SecretStr(fmt.Sprint("hunter-", key))},
		value.Member{Key: `x"\u0000sealed":"`, Value: value.Items(value.Str("\x00sealed"), value.Num("1.50"), deep())})
	d.Stack.OutputValues = secret
	for i := range d.Revisions {
		d.Revisions[i].Parameters, d.Revisions[i].Outside = secret, secret
	}
	for i := range d.Instances {
		body := d.Instances[i].Body
		body.Properties, body.Attempted, body.Data, body.Metadata, body.Token = secret, secret, deep(), secret, value.SecretStr("https://hunter/")
	}
	for i := range d.Requests {
		body := d.Requests[i].Body
		body.Properties, body.OldProperties, body.Token = secret, secret, value.SecretStr("https://hunter/")
		if d.Requests[i].Type == store.TypeIsComplete {
			body.Pending = value.SecretStr(`{"key": "hunter"}`)
		}
	}
	d.ChangeSets = []store.ChangeSet{{
		Stack: key, ID: setOf(key), Name: "set", State: store.ChangeSetAvailable, Kind: store.KindUpdate,
		Body: &store.ChangeSetBody{Revision: store.Revision{Parameters: secret, Outside: secret}},
	}}
	return d
}

func setOf(key store.StackKey) store.ChangeSetID {
	return store.ChangeSetID(fmt.Sprint("arn:set/", key))
}

const secretStacks = 7

func (r *ring) fill(b *bench) {
	r.t.Helper()
	for key := store.StackKey(1); key <= secretStacks; key++ {
		b.create(secretStack(key))
	}
	for i := range 5 {
		text, _ := json.Marshal(map[string]string{"target": fmt.Sprint("https://hunter/", i)})
		if err := b.PutProvider(context.Background(), store.Provider{Name: fmt.Sprint("P", i), Definition: text}); err != nil {
			r.t.Fatal(err)
		}
		entry := store.Entry{EntryKey: entryKey(fmt.Sprint("e", i)), Holder: "h", Definition: text}
		if _, err := b.PutEntry(context.Background(), entry); err != nil {
			r.t.Fatal(err)
		}
		for range 2 {
			p := store.Parameter{ParameterKey: parameterKey(fmt.Sprint("/p/", i)), Type: store.ParameterSecure, Value: fmt.Sprint("hunter", i)}
			if _, err := b.PutParameter(context.Background(), p, true); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// check reads everything.
func (r *ring) check(b *bench) {
	r.t.Helper()
	ctx := context.Background()
	for key := store.StackKey(1); key <= secretStacks; key++ {
		want := secretStack(key)
		stack, err := b.Stack(ctx, want.Stack.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		same(r.t, "outputs", stack.OutputValues.JSON(), want.Stack.OutputValues.JSON())
		if !stack.OutputValues.HasSecret() {
			r.t.Error("a secret is none any more")
		}
		for _, revision := range want.Revisions {
			got, err := b.Revision(ctx, key, revision.Number)
			if err != nil {
				r.t.Fatal(err)
			}
			same(r.t, "parameters", got.Parameters.String(), revision.Parameters.String())
			same(r.t, "parameters", got.Parameters.JSON(), revision.Parameters.JSON())
			same(r.t, "outside", got.Outside.JSON(), revision.Outside.JSON())
		}
		instances, err := b.Instances(ctx, key)
		if err != nil {
			r.t.Fatal(err)
		}
		same(r.t, "instances", instances, want.Instances)
		for _, request := range want.Requests {
			got, err := b.Request(ctx, request.ID)
			if err != nil {
				r.t.Fatal(err)
			}
			same(r.t, "request", got.Body, request.Body)
		}
	}
	for key := store.StackKey(1); key <= secretStacks; key++ {
		set, err := b.ChangeSet(ctx, setOf(key))
		if err != nil {
			r.t.Fatal(err)
		}
		want := secretStack(key).ChangeSets[0].Body.Revision
		same(r.t, "change set", set.Body.Revision.Parameters.JSON(), want.Parameters.JSON())
		same(r.t, "change set", set.Body.Revision.Outside.JSON(), want.Outside.JSON())
	}
	list, err := b.Providers(ctx)
	if err != nil || len(list) != 5 {
		r.t.Fatalf("%d providers, error %v", len(list), err)
	}
	for i, p := range list {
		same(r.t, "provider", string(p.Definition), fmt.Sprintf(`{"target":"https://hunter/%d"}`, i))
		entry, err := b.Entry(ctx, entryKey(fmt.Sprint("e", i)))
		if err != nil {
			r.t.Fatal(err)
		}
		same(r.t, "entry", string(entry.Definition), fmt.Sprintf(`{"target":"https://hunter/%d"}`, i))
		for version := int64(1); version <= 2; version++ {
			stored, err := b.Parameter(ctx, parameterKey(fmt.Sprint("/p/", i)), version)
			if err != nil {
				r.t.Fatal(err)
			}
			same(r.t, "parameter", stored.Value, fmt.Sprint("hunter", i))
		}
	}
}

// pass reseals in up to limit steps of a few rows, and reports whether the pass is done.
func (r *ring) pass(b *bench, limit int) (rows int, done bool) {
	r.t.Helper()
	var from store.Cursor
	for range limit {
		resealed, err := b.Reseal(context.Background(), from, 3)
		if err != nil {
			r.t.Fatal("reseal:", err)
		}
		rows += resealed.Rows
		if from = resealed.Next; from == "" {
			return rows, resealed.Done
		}
	}
	return rows, false
}

func (r *ring) sealing(b *bench) string {
	r.t.Helper()
	keys, err := b.SealingKeys(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	ids := ""
	for _, key := range keys {
		ids += key.ID
		if key.Since.IsZero() {
			r.t.Errorf("key %s seals since never", key.ID)
		}
	}
	return ids
}

const enough = 1000

func rotation(t *testing.T, r *ring) {
	r.with("a", func(b *bench) {
		r.fill(b)
		same(t, "keys", r.sealing(b), "a")
		if rows, done := r.pass(b, enough); rows != 0 || !done {
			t.Errorf("%d rows were sealed again with the key that they have, done %t", rows, done)
		}
	})
	r.with("ab", func(b *bench) { r.check(b) }) // all nodes know b before it seals
	r.with("ba", func(b *bench) {
		r.check(b)
		same(t, "keys", r.sealing(b), "ab")
		rows, done := r.pass(b, enough)
		if want := secretStacks*(1+4+8+8+1) + 5 + 5 + 10; rows != want || !done {
			t.Errorf("%d rows were sealed again, want %d, done %t", rows, want, done)
		}
		same(t, "keys", r.sealing(b), "b")
		r.check(b)
		if rows, done := r.pass(b, enough); rows != 0 || !done {
			t.Errorf("%d rows were sealed again for the second time, done %t", rows, done)
		}
	})
	r.with("b", r.check)
	r.refused("a", `"b"`)
	r.with("cb", func(b *bench) {
		if _, done := r.pass(b, enough); !done {
			t.Error("not done")
		}
	})
	r.with("c", r.check)
}

func killedBetween(t *testing.T, r *ring) {
	r.with("a", r.fill)
	for steps := 1; ; steps += 2 {
		done := false
		r.with("ba", func(b *bench) { // starts a new pass
			_, done = r.pass(b, steps)
			r.check(b)
		})
		if done {
			break
		}
		r.refused("b", `"a"`)
	}
	r.with("b", r.check)
}

func whileStacksRun(t *testing.T, r *ring) {
	r.with("a", r.fill)
	r.with("ba", func(b *bench) {
		var all sync.WaitGroup
		for key := store.StackKey(1); key <= secretStacks; key++ {
			all.Go(func() {
				want := secretStack(key)
				for range 20 { // rows are rewritten unchanged during the pass
					err := b.Apply(context.Background(), store.Target{Stack: key}, func(*store.View) (store.Delta, error) {
						return store.Delta{Stack: want.Stack, Instances: want.Instances, Requests: want.Requests}, nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		if _, done := r.pass(b, enough); !done {
			t.Error("not done")
		}
		all.Wait()
	})
	r.with("b", r.check)
}

func missingKey(t *testing.T, r *ring) {
	r.with("a", r.fill)
	r.with("ba", func(b *bench) { r.pass(b, 4) })
	r.refused("b", `key "a", which is not among the keys here (b)`)
	r.refused("a", `key "b", which is not among the keys here (a)`)
	r.refused("c", "not among the keys here (c)")
	r.with("ab", r.check) // back to the older key
	r.with("ab", func(b *bench) {
		if _, done := r.pass(b, enough); !done {
			t.Error("not done")
		}
	})
	r.with("a", r.check)
}

func rootStays(t *testing.T, r *ring) {
	var first []byte
	for _, letters := range []string{"a", "ba", "b", "cb", "c"} {
		r.with(letters, func(b *bench) {
			derived := b.Root().Derive("response URL")
			if first == nil {
				first = derived
			}
			if !bytes.Equal(derived, first) || len(derived) != 32 {
				t.Errorf("with the keys %s something else is derived", letters)
			}
			if bytes.Equal(derived, b.Root().Derive("paging token")) {
				t.Error("two purposes share a secret")
			}
			if text := fmt.Sprintf("%v %+v %#v %s %x", b.Root(), b.Root(), b.Root(), b.Root(), b.Root()); text != "root root root root root" {
				t.Errorf("a root is printed as %s", text)
			}
			if _, done := r.pass(b, enough); !done {
				t.Error("not done")
			}
		})
	}
}

func forgedKey(t *testing.T, r *ring) {
	r.with("a", r.fill)
	r.with("ba", func(*bench) {})
	forged, err := store.NewKeys(store.Key{ID: "b", Secret: bytes.Repeat([]byte("b"), store.KeySize)},
		store.Key{ID: "a", Secret: bytes.Repeat([]byte("x"), store.KeySize)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.reopen(store.NewCodec(forged))
	if err == nil {
		_ = s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "another key of the id a") {
		t.Errorf("error %v", err)
	}
}
