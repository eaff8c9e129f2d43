package oss_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/oss"
	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/objects"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// Two accounts, each with a key, and a key with a token.
const (
	keyID, secret     = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	tokenID, token    = "STS.EXAMPLE", "token/of+this=key"
	account, stranger = "0000111111111111", "0000222222222222"
	place             = "cn-hangzhou"
)

// door is a face behind a door that verifies signatures, as the server's does.
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
	d.objects, err = objects.New(objects.Config{Dir: t.TempDir(), Buckets: catalog.New(rows).Buckets, MaxObject: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	face, err := oss.New(oss.Config{Objects: d.objects, Caller: func(ctx context.Context) (oss.Caller, bool) {
		caller, ok := ctx.Value(callerKey{}).(oss.Caller)
		return caller, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var caller oss.Caller
		refused := oss.Verify(r, time.Now(), func(id, given, region string) (oss.Key, *oss.Error) {
			caller = oss.Caller{Account: account, Region: region}
			if id == keyID && given == "" || id == tokenID && given == token {
				return oss.Key{Secret: secret, Known: true}, nil
			}
			return oss.Key{}, oss.UnknownKey()
		})
		if refused != nil {
			oss.WriteError(w, r, refused)
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
	item := catalog.Item[catalog.Bucket]{Place: catalog.Place{Account: stranger, Region: place}, Name: "strange"}
	if _, err := d.objects.Make(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	return d
}
