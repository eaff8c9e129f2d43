package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

func acquire(t *testing.T, directory string) *node.Lock {
	t.Helper()
	lock, err := node.Acquire(directory)
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// start opens a node and runs it until the test ends, or until stop is called.
func start(t *testing.T, config node.Config) (n *node.Node, stop func()) {
	t.Helper()
	n, err := node.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return n, stop
}

func TestLockNamesItsHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	lock := acquire(t, dir)
	_, err := node.Acquire(dir)
	held, ok := errors.AsType[*node.HeldError](err)
	if !ok {
		t.Fatalf("a second Acquire: %v, want a HeldError", err)
	}
	if diff := cmp.Diff(&node.HeldError{Directory: dir, PID: os.Getpid()}, held); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if err := acquire(t, dir).Release(); err != nil {
		t.Error(err)
	}
}

func TestStaleRecordIsIgnored(t *testing.T) {
	dir := t.TempDir()
	stale := `{"pid": 1, "url": "http://127.0.0.1:1"}`
	if err := os.WriteFile(filepath.Join(dir, "engine.json"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	lock := acquire(t, dir)
	defer func() { _ = lock.Release() }()
	if _, err := node.ReadRecord(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the record of an earlier holder is still there: %v", err)
	}
	// It could have been written between the lock and the look.
	if err := os.WriteFile(filepath.Join(dir, "engine.json"), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := node.Acquire(dir)
	if held, ok := errors.AsType[*node.HeldError](err); !ok || held.URL != "" {
		t.Errorf("Acquire: %v, want a HeldError without a URL", err)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n, _ := start(t, node.Config{Lock: acquire(t, dir)})
	if n.Record().PID != os.Getpid() {
		t.Errorf("the record's process is %d", n.Record().PID)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range append(entries, nil) {
		path := dir
		if entry != nil {
			path = filepath.Join(dir, entry.Name())
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

func TestPortIsKept(t *testing.T) {
	dir := t.TempDir()
	n, stop := start(t, node.Config{Lock: acquire(t, dir)})
	first := n.Record().URL
	stop()
	if _, err := node.ReadRecord(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the record is still there after the end: %v", err)
	}
	n, stop = start(t, node.Config{Lock: acquire(t, dir)})
	if n.Record().URL != first {
		t.Errorf("the second run is at %s, the first was at %s", n.Record().URL, first)
	}
	stop()

	// Another program has the port now.
	listener, err := net.Listen("tcp", strings.TrimPrefix(first, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	n, _ = start(t, node.Config{Lock: acquire(t, dir)})
	if n.Record().URL == first {
		t.Error("the port of another program was taken")
	}
}

func TestReaderIsNotPublished(t *testing.T) {
	dir := t.TempDir()
	start(t, node.Config{Lock: acquire(t, dir), Role: node.Reader})
	if _, err := node.ReadRecord(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a reader published itself: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "port")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a reader kept a port: %v", err)
	}
}

func TestOpenThatFailsGivesTheDirectoryFree(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys"), []byte("no keys\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Open(t.Context(), node.Config{Lock: acquire(t, dir)}); err == nil || !strings.Contains(err.Error(), "key file") {
		t.Errorf("Open: %v, want an error about the key file", err)
	}
	if err := acquire(t, dir).Release(); err != nil {
		t.Error(err)
	}
}

// call sends a signed request to the operator API and returns the status and the body of the answer.
func call(t *testing.T, base string, keys node.Credentials, method, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, base+operator.Prefix+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256([]byte(body))
	signer := aws.Credentials{AccessKeyID: keys.ID, SecretAccessKey: keys.Secret}
	if err := v4.NewSigner().SignHTTP(t.Context(), signer, request, hex.EncodeToString(hash[:]), "pintle", "us-east-1", time.Now()); err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestOnlyTheOwnerDefinesProviders: to define a provider is to run a program as the server's user.
func TestOnlyTheOwnerDefinesProviders(t *testing.T) {
	dir := t.TempDir()
	n, _ := start(t, node.Config{Lock: acquire(t, dir), Role: node.Server, Dev: true})
	definition := `{"target": "http://127.0.0.1:1/"}`
	for name, test := range map[string]struct {
		keys node.Credentials
		body string
		want int
	}{
		"any key":           {node.Credentials{ID: "any", Secret: "key"}, definition, http.StatusForbidden},
		"client":            {n.Record().Client, definition, http.StatusForbidden},
		"owner":             {n.Record().Owner, definition, http.StatusOK},
		"unknown field":     {n.Record().Owner, `{"target": "http://127.0.0.1:1/", "shell": "x"}`, http.StatusBadRequest},
		"relative":          {n.Record().Owner, `{"target": "./x"}`, http.StatusBadRequest},
		"not there":         {n.Record().Owner, `{"target": "` + filepath.Join(dir, "none") + `"}`, http.StatusBadRequest},
		"no duration":       {n.Record().Owner, `{"target": "http://127.0.0.1:1/", "timeout": "soon"}`, http.StatusBadRequest},
		"reserved variable": {n.Record().Owner, `{"target": "http://127.0.0.1:1/", "env": {"_HANDLER": "x"}}`, http.StatusBadRequest},
	} {
		status, text := call(t, n.Record().URL, test.keys, http.MethodPut, "providers/"+strings.ReplaceAll(name, " ", "-"), test.body)
		if status != test.want {
			t.Errorf("%s: status %d, want %d: %s", name, status, test.want, text)
		}
	}
	_, text := call(t, n.Record().URL, n.Record().Owner, http.MethodGet, "providers", "")
	var got operator.Providers
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := operator.Providers{Providers: []operator.Provider{{Name: "owner", Target: "http://127.0.0.1:1/", State: "ready"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

// TestKeysAreForOperators: which keys seal the database is not for every client.
func TestKeysAreForOperators(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	text := "[default]\naws_access_key_id = VIEWER\naws_secret_access_key = 0123456789abcdef\n" +
		"[operator]\naws_access_key_id = OPERATOR\naws_secret_access_key = 0123456789abcdef\npintle_console = operator\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	n, _ := start(t, node.Config{Lock: acquire(t, t.TempDir()), Role: node.Server, CredentialsFile: file})
	for _, test := range []struct {
		keys node.Credentials
		want int
	}{
		{node.Credentials{ID: "VIEWER", Secret: "0123456789abcdef"}, http.StatusForbidden},
		{node.Credentials{ID: "OPERATOR", Secret: "0123456789abcdef"}, http.StatusOK},
		{n.Record().Owner, http.StatusOK},
	} {
		if status, text := call(t, n.Record().URL, test.keys, http.MethodGet, "keys", ""); status != test.want {
			t.Errorf("%s: status %d, want %d: %s", test.keys.ID, status, test.want, text)
		}
	}
}

// TestOnlyTheOwnerAsksForSchemas: that runs a program too.
func TestOnlyTheOwnerAsksForSchemas(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '{\"resourceTypes\": {}}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	n, _ := start(t, node.Config{Lock: acquire(t, t.TempDir()), Role: node.Server, Dev: true})
	for name, target := range map[string]string{"P": program, "U": "http://127.0.0.1:1/"} {
		if err := n.Define(t.Context(), name, node.Definition{Target: target}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		keys node.Credentials
		name string
		want int
		text string
	}{
		{node.Credentials{ID: "any", Secret: "key"}, "P", http.StatusForbidden, "own user can ask"},
		{n.Record().Client, "P", http.StatusForbidden, "own user can ask"},
		{n.Record().Owner, "P", http.StatusOK, `{"resourceTypes":{}}`},
		{n.Record().Owner, "U", http.StatusNotFound, "no process of this server runs it"},
		{n.Record().Owner, "Q", http.StatusNotFound, "it is not known"},
	} {
		status, text := call(t, n.Record().URL, test.keys, http.MethodGet, "providers/"+test.name+"/schema", "")
		if status != test.want || !strings.Contains(text, test.text) {
			t.Errorf("%s: %d %s, want %d %s", test.name, status, text, test.want, test.text)
		}
	}
}

func TestProvidersAreKeptAndSealed(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/nonexistent\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := node.Define(filepath.Dir(program), project.Provider{
		Name: "P", Target: "./program", Env: map[string]string{"TOKEN": "swordfish"}, Timeout: time.Minute, Concurrency: 2,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := node.Definition{Target: program, Env: map[string]string{"TOKEN": "swordfish"}, Timeout: "1m0s", Concurrency: 2}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("Define (-want +got):\n%s", diff)
	}
	n, stop := start(t, node.Config{Lock: acquire(t, dir)})
	if err := n.Define(t.Context(), "P", d); err != nil {
		t.Fatal(err)
	}
	secret := node.Definition{Target: "https://user:swordfish@example.com/path?key=swordfish"}
	if err := n.Define(t.Context(), "U", secret); err != nil {
		t.Fatal(err)
	}
	stop()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err == nil && bytes.Contains(text, []byte("swordfish")) {
			t.Errorf("%s holds a secret in clear", entry.Name())
		}
	}

	// The next run knows them, also the one whose program has gone meanwhile.
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	n, _ = start(t, node.Config{Lock: acquire(t, dir)})
	_, text := call(t, n.Record().URL, n.Record().Owner, http.MethodGet, "providers", "")
	var got operator.Providers
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Providers) != 2 || !strings.Contains(got.Providers[0].State, "does not exist") ||
		got.Providers[1].Target != "https://example.com/path" {
		t.Errorf("providers: %+v", got.Providers)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	record := node.Record{Owner: node.Credentials{ID: "id", Secret: "swordfish"}, Webhook: "swordfish"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if text := fmt.Sprintf(format, record); strings.Contains(text, "swordfish") {
			t.Errorf("%s shows a secret: %s", format, text)
		}
	}
}
