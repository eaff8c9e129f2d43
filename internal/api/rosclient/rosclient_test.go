package rosclient_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/base/acs"
)

func open(t *testing.T, handler http.HandlerFunc) *rosclient.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := rosclient.New(rosclient.Config{
		Endpoint: server.URL, Region: "cn-hangzhou",
		Keys: func(context.Context) (rosclient.Keys, error) {
			return rosclient.Keys{ID: "id", Secret: "secret", Token: "token"}, nil
		},
		Now: func() time.Time { return time.Date(2026, 11, 22, 13, 14, 15, 999, time.FixedZone("", 3600)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCallsAreSigned(t *testing.T) {
	var got url.Values
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost || r.URL.RequestURI() != "/" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		got = r.PostForm
		fmt.Fprint(w, `{"RequestId": "R", "StackId": "S"}`)
	})
	var out struct{ StackID string }
	if err := c.Call(t.Context(), "CreateStack", url.Values{"StackName": {"a b&c"}}, &out); err != nil || out.StackID != "S" {
		t.Fatalf("%+v, %v", out, err)
	}
	if want := acs.SignatureV1("POST", got, "secret"); got.Get("Signature") != want {
		t.Errorf("signature %s, want %s", got.Get("Signature"), want)
	}
	if len(got.Get("SignatureNonce")) < 16 {
		t.Errorf("nonce %q", got.Get("SignatureNonce"))
	}
	got.Del("Signature")
	got.Del("SignatureNonce")
	want := url.Values{
		"Action": {"CreateStack"}, "Version": {"2019-09-10"}, "Format": {"JSON"}, "RegionId": {"cn-hangzhou"}, "AccessKeyId": {"id"},
		"SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"}, "SecurityToken": {"token"},
		"Timestamp": {"2026-11-22T12:14:15Z"}, "StackName": {"a b&c"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCallErrors(t *testing.T) {
	cases := map[string]struct {
		status int
		body   string
		want   error
	}{
		"an error":                {404, `{"RequestId": "R", "Code": "StackNotFound", "Message": "gone"}`, &rosclient.Error{Status: 404, Code: "StackNotFound", Message: "gone", Action: "GetStack", RequestID: "R"}},
		"an error with 200":       {200, `{"RequestId": "R", "Code": "Odd", "Message": "m"}`, &rosclient.Error{Status: 200, Code: "Odd", Message: "m", Action: "GetStack", RequestID: "R"}},
		"another service":         {403, `<ErrorResponse><Error/></ErrorResponse>`, rosclient.ErrForeign},
		"JSON of another service": {200, `{"stacks": []}`, rosclient.ErrForeign},
		"success":                 {200, `{"RequestId": "R"}`, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			client := open(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			err := client.Call(t.Context(), "GetStack", nil, nil)
			if want, ok := errors.AsType[*rosclient.Error](c.want); ok {
				got, _ := errors.AsType[*rosclient.Error](err)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				return
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestABusyServerIsAskedAgain(t *testing.T) {
	nonces := map[string]bool{}
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		nonces[r.FormValue("SignatureNonce")] = true
		if len(nonces) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"RequestId": "R", "Code": "ServiceUnavailable", "Message": "busy"}`)
			return
		}
		fmt.Fprint(w, `{"RequestId": "R"}`)
	})
	if err := c.Call(t.Context(), "GetStack", nil, nil); err != nil || len(nonces) != 2 {
		t.Errorf("%v after %d nonces", err, len(nonces))
	}
}
