package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/pintletest"
)

func file(key, contents string) pintletest.Map {
	return pintletest.Map{"BucketName": bucket, "ObjectKey": key, "Contents": contents}
}

func TestFile(t *testing.T) {
	for _, form := range []pintletest.Transport{pintletest.CloudFormation, pintletest.ROSFunction} {
		t.Run(form.String(), func(t *testing.T) { testFile(t, form) })
	}
}

func testFile(t *testing.T, form pintletest.Transport) {
	f := newFake(t)
	s := f.store(t)
	// attributes returns all attributes of an answer.
	attributes := func(key, contents string) pintletest.Map {
		return pintletest.Map{"ObjectKey": key, "ETag": etag(contents), "URL": s.url(object{bucket, key})}
	}
	const odd = "größe/日本 +&%?#~.txt"
	pintletest.Lifecycle{
		Handler:      pintle.For("Custom::S3File", pintle.New(files{s})),
		Transport:    form,
		ResourceType: "Custom::S3File",
		Steps: []pintletest.Step{
			{Name: "no contents", Properties: pintletest.Map{"BucketName": bucket}, WantError: "Contents", Check: f.has()},
			{Name: "no name", Properties: file("/", "a"), WantError: "ObjectKey is /", Check: f.has()},
			{Name: "a long name", Properties: file(strings.Repeat("k", 1010), "a"), WantError: "ObjectKey is too long: 1025 bytes", Check: f.has()},
			{Name: "no bucket", Properties: pintletest.Map{"BucketName": "none", "Contents": "a"}, WantError: "NoSuchBucket", Check: f.has()},
			{Name: "a given name", Properties: file("/folder/file1.txt", "hello!"), Redeliveries: 1, WantID: "s3://my-bucket/folder/file1.txt",
				WantAttributes: attributes("folder/file1.txt", "hello!"), Check: f.has("my-bucket/folder/file1.txt=hello!")},
			{Name: "in place", Properties: file("/folder/file1.txt", "new"), WantAttributes: attributes("folder/file1.txt", "new"),
				Check: f.has("my-bucket/folder/file1.txt=new")},
			{Name: "empty", Properties: file("/folder/file1.txt", ""), Check: f.has("my-bucket/folder/file1.txt=")},
			{Name: "moved and back", Properties: file(odd, "grüß Gott 🌍"), WantReplacement: true, RollBack: true,
				Check: f.has("my-bucket/folder/file1.txt=")},
			{Name: "moved", Properties: file(odd, "grüß Gott 🌍"), WantReplacement: true, WantID: "s3://my-bucket/" + odd,
				WantAttributes: attributes(odd, "grüß Gott 🌍"), Check: f.has("my-bucket/" + odd + "=grüß Gott 🌍")},
			{Name: "moved to where none is", Properties: pintletest.Map{"BucketName": "none", "ObjectKey": odd, "Contents": "a"},
				WantError: failsThere(form, "NoSuchBucket"), Check: f.has("my-bucket/" + odd + "=grüß Gott 🌍")},
			{Name: "another bucket", Properties: pintletest.Map{"BucketName": otherBucket, "ObjectKey": odd, "Contents": "a"}, WantReplacement: true,
				Restart: true, Check: f.has("my.other-bucket/" + odd + "=a")},
			{Name: "gone", Type: pintle.Delete, Check: f.has()},
		},
	}.Run(t)
	if err := f.has()(); err != nil {
		t.Error(err)
	}
}

// failsThere returns the reason of a failed move, which ROS does not support.
func failsThere(form pintletest.Transport, reason string) string {
	if form == pintletest.CloudFormation {
		return reason
	}
	return "BucketName"
}

// TestFileGenerated checks that a generated name stays the same, and that a given name replaces it.
func TestFileGenerated(t *testing.T) {
	f := newFake(t)
	var first string
	same := func(text string) func() error {
		return func() error {
			f.mu.Lock()
			defer f.mu.Unlock()
			for name, is := range f.objects {
				if first == "" {
					first = name
				}
				if len(f.objects) == 1 && name == first && strings.HasSuffix(name, ".txt") && is.text == text {
					return nil
				}
			}
			return fmt.Errorf("the bucket has %v, want %s in %s", f.objects, text, first)
		}
	}
	without := func(text string) pintletest.Map { return pintletest.Map{"BucketName": bucket, "Contents": text} }
	pintletest.Lifecycle{
		Handler: pintle.New(files{f.store(t)}),
		Steps: []pintletest.Step{
			{Properties: without("a"), Check: same("a")},
			{Properties: without("b"), Restart: true, Check: same("b")},
			{Name: "an empty name is none", Properties: file("", "b"), Check: same("b")},
			{Name: "given", Properties: file("given", "c"), WantReplacement: true, Check: f.has("my-bucket/given=c")},
			{Name: "and not any more", Properties: without("d"), WantReplacement: true, Check: same("d")},
		},
	}.Run(t)
	if err := f.has()(); err != nil {
		t.Error(err)
	}
}

// TestFilePublic reads objects by their URLs, like a browser.
func TestFilePublic(t *testing.T) {
	f := newFake(t)
	s := f.store(t)
	is := object{bucket, "a b/é+?#.txt"}
	get := func(want int) func() error {
		return func() error {
			response, err := http.Get(s.url(is))
			if err != nil {
				return err
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != want || want == http.StatusOK &&
				(string(text) != "grüezi" || response.Header.Get("Content-Type") != "text/plain; charset=utf-8") {
				return fmt.Errorf("%s %v %q, want %d; %w", response.Status, response.Header, text, want, err)
			}
			return nil
		}
	}
	with := func(public any) pintletest.Map {
		all := file(is.key, "grüezi")
		all["Public"] = public
		return all
	}
	pintletest.Lifecycle{
		Handler: pintle.New(files{s}),
		Steps: []pintletest.Step{
			{Properties: with("perhaps"), WantError: "Public: want true or false", Check: f.has()},
			{Properties: file(is.key, "grüezi"), Check: get(http.StatusForbidden)},
			{Properties: with("true"), Check: get(http.StatusOK)},
			{Properties: with(false), Check: get(http.StatusForbidden)},
		},
	}.Run(t)
}

// TestFileOfOthers checks objects that have a new owner when the resource is deleted.
func TestFileOfOthers(t *testing.T) {
	is := object{bucket, "shared"}
	for _, test := range []struct {
		name string
		step pintletest.Step
		by   func(t *testing.T, f *fake)
		want []string
	}{
		{"another resource", pintletest.Step{}, func(t *testing.T, f *fake) {
			if _, err := f.store(t).put(t.Context(), is, "theirs", "other-stack-File-0", false); err != nil {
				t.Error(err)
			}
		}, []string{"my-bucket/shared=theirs"}},
		{"a person", pintletest.Step{}, func(_ *testing.T, f *fake) { f.put(is, "by hand") }, []string{"my-bucket/shared=by hand"}},
		{"gone", pintletest.Step{}, func(_ *testing.T, f *fake) {
			f.mu.Lock()
			defer f.mu.Unlock()
			clear(f.objects)
		}, nil},
		// The service considers the Create failed and does not know the ID, but the object is still deleted.
		{"late", pintletest.Step{LateResponse: true}, func(*testing.T, *fake) {}, nil},
		{"unknown", pintletest.Step{LostResponses: 100}, func(*testing.T, *fake) {}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t)
			test.step.Properties = file(is.key, "ours")
			test.step.Check = func() error { test.by(t, f); return nil }
			pintletest.Lifecycle{Handler: pintle.New(files{f.store(t)}), Steps: []pintletest.Step{test.step}}.Run(t)
			if err := f.has(test.want...)(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFileRefused checks a Create that S3 refuses: an existing object stays, and no further requests go to S3.
func TestFileRefused(t *testing.T) {
	for _, test := range []struct {
		status       int
		code         string
		fails        string
		made         bool // despite the error
		wantRequests int32
	}{
		{http.StatusForbidden, "AccessDenied", "s3:PutObjectAcl", false, 1},
		{http.StatusBadRequest, "AccessControlListNotSupported", "BucketOwnerPreferred", false, 1},
		{http.StatusInternalServerError, "InternalError", "InternalError", false, 2}, // PUT and HEAD: the existing object is not ours
		{http.StatusInternalServerError, "InternalError", "InternalError", true, 3},  // and also DELETE
	} {
		t.Run(fmt.Sprint(test.code, test.made), func(t *testing.T) {
			f := newFake(t)
			s := f.store(t)
			f.put(object{bucket, "file"}, "before")
			var requests atomic.Int32
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				requests.Add(1)
				if r.Method != http.MethodPut {
					return false
				}
				if test.made {
					f.mu.Lock()
					defer f.mu.Unlock()
					text, _ := io.ReadAll(r.Body) // cannot fail
					f.objects[bucket+"/file"] = stored{string(text), r.Header}
				}
				refuse(w, test.status, test.code, "no")
				return true
			}
			properties := file("file", "after")
			properties["Public"] = true
			pintletest.Lifecycle{Handler: pintle.New(files{s}), Steps: []pintletest.Step{{Properties: properties, WantError: test.fails}}}.Run(t)
			want := []string{"my-bucket/file=before"}
			if test.made {
				want = nil
			}
			if err := f.has(want...)(); err != nil || requests.Load() != test.wantRequests {
				t.Errorf("%d requests, want %d; %v", requests.Load(), test.wantRequests, err)
			}
		})
	}
}

// An unreachable S3 has made nothing.
func TestFileUnreachable(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close() // so nothing listens there
	s := (&fake{url: "http://" + nobody.Addr().String()}).store(t)
	_, err = s.put(t.Context(), object{bucket, "file"}, "a", "o", false)
	if err == nil || undecided(err) || !mayPass(err) {
		t.Errorf("%v: undecided %t, may pass %t", err, undecided(err), mayPass(err))
	}
}

func TestObject(t *testing.T) {
	for id, want := range map[string]object{
		"s3://bucket/a/b": {"bucket", "a/b"},
		"s3://bucket//a":  {"bucket", "/a"},
		"s3://bucket/":    {},
		"s3:///a":         {},
		"bucket/a":        {},
		"stack-File-1F3Z": {},
		"":                {},
	} {
		got, ok := parse(id)
		if ok != (want != object{}) || ok && (got != want || got.String() != id) {
			t.Errorf("%s is %+v, %t; want %+v", id, got, ok, want)
		}
	}
}

func TestURL(t *testing.T) {
	type place struct{ region, endpoint, bucket, key string }
	got := map[place]string{}
	want := map[place]string{
		{"eu-west-1", "", "bucket", "a/b c+é.txt"}:             "https://bucket.s3.amazonaws.com/a/b%20c%2B%C3%A9.txt",
		{"eu-west-1", "", "a.bucket", "a"}:                     "https://s3.eu-west-1.amazonaws.com/a.bucket/a",
		{"us-gov-west-1", "", "a.bucket", "a"}:                 "https://s3.us-gov-west-1.amazonaws.com/a.bucket/a",
		{"cn-north-1", "", "a.bucket", "a"}:                    "https://s3.cn-north-1.amazonaws.com.cn/a.bucket/a",
		{"us-gov-west-1", "", "bucket", "a"}:                   "https://bucket.s3.us-gov-west-1.amazonaws.com/a",
		{"cn-north-1", "", "bucket", "a"}:                      "https://bucket.s3.cn-north-1.amazonaws.com.cn/a",
		{"eu-west-1", "http://127.0.0.1:9000/", "bucket", "a"}: "http://127.0.0.1:9000/bucket/a",
	}
	for p := range want {
		s, err := newStore(awscall.Config{Region: p.region, Endpoint: p.endpoint, Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, "")})
		if err != nil {
			t.Fatal(err)
		}
		got[p] = s.url(object{p.bucket, p.key})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSchema(t *testing.T) {
	if _, err := pintle.Schema(handlers(&store{})...); err != nil {
		t.Error(err)
	}
}

// TestSignature checks that the fake verifies signatures: a request signed with a wrong secret is refused.
func TestSignature(t *testing.T) {
	f := newFake(t)
	s, err := newStore(awscall.Config{Region: "eu-west-1", Endpoint: f.url, MaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(keyID, "another secret", "")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.put(t.Context(), object{bucket, "a"}, "a", "o", false)
	var failed *awscall.Error
	if !errors.As(err, &failed) || failed.Code != "SignatureDoesNotMatch" {
		t.Errorf("%v, want SignatureDoesNotMatch", err)
	}
}
