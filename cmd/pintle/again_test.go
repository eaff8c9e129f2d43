package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// TestUpdateAgainWithOldServer checks the errors for a server without forced Updates. A proxy imitates such a server: its previews
// ignore the option, and it has no such update.
func TestUpdateAgainWithOldServer(t *testing.T) {
	server := serve(t, t.TempDir())
	target, err := url.Parse(server.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(response *http.Response) error {
			if !strings.HasSuffix(response.Request.URL.Path, "/preview") {
				return nil
			}
			var document map[string]json.RawMessage
			if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
				return err
			}
			delete(document, "again")
			text, err := json.Marshal(document)
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			response.Header.Del("Content-Length")
			return err
		},
	}
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/update") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"there is nothing at POST `+r.URL.Path+`: client and server may be of different versions"}`)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(old.Close)

	if output, err := deployPair(t, server.url, "http://127.0.0.1:9", "--dry-run", "--update-again", "A"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if output, err := deployPair(t, old.URL, "http://127.0.0.1:9", "--dry-run", "--update-again", "A"); err != nil {
		t.Errorf("the first deploy needs no Update: %v\n%s", err, output)
	}
	provider := newHTTPProvider(t)
	server.createPair(provider)
	if output, err := deployPair(t, server.url, provider.URL, "--dry-run", "--update-again", "A"); err != nil || !strings.Contains(output, "even if nothing changed") {
		t.Errorf("%v\n%s", err, output)
	}
	for _, args := range [][]string{{"--dry-run"}, nil} {
		output, err := deployPair(t, old.URL, provider.URL, append(args, "--update-again", "A")...)
		if err == nil || !strings.Contains(output, "does not support --update-again: it is not Pintle, or an older version") {
			t.Errorf("%q: %v\n%s", args, err, output)
		}
	}
	if output, err := deployPair(t, old.URL, provider.URL, "--dry-run"); err != nil {
		t.Errorf("without the option: %v\n%s", err, output)
	}
}

// TestUpdateAgainKilled kills the server during a forced Update, before its answer, and in the rollback. The Update is not lost, and
// the attributes from before it are restored.
func TestUpdateAgainKilled(t *testing.T) {
	provider := newHTTPProvider(t)
	server := serve(t, t.TempDir())
	server.createPair(provider)
	client := pairCommand(t, server.url, provider.URL, "--update-again", "A")
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() { // it would wait for the server
		_ = client.Process.Kill()
		_ = client.Wait()
	})
	t.Cleanup(stop)
	next := func(n int, logical, properties string) map[string]any {
		t.Helper()
		server.until(logical+" gets a request", func() bool { return len(provider.got()) >= n })
		request := provider.got()[n-1]
		text, err := json.Marshal(request["ResourceProperties"])
		if err != nil {
			t.Fatal(err)
		}
		if request["LogicalResourceId"] != logical || request["RequestType"] != "Update" || !strings.Contains(string(text), properties) {
			t.Fatalf("request %d is %v of %v with %s, want an Update of %s with %s", n, request["RequestType"], request["LogicalResourceId"], text, logical, properties)
		}
		return request
	}
	restart := func() {
		server.kill()
		server.start()
	}
	answer := func(request map[string]any, more map[string]any) {
		t.Helper()
		if err := provider.answer(request, more); err != nil {
			t.Fatal(err)
		}
	}
	first := next(3, "A", "")
	server.until("the delivery is recorded", func() bool {
		out, err := exec.CommandContext(t.Context(), "pintle", "describe", "pair", "--data", server.dir, "-o", "json").Output()
		return err == nil && bytes.Contains(out, []byte(`"state": "waiting"`))
	})
	stop()
	restart()
	answer(first, map[string]any{"PhysicalResourceId": "a", "Data": map[string]any{"x": "2"}})
	refused := next(4, "B", `"2"`)
	restart()
	answer(refused, map[string]any{"PhysicalResourceId": "b", "Status": "FAILED", "Reason": "no"})
	var back map[string]any
	server.until("B gets a request of the rollback", func() bool {
		for _, request := range provider.got()[4:] {
			if request["RequestId"] != refused["RequestId"] { // which a restarted server may send again
				back = request
			}
		}
		return back != nil
	})
	if text, _ := json.Marshal(back["ResourceProperties"]); !strings.Contains(string(text), `"K":"1"`) {
		t.Errorf("the rollback sends %s", text)
	}
	restart()
	answer(back, map[string]any{"PhysicalResourceId": "b"})
	if status := server.settled("pair"); status != types.StackStatusUpdateRollbackComplete {
		t.Errorf("status %s", status)
	}
	for _, request := range provider.got() {
		if request["LogicalResourceId"] == "A" && request["RequestType"] == "Update" && request["RequestId"] != first["RequestId"] {
			t.Errorf("A got another Update: %v", request)
		}
	}
}

// pair returns a template in which B reads an attribute of A.
func pair(provider string) string {
	return `{"Resources": {"A": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + provider + `"}},
		"B": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + provider + `", "K": {"Fn::GetAtt": ["A", "x"]}}}}}`
}

// createPair creates the stack of such a template, with two requests to the provider.
func (s *served) createPair(p *httpProvider) {
	s.t.Helper()
	s.create("pair", pair(p.URL))
	for i, id := range []string{"a", "b"} {
		s.until(id+" gets its Create", func() bool { return len(p.got()) > i })
		if err := p.answer(p.got()[i], map[string]any{"PhysicalResourceId": id, "Data": map[string]any{"x": "1"}}); err != nil {
			s.t.Fatal(err)
		}
	}
	if status := s.settled("pair"); status != types.StackStatusCreateComplete {
		s.t.Fatalf("status %s", status)
	}
}

// deployPair runs pintle deploy with that template, and returns its output.
func deployPair(t *testing.T, endpoint, provider string, args ...string) (string, error) {
	t.Helper()
	output, err := pairCommand(t, endpoint, provider, args...).CombinedOutput()
	return string(output), err
}

func pairCommand(t *testing.T, endpoint, provider string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "template.json"), []byte(pair(provider)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "pintle",
		append([]string{"deploy", "--template", "template.json", "--stack", "pair", "--endpoint", endpoint}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=us-east-1")
	return cmd
}
