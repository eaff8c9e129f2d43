package delivery_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// macroRequest returns the ready request of a macro.
func macroRequest(token string) store.Request {
	r := request("a", 1, token)
	r.Type, r.Logical, r.Body.ResourceType = store.TypeMacro, "", "M"
	r.Body.Properties = value.Object(
		value.Member{Key: "requestId", Value: value.Str("a")}, value.Member{Key: "Password", Value: value.SecretStr("hunter2&more")},
	)
	return r
}

const macroText = `{"requestId":"a","Password":"hunter2&more"}`

// named are local providers without processes, by name.
type named map[string]delivery.Provider

func (n named) Match(token wire.ServiceToken) (delivery.Provider, bool) {
	name, ok := local.Match(token, func(name string) bool { _, ok := n[name]; return ok })
	return n[name], ok
}

func (named) Invoke(string, local.Event) error { return local.ErrUnknown }
func (named) Cancel(string, time.Duration)     {}

func TestMacroInLambda(t *testing.T) {
	returned := func(w http.ResponseWriter) { fmt.Fprint(w, `{"status": "success"}`) }
	failed := func(w http.ResponseWriter) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		w.Header().Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString([]byte("START\n[ERROR] hunter2&more\n")))
		fmt.Fprint(w, `{"errorType": "KeyError", "errorMessage": "no hunter2&more"}`)
	}
	none := lambdaFails(404, "ResourceNotFoundException", "Function not found: "+function)
	for name, test := range map[string]struct {
		token   string
		known   named
		replies []func(http.ResponseWriter)
		want    delivery.Outcome
	}{
		"returned":  {function, nil, []func(http.ResponseWriter){returned}, delivery.Returned{Body: []byte(`{"status": "success"}`)}},
		"by a name": {"macro:M", named{"macro:M": {Name: "macro:M", Function: function}}, []func(http.ResponseWriter){returned}, delivery.Returned{Body: []byte(`{"status": "success"}`)}},
		"throttled": {function, nil, []func(http.ResponseWriter){lambdaFails(429, "TooManyRequestsException", "Rate"), returned}, delivery.Returned{Body: []byte(`{"status": "success"}`)}},
		"failed": {function, nil, []func(http.ResponseWriter){failed}, delivery.Died{
			Text: "the function reported an error: KeyError: no *****", Log: []string{"START", "[ERROR] *****"}, Delivered: true,
		}},
		"not there": {function, nil, []func(http.ResponseWriter){none}, delivery.Refused{
			Text: "Function not found: " + function + " (Service: Lambda, Status Code: 404, Request ID: req-1). No local provider is named thing either",
		}},
		"elsewhere": {strings.Replace(function, "us-east-1", "eu-west-1", 1), nil, []func(http.ResponseWriter){returned}, delivery.Refused{
			Text: strings.Replace(function, "us-east-1", "eu-west-1", 1) + " is in eu-west-1, and a macro's function must be in the region of its stack, us-east-1",
		}},
		"nobody": {"macro:M", nil, []func(http.ResponseWriter){returned}, delivery.Refused{
			Text: "M is not a known function: add it to pintle.yaml under macros, or give --macro NAME=./path",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			server, calls := fakeAWS(t, test.replies...)
			configureAWS(t, server.URL, "AKIDEXAMPLE")
			w := start(t, func(c *delivery.Config, _ *world) { c.Local = test.known })
			w.Dispatch([]store.Request{macroRequest(test.token)})
			if diff := cmp.Diff(reported{"a", test.want}, w.next(t)); diff != "" {
				t.Error(diff)
			}
			if len(calls) == 0 {
				return
			}
			want := call{path: "/2015-03-31/functions/" + function + "/invocations", kind: "RequestResponse", body: macroText}
			if diff := cmp.Diff(want, <-calls, cmp.AllowUnexported(call{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestServerless checks that the node expands SAM templates itself, and tries again if that was interrupted.
func TestServerless(t *testing.T) {
	tries := 0
	w := start(t, func(c *delivery.Config, _ *world) {
		c.Serverless = func(_ context.Context, event []byte) ([]byte, error) {
			if string(event) != macroText {
				t.Errorf("it gets %s", event)
			}
			if tries++; tries == 1 {
				return nil, errors.New("interrupted, with hunter2&more")
			}
			return []byte(`{"status": "success"}`), nil
		}
		c.Progress = func(_ wire.RequestID, text string) {
			if strings.Contains(text, "hunter2") {
				t.Errorf("the progress has a secret: %s", text)
			}
		}
	})
	w.Dispatch([]store.Request{macroRequest("macro:AWS::Serverless-2016-10-31")})
	if diff := cmp.Diff(reported{"a", delivery.Returned{Body: []byte(`{"status": "success"}`)}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}

func TestMacroBehindURL(t *testing.T) {
	var status int
	var reply string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != macroText || r.Header.Get("webhook-id") != "a" || r.Header.Get("webhook-signature") == "" {
			t.Errorf("it gets %s with %v", body, r.Header)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, reply)
	}))
	t.Cleanup(server.Close)
	url := server.URL + "/macro?key=hidden"
	for _, test := range []struct {
		status int
		reply  string
		want   delivery.Outcome
	}{
		{200, `{"status": "success"}`, delivery.Returned{Body: []byte(`{"status": "success"}`)}},
		{200, ``, delivery.Returned{Body: []byte{}}},
		{400, "no hunter2&more", delivery.Refused{Text: "POST " + server.URL + "/macro: 400 Bad Request: no *****", Delivered: true}},
		{302, "", delivery.Refused{Text: "POST " + server.URL + "/macro: 302 Found", Delivered: true}},
	} {
		status, reply = test.status, test.reply
		w := start(t, func(c *delivery.Config, _ *world) {
			c.Local = named{"macro:M": {Name: "macro:M", URL: url}}
			c.RetryFor = time.Nanosecond
		})
		w.Dispatch([]store.Request{macroRequest("macro:M")})
		if diff := cmp.Diff(reported{"a", test.want}, w.next(t)); diff != "" {
			t.Errorf("%d: %s", test.status, diff)
		}
	}
}
