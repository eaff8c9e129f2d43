package node

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Functions of the local cloud, by the names of their tokens.
const (
	functionARNs = "arn:aws:lambda:eu-west-1:000000000000:function:"
	madeByCDK    = functionARNs + "app-AWS679f53fac002430cb0da5b7982bd22872D164C4C-abc"
	cutOff       = functionARNs + "a-name-that-is-so-long-that-the-function-s-has-no-room-AWS6-abc"
	another      = functionARNs + "app-Handler886CB40B-abc"
	deploys      = functionARNs + "app-CustomCDKBucketDeployment8693BB64968944B69AAFB-abc"
	lookalike    = functionARNs + "app-CustomCDKBucketDeployment8693BB64968944B69AAFB-other"
	anotherCloud = "arn:aws:lambda:eu-west-1:123456789012:function:there-AWS679f53fac002430cb0da5b7982bd22872D164C4C-abc"
)

// logicalOf stands in for the lookup of the local cloud.
func logicalOf(token wire.ServiceToken) (string, bool) {
	logical, ok := map[wire.ServiceToken]string{
		madeByCDK: "AWS679f53fac002430cb0da5b7982bd22872D164C4C", cutOff: "AWS679f53fac002430cb0da5b7982bd22872D164C4C", another: "Handler886CB40B",
		deploys: "CustomCDKBucketDeployment8693BB64968944B69AAFB0CC9EB8756C512MiB8F7A2D0E",
	}[token]
	return logical, ok
}

func TestStandIn(t *testing.T) {
	declared := func(p *providers) {
		p.known["Calls"] = &known{builtin: true}
		p.known["app-Handler886CB40B-abc"] = &known{}
	}
	inTheCloud := func(p *providers) {
		if err := p.standForCDK(func(string) map[string]string { return nil }, logicalOf); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		with []func(*providers)
		want map[wire.ServiceToken]string
	}{
		"nothing":    {nil, nil},
		"the cloud":  {[]func(*providers){inTheCloud}, map[wire.ServiceToken]string{madeByCDK: inCloud, cutOff: inCloud, deploys: deploymentsInCloud}},
		"a provider": {[]func(*providers){declared}, map[wire.ServiceToken]string{madeByCDK: "Calls", anotherCloud: "Calls", another: "app-Handler886CB40B-abc"}},
		"a provider in the cloud": {[]func(*providers){declared, inTheCloud}, map[wire.ServiceToken]string{
			madeByCDK: "Calls", cutOff: "Calls", anotherCloud: "Calls", another: "app-Handler886CB40B-abc", deploys: deploymentsInCloud}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProviders(nil, newNotes(), local.DefaultRegion, slog.New(slog.DiscardHandler))
			for _, with := range test.with {
				with(p)
			}
			var got map[wire.ServiceToken]string
			for _, token := range []wire.ServiceToken{madeByCDK, cutOff, another, anotherCloud, deploys, lookalike} {
				found, ok := p.Match(token)
				if !ok {
					continue
				}
				if got == nil {
					got = map[wire.ServiceToken]string{}
				}
				got[token] = found.Name
				if !p.serves(token) {
					t.Errorf("%s: it does not serve it", token)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A request for such a function is answered with no code of it at hand, and with the keys that functions have.
func TestStandInAnswers(t *testing.T) {
	calls, answers := make(chan string, 1), make(chan map[string]any, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method == http.MethodPut {
			var answer map[string]any
			if err := json.Unmarshal(body, &answer); err != nil {
				t.Error(err)
			}
			answers <- answer
			return
		}
		_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		id, _, _ := strings.Cut(scope, "/")
		calls <- id + " " + r.Header.Get("X-Amz-Target")
		_, _ = io.WriteString(w, `{"Parameter":{"Name":"/a","Value":"v"}}`)
	}))
	t.Cleanup(server.Close)

	done := make(chan local.Outcome, 1)
	runtime, err := local.New(local.Config{Done: func(_ string, o local.Outcome) { done <- o }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close() })
	cloud := &cloud{url: server.URL, accounts: &accounts{sole: true}}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SSM"} {
		t.Setenv(name, "")
	}
	p := newProviders(nil, newNotes(), local.DefaultRegion, slog.New(slog.DiscardHandler))
	p.runtime = runtime
	if err := p.standForCDK(cloud.variables, logicalOf); err != nil {
		t.Fatal(err)
	}

	for _, account := range []string{"000000000000", "222222222222"} { // each with keys of its own
		payload, err := json.Marshal(map[string]any{
			"RequestType": "Create", "ResponseURL": server.URL + "/answer", "RequestId": "r1", "LogicalResourceId": "Thing", "ResourceType": "Custom::AWS",
			"StackId": "arn:aws:cloudformation:eu-west-1:" + account + ":stack/app/1",
			"ResourceProperties": map[string]any{"ServiceToken": cutOff,
				"Create": `{"service":"SSM","action":"getParameter","parameters":{"Name":"/a"},"physicalResourceId":{"id":"x"}}`},
		})
		if err != nil {
			t.Fatal(err)
		}
		found, ok := p.Match(cutOff)
		if !ok {
			t.Fatal("nobody serves it")
		}
		if err := p.Invoke(found.Name, local.Event{ID: "r1", Payload: payload}); err != nil {
			t.Fatal(err)
		}
		if o := <-done; o.Kind != local.Returned {
			t.Fatalf("%s: %v", o, o.Log)
		}
		if got, want := <-calls, functionKey+account+" AmazonSSM.GetParameter"; got != want {
			t.Errorf("called %s, want %s", got, want)
		}
		if answer := <-answers; answer["Status"] != "SUCCESS" || answer["PhysicalResourceId"] != "x" {
			t.Errorf("answered %v", answer)
		}
	}
}

// The lines of a function that was called on the way belong to the request that it was called for.
func TestRequestOf(t *testing.T) {
	p := newProviders(nil, newNotes(), local.DefaultRegion, slog.New(slog.DiscardHandler))
	if got := p.requestOf("r1"); got != "r1" {
		t.Errorf("got %s", got)
	}
	p.invoked = func(id string) (wire.RequestID, bool) { return "r2", id == "i1" }
	for id, want := range map[string]wire.RequestID{"i1": "r2", "r1": "r1", "": ""} {
		if got := p.requestOf(id); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}
