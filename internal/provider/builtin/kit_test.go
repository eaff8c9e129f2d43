package builtin

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// patience is how long a test waits before it fails.
const patience = 30 * time.Second

type m = map[string]any

// surroundings creates an environment in which the AWS SDK finds only the test's settings. It returns the path of the
// configuration file.
func surroundings(t *testing.T, configuration string, variables map[string]string) string {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			if err := os.Unsetenv(name); err != nil { // t.Setenv restores the old value
				t.Fatal(err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", "OWN")
	t.Setenv("AWS_SECRET_ACCESS_KEY", ownSecret)
	for name, value := range variables {
		t.Setenv(name, value)
	}
	return file
}

// Secrets of the configuration and of a role.
const (
	ownSecret  = "own-secret-of-the-process-0123456789abcd"
	ownToken   = "own-token-of-the-process-0123456789abcdef"
	roleSecret = "role-secret-0123456789abcdef0123456789ab"
	roleToken  = "role-token-0123456789abcdef0123456789abc"
)

// services emulates AWS, or one of its services.
type services struct {
	url string

	mu    sync.Mutex
	asked []string // the signer, region, service and action of each call
}

func newServices(t *testing.T, answer func(action string, r *http.Request, body string) (status int, text string)) *services {
	t.Helper()
	s := &services{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		action := r.Header.Get("X-Amz-Target")
		action = action[strings.LastIndexByte(action, '.')+1:]
		if _, query, ok := strings.Cut(string(body), "Action="); ok && action == "" {
			action, _, _ = strings.Cut(query, "&")
		}
		_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		parts := strings.Split(scope, "/")
		if len(parts) < 4 {
			t.Errorf("not signed: %s", r.Header.Get("Authorization"))
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, strings.Join([]string{parts[0], parts[2], parts[3], action}, " "))
		s.mu.Unlock()
		status, text := answer(action, r, string(body))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *services) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// kit is a runtime with the provider, and records its output.
type kit struct {
	*local.Runtime
	t       *testing.T
	done    chan local.Outcome
	answers chan string
	url     string // the response URL, signed

	mu      sync.Mutex
	lines   []string // of requests
	written bytes.Buffer
}

// signature is part of each response URL.
const signature = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func newKit(t *testing.T, a AWS) *kit {
	t.Helper()
	k := &kit{t: t, done: make(chan local.Outcome, 10), answers: make(chan string, 10)}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		k.answers <- string(body)
	}))
	t.Cleanup(engine.Close)
	k.url = engine.URL + "/response/key?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAKEY%2F20260101&X-Amz-Signature=" + signature
	provider, err := a.Provider("aws")
	if err != nil {
		t.Fatal(err)
	}
	k.Runtime, err = local.New(local.Config{
		Providers: []local.Provider{provider},
		Logger:    slog.New(slog.NewTextHandler(writer{k}, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Done:      func(_ string, o local.Outcome) { k.done <- o },
		Log: func(_, id, line string) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.lines = append(k.lines, id+": "+line)
			k.written.WriteString(line + "\n")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// writer writes the log of the runtime.
type writer struct{ k *kit }

func (w writer) Write(p []byte) (int, error) {
	w.k.mu.Lock()
	defer w.k.mu.Unlock()
	return w.k.written.Write(p)
}

// handle sends a request and returns its answer.
func (k *kit) handle(id string, request m, secrets ...string) map[string]any {
	k.t.Helper()
	whole := m{"RequestType": "Create", "ResponseURL": k.url, "RequestId": id, "LogicalResourceId": "Thing", "ResourceType": "Custom::AWS",
		"StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/1"}
	for name, value := range request {
		whole[name] = value
	}
	payload, err := json.Marshal(whole)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := k.Invoke("aws", local.Event{ID: id, Payload: payload, Secrets: secrets}); err != nil {
		k.t.Fatal(err)
	}
	select {
	case o := <-k.done:
		if o.Kind != local.Returned {
			k.t.Fatalf("got %s: %v", o, o.Log)
		}
	case <-time.After(patience):
		k.t.Fatal("no outcome was reported")
	}
	var answer map[string]any
	text := <-k.answers // it arrived before the outcome
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		k.t.Fatalf("%v: %s", err, text)
	}
	return answer
}

// log returns the lines of a request.
func (k *kit) log(id string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var own []string
	for _, line := range k.lines {
		if text, ok := strings.CutPrefix(line, id+": "); ok {
			own = append(own, text)
		}
	}
	return strings.Join(own, "\n")
}

// everything returns the whole output.
func (k *kit) everything() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.written.String()
}

// asText formats a call like the CDK.
func asText(t *testing.T, call m) string {
	t.Helper()
	text, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
