// Package operator is Pintle's own API, for its command line: everything that the APIs of CloudFormation and ROS lack.
// It speaks JSON under [Prefix].
//
//	GET  stacks/{name}/requests                       the unsettled requests
//	POST stacks/{name}/resources/{resource}/response  answers a resource's request instead of the provider
//	GET  stacks/{name}/left                           resources that the stack abandoned or retained
//	POST stacks/{name}/preview                        the effects of a create or an update; nothing is stored
//	POST stacks/{name}/update                         an update that sends custom resources an Update even if nothing changed
//	GET  stacks/{name}/audit                          the audit entries, newest first
//	POST stacks/{name}/outputs                        the outputs with secrets, only if the caller owns the data; audited
//	GET  stacks/{name}/logs?request=ID                the last lines that a request's provider printed
//	GET  stacks/{name}/logs?resource=ID&after=…&tail=N  the stored lines of providers and functions; all are optional
//	GET  providers                                    the registered providers
//	PUT  providers/{name}                             defines a provider
//	GET  providers/{name}/schema                      the schema of a provider's properties and attributes
//	GET  keys                                         the IDs of the keys that seal secrets
//	POST console/link                                 creates a one-time sign-in link for the console
//	GET  version                                      of this server, and the types that it forwards
//
// A stack is identified by its name or its ARN, percent-encoded. With ?dialect=ros it is a ROS stack, identified by its
// name or its UUID. An error is {"error": "…"} with a matching status. Only outputs returns secrets: requests are
// returned without properties, and providers without definitions.
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
	// NoEndpoint is the beginning of the error for a method and path that this version does not have.
	NoEndpoint = "there is nothing at "
	// MaxDefinition is the maximum size of a provider's definition in bytes.
	MaxDefinition = 64 << 10

	maxProviderName = 2048 // the name may be a complete service token
	maxAudit        = 1000
)

// Engine is the part of [engine.Engine] that the API needs.
type Engine interface {
	Find(context.Context, engine.Ref) (store.Stack, error)
	Preview(context.Context, engine.PreviewStack) (engine.Preview, error)
	Update(context.Context, engine.UpdateStack) (engine.Started, error)
	Left(context.Context, store.Stack) ([]store.Instance, error)
	Respond(context.Context, engine.Respond) (engine.Responded, error)
	ReadOutputs(context.Context, engine.OutputReading) ([]store.Output, value.Value, error)
}

// Rows is the part of [store.Store] that the API needs.
type Rows interface {
	Request(context.Context, wire.RequestID) (store.Request, error)
	Requests(context.Context, store.StackKey) ([]store.Request, error)
	Audit(ctx context.Context, stack store.StackKey, limit int) ([]store.Audit, error)
}

// Hooks connect the API to other parts of the program. Each may be nil, and then returns nothing by default. They are
// called from many goroutines.
type Hooks struct {
	// Providers returns the registered providers, sorted.
	Providers func(context.Context) ([]Provider, error)
	// PutProvider validates a definition, a JSON object, and stores it. An [Error] is shown to the client, any other
	// error only in the log. Nil rejects every definition.
	PutProvider func(ctx context.Context, name string, definition json.RawMessage) error
	// Schema returns the schema of a provider, as its program prints it. An [Error] is shown to the client.
	Schema func(ctx context.Context, name string) (json.RawMessage, error)
	// Owner reports whether the caller owns the data of the server and may see secrets. Nil means no.
	Owner func(context.Context) bool
	// Keys returns the keys that the store needs.
	Keys func(context.Context) (Keys, error)
	// Progress describes the cause of a request's delay, redacted, or returns "".
	Progress func(wire.RequestID) string
	// Console returns the path of a page that begins a console session for the caller. An [Error] is shown to the
	// client. Nil rejects the call.
	Console func(context.Context, api.Caller) (string, error)
	// Logs returns the last lines that the provider of a request printed, oldest first, redacted.
	Logs func(context.Context, wire.RequestID) ([]string, error)
	// StackLogs returns the stored, redacted lines of a stack. An [Error] is shown to the client.
	StackLogs func(context.Context, store.Stack, LogQuery) (LogPage, error)
}

// Config configures the handler.
type Config struct {
	// Engine and Rows are required.
	Engine Engine
	Rows   Rows
	// Caller returns the caller of a request. False is an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// ROSCaller returns the ID of the caller that the requests of ROS stacks contain. Nil means the caller's account.
	ROSCaller func(context.Context) string
	// Version is the program's version.
	Version string
	// Forward are the rules for forwarded resource types, in the form TYPE[,TYPE…]=ENDPOINT.
	Forward []string
	Hooks   Hooks
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// Error is an error that the client sees.
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

// New returns the handler of all paths under [Prefix]. It returns an error if a required field is missing.
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
	mux.Handle("POST "+Prefix+"stacks/{name}/update", f.answer(f.update))
	mux.Handle("GET "+Prefix+"providers", f.answer(f.providers))
	mux.Handle("PUT "+Prefix+"providers/{name}", f.answer(f.putProvider))
	mux.Handle("GET "+Prefix+"providers/{name}/schema", f.answer(f.schema))
	mux.Handle("GET "+Prefix+"keys", f.answer(f.keys))
	mux.Handle("POST "+Prefix+"console/link", f.answer(f.consoleLink))
	mux.Handle("GET "+Prefix+"version", f.answer(f.version))
	mux.Handle("/", f.answer(func(r *http.Request) (any, error) {
		return nil, &Error{http.StatusNotFound, NoEndpoint + r.Method + " " + r.URL.Path +
			": client and server may be of different versions"}
	}))
	return mux, nil
}

// answer returns a handler that sends the result of a function.
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

// WriteError answers a request with an error in this API's format.
func WriteError(w http.ResponseWriter, err *Error) {
	write(w, err.Status, struct {
		Error string `json:"error"`
	}{err.Message})
}

func write(w http.ResponseWriter, status int, document any) {
	body, err := json.Marshal(document)
	if err != nil { // structs of strings and numbers always marshal
		status, body = http.StatusInternalServerError, []byte(`{"error": "the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(append(body, '\n'))
}

var errNoCaller = errors.New("the request reached the operator's face without a caller")

// rosID matches the ID of a ROS stack.
var rosID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// isROS reports whether a request is about a ROS stack.
func isROS(r *http.Request) (bool, error) {
	switch dialect := r.URL.Query().Get("dialect"); dialect {
	case "", engine.CloudFormation.Name():
		return false, nil
	case engine.ROS.Name():
		return true, nil
	default:
		return false, &Error{http.StatusBadRequest, fmt.Sprintf("unknown dialect %.100q: want %s or %s", dialect,
			engine.CloudFormation.Name(), engine.ROS.Name())}
	}
}

// refOf returns a reference to the caller's stack in the path.
func refOf(r *http.Request, caller api.Caller) (engine.Ref, error) {
	ref := engine.Ref{Account: caller.Account, Region: caller.Region, Stack: r.PathValue("name")}
	ros, err := isROS(r)
	if ros {
		ref.Account, ref.ByID = engine.ROSAccount(caller.Account), rosID.MatchString(ref.Stack)
	}
	return ref, err
}

// stack returns the stack in the path.
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

// readDefinition reads a JSON object of limited size.
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
