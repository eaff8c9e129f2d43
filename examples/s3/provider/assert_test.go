package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

// later answers the first polls in the given ways, then like S3.
func (f *fake) later(ways ...func(http.ResponseWriter)) *atomic.Int32 {
	var looks atomic.Int32
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = func(w http.ResponseWriter, _ *http.Request) bool {
		look := int(looks.Add(1))
		if look > len(ways) {
			return false
		}
		ways[look-1](w)
		return true
	}
	return &looks
}

// greeting is the object that most tests check.
var greeting = object{bucket, "grüße.txt"}

func expects(text string) pintletest.Map {
	return pintletest.Map{"BucketName": greeting.bucket, "ObjectKey": greeting.key, "ExpectedContent": text}
}

func TestAssert(t *testing.T) {
	says := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { fmt.Fprint(w, text) }
	}
	refuses := func(status int, code string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { refuse(w, status, code, "no") }
	}
	none := refuses(http.StatusNotFound, "NoSuchKey")
	const many = -1 // polls for five minutes, about five seconds apart
	tests := []struct {
		name    string
		expects string
		ways    []func(http.ResponseWriter)
		fails   string
		looks   int32
	}{
		{name: "at once", expects: "grüß Gott 🌍", looks: 1},
		{name: "missing, then different text", expects: "grüß Gott 🌍", ways: []func(http.ResponseWriter){none, none, says("old"), says("")}, looks: 5},
		{name: "too large, then too busy", expects: "grüß Gott 🌍", looks: 4, ways: []func(http.ResponseWriter){
			says(strings.Repeat("x", maxText+1)), refuses(http.StatusServiceUnavailable, "SlowDown"), refuses(http.StatusTooManyRequests, "TooManyRequests")}},
		{name: "after minutes", expects: "grüß Gott 🌍", ways: slowly(45, none), looks: 46},
		{name: "never", expects: "grüß Gott 🌎", looks: many,
			fails: "times: s3://my-bucket/grüße.txt has 16 bytes, want 16; they differ from byte 15 on"},
		{name: "never there", expects: "grüß Gott 🌍", ways: slowly(1000, none), looks: many, fails: "s3://my-bucket/grüße.txt is not there"},
		{name: "not permitted", expects: "a", ways: slowly(1000, refuses(http.StatusForbidden, "AccessDenied")), looks: 1, fails: "s3:ListBucket is not permitted"},
		{name: "no bucket", expects: "a", ways: slowly(1000, refuses(http.StatusNotFound, "NoSuchBucket")), looks: 1, fails: "NoSuchBucket"},
	}
	for _, test := range tests {
		for _, form := range []pintletest.Transport{pintletest.CloudFormation, pintletest.ROSFunction} {
			t.Run(test.name+" "+form.String(), func(t *testing.T) {
				f := newFake(t)
				f.put(greeting, "grüß Gott 🌍")
				looks := f.later(test.ways...)
				pintletest.Lifecycle{
					Handler:   pintle.New(asserts{f.store(t)}, pintle.WithPollPolicy(assertPolicy)),
					Transport: form,
					Steps: []pintletest.Step{{Properties: expects(test.expects), WantError: test.fails, WantAttributes: pintletest.Map{}, Check: func() error {
						if got := looks.Load(); got != test.looks && (test.looks != many || got < 47 || got > 81) {
							return fmt.Errorf("looked %d times, want %d", got, test.looks)
						}
						return nil
					}}},
				}.Run(t)
			})
		}
	}
}

// TestAssertUpdated checks the ID: it has no meaning, so it stays the same when the properties change, and its Delete
// deletes nothing.
func TestAssertUpdated(t *testing.T) {
	f := newFake(t)
	f.put(greeting, "hello")
	f.put(object{otherBucket, "b"}, "")
	elsewhere := pintletest.Map{"BucketName": otherBucket, "ObjectKey": "b", "ExpectedContent": ""}
	pintletest.Lifecycle{
		Handler: pintle.New(asserts{f.store(t)}, pintle.WithPollPolicy(assertPolicy)),
		Steps: []pintletest.Step{
			{Properties: pintletest.Map{"BucketName": bucket, "ObjectKey": "b"}, WantError: "ExpectedContent"},
			{Properties: expects("hello"), Redeliveries: 1},
			{Properties: elsewhere, Restart: true},
			{Properties: expects("hallo"), WantError: "Operation timed out"},
			{Properties: expects("hello"), RollBack: true},
		},
	}.Run(t)
	if err := f.has("my-bucket/grüße.txt=hello", "my.other-bucket/b=")(); err != nil {
		t.Error(err)
	}
}

func slowly(times int, way func(http.ResponseWriter)) []func(http.ResponseWriter) {
	ways := make([]func(http.ResponseWriter), times)
	for i := range ways {
		ways[i] = way
	}
	return ways
}
