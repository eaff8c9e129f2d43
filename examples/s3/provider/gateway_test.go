package main

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/gatewaytest"
	"github.com/pintle-dev/pintle/pintletest"
)

// newGateway is a store on an S3 that somebody else has written.
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

// TestGateway plays both lives against an S3 that somebody else has written.
func TestGateway(t *testing.T) {
	s := newGateway(t)
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
	pintletest.Life{
		Handler: pintle.New(files{s}),
		Steps: []pintletest.Step{
			{Name: "no bucket", Properties: pintletest.Map{"BucketName": "no-bucket", "Contents": "a"}, Fails: "NoSuchBucket"},
			{Properties: file("/a/b.txt", "hello!"), Again: 1, Check: reads("a/b.txt", "hello!"), Attributes: pintletest.Map{
				"ObjectKey": "a/b.txt", "ETag": etag("hello!"), "URL": "http://127.0.0.1/my-bucket/a/b.txt"}},
			{Properties: file("a/b.txt", "new"), Check: reads("a/b.txt", "new")},
			{Properties: file(odd, "grüß Gott 🌍"), Replaces: true, Undone: true, Check: reads("a/b.txt", "new")},
			{Properties: file(odd, "grüß Gott 🌍"), Replaces: true, Check: reads(odd, "grüß Gott 🌍")},
			{Name: "the first is gone", Properties: file(odd, "grüß Gott 🌎"), Check: reads("a/b.txt", "")},
			{Do: pintle.Delete, Check: reads(odd, "")},
			{Name: "late", Properties: file("late", "a"), Late: true, Check: reads("late", "")},
		},
	}.Run(t)
	if _, err := s.put(t.Context(), greeting, "hello", "somebody", false); err != nil {
		t.Fatal(err)
	}
	pintletest.Life{
		Handler: pintle.New(asserts{s}),
		Steps: []pintletest.Step{
			{Properties: expects("hello")},
			{Properties: expects("hallo"), Fails: "they differ from byte 1 on"},
			{Properties: pintletest.Map{"BucketName": bucket, "ObjectKey": "none", "ExpectedContent": "a"}, Fails: "s3://my-bucket/none is not there"},
			{Properties: pintletest.Map{"BucketName": "no-bucket", "ObjectKey": "none", "ExpectedContent": "a"}, Fails: "NoSuchBucket"},
		},
	}.Run(t)
}
