// Package operator is Pintle's own API, for its command line: everything that the APIs of CloudFormation and ROS
// lack. It speaks JSON under [Prefix].
//
//	GET  stacks/{name}/requests                       the requests that are not settled
//	POST stacks/{name}/resources/{resource}/response  answers the one of a resource in its provider's place
//	GET  stacks/{name}/left                           what the stack gave up, or was asked to keep
//	POST stacks/{name}/preview                        what a create or an update would do; nothing is kept
//	GET  stacks/{name}/audit                          what is not an event and yet should be known, newest first
//	POST stacks/{name}/outputs                        the outputs with their secrets, for the owner of the data; it is recorded
//	GET  stacks/{name}/logs?request=ID                the last lines that a request's provider printed
//	GET  stacks/{name}/logs?resource=ID&after=…&tail=N  the stored lines of providers and functions; all are optional
//	GET  providers                                    the providers known by name
//	PUT  providers/{name}                             defines a provider
//	GET  providers/{name}/schema                      what a provider publishes of its properties and attributes
//	GET  keys                                         the keys that secrets may be sealed with, by their ids
//	POST console/link                                 makes a link that begins a session of the console, once
//	GET  version                                      of this server
//
// A stack is named by its name or its ARN, percent-encoded; with ?dialect=ros it is one of ROS, named by its name or its UUID. An error is {"error": "…"} with a status that fits. Nothing
// here but outputs shows a secret: requests are shown without their properties, providers without their definition.
package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// Prefix is the path under which the API is served.
	Prefix = "/pintle/v1/"
	// MaxDefinition is how many bytes a provider's definition may have.
	MaxDefinition = 64 << 10

	maxProviderName = 2048 // a whole service token may be a name
	maxAudit        = 1000
)

// Engine is what the API needs of an [engine.Engine].
type Engine interface {
	Find(context.Context, engine.Ref) (store.Stack, error)
	Preview(context.Context, engine.PreviewStack) (engine.Preview, error)
	Left(context.Context, store.Stack) ([]store.Instance, error)
	Respond(context.Context, engine.Respond) (engine.Responded, error)
	ReadOutputs(context.Context, engine.OutputReading) ([]store.Output, value.Value, error)
}

// Rows is what the API needs of a [store.Store].
type Rows interface {
	Request(context.Context, wire.RequestID) (store.Request, error)
	Requests(context.Context, store.StackKey) ([]store.Request, error)
	Audit(ctx context.Context, stack store.StackKey, limit int) ([]store.Audit, error)
}

// Hooks join the API to the parts of the program that carry requests out. Each may be nil: then there is nothing to
// tell. They are called from many goroutines.
type Hooks struct {
	// Providers returns the providers known by name, in order.
	Providers func(context.Context) ([]Provider, error)
	// PutProvider validates a definition, a JSON object, and stores it. Its [Error] is shown to the client, any other
	// only to the log. Nil refuses.
	PutProvider func(ctx context.Context, name string, definition json.RawMessage) error
	// Schema returns the schema of a provider, as its program prints it. Its [Error] is shown to the client.
	Schema func(ctx context.Context, name string) (json.RawMessage, error)
	// Owner reports whether the caller owns the data of the server, and may see its secrets. Nil says no.
	Owner func(context.Context) bool
	// Keys returns which keys the store needs.
	Keys func(context.Context) (Keys, error)
	// Progress says what holds an unsettled request up, redacted; empty for nothing.
	Progress func(wire.RequestID) string
	// Console returns the path of a page that begins a session of the console for the caller. Its [Error] is shown to the
	// client. Nil refuses.
	Console func(context.Context, api.Caller) (string, error)
	// Logs returns the last lines that the provider of a request printed, oldest first, redacted.
	Logs func(context.Context, wire.RequestID) ([]string, error)
	// StackLogs returns stored lines of a stack, scrubbed. Its [Error] is shown to the client.
	StackLogs func(context.Context, store.Stack, LogQuery) (LogPage, error)
}

// Config configures the handler.
type Config struct {
	// Engine and Rows are required.
	Engine Engine
	Rows   Rows
	// Caller tells on whose behalf a request is served; false is a fault of the server. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Version describes the program.
	Version string
	Hooks   Hooks
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors; nil discards them.
	Log *slog.Logger
}

// Error is an error that the client gets.
type Error struct {
	Status  int // HTTP status
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// handler answers the requests.
type handler struct {
	Config
}

// New returns the handler of everything under [Prefix]. It returns an error if the config lacks something.
func New(config Config) (http.Handler, error) {
	if config.Engine == nil || config.Rows == nil || config.Caller == nil {
		return nil, errors.New("operator: the engine, the rows and the caller are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	f := &handler{config}
	mux := http.NewServeMux()
	mux.Handle("GET "+Prefix+"stacks/{name}/requests", f.answer(f.requests))
	mux.Handle("POST "+Prefix+"stacks/{name}/resources/{resource}/response", f.answer(f.respond))
	mux.Handle("GET "+Prefix+"stacks/{name}/left", f.answer(f.left))
	mux.Handle("GET "+Prefix+"stacks/{name}/audit", f.answer(f.audit))
	mux.Handle("GET "+Prefix+"stacks/{name}/logs", f.answer(f.logs))
	mux.Handle("POST "+Prefix+"stacks/{name}/outputs", f.answer(f.outputs))
	mux.Handle("POST "+Prefix+"stacks/{name}/preview", f.answer(f.preview))
	mux.Handle("GET "+Prefix+"providers", f.answer(f.providers))
	mux.Handle("PUT "+Prefix+"providers/{name}", f.answer(f.putProvider))
	mux.Handle("GET "+Prefix+"providers/{name}/schema", f.answer(f.schema))
	mux.Handle("GET "+Prefix+"keys", f.answer(f.keys))
	mux.Handle("POST "+Prefix+"console/link", f.answer(f.consoleLink))
	mux.Handle("GET "+Prefix+"version", f.answer(f.version))
	mux.Handle("/", f.answer(func(r *http.Request) (any, error) {
		return nil, &Error{http.StatusNotFound, "there is nothing at " + r.Method + " " + r.URL.Path +
			": client and server may be of different versions"}
	}))
	return mux, nil
}

// answer makes a handler of a function that returns what to tell.
func (f *handler) answer(fn func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := fn(r)
		if err != nil {
			f.fail(w, r, err)
			return
		}
		write(w, http.StatusOK, out)
	})
}

func (f *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	shown, ok := errors.AsType[*Error](err)
	if !ok {
		f.Log.ErrorContext(r.Context(), "internal failure", "service", "operator", "path", wire.Redact(r.URL.Path), "error", err)
		shown = &Error{http.StatusInternalServerError, "internal failure: see the server's log"}
	}
	WriteError(w, shown)
}

// WriteError answers a request with an error in the form of this API.
func WriteError(w http.ResponseWriter, err *Error) {
	write(w, err.Status, struct {
		Error string `json:"error"`
	}{err.Message})
}

func write(w http.ResponseWriter, status int, document any) {
	body, err := json.Marshal(document)
	if err != nil { // structs of texts and numbers, so never
		status, body = http.StatusInternalServerError, []byte(`{"error": "the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that went away has no use for the rest.
	_, _ = w.Write(append(body, '\n'))
}

var errNoCaller = errors.New("the request reached the operator's face without a caller")

// rosID is the id of a stack of ROS.
var rosID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// isROS reports whether a request is about a stack of ROS.
func isROS(r *http.Request) (bool, error) {
	switch dialect := r.URL.Query().Get("dialect"); dialect {
	case "", engine.CloudFormation.Name():
		return false, nil
	case engine.ROS.Name():
		return true, nil
	default:
		return false, &Error{http.StatusBadRequest, fmt.Sprintf("there is no dialect %.100q: want %s or %s", dialect,
			engine.CloudFormation.Name(), engine.ROS.Name())}
	}
}

// refOf names the stack of the path on behalf of the caller.
func refOf(r *http.Request, caller api.Caller) (engine.Ref, error) {
	ref := engine.Ref{Account: caller.Account, Region: caller.Region, Stack: r.PathValue("name")}
	ros, err := isROS(r)
	if ros {
		ref.Account, ref.ByID = engine.ROSAccount(caller.Account), rosID.MatchString(ref.Stack)
	}
	return ref, err
}

// stack finds the stack that the path names.
func (f *handler) stack(r *http.Request) (store.Stack, error) {
	caller, ok := f.Caller(r.Context())
	if !ok {
		return store.Stack{}, errNoCaller
	}
	name := r.PathValue("name")
	ref, err := refOf(r, caller)
	if err != nil {
		return store.Stack{}, err
	}
	stack, err := f.Engine.Find(r.Context(), ref)
	if errors.Is(err, store.ErrNotFound) {
		return store.Stack{}, &Error{http.StatusNotFound, fmt.Sprintf("stack %s does not exist in account %s, region %s",
			name, caller.Account, caller.Region)}
	}
	return stack, err
}

// readDefinition reads a JSON object, bounded.
func readDefinition(r io.Reader) (json.RawMessage, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxDefinition+1))
	if err != nil {
		return nil, &Error{http.StatusBadRequest, "the request body ended before its end"}
	}
	if len(text) > MaxDefinition {
		return nil, &Error{http.StatusRequestEntityTooLarge, fmt.Sprintf("the definition is longer than %d bytes", MaxDefinition)}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || object == nil {
		return nil, &Error{http.StatusBadRequest, "the definition must be a JSON object"}
	}
	return text, nil
}
