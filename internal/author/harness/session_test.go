package harness_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// session opens a session with this program.
func session(t *testing.T, behaviour string) *harness.Session {
	t.Helper()
	c := process(t, behaviour)
	return opened(t, harness.SessionConfig{Provider: c.Provider})
}

func opened(t *testing.T, c harness.SessionConfig) *harness.Session {
	t.Helper()
	s, err := harness.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func numbered(n int) wire.Request {
	r := request()
	r.RequestID, r.LogicalResourceID = wire.RequestID(fmt.Sprintf("r-%d", n)), wire.LogicalID(fmt.Sprintf("L%d", n))
	return r
}

// Concurrent requests get their own answers, and the records of all attempts.
func TestSession(t *testing.T) {
	s := session(t, "answer")
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			e, err := s.Send(t.Context(), harness.Order{Request: numbered(n)})
			if err != nil || e.Problem != nil || len(e.Mismatches) > 0 || e.Again > 0 {
				t.Errorf("%d: %v, %+v", n, err, e)
				return
			}
			a := e.Attempts[0]
			if len(e.Attempts) != 1 || a.Method != http.MethodPut || !a.Intact || a.Status != http.StatusOK || int64(len(a.Body)) != a.Length {
				t.Errorf("%d: attempts %+v", n, e.Attempts)
			}
			if e.End.Kind != local.Returned || e.End.Err != nil || e.End.At.Before(a.At) {
				t.Errorf("%d: it ended %+v", n, e.End)
			}
			if log := strings.Join(e.Log, "\n"); !strings.Contains(log, fmt.Sprintf("Create L%d: ", n)) {
				t.Errorf("%d: its log is %s", n, log)
			}
		})
	}
	wg.Wait()
	if strays := s.Strays(); len(strays) > 0 {
		t.Errorf("strays: %+v", strays)
	}
}

// TestSessionProcess checks that a request goes to the process that has the resource's last one, even if that is not free yet.
func TestSessionProcess(t *testing.T) {
	c := process(t, "process")
	release := filepath.Join(t.TempDir(), "release")
	c.Provider.Env[releaseVar] = release
	s := opened(t, harness.SessionConfig{Provider: c.Provider, Runtime: local.Config{Affinity: time.Minute}})
	handled := make([]string, 2) // by the process
	send := func(i int, id wire.RequestID, edit func([]byte) []byte) {
		r := request()
		r.RequestID = id
		e, err := s.Send(t.Context(), harness.Order{Request: r, Edit: edit})
		if err != nil || e.Problem != nil {
			t.Errorf("%s: %v, %+v", id, err, e)
			return
		}
		handled[i] = string(e.Response.Data)
	}
	began := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		send(0, "r-first", func(document []byte) []byte { close(began); return document })
	})
	<-began
	send(1, "r-second", func(document []byte) []byte {
		if err := os.WriteFile(release, nil, 0o600); err != nil {
			t.Error(err)
		}
		return document
	})
	wg.Wait()
	if handled[0] == "" || handled[0] != handled[1] {
		t.Errorf("Data: %q", handled)
	}
}

// TestSessionAgain checks that an answer is repeated after a 503, that a request can be sent twice, and that new processes get requests after
// Restart.
func TestSessionAgain(t *testing.T) {
	s := session(t, "answer")
	for n := range 2 {
		e, err := s.Send(t.Context(), harness.Order{Request: numbered(1), Unavailable: 1})
		if err != nil || e.Problem != nil || e.Again > 0 {
			t.Fatalf("%v, %+v", err, e)
		}
		if len(e.Attempts) != 2 || e.Attempts[0].Status != http.StatusServiceUnavailable || e.Attempts[1].Status != http.StatusOK {
			t.Errorf("delivery %d: attempts %+v", n, e.Attempts)
		}
		if ok, err := s.Restart(); !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
	}
}

// TestSessionLeaks checks that the session reports secrets in the provider's log, and that the provider gets an
// edited document as edited.
func TestSessionLeaks(t *testing.T) {
	s := session(t, "typed")
	r := numbered(1)
	e, err := s.Send(t.Context(), harness.Order{Request: r, Secrets: []string{"hunter22"}})
	if err != nil || len(e.Leaks) != 1 || e.Leaks[0] != "hunter22" || e.URLPrinted {
		t.Errorf("%v: leaks %+v", err, e.Leaks)
	}
	if strings.Contains(strings.Join(e.Log, "\n"), "hunter22") {
		t.Errorf("the log shows it: %s", e.Log)
	}
	r.RequestID = "r-2"
	e, err = s.Send(t.Context(), harness.Order{Request: r, Edit: func([]byte) []byte { return []byte(`{"RequestType":`) }, Settle: time.Millisecond})
	if err != nil || e.Answered {
		t.Errorf("%v: what is no request is answered: %+v", err, e)
	}
}

// TestSessionDoor checks another way to the provider, an endpoint, and that answers after the end are strays.
func TestSessionDoor(t *testing.T) {
	target := make(chan string, 1)
	s := opened(t, harness.SessionConfig{
		Provider: local.Provider{Name: "P"},
		Send: func(_ context.Context, r wire.Request, document []byte) error {
			if !strings.Contains(string(document), `"RequestType":"Create"`) {
				t.Errorf("the document is %s", document)
			}
			target <- r.ResponseURL
			return nil
		},
	})
	e, err := s.Send(t.Context(), harness.Order{Request: numbered(1), Settle: time.Millisecond})
	if err != nil || e.Answered || e.Problem == nil || e.End.At.IsZero() {
		t.Fatalf("%v, %+v", err, e)
	}
	if ok, err := s.Restart(); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	put(t, <-target, http.MethodPut, "{}")
	if strays := s.Strays(); len(strays) != 1 || strays[0].RequestID != "r-1" || strays[0].Status != http.StatusOK {
		t.Errorf("strays: %+v", strays)
	}
}

// TestSessionEverywhere checks that a session which listens on all addresses uses loopback, the only address in its certificate.
func TestSessionEverywhere(t *testing.T) {
	var got string
	s := opened(t, harness.SessionConfig{
		Provider: local.Provider{Name: "P"}, Listen: "0.0.0.0:0",
		Send: func(_ context.Context, r wire.Request, _ []byte) error { got = r.ResponseURL; return os.ErrInvalid },
	})
	if _, err := s.Send(t.Context(), harness.Order{Request: numbered(1)}); err != nil || !strings.HasPrefix(got, "http://127.0.0.1:") {
		t.Errorf("%v: the URL is %s", err, wire.Redact(got))
	}
}

// TestSessionReplies checks that the body of an HTTP reply counts as an answer only if it has a Status. An answer
// that is too long is read to its end, as S3 does, so that its sender gets no connection reset.
func TestSessionReplies(t *testing.T) {
	for name, reply := range map[string]string{
		"a status of its own": `{"status": "accepted"}`, "a page": "<html>" + strings.Repeat("x", 8000), "nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sent, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxRequest))
				if err != nil {
					t.Error(err)
				}
				request, err := wire.ParseRequest(sent)
				if err != nil {
					t.Error(err)
				}
				put(t, request.ResponseURL, http.MethodPut, strings.Repeat("x", 5_000_000))
				_, _ = io.WriteString(w, reply) // the client looks at it
			}))
			t.Cleanup(server.Close)
			target, err := local.ParseTarget("", server.URL)
			if err != nil {
				t.Fatal(err)
			}
			s := opened(t, harness.SessionConfig{Provider: local.Provider{Name: "P", Target: target}})
			e, err := s.Send(t.Context(), harness.Order{Request: numbered(1)})
			if err != nil || len(e.Attempts) != 1 || e.Attempts[0].Method != http.MethodPut || e.Size != 5_000_000 {
				t.Errorf("%v: attempts %d, size %d", err, len(e.Attempts), e.Size)
			}
		})
	}
}

// TestSessionPublicURL checks that the response URL is the configured one.
func TestSessionPublicURL(t *testing.T) {
	var got string
	s := opened(t, harness.SessionConfig{
		Provider:  local.Provider{Name: "P"},
		PublicURL: &url.URL{Scheme: "https", Host: "check.example.com", Path: "/below"},
		Send:      func(_ context.Context, r wire.Request, _ []byte) error { got = r.ResponseURL; return os.ErrInvalid },
	})
	e, err := s.Send(t.Context(), harness.Order{Request: numbered(1)})
	if err != nil || e.End.Err == nil || !strings.HasPrefix(got, "https://check.example.com/below/response/") {
		t.Errorf("%v, %+v: the URL is %s", err, e, wire.Redact(got))
	}
}
