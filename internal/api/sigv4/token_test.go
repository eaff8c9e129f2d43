package sigv4_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

// TestKeyWithToken checks that a session key of another service is valid only with its token.
func TestKeyWithToken(t *testing.T) {
	v, err := sigv4.New(sigv4.Config{Now: func() time.Time { return noon }, Lookup: func(id string) (sigv4.Key, bool) {
		key, ok := lookup(id)
		key.Token = "of a session"
		return key, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(t, v)
	for token, want := range map[string]string{"of a session": "", "of another": "InvalidClientTokenId", "": "InvalidClientTokenId"} {
		r := request(t, http.MethodPost, d.URL+"/", "Action=GetCallerIdentity")
		if token != "" {
			r.Header.Set("X-Amz-Security-Token", token)
		}
		d.send(t, r, "sts", hashOf("Action=GetCallerIdentity"), noon, nil)
		got := ""
		if refused, ok := errors.AsType[*sigv4.Error](d.err); ok {
			got = refused.Code
		}
		if got != want || d.err == nil && d.identity.AccessKeyID != keyID {
			t.Errorf("%q: %v, want %q", token, d.err, want)
		}
	}
}
