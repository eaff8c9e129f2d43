package query_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/query"
)

const namespace = "http://cloudformation.amazonaws.com/doc/2010-05-15/"

var errTaken = errors.New("taken")

type nameInput struct {
	StackName string `query:",required" pattern:"[a-z]+"`
}

type nameOutput struct {
	StackID string `query:"StackId"`
	ID      string `query:"RequestId"`
}

// serve starts a service whose operations have all kinds of results, and returns its URL.
func serve(t *testing.T, log io.Writer) string {
	t.Helper()
	s, err := query.New(query.Config{
		Name: "cloudformation", Namespace: namespace, Version: "2010-05-15", MaxBody: 2000,
		Logger:    slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		RequestID: func() string { return "id-1" },
		Errors: func(err error) *query.Error {
			if errors.Is(err, errTaken) {
				return query.Fault("AlreadyExistsException", "Stack [x] already exists")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	query.Handle(s, "CreateStack", func(ctx context.Context, in nameInput) (nameOutput, error) {
		return nameOutput{StackID: "arn:" + in.StackName, ID: query.RequestID(ctx)}, nil
	})
	query.Handle(s, "DeleteStack", func(context.Context, query.None) (query.None, error) { return query.None{}, nil })
	query.Handle(s, "ExecuteChangeSet", func(context.Context, query.None) (struct{}, error) { return struct{}{}, nil })
	fail := func(action string, err error) {
		query.Handle(s, action, func(context.Context, query.None) (query.None, error) { return query.None{}, err })
	}
	fail("Refused", fmt.Errorf("wrapped: %w", query.Validation("Stack with id %s does not exist", "<x>")))
	fail("NotFound", &query.Error{Code: "ChangeSetNotFound", Message: "no", Status: 404, Sender: true})
	fail("Mapped", fmt.Errorf("row 7: %w", errTaken))
	fail("Broken", errors.New("disk /dev/sda1 is full"))
	query.Handle(s, "Panic", func(context.Context, query.None) (query.None, error) { panic("index out of cheese") })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

func TestService(t *testing.T) {
	const metadata = `<ResponseMetadata><RequestId>id-1</RequestId></ResponseMetadata>`
	failure := func(kind, code, message string) string {
		return `<ErrorResponse xmlns="` + namespace + `"><Error><Type>` + kind + `</Type><Code>` + code + `</Code><Message>` + message +
			`</Message></Error><RequestId>id-1</RequestId></ErrorResponse>`
	}
	internal := failure("Receiver", "InternalFailure", "The request processing has failed because of an unknown error, exception or failure.")
	created := `<CreateStackResponse xmlns="` + namespace + `"><CreateStackResult><StackId>arn:s</StackId><RequestId>id-1</RequestId></CreateStackResult>` + metadata + `</CreateStackResponse>`
	tests := []struct {
		name, method, query, body string
		header                    http.Header
		status                    int
		want                      string
		logged                    string // only in the log
	}{
		{name: "post", body: "Action=CreateStack&Version=2010-05-15&StackName=s", status: 200, want: created},
		{name: "get", method: "GET", query: "Action=CreateStack&Version=2010-05-15&StackName=s", status: 200, want: created},
		{name: "post with a query string", query: "Action=CreateStack", body: "Version=2010-05-15&StackName=s\r\n", status: 200, want: created},
		{name: "no content type", header: http.Header{"Content-Type": nil}, body: "Action=CreateStack&Version=2010-05-15&StackName=s", status: 200, want: created},
		{name: "unknown parameter", body: "Action=CreateStack&Version=2010-05-15&StackName=s&New=hunter2", status: 200, want: created, logged: "parameters=[New]"},
		{name: "no result", body: "Action=DeleteStack&Version=2010-05-15", status: 200,
			want: `<DeleteStackResponse xmlns="` + namespace + `">` + metadata + `</DeleteStackResponse>`},
		{name: "empty result", body: "Action=ExecuteChangeSet&Version=2010-05-15", status: 200,
			want: `<ExecuteChangeSetResponse xmlns="` + namespace + `"><ExecuteChangeSetResult/>` + metadata + `</ExecuteChangeSetResponse>`},
		{name: "constraint", body: "Action=CreateStack&Version=2010-05-15&StackName=S", status: 400,
			want: failure("Sender", "ValidationError", "1 validation error detected: Value 'S' at 'stackName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-z]+")},
		{name: "refused", body: "Action=Refused&Version=2010-05-15", status: 400, want: failure("Sender", "ValidationError", "Stack with id &lt;x&gt; does not exist")},
		{name: "another status", body: "Action=NotFound&Version=2010-05-15", status: 404, want: failure("Sender", "ChangeSetNotFound", "no")},
		{name: "mapped", body: "Action=Mapped&Version=2010-05-15", status: 400, want: failure("Sender", "AlreadyExistsException", "Stack [x] already exists")},
		{name: "internal", body: "Action=Broken&Version=2010-05-15", status: 500, want: internal, logged: "disk /dev/sda1 is full"},
		{name: "panic", body: "Action=Panic&Version=2010-05-15", status: 500, want: internal, logged: "Panic panicked: a string, which is left out"},
		{name: "no action", body: "Version=2010-05-15", status: 400, want: failure("Sender", "MissingAction", "The request is missing an action or operation parameter.")},
		{name: "unknown action", body: "Action=Fly&Version=2010-05-15", status: 400, want: failure("Sender", "InvalidAction", "Could not find operation Fly for version 2010-05-15")},
		{name: "another version", body: "Action=CreateStack&Version=2009", status: 400, want: failure("Sender", "InvalidAction", "Could not find operation CreateStack for version 2009")},
		{name: "no version", body: "Action=CreateStack", status: 400, want: failure("Sender", "InvalidAction", "Could not find operation CreateStack for version NO_VERSION_SPECIFIED")},
		{name: "method", method: "PUT", status: 405, want: failure("Sender", "MethodNotAllowed", "The Query protocol takes GET and POST.")},
		{name: "json", header: http.Header{"Content-Type": {"application/json"}}, body: "{}", status: 415,
			want: failure("Sender", "UnsupportedMediaType", "The Content-Type of a request must be application/x-www-form-urlencoded.")},
		{name: "gzip", header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Content-Encoding": {"gzip"}}, body: "x", status: 415,
			want: failure("Sender", "UnsupportedMediaType", "Compressed requests are not taken: set AWS_DISABLE_REQUEST_COMPRESSION=true.")},
		{name: "longest", body: "Action=CreateStack&Version=2010-05-15&StackName=s&Pad=" + strings.Repeat("x", 2000-54), status: 200, want: created},
		{name: "too long", body: "Action=CreateStack&Version=2010-05-15&StackName=s&Pad=" + strings.Repeat("x", 2001-54), status: 413,
			want: failure("Sender", "RequestEntityTooLarge", "The request is longer than 2000 bytes.")},
		{name: "too long a query string", method: "GET", query: "Action=" + strings.Repeat("x", 2000), status: 413,
			want: failure("Sender", "RequestEntityTooLarge", "The request is longer than 2000 bytes.")},
		{name: "broken escape", body: "Action=%zz", status: 400,
			want: failure("Sender", "MalformedQueryString", "The request is not a well-formed form: a name or value has a broken %-escape or a semicolon.")},
		{name: "given twice", query: "StackName=a", body: "Action=CreateStack&Version=2010-05-15&StackName=b", status: 400,
			want: failure("Sender", "MalformedInput", "StackName is given 2 times.")},
		{name: "not UTF-8", body: "Action=CreateStack&Version=2010-05-15&StackName=%ff", status: 400, want: failure("Sender", "MalformedInput", "StackName is not UTF-8.")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			method := test.method
			if method == "" {
				method = http.MethodPost
			}
			r, err := http.NewRequest(method, serve(t, &log)+"/?"+test.query, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = test.header
			if r.Header == nil {
				r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
			}
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != test.status || response.Header.Get("Content-Type") != "text/xml" || response.Header.Get("x-amzn-RequestId") != "id-1" {
				t.Errorf("status %d, header %v; want %d", response.StatusCode, response.Header, test.status)
			}
			if diff := cmp.Diff(test.want, string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if !strings.Contains(log.String(), test.logged) || test.logged == "" && strings.Contains(log.String(), "level=ERROR") || strings.Contains(log.String(), "hunter2") {
				t.Errorf("log: %s\nwant in it: %q", log.String(), test.logged)
			}
		})
	}
}

func TestTooManyParameters(t *testing.T) {
	s, err := query.New(query.Config{Name: "x", Namespace: "urn:x", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("a&", 5_001)+"a")))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "more than 5000 parameters") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestFormMemory checks that the memory of a form is a small multiple of its size for any names.
func TestFormMemory(t *testing.T) {
	s, err := query.New(query.Config{Name: "x", Namespace: "urn:x", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	query.Handle(s, "A", func(context.Context, query.None) (query.None, error) { return query.None{}, nil })
	for _, test := range []struct{ pairs, depth, status int }{{4_990, 10, 200}, {9_990, 32, 400}} {
		form := strings.Builder{}
		form.WriteString("Action=A&Version=1")
		for i := range test.pairs {
			fmt.Fprintf(&form, "&%d%s=", i, strings.Repeat(".b", test.depth))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(form.String())))
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; w.Code != test.status || spent > 32<<20 {
			t.Errorf("%d, %d bytes for a form of %d", w.Code, spent, form.Len())
		}
	}
}

// TestFailureOfATimeout checks that a timeout is logged as an error of the server, unlike a client that disconnects.
func TestFailureOfATimeout(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		want string
	}{
		"ran out": {func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, 0) }, "level=ERROR"},
		"left": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, "level=DEBUG"},
	} {
		var log bytes.Buffer
		s, err := query.New(query.Config{Name: "x", Namespace: "urn:x", Version: "1",
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		query.Handle(s, "A", func(ctx context.Context, _ query.None) (query.None, error) { return query.None{}, ctx.Err() })
		ctx, cancel := test.end(t.Context())
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/?Action=A&Version=1", nil).WithContext(ctx))
		cancel()
		if !strings.Contains(log.String(), test.want) {
			t.Errorf("%s: %s", name, log.String())
		}
	}
}

func TestWriteError(t *testing.T) {
	s, err := query.New(query.Config{Name: "x", Namespace: "urn:x", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.WriteError(w, httptest.NewRequest("POST", "/", nil), &query.Error{Code: "AccessDenied", Message: "no", Status: 403, Sender: true})
	id := w.Header().Get("x-amzn-RequestId")
	if w.Code != 403 || len(id) != 36 || !strings.Contains(w.Body.String(), "<Code>AccessDenied</Code>") || !strings.Contains(w.Body.String(), "<RequestId>"+id+"</RequestId>") {
		t.Errorf("%d, id %q, %s", w.Code, id, w.Body)
	}
}

func TestNew(t *testing.T) {
	for name, config := range map[string]query.Config{
		"no name":       {Namespace: "urn:x", Version: "1"},
		"no namespace":  {Name: "x", Version: "1"},
		"no version":    {Name: "x", Namespace: "urn:x"},
		"negative body": {Name: "x", Namespace: "urn:x", Version: "1", MaxBody: -1},
	} {
		if _, err := query.New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestHandleTwicePanics(t *testing.T) {
	s, err := query.New(query.Config{Name: "x", Namespace: "urn:x", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	fn := func(context.Context, query.None) (query.None, error) { return query.None{}, nil }
	query.Handle(s, "A", fn)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	query.Handle(s, "A", fn)
}
