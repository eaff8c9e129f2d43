package ossapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/oss"
	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/ossapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// Two accounts, each with a key, and a key with a token.
const (
	keyID, secret     = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	tokenID, token    = "STS.EXAMPLE", "token/of+this=key"
	account, stranger = "0000111111111111", "0000222222222222"
	place             = "cn-hangzhou"
)

// door is an API behind an endpoint that verifies signatures like the server's.
type door struct {
	url     string
	objects *objects.Store
}

type callerKey struct{}

func newDoor(t testing.TB) *door {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := &door{}
	d.objects, err = objects.New(objects.Config{Dir: t.TempDir(), Buckets: registry.New(rows).Buckets, MaxObject: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	face, err := ossapi.New(ossapi.Config{Objects: d.objects, Caller: func(ctx context.Context) (api.Caller, bool) {
		caller, ok := ctx.Value(callerKey{}).(api.Caller)
		return caller, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var caller api.Caller
		refused := oss.Verify(r, time.Now(), func(id, given, region string) (oss.Key, *oss.Error) {
			caller = api.Caller{Account: account, Region: region}
			if id == keyID && given == "" || id == tokenID && given == token {
				return oss.Key{Secret: secret, Known: true}, nil
			}
			return oss.Key{}, oss.UnknownKey()
		})
		if refused != nil {
			oss.Refuse(w, r, refused)
			return
		}
		face.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	}))
	t.Cleanup(func() {
		server.Close()
		if err := d.objects.Close(); err != nil {
			t.Error(err)
		}
	})
	d.url = server.URL
	item := registry.Item[registry.Bucket]{Scope: registry.Scope{Account: stranger, Region: place}, Name: "strange"}
	if _, err := d.objects.Make(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	return d
}
