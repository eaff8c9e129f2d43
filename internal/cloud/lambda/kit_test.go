package lambda_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/lambda/lambdaapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/builtin"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// patience bounds the waits in tests.
const patience = 30 * time.Second

var home = registry.Scope{Account: "000000000000", Region: "us-east-1"}

// key is the key that the world's server knows.
var key = sigv4.Key{ID: "AKIAFUNCTIONS", Secret: "not-for-anyone", Account: "000000000000"}

// world is functions with their dependencies. Nodes of a world share the catalog and the code directory.
type world struct {
	*lambda.Functions
	t       *testing.T
	catalog *registry.Catalog
	runtime *local.Runtime
	dir     string
	cache   string
	url     string // of the server
	mux     *http.ServeMux

	mu    sync.Mutex
	lines []string // "function id: line"
}

func newWorld(t *testing.T, change func(*lambda.Config)) *world {
	t.Helper()
	rows, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return newNode(t, registry.New(rows), t.TempDir(), change)
}

func newNode(t *testing.T, things *registry.Catalog, dir string, change func(*lambda.Config)) *world {
	t.Helper()
	w := &world{t: t, catalog: things, dir: dir, cache: t.TempDir(), mux: http.NewServeMux()}
	var err error
	w.runtime, err = local.New(local.Config{
		Done: func(id string, o local.Outcome) {
			if !w.Done(id, o) {
				t.Errorf("the end of %s is nobody's", id)
			}
		},
		Log:      w.log,
		CacheDir: w.cache,
		AWS:      &builtin.SDK{},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.mux)
	t.Cleanup(server.Close)
	w.url = server.URL
	config := lambda.Config{
		Catalog: things, Runtime: w.runtime, Objects: objects(dir), CodeDir: filepath.Join(dir, "code"),
		CacheDir: filepath.Join(w.cache, "unpacked"),
		Environment: func(place registry.Scope, _ string, _ map[string]string) map[string]string {
			return map[string]string{
				"AWS_ENDPOINT_URL": w.url, "AWS_ACCESS_KEY_ID": key.ID, "AWS_SECRET_ACCESS_KEY": string(key.Secret), "PLACE": place.Region,
			}
		},
		Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&config)
	}
	if w.Functions, err = lambda.New(config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.runtime.Close()
		w.Close()
	})
	w.serve()
	return w
}

// serve serves the functions on the server to callers with the key.
func (w *world) serve() {
	verifier, err := sigv4.New(sigv4.Config{
		Lookup:  func(id string) (sigv4.Key, bool) { return key, id == key.ID },
		MaxBody: 64 << 20,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	face, err := lambdaapi.New(lambdaapi.Config{
		Functions: w.Functions,
		Caller: func(context.Context) (api.Caller, bool) {
			return api.Caller{Account: home.Account, Region: home.Region}, true
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.mux.HandleFunc("/2015-03-31/", func(rw http.ResponseWriter, r *http.Request) {
		if _, err := verifier.Verify(r); err != nil {
			w.t.Errorf("a request is not signed well: %v", err)
			rw.WriteHeader(http.StatusForbidden)
			return
		}
		face.ServeHTTP(rw, r)
	})
}

func (w *world) log(provider, id, line string) {
	request := ""
	if r, ok := w.Request(id); ok {
		request = string(r) + " "
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, request+provider[strings.LastIndexByte(provider, ':')+1:]+": "+line)
}

func (w *world) logged() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lines)
}

// objects are files: bucket/key.
type objects string

func (o objects) Open(_ context.Context, _, bucket, key, _ string) (io.ReadCloser, int64, error) {
	file, err := os.Open(filepath.Join(string(o), bucket, key))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// pack returns a zip file. A name that ends in * is executable.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range files {
			if !yield(name) {
				return
			}
		}
	}) {
		h := &zip.FileHeader{Name: strings.TrimSuffix(name, "*"), Method: zip.Deflate}
		h.SetMode(0o644)
		if strings.HasSuffix(name, "*") {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func inline(text string) registry.Code { return registry.Code{Inline: &text} }

// create creates a function.
func (w *world) create(name string, of registry.Function, code registry.Code) registry.Item[registry.Function] {
	w.t.Helper()
	i, err := w.Create(w.t.Context(), registry.Item[registry.Function]{Scope: home, Name: name, Of: of}, code)
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// invoke calls a function and returns the result: the kind of error, if any, followed by the payload.
func (w *world) invoke(function, payload string) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	reply, err := w.Invoke(ctx, lambda.Call{Scope: home, Function: function, Payload: []byte(payload)})
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.TrimSpace(reply.FunctionError + " " + strings.ReplaceAll(string(reply.Payload), reply.ID, "ID"))
}

func node(handler string) registry.Function {
	return registry.Function{Runtime: "nodejs24.x", Handler: handler, Timeout: 30}
}

func python(handler string) registry.Function {
	return registry.Function{Runtime: "python3.13", Handler: handler, Timeout: 30}
}

// puts returns a handler that passes on request bodies.
func puts(into chan<- string) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a partial body is fine
		into <- string(body)
	}
}
