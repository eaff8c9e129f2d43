package aliyun_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aliyun"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

const (
	account = "0000123456789012"
	region  = "cn-hangzhou"
	stackID = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
)

var (
	home       = registry.Scope{Account: account, Region: region}
	identities = registry.Scope{Account: account, Region: "-"}
)

// rows is a store that dies before or after a write, and fails from then on.
type rows struct {
	store.Store
	// left counts down the writes to the one at which it dies. 0 means never. after means that this write is stored.
	left  int
	after bool
	dead  bool
}

var errDead = errors.New("the store is dead")

func (r *rows) write(do func() error) error {
	if r.dead {
		return errDead
	}
	r.left--
	if r.left != 0 {
		return do()
	}
	r.dead = true
	if r.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errDead
}

func (r *rows) Entry(ctx context.Context, key store.EntryKey) (store.Entry, error) {
	if r.dead {
		return store.Entry{}, errDead
	}
	return r.Store.Entry(ctx, key)
}

func (r *rows) PutEntry(ctx context.Context, entry store.Entry) (version int64, err error) {
	err = r.write(func() (err error) {
		version, err = r.Store.PutEntry(ctx, entry)
		return err
	})
	return version, err
}

func (r *rows) DropEntry(ctx context.Context, key store.EntryKey, version int64) error {
	return r.write(func() error { return r.Store.DropEntry(ctx, key, version) })
}

// world is a local cloud on an in-memory store.
type world struct {
	t       *testing.T
	ctx     context.Context
	rows    *rows
	catalog *registry.Catalog
	objects *objects.Store
	types   *native.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context()}
	rowsOf, err := memory.New(memory.Config{})
	w.must(err)
	w.rows = &rows{Store: rowsOf}
	w.catalog = registry.New(w.rows)
	runtime, err := local.New(local.Config{Done: func(string, local.Outcome) {}, CacheDir: t.TempDir()})
	w.must(err)
	w.objects, err = objects.New(objects.Config{Dir: t.TempDir(), Buckets: w.catalog.Buckets})
	w.must(err)
	f, err := lambda.New(lambda.Config{Catalog: w.catalog, Runtime: runtime, Objects: opened{w.objects}, CodeDir: t.TempDir(), CacheDir: t.TempDir()})
	w.must(err)
	t.Cleanup(func() {
		w.must(runtime.Close())
		w.must(f.Close())
		w.must(w.objects.Close())
	})
	now := func() time.Time { return time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC) }
	w.types, err = native.New(aliyun.Types(aliyun.Config{Functions: f, Objects: w.objects, Catalog: w.catalog, Now: now})...)
	w.must(err)
	return w
}

// opened provides the code of functions in buckets.
type opened struct{ *objects.Store }

func (o opened) Open(ctx context.Context, account, bucket, key, version string) (io.ReadCloser, int64, error) {
	object, err := o.OpenFor(ctx, account, bucket, key, version)
	if errors.Is(err, objects.ErrNoBucket) || errors.Is(err, objects.ErrNoObject) {
		err = registry.ErrNotFound
	}
	return object, object.Size, err
}

// put creates a bucket in a scope, and an object in it.
func (w *world) put(bucket, key string, place registry.Scope, text []byte) {
	w.t.Helper()
	_, err := w.objects.Make(w.ctx, registry.Item[registry.Bucket]{Scope: place, Name: bucket})
	w.must(err)
	_, err = w.objects.Put(w.ctx, bucket, key, bytes.NewReader(text), objects.Options{})
	w.must(err)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// parse parses the members of an object. {"Ref": "Secret"} in it becomes a secret.
func (w *world) parse(resourceType, members string) value.Value {
	w.t.Helper()
	v, err := value.Parse([]byte("{" + members + "}"))
	w.must(err)
	return w.types.Schema(resourceType).Normal(secrets(v))
}

// secrets replaces references with the secret.
func secrets(v value.Value) value.Value {
	if v.Kind() != value.Map {
		return v
	}
	if ref, ok := v.Get("Ref"); ok && ref.Text() == "Secret" {
		return value.SecretStr("hunter2&more")
	}
	object := value.Object()
	for _, m := range v.Members() {
		object = object.With(m.Key, secrets(m.Value))
	}
	return object
}

// request returns a request for a resource of the stack S.
func (w *world) request(kind wire.RequestType, logical, resourceType, properties, old, id string) *store.Request {
	w.t.Helper()
	r := &store.Request{
		ID: wire.RequestID("request-" + string(kind) + "-" + logical), Logical: wire.LogicalID(logical), Type: kind, Body: &store.RequestBody{
			Dialect: "ros", StackID: stackID, StackName: "S", Account: account, Region: region, ResourceType: resourceType,
			PhysicalID: wire.PhysicalID(id), Properties: w.parse(resourceType, properties),
		},
	}
	if kind == wire.Update {
		r.Body.OldProperties = w.parse(resourceType, old)
	}
	return r
}

// serve serves a request twice, as after a crash between serving and reporting. Both must succeed with the same
// result.
func (w *world) serve(r *store.Request) native.Result {
	w.t.Helper()
	first, err := w.types.Serve(w.ctx, r)
	if err != nil {
		w.t.Fatalf("%s of %s: %v", r.Type, r.Logical, err)
	}
	second, err := w.types.Serve(w.ctx, r)
	if diff := cmp.Diff(first, second, cmp.Comparer(value.Value.Equal)); err != nil || diff != "" {
		w.t.Fatalf("%s of %s served again: %v (-first +second):\n%s", r.Type, r.Logical, err, diff)
	}
	return first
}

// make creates a resource and returns its ID.
func (w *world) make(logical, resourceType, properties string) string {
	w.t.Helper()
	return string(w.serve(w.request(wire.Create, logical, resourceType, properties, "", "")).PhysicalID)
}

// fails serves a request that must fail with a reason that contains a text.
func (w *world) fails(r *store.Request, text string) {
	w.t.Helper()
	if _, err := w.types.Serve(w.ctx, r); err == nil || !strings.Contains(err.Error(), text) {
		w.t.Errorf("%s of %s: %v, want %q", r.Type, r.Logical, err, text)
	}
}

// attributes returns the values of Fn::GetAtt.
func attributes(r native.Result) map[string]string {
	all := map[string]string{}
	for _, m := range r.Attributes.Members() {
		text := m.Value.Text()
		if !m.Value.IsScalar() {
			text = string(m.Value.JSON())
		}
		all[m.Key] = text
	}
	return all
}

// archive returns a base64 zip file with one file.
func archive(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create(name)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func found(w *world, text string, err error) string {
	w.t.Helper()
	if errors.Is(err, registry.ErrNotFound) {
		return ""
	}
	w.must(err)
	return text
}

// recorded returns a look func for records.
func recorded(resourceType string, place registry.Scope) func(*world, string) string {
	return func(w *world, id string) string {
		r, err := w.catalog.Records.Get(w.ctx, place, resourceType+"/"+id)
		return found(w, string(r.Of.Properties), err)
	}
}

// running returns a look func for functions.
func running(prefix string) func(*world, string) string {
	return func(w *world, id string) string {
		f, err := w.catalog.Functions.Get(w.ctx, home, prefix+id)
		return found(w, fmt.Sprintf("%s %s %d %d %v %v", f.Of.Runtime, f.Of.Handler, f.Of.Timeout, f.Of.Memory, f.Of.Environment, f.Of.Hidden), err)
	}
}
