package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/s3api"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/dev/gatewaytest"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/pintletest"
)

// newGateway returns a store on an independent S3 server.
func newGateway(t *testing.T) *store {
	t.Helper()
	transport := gatewaytest.New(t, gatewaytest.Config{KeyID: keyID, Secret: secret, Region: "eu-west-1", Buckets: []string{bucket, otherBucket}})
	s, err := newStore(awscall.Config{Region: "eu-west-1", Endpoint: gatewaytest.URL, HTTP: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, "")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newOwn returns a store on the S3 of Pintle.
func newOwn(t *testing.T) *store {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := objects.New(objects.Config{Dir: t.TempDir(), Buckets: registry.New(rows).Buckets})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{bucket, otherBucket} {
		place := registry.Scope{Account: sigv4.DefaultAccount, Region: "eu-west-1"}
		if _, err := kept.Make(t.Context(), registry.Item[registry.Bucket]{Scope: place, Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	face, err := s3api.New(s3api.Config{Objects: kept, Caller: func(ctx context.Context) (api.Caller, bool) {
		id, ok := sigv4.FromContext(ctx)
		return api.Caller{Account: id.Account, Region: id.Region}, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := sigv4.New(sigv4.Config{Lookup: func(id string) (sigv4.Key, bool) {
		return sigv4.Key{ID: keyID, Secret: secret, Account: sigv4.DefaultAccount}, id == keyID
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := verifier.Verify(r)
		if err != nil {
			s3api.WriteError(w, r, "SignatureDoesNotMatch", err.Error(), http.StatusForbidden)
			return
		}
		face.ServeHTTP(w, r.WithContext(sigv4.WithIdentity(r.Context(), id)))
	}))
	t.Cleanup(func() {
		server.Close()
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	s, err := newStore(awscall.Config{Region: "eu-west-1", Endpoint: gatewaytest.URL, HTTP: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, "")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestGateway runs both lifecycles against an independent S3 server and against Pintle's own.
func TestGateway(t *testing.T) {
	for name, of := range map[string]func(*testing.T) *store{"versitygw": newGateway, "Pintle": newOwn} {
		t.Run(name, func(t *testing.T) { testGateway(t, of(t)) })
	}
}

func testGateway(t *testing.T, s *store) {
	const odd = "größe/日本 +&%.txt"
	reads := func(key, want string) func() error {
		return func() error {
			got, err := s.read(t.Context(), object{bucket, key})
			if want == "" && errors.Is(err, errNone) {
				return nil
			}
			if err != nil || got != want {
				return fmt.Errorf("%s has %q, want %q; %w", key, got, want, err)
			}
			return nil
		}
	}
	pintletest.Lifecycle{
		Handler: pintle.New(files{s}),
		Steps: []pintletest.Step{
			{Name: "no bucket", Properties: pintletest.Map{"BucketName": "no-bucket", "Contents": "a"}, WantError: "NoSuchBucket"},
			{Properties: file("/a/b.txt", "hello!"), Redeliveries: 1, Check: reads("a/b.txt", "hello!"), WantAttributes: pintletest.Map{
				"ObjectKey": "a/b.txt", "ETag": etag("hello!"), "URL": "http://127.0.0.1/my-bucket/a/b.txt"}},
			{Properties: file("a/b.txt", "new"), Check: reads("a/b.txt", "new")},
			{Properties: file(odd, "grüß Gott 🌍"), WantReplacement: true, RollBack: true, Check: reads("a/b.txt", "new")},
			{Properties: file(odd, "grüß Gott 🌍"), WantReplacement: true, Check: reads(odd, "grüß Gott 🌍")},
			{Name: "the first is gone", Properties: file(odd, "grüß Gott 🌎"), Check: reads("a/b.txt", "")},
			{Type: pintle.Delete, Check: reads(odd, "")},
			{Name: "late", Properties: file("late", "a"), LateResponse: true, Check: reads("late", "")},
		},
	}.Run(t)
	if _, err := s.put(t.Context(), greeting, "hello", "somebody", false); err != nil {
		t.Fatal(err)
	}
	pintletest.Lifecycle{
		Handler: pintle.New(asserts{s}, pintle.WithPollPolicy(assertPolicy)),
		Steps: []pintletest.Step{
			{Properties: expects("hello")},
			{Properties: expects("hallo"), WantError: "they differ from byte 1 on"},
			{Properties: pintletest.Map{"BucketName": bucket, "ObjectKey": "none", "ExpectedContent": "a"}, WantError: "s3://my-bucket/none is not there"},
			{Properties: pintletest.Map{"BucketName": "no-bucket", "ObjectKey": "none", "ExpectedContent": "a"}, WantError: "NoSuchBucket"},
		},
	}.Run(t)
}
