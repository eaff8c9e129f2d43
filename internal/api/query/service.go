// Package query serves AWS's Query protocol: a form in, XML out. CloudFormation, STS and SNS speak it.
//
// An API is a [Service] on which each operation is registered with [Handle]: a function from a struct of inputs to a
// struct of outputs, or an error. The structs' tags define the spelling and the constraints of a field:
//
//	type createStackInput struct {
//		StackName  string  `query:",required" pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
//		RoleARN    *string `length:"20,2048"` // nil when not given
//		Parameters []parameter
//	}
//
//	type createStackOutput struct {
//		StackID string `query:"StackId"`
//	}
//
//	query.Handle(service, "CreateStack", handler.createStack)
//
// # Tags
//
//   - query:"Name,option,…" is the spelling; empty means the field's own, "-" omits the field. Options: required
//     (input: must be given), secret (input: never quoted in an error), omitempty (output: no element when empty),
//     entries (a list of key and value structs: a map in the protocol, with entry instead of member).
//   - length:"least,most" limits a text in characters and a list in items; range:"least,most" limits an integer.
//     Either side may be empty.
//   - pattern:"…" is a regular expression (RE2) that must match the whole text.
//   - enum:"A,B" is the closed set of a text, in the order in which the error lists it. On a list of texts it applies
//     to each item, as do each-length and each-pattern.
//
// A tag's text is a Go string: a backslash in a pattern is written twice.
//
// Fields are strings, booleans and integers (also of named types), time.Time, structs, pointers to all of these, and
// lists. The fields of embedded structs are promoted. A pointer or a list is nil if it was not given; an empty list
// that was given is not nil. Invalid tags panic in Handle, at start-up.
//
// An output list without omitempty is an empty element when it has no items, as on AWS. Nil pointers and zero times are
// always omitted. Control characters, which XML parsers reject, are removed from every text.
//
// Source: CloudFormation API Reference, "Making API Requests" and "Common Errors"; botocore's query serializer and
// parser.
package query

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"

	"github.com/pintle-dev/pintle/internal/base/panics"
)

// DefaultMaxBody is the default of Config.MaxBody.
const DefaultMaxBody = 1 << 20

// Config configures a [Service].
type Config struct {
	// Name is the service's name in the log, e.g. "cloudformation". Required.
	Name string

	// Namespace is the xmlns of every response, e.g. "http://cloudformation.amazonaws.com/doc/2010-05-15/". Required.
	Namespace string

	// Version is the only Version that requests may have, e.g. "2010-05-15". Required.
	Version string

	// Errors converts an error of a handler to a client error. It is not called for errors that wrap an [*Error]. If it
	// is nil or returns nil, the client sees an InternalFailure, and the error is logged.
	Errors func(error) *Error

	// Logger gets internal errors, and unknown parameters at debug level. Nil discards both.
	Logger *slog.Logger

	// MaxBody limits a form, body or query string, in bytes. Zero means [DefaultMaxBody].
	MaxBody int64

	// RequestID returns a new request ID. Nil means a random UUID. It must be safe for concurrent use.
	RequestID func() string
}

// Service answers its registered operations. It is an [http.Handler]. It is safe for concurrent use, but all operations
// must be registered before it serves the first request.
type Service struct {
	config     Config
	operations map[string]operation
	shapes     shapes
}

// operation handles one form and returns a result or an error.
type operation struct {
	call   func(context.Context, *node) (reflect.Value, error)
	result *shape // nil if the operation has no result
}

// New returns a service without operations.
func New(config Config) (*Service, error) {
	if config.Name == "" || config.Namespace == "" || config.Version == "" {
		return nil, errors.New("query: a service needs a name, a namespace and a version")
	}
	if config.MaxBody < 0 {
		return nil, errors.New("query: the longest body cannot be negative")
	}
	if config.MaxBody == 0 {
		config.MaxBody = DefaultMaxBody
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.RequestID == nil {
		config.RequestID = randomUUID
	}
	return &Service{config: config, operations: map[string]operation{}, shapes: shapes{}}, nil
}

// None is the input of an operation without parameters, or the output of one without a result element, such as
// DeleteStack. An empty struct of another type gives an empty result element.
type None struct{}

// Handle registers fn for an action. In and Out must be structs. It panics if the action is already registered or a tag
// is invalid.
func Handle[In, Out any](s *Service, action string, fn func(context.Context, In) (Out, error)) {
	if _, taken := s.operations[action]; taken || action == "" {
		panic(fmt.Sprintf("query: action %q of %s is empty or registered twice", action, s.config.Name))
	}
	input, result := s.shapes.root(reflect.TypeFor[In]()), s.shapes.root(reflect.TypeFor[Out]())
	if reflect.TypeFor[Out]() == reflect.TypeFor[None]() {
		result = nil
	}
	s.operations[action] = operation{
		call: func(ctx context.Context, form *node) (reflect.Value, error) {
			var in In
			if err := decode(form, input, reflect.ValueOf(&in).Elem()); err != nil {
				return reflect.Value{}, err
			}
			if unknown := form.unknown(); unknown != nil {
				s.config.Logger.DebugContext(ctx, "unknown parameters", "service", s.config.Name, "action", action,
					"request", RequestID(ctx), "parameters", unknown)
			}
			out, err := fn(ctx, in)
			return reflect.ValueOf(&out).Elem(), err
		},
		result: result,
	}
}

// requestIDKey is the context key of the request's id.
type requestIDKey struct{}

// RequestID returns the request ID in ctx, which the response contains. It returns "" outside a handler.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := s.config.RequestID()
	ctx := context.WithValue(r.Context(), requestIDKey{}, id)
	reply, err := s.answer(ctx, w, r, id)
	if err != nil {
		s.writeError(ctx, w, id, err)
		return
	}
	write(w, http.StatusOK, id, reply)
}

// WriteError answers a request that does not reach an operation, e.g. because its signature is invalid. It treats err
// like an error of a handler.
func (s *Service) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	s.writeError(r.Context(), w, s.config.RequestID(), err)
}

// answer returns the response document.
func (s *Service) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, id string) ([]byte, error) {
	values, err := readForm(w, r, s.config.MaxBody)
	if err != nil {
		return nil, err
	}
	action, version := values.Get("Action"), values.Get("Version")
	values.Del("Action")
	values.Del("Version")
	if action == "" {
		return nil, Fault("MissingAction", "The request is missing an action or operation parameter.")
	}
	if version == "" {
		version = "NO_VERSION_SPECIFIED"
	}
	op, ok := s.operations[action]
	if !ok || version != s.config.Version {
		return nil, Fault("InvalidAction", "Could not find operation %s for version %s", shorten(action), shorten(version))
	}
	form, err := parseForm(values)
	if err != nil {
		return nil, err
	}
	return s.call(ctx, op, form, action, id)
}

// call runs an operation, encodes its result, and turns a panic of either into an internal error.
func (s *Service) call(ctx context.Context, op operation, form *node, action, id string) (document []byte, err error) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler:
			panic(cause)
		default:
			document, err = nil, &panicError{action: action, cause: panics.Cause(cause), stack: debug.Stack()}
		}
	}()
	result, err := op.call(ctx, form)
	if err != nil {
		return nil, err
	}
	return encodeReply(action, s.config.Namespace, id, op.result, result), nil
}

// panicError is the error of an operation that panicked.
type panicError struct {
	action string
	cause  string
	stack  []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("%s panicked: %s\n%s", e.action, e.cause, e.stack)
}

// writeError sends a client error, and logs errors that the client does not see.
func (s *Service) writeError(ctx context.Context, w http.ResponseWriter, id string, err error) {
	shown, ok := errors.AsType[*Error](err)
	if !ok && s.config.Errors != nil {
		if _, panicked := errors.AsType[*panicError](err); !panicked {
			shown = s.config.Errors(err)
		}
	}
	if shown == nil {
		level := slog.LevelError
		if errors.Is(ctx.Err(), context.Canceled) {
			level = slog.LevelDebug // the client disconnected, which most likely caused the error
		}
		s.config.Logger.Log(ctx, level, "internal failure", "service", s.config.Name, "request", id, "error", err)
		shown = &Error{
			Code:    "InternalFailure",
			Message: "The request processing has failed because of an unknown error, exception or failure.",
			Status:  http.StatusInternalServerError,
		}
	}
	write(w, shown.status(), id, encodeError(s.config.Namespace, id, shown))
}

func write(w http.ResponseWriter, status int, id string, document []byte) {
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("X-Amzn-Requestid", id)
	w.WriteHeader(status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(document)
}

func randomUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
