package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

// newTester returns a provider at 15:04:05 with a temporary directory for its pages.
func newTester(t *testing.T) *tester {
	return &tester{
		dir:    filepath.Join(t.TempDir(), "results"),
		prober: newProber(realDial),
		now:    func() time.Time { return time.Date(2026, 1, 2, 16, 4, 5, 678, time.FixedZone("", 3600)) },
	}
}

func request(t *testing.T, kind pintle.RequestType, endpoints ...string) *pintle.Request {
	t.Helper()
	frequencies := make([]string, len(endpoints))
	for i := range frequencies {
		frequencies[i] = "3"
	}
	props, err := json.Marshal(map[string]any{
		"ServiceToken":            "arn:aws:sns:us-east-1:84969EXAMPLE:CRTest",
		"seleniumTester":          "SeleniumTest()",
		"endpoints":               endpoints,
		"frequencyOfTestsPerHour": frequencies,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &pintle.Request{
		Type:             kind,
		StackID:          "arn:aws:cloudformation:us-east-1:000000000000:stack/walkthrough/1",
		RequestID:        "r1",
		LogicalID:        "myCustomResource",
		RawProperties:    props,
		RawOldProperties: json.RawMessage("{}"),
	}
}

func TestLife(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer site.Close()
	p := newTester(t)

	create := request(t, pintle.Create, "http://mysite.com", site.URL)
	created, err := p.Handle(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	page, _ := created.Attributes["resultsPage"].(string)
	want := pintle.Answer{
		ID:         created.ID,
		Attributes: map[string]any{"resultsPage": page, "lastUpdate": "2026-01-02T15:04:05Z"},
	}
	if diff := cmp.Diff(want, created); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"http://mysite.com", "not on this machine", site.URL, "200 OK", "15:24:05, 15:44:05, 16:04:05"} {
		if got := readPage(t, page); !strings.Contains(got, text) {
			t.Errorf("the page lacks %q:\n%s", text, got)
		}
	}

	again, err := p.Handle(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created, again); diff != "" {
		t.Errorf("a repeated Create differs: %s", diff)
	}

	change := request(t, pintle.Update, "http://mynewsite.com")
	change.RequestID, change.ID, change.RawOldProperties = "r2", created.ID, create.RawProperties
	updated, err := p.Handle(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(created, updated); diff != "" {
		t.Errorf("an Update does not stay in place: %s", diff)
	}
	if got := readPage(t, page); !strings.Contains(got, "http://mynewsite.com") || strings.Contains(got, "http://mysite.com") {
		t.Errorf("the page does not show the new endpoints:\n%s", got)
	}

	remove := request(t, pintle.Delete, "http://mynewsite.com")
	remove.RequestID, remove.ID = "r3", created.ID
	for range 2 { // a repeated Delete also succeeds
		if _, err := p.Handle(t.Context(), remove); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := os.ReadDir(p.dir); err != nil || len(files) != 0 {
		t.Errorf("files after the Delete: %v, %v", files, err)
	}
}

// A Create whose answer was lost is followed by a Delete with the ID of its request.
func TestDeleteAfterLostAnswer(t *testing.T) {
	p := newTester(t)
	if _, err := p.Handle(t.Context(), request(t, pintle.Create, "http://mysite.com")); err != nil {
		t.Fatal(err)
	}
	remove := request(t, pintle.Delete, "http://mysite.com")
	remove.ID = "r1"
	if _, err := p.Handle(t.Context(), remove); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(p.dir); err != nil || len(files) != 0 {
		t.Errorf("files after the Delete: %v, %v", files, err)
	}
}

func TestResourcesDoNotShareAPage(t *testing.T) {
	seen := map[string]bool{}
	for _, id := range []struct {
		stack   wire.StackID
		logical wire.LogicalID
	}{{"stack/a/1", "x"}, {"stack/a/2", "x"}, {"stack/a/1", "y"}} {
		r := request(t, pintle.Create, "http://mysite.com")
		r.StackID, r.LogicalID = id.stack, id.logical
		seen[resourceID(r)] = true
	}
	if len(seen) != 3 {
		t.Errorf("3 resources have %d IDs", len(seen))
	}
}

func TestHandleRefuses(t *testing.T) {
	mistyped := request(t, pintle.Create)
	mistyped.RawProperties = json.RawMessage(`{"endpoints": "http://mysite.com"}`)
	tests := map[string]struct {
		request *pintle.Request
		want    string
	}{
		"bad property":  {request(t, pintle.Update, "mysite"), "endpoints, item 1: give a full URL such as http://127.0.0.1:8081/"},
		"not a list":    {mistyped, "properties: endpoints cannot be read as []string"},
		"unknown order": {request(t, "Destroy", "http://mysite.com"), `unknown request type "Destroy"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newTester(t)
			response, err := p.Handle(t.Context(), test.request)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if diff := cmp.Diff(pintle.Answer{}, response); diff != "" {
				t.Error(diff)
			}
			if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
				t.Errorf("something was written: %v", err)
			}
		})
	}
}

func TestResultsDir(t *testing.T) {
	absolute := t.TempDir()
	if got, err := resultsDir(absolute); err != nil || got != absolute {
		t.Errorf("got %q, %v; want %q", got, err, absolute)
	}
	if got, err := resultsDir(""); err != nil || filepath.Dir(got) != filepath.Clean(os.TempDir()) {
		t.Errorf("got %q, %v; want a folder in %q", got, err, os.TempDir())
	}
	if got, err := resultsDir("results"); err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("relative path: got %q, %v", got, err)
	}
}
