package main

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

const (
	bucket, otherBucket = "my-bucket", "my.other-bucket"
	keyID, secret       = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// stored is an object in the fake.
type stored struct {
	text   string
	header http.Header // from its PUT
}

// fake is an S3 server with two buckets. It verifies signatures. Unsigned requests can read public objects.
type fake struct {
	url      string
	verifier *sigv4.Verifier

	mu      sync.Mutex
	objects map[string]stored // by bucket/key
	// before is called before every signed request. If it returns true, it has written the response.
	before func(w http.ResponseWriter, r *http.Request) bool
}

func newFake(t *testing.T) *fake {
	t.Helper()
	v, err := sigv4.New(sigv4.Config{Lookup: func(id string) (sigv4.Key, bool) {
		return sigv4.Key{ID: keyID, Secret: secret}, id == keyID
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{verifier: v, objects: map[string]stored{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// store returns a store of the provider that calls the fake.
func (f *fake) store(t *testing.T) *store {
	t.Helper()
	s, err := newStore(awscall.Config{
		Region: "eu-west-1", Endpoint: f.url, MaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider(keyID, secret, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put writes an object as another client would.
func (f *fake) put(o object, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[o.bucket+"/"+o.key] = stored{text, http.Header{}}
}

// has compares the contents of the buckets.
func (f *fake) has(want ...string) func() error {
	return func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		got := []string{}
		for _, name := range slices.Sorted(maps.Keys(f.objects)) {
			got = append(got, name+"="+f.objects[name].text)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("the buckets have %q, want %q", got, want)
		}
		return nil
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	signed := r.Header.Get("Authorization") != ""
	if signed {
		if id, err := f.verifier.Verify(r); err != nil || id.Service != "s3" || id.Region != "eu-west-1" {
			refuse(w, http.StatusForbidden, "SignatureDoesNotMatch", fmt.Sprintf("%+v: %v", id, err))
			return
		}
		f.mu.Lock()
		before := f.before
		f.mu.Unlock()
		if before != nil && before(w, r) {
			return
		}
	}
	body, err := io.ReadAll(r.Body) // fails if its hash is not the signed one
	if err != nil {
		refuse(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch", err.Error())
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if in, _, _ := strings.Cut(name, "/"); in != bucket && in != otherBucket {
		refuse(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	is, found := f.objects[name]
	switch {
	case !signed && (r.Method != http.MethodGet || is.header.Get("X-Amz-Acl") != "public-read"):
		refuse(w, http.StatusForbidden, "AccessDenied", "Access Denied")
	case r.Method == http.MethodPut:
		f.objects[name] = stored{string(body), r.Header}
		w.Header().Set("ETag", etag(string(body)))
	case r.Method == http.MethodDelete:
		delete(f.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case !found:
		refuse(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	default: // GET and HEAD
		for header, values := range is.header {
			if header == "Content-Type" || strings.HasPrefix(header, "X-Amz-Meta-") {
				w.Header()[header] = values
			}
		}
		w.Header().Set("ETag", etag(is.text))
		_, _ = io.WriteString(w, is.text) // a client may have disconnected
	}
}

func etag(text string) string {
	sum := md5.Sum([]byte(text))
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct { // a client may have disconnected
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
}
