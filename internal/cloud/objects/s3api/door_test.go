package s3api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/s3api"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// Two accounts, each with a key.
const (
	keyID, secret     = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	otherID           = "AKIDOTHER"
	account, stranger = "111111111111", "222222222222"
	region            = "eu-west-1"
)

// door is an API behind an endpoint that verifies signatures like the server's.
type door struct {
	url     string
	objects *objects.Store
	buckets *registry.Collection[registry.Bucket]
	dir     string
	destinations
}

func newDoor(t testing.TB, max int64) *door {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := &door{buckets: registry.New(rows).Buckets, dir: t.TempDir()}
	d.objects, err = objects.New(objects.Config{Dir: d.dir, Buckets: d.buckets, MaxObject: max})
	if err != nil {
		t.Fatal(err)
	}
	face, err := s3api.New(s3api.Config{Objects: d.objects, Notifications: &d.destinations, Caller: func(ctx context.Context) (api.Caller, bool) {
		id, ok := sigv4.FromContext(ctx)
		return api.Caller{Account: id.Account, Region: id.Region}, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := sigv4.New(sigv4.Config{Lookup: func(id string) (sigv4.Key, bool) {
		switch id {
		case keyID:
			return sigv4.Key{ID: id, Secret: secret, Account: account}, true
		case otherID:
			return sigv4.Key{ID: id, Secret: secret, Account: stranger}, true
		}
		return sigv4.Key{}, false
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
		if err := d.objects.Close(); err != nil {
			t.Error(err)
		}
	})
	d.url = server.URL
	return d
}

// env returns the environment for a client of the endpoint.
func (d *door) env() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	return append(env, "AWS_ENDPOINT_URL_S3="+d.url, "AWS_ACCESS_KEY_ID="+keyID, "AWS_SECRET_ACCESS_KEY="+secret,
		"AWS_REGION="+region, "AWS_DEFAULT_REGION="+region, "AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=", "AWS_MAX_ATTEMPTS=1",
		"NO_PROXY=*", "no_proxy=*")
}

// make creates a bucket of an account.
func (d *door) make(t testing.TB, name, account string) {
	t.Helper()
	place := registry.Scope{Account: account, Region: region}
	if _, err := d.objects.Make(t.Context(), registry.Item[registry.Bucket]{Scope: place, Name: name}); err != nil {
		t.Fatal(err)
	}
}

var longAgo = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
