package objects_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

var (
	home = registry.Scope{Account: "111111111111", Region: "eu-west-1"}
	noon = time.Date(2026, 1, 2, 12, 0, 0, 500, time.UTC)
)

// world is a store with its dependencies.
type world struct {
	*objects.Store
	dir     string
	buckets *registry.Collection[registry.Bucket]
}

func newWorld(t testing.TB, change func(*objects.Config)) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: t.TempDir(), buckets: registry.New(rows).Buckets}
	w.open(t, change)
	return w
}

// open opens the store, like a new process.
func (w *world) open(t testing.TB, change func(*objects.Config)) {
	t.Helper()
	config := objects.Config{Dir: w.dir, Buckets: w.buckets, Now: func() time.Time { return noon }}
	if change != nil {
		change(&config)
	}
	s, err := objects.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test may have closed it
	w.Store = s
}

func (w *world) make(t testing.TB, name string) {
	t.Helper()
	if _, err := w.Make(t.Context(), registry.Item[registry.Bucket]{Scope: home, Name: name}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) put(t testing.TB, bucket, key, text string) objects.Info {
	t.Helper()
	info, err := w.Put(t.Context(), bucket, key, strings.NewReader(text), objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// read returns the text of an object, or the error.
func (w *world) read(t testing.TB, bucket, key string) (string, error) {
	t.Helper()
	o, err := w.Open(t.Context(), bucket, key, "")
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(o)
	return string(text), errors.Join(err, o.Close())
}

// files returns the number of files below a directory of the store.
func (w *world) files(t testing.TB, below string) int {
	t.Helper()
	count := 0
	err := filepath.WalkDir(filepath.Join(w.dir, below), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			count++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

func TestObject(t *testing.T) {
	w := newWorld(t, nil)
	w.make(t, "things")
	o := objects.Options{Algorithm: objects.CRC64NVME, Attributes: objects.Attributes{
		ContentType: "text/plain", CacheControl: "no-cache", Metadata: map[string]string{"who": "me"}, Tags: map[string]string{"a": "b"},
	}}
	want := objects.Info{
		Key: "a/grüße", Size: 9, ETag: `"25f9e794323b453885f5181f1b624d0b"`, Modified: noon.Truncate(time.Second),
		Checksum: objects.Checksum{Algorithm: objects.CRC64NVME, Value: "rosUhgp5mIg="}, Attributes: o.Attributes,
	}
	got, err := w.Put(t.Context(), "things", "a/grüße", iotest.OneByteReader(strings.NewReader("123456789")), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w.open(t, nil)
	if got, err = w.Stat(t.Context(), "things", "a/grüße", "null"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	is, err := w.Open(t.Context(), "things", "a/grüße", "")
	if err != nil {
		t.Fatal(err)
	}
	part, err := io.ReadAll(is.Range(7, 100))
	if err != nil || string(part) != "89" {
		t.Errorf("the range is %q, %v", part, err)
	}
	// An open reader continues to read the old content.
	w.put(t, "things", "a/grüße", "another")
	if err := w.Delete(t.Context(), "things", "a/grüße", objects.Condition{}); err != nil {
		t.Error(err)
	}
	text, err := io.ReadAll(is)
	if err = errors.Join(err, is.Close()); err != nil || string(text) != "123456789" {
		t.Errorf("what was open is %q, %v", text, err)
	}
	if _, err := w.read(t, "things", "a/grüße"); !errors.Is(err, objects.ErrNoObject) {
		t.Errorf("removed: %v", err)
	}
	if err := w.Delete(t.Context(), "things", "a/grüße", objects.Condition{}); err != nil {
		t.Errorf("removed again: %v", err)
	}
}

func TestSetTags(t *testing.T) {
	w := newWorld(t, nil)
	w.make(t, "things")
	was := w.put(t, "things", "a", "text")
	if err := w.SetTags(t.Context(), "things", "a", map[string]string{"k": "v"}); err != nil {
		t.Fatal(err)
	}
	is, err := w.Stat(t.Context(), "things", "a", "")
	if err != nil {
		t.Fatal(err)
	}
	was.Tags = map[string]string{"k": "v"}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Error(diff)
	}
	if text, err := w.read(t, "things", "a"); text != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestCopy(t *testing.T) {
	w := newWorld(t, nil)
	w.make(t, "things")
	w.make(t, "others")
	kept := objects.Attributes{ContentType: "text/x"}
	if _, err := w.Put(t.Context(), "things", "a", strings.NewReader("text"), objects.Options{Attributes: kept, Algorithm: objects.SHA1}); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []bool{true, false} {
		from, err := w.Open(t.Context(), "things", "a", "")
		if err != nil {
			t.Fatal(err)
		}
		info, err := w.Copy(t.Context(), from, "others", "b", keep, objects.Options{})
		if err = errors.Join(err, from.Close()); err != nil {
			t.Fatal(err)
		}
		want := from.Info
		if want.Key = "b"; !keep {
			want.Attributes = objects.Attributes{}
		}
		if diff := cmp.Diff(want, info, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPutRefused(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name, bucket, key string
		body              io.Reader
		options           objects.Options
		want              error
	}{
		{name: "no bucket", bucket: "nothing", key: "a", want: objects.ErrNoBucket},
		{name: "no key", bucket: "things", want: objects.ErrKey},
		{name: "a long key", bucket: "things", key: strings.Repeat("k", 1025), want: objects.ErrKey},
		{name: "key not valid in XML", bucket: "things", key: "a\x00", want: objects.ErrKey},
		{name: "a key that is not a text", bucket: "things", key: "\xff", want: objects.ErrKey},
		{name: "too large", bucket: "things", key: "a", body: strings.NewReader("12345678901"), want: objects.ErrTooLarge},
		{name: "metadata", bucket: "things", key: "a", want: objects.ErrMetadata,
			options: objects.Options{Attributes: objects.Attributes{Metadata: map[string]string{"a": strings.Repeat("x", objects.MaxMetadata)}}}},
		{name: "body fails", bucket: "things", key: "a", body: io.MultiReader(strings.NewReader("12"), iotest.ErrReader(broken)), want: broken},
		{name: "rejected by Verify", bucket: "things", key: "a", want: broken, options: objects.Options{Verify: func(objects.Sums) error { return broken }}},
		{name: "object exists", bucket: "things", key: "there", want: objects.ErrPrecondition, options: objects.Options{Condition: objects.Condition{IfNone: true}}},
		{name: "another object exists", bucket: "things", key: "there", want: objects.ErrPrecondition, options: objects.Options{Condition: objects.Condition{IfMatch: "x"}}},
		{name: "no object exists", bucket: "things", key: "a", want: objects.ErrNoObject, options: objects.Options{Condition: objects.Condition{IfMatch: "*"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, func(c *objects.Config) { c.MaxObject = 10 })
			w.make(t, "things")
			w.put(t, "things", "there", "0123456789")
			if test.body == nil {
				test.body = strings.NewReader("new")
			}
			if _, err := w.Put(t.Context(), test.bucket, test.key, test.body, test.options); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			page, err := w.List(t.Context(), "things", objects.Query{Limit: 10})
			if err != nil || len(page.Objects) != 1 || page.Objects[0].Size != 10 {
				t.Errorf("there is %v, %v", page, err)
			}
			if left := w.files(t, "incoming"); left != 0 {
				t.Errorf("%d files are left aside", left)
			}
		})
	}
}

// TestCrash checks that a process that dies during a write leaves nothing that the next one sees or keeps.
func TestCrash(t *testing.T) {
	w := newWorld(t, nil)
	w.make(t, "things")
	w.put(t, "things", "a", "old")
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	crashed := w.Store
	go func() { // ends when the pipe is closed below
		_, err := crashed.Put(context.WithoutCancel(t.Context()), "things", "a", reader, objects.Options{})
		done <- err
	}()
	if _, err := io.WriteString(writer, "new"); err != nil {
		t.Fatal(err)
	}
	if left := w.files(t, "incoming"); left != 1 {
		t.Fatalf("%d files are being written, want 1", left)
	}
	w.open(t, nil)
	if left := w.files(t, "incoming"); left != 0 {
		t.Errorf("%d files are left aside", left)
	}
	if text, err := w.read(t, "things", "a"); text != "old" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := errors.Join(writer.Close(), crashed.Close()); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil {
		t.Error("what was removed was put in its place")
	}
}

func TestDamaged(t *testing.T) {
	w := newWorld(t, nil)
	w.make(t, "things")
	w.put(t, "things", "a", "text")
	w.put(t, "things", "b", "text")
	for name, text := range map[string]string{"=a": "short", "=c": "", "=d": "\xff\xff\xff\xffpintle object 1\n", "=e": "{}\x00\x00\x00\x09pintle object 1\n"} {
		if err := os.WriteFile(filepath.Join(w.dir, "buckets", "=things", "objects", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := w.List(t.Context(), "things", objects.Query{Limit: 10})
	if err != nil || len(page.Objects) != 1 || page.Objects[0].Key != "b" {
		t.Errorf("%v, %v", page, err)
	}
	if _, err := w.read(t, "things", "a"); err == nil || strings.Contains(err.Error(), w.dir) {
		t.Errorf("%v", err)
	}
}

func TestConditionsRace(t *testing.T) {
	w := newWorld(t, nil)
	w.make(t, "things")
	var wins sync.Map
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			_, err := w.Put(t.Context(), "things", "a", strings.NewReader("text"), objects.Options{Condition: objects.Condition{IfNone: true}})
			switch {
			case err == nil:
				wins.Store(i, true)
			case !errors.Is(err, objects.ErrPrecondition):
				t.Error(err)
			}
		})
	}
	group.Wait()
	count := 0
	wins.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d have written an object that was not there, want 1", count)
	}
}

func TestList(t *testing.T) {
	w := newWorld(t, nil)
	w.make(t, "things")
	w.make(t, "others")
	long := strings.Repeat("long/Ä.", 120)
	keys := []string{"A", "a", "a!", "a/", "a//b", "a/b", "a/b/c", "a/c", "aux", "b.", "b/x", long, "z\r\n", "ä"}
	for _, key := range keys {
		w.put(t, "things", key, key)
	}
	tests := []struct {
		name string
		objects.Query
		want []string // prefixes are marked
	}{
		{name: "all", want: keys},
		{name: "prefix", Query: objects.Query{Prefix: "a/b"}, want: []string{"a/b", "a/b/c"}},
		{name: "folders", Query: objects.Query{Delimiter: "/"}, want: []string{"A", "a", "a!", ">a/", "aux", "b.", ">b/", ">long/", "z\r\n", "ä"}},
		{name: "in a folder", Query: objects.Query{Prefix: "a/", Delimiter: "/"}, want: []string{"a/", ">a//", "a/b", ">a/b/", "a/c"}},
		{name: "after a key", Query: objects.Query{After: "a/b"}, want: keys[6:]},
		{name: "after no key", Query: objects.Query{After: "a/bb"}, want: keys[7:]},
		{name: "after a folder", Query: objects.Query{After: "a/", Delimiter: "/"}, want: []string{"aux", "b.", ">b/", ">long/", "z\r\n", "ä"}},
		{name: "after, before the prefix", Query: objects.Query{After: "A", Prefix: "a/b"}, want: []string{"a/b", "a/b/c"}},
		{name: "after, behind the prefix", Query: objects.Query{After: "b", Prefix: "a/b"}},
		{name: "none", Query: objects.Query{Prefix: "nothing"}},
	}
	for _, test := range tests {
		for _, limit := range []int{1, 2, 3, 1000} {
			t.Run(test.name, func(t *testing.T) {
				q := test.Query
				q.Limit = limit
				var got []string
				for {
					page, err := w.List(t.Context(), "things", q)
					if err != nil {
						t.Fatal(err)
					}
					count := len(page.Objects) + len(page.Prefixes)
					if count > limit || count == 0 && page.Next != "" {
						t.Fatalf("%d of %d, then %q", count, limit, page.Next)
					}
					for _, prefix := range page.Prefixes {
						got = append(got, ">"+prefix)
					}
					for _, info := range page.Objects {
						got = append(got, info.Key)
					}
					if q.After = page.Next; page.Next == "" {
						break
					}
				}
				sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b }) // a page lists its prefixes separately
				if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty(), sorted); diff != "" {
					t.Errorf("by %d: %s", limit, diff)
				}
			})
		}
	}
	if page, err := w.List(t.Context(), "things", objects.Query{}); err != nil || page.Next != "" || page.Objects != nil {
		t.Errorf("a page of nothing: %v, %v", page, err)
	}
	if _, err := w.List(t.Context(), "nothing", objects.Query{}); !errors.Is(err, objects.ErrNoBucket) {
		t.Error(err)
	}
}

func TestLocate(t *testing.T) {
	own, err := url.Parse("http://127.0.0.1:4600/base/")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *objects.Config) { c.URL = own })
	tests := map[string]string{
		"s3://things/a/b%20c.json?d":                                               "things a/b%20c.json?d",
		"oss://things/a/b%20c.json":                                                "things a/b%20c.json",
		"oss://things/a.json?RegionId=cn-hangzhou":                                 "things a.json",
		"oss://things":                                                             "",
		"https://things.oss-cn-hangzhou.aliyuncs.com/a/b":                          "things a/b",
		"https://things.oss-cn-hangzhou-internal.aliyuncs.com/a":                   "things a",
		"https://oss-cn-hangzhou.aliyuncs.com/things/a":                            "",
		"https://things.oss-cn-hangzhou.aliyuncs.com.example.com":                  "",
		"https://s3.eu-west-1.amazonaws.com/things/a.json":                         "things a.json",
		"https://s3-eu-west-1.amazonaws.com/things/a.json":                         "things a.json",
		"https://s3.amazonaws.com/things/a.json":                                   "things a.json",
		"https://s3.dualstack.eu-west-1.amazonaws.com/things/a":                    "things a",
		"https://my.things.s3.eu-west-1.amazonaws.com/a/b":                         "my.things a/b",
		"https://things.s3.amazonaws.com/a?X-Amz-Signature=x":                      "things a",
		"https://s3.cn-north-1.amazonaws.com.cn/things/a":                          "things a",
		"http://127.0.0.1:4600/base/things/a.json":                                 "things a.json",
		"http://localhost:4600/base/things/a.json":                                 "things a.json",
		"http://things.localhost:4600/a.json":                                      "things a.json",
		"http://my.things.s3.localhost:4600/a":                                     "my.things a",
		"http://things.s3.eu-west-1.localhost:4600/a":                              "things a",
		"http://s3.eu-west-1.localhost:4600/a/b":                                   "",
		"http://127.0.0.1:4600/things/a.json":                                      "",
		"http://127.0.0.1:4601/base/things/a.json":                                 "",
		"http://example.com:4600/base/things/a.json":                               "",
		"https://things.s3.eu-west-1.amazonaws.com.example.com/a":                  "",
		"https://evil-s3.amazonaws.com/things/a":                                   "",
		"https://lambda.eu-west-1.amazonaws.com/things/a":                          "",
		"https://s3.eu-west-1.amazonaws.com/things":                                "",
		"https://s3.eu-west-1.amazonaws.com/../a":                                  "",
		"https://user@s3.amazonaws.com/things/a":                                   "",
		"s3:things":                                                                "",
		"ftp://s3.amazonaws.com/things/a":                                          "",
		"%":                                                                        "",
		"":                                                                         "",
		"https://s3.eu-west-1.amazonaws.com:8443/things/a":                         "",
		"https://s3.eu-west-1.amazonaws.com/Not_A_Bucket/a":                        "",
		"https://cdk-x-assets-111111111111-eu-west-1.s3.eu-west-1.amazonaws.com/k": "cdk-x-assets-111111111111-eu-west-1 k",
	}
	for raw, want := range tests {
		bucket, key, ok := w.Locate(raw)
		got := ""
		if ok {
			got = bucket + " " + key
		}
		if got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	}
}
