// Package rpc serves the RPC protocol of Alibaba Cloud: parameters in, JSON out. Resource Orchestration Service uses
// it.
//
// A [Verifier] reads and verifies a request. It returns a [Call] for a [Service]. Each action of a service is
// registered with [Handle]: a function from a struct of inputs to a struct of outputs, or an error. The tags of an
// input define the spelling and the constraints of a parameter:
//
//	type createStackInput struct {
//		StackName        string      `rpc:",required" length:",255"`
//		TimeoutInMinutes int         `range:"10,1440"`
//		Parameters       []parameter `length:",200"` // Parameters.1.ParameterKey and so on
//	}
//
// The tags are:
//
//   - rpc:"Name,option" is the spelling; empty means the field's own. The option required makes the parameter mandatory.
//   - length:"least,most" limits a text in characters and a list in items; range:"least,most" limits a number. Either
//     side may be empty.
//   - pattern:"…" is a regular expression (RE2) that must match the whole text; enum:"A,B" is the set of allowed texts.
//     On a list of texts both apply to each item.
//
// Fields are strings, booleans, integers, pointers to these (nil if not given), structs, and lists of texts or structs.
// The fields of embedded structs are promoted. An empty text counts as not given, because clients send it for omitted
// parameters. Invalid tags panic in Handle, at start-up.
//
// Outputs are encoded by encoding/json, and the RequestId is added. An output must not have a Code: clients treat that
// as an error.
//
// # Differences from Alibaba Cloud
//
// Unknown parameters are ignored, as on Alibaba Cloud. Responses are only in JSON; another Format is rejected. A
// parameter may be in both the query and the body only if the values are equal.
//
// Source: Alibaba Cloud, "Request syntax and signature method" of RPC style, V2 and V3; the clients.
package rpc

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/panics"
)

// Config configures a [Service].
type Config struct {
	// Name is the service's name in the log, e.g. "ros". Required.
	Name string
	// Version is the only version that calls may have, e.g. "2019-09-10". Required.
	Version string
	// Errors converts an error of a handler to a client error. It is not called for errors that wrap an [*Error]. If it
	// is nil or returns nil, the client sees an InternalError, and the error is logged.
	Errors func(error) *Error
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// Service answers its registered actions. It is safe for concurrent use, but all actions must be registered before it
// serves the first call.
type Service struct {
	config  Config
	actions map[string]action
}

// action answers a call and returns the output.
type action func(context.Context, url.Values) (any, error)

// New returns a service without actions.
func New(config Config) (*Service, error) {
	if config.Name == "" || config.Version == "" {
		return nil, errors.New("rpc: a service needs a name and a version")
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{config: config, actions: map[string]action{}}, nil
}

// None is the output of an action whose response has only the RequestId, or the input of one without parameters.
type None struct{}

// Handle registers fn for an action. In and Out must be structs. It panics if the action is already registered or a tag
// is invalid.
func Handle[In, Out any](s *Service, name string, fn func(context.Context, In) (Out, error)) {
	if _, taken := s.actions[name]; taken || name == "" {
		panic(fmt.Sprintf("rpc: action %q of %s is empty or registered twice", name, s.config.Name))
	}
	if _, coded := reflect.TypeFor[Out]().FieldByName("Code"); coded {
		panic("rpc: the output of " + name + " has a Code, which clients treat as an error")
	}
	input := shapeOf(reflect.TypeFor[In]())
	s.actions[name] = func(ctx context.Context, parameters url.Values) (any, error) {
		var in In
		if err := decode(parameters, input, reflect.ValueOf(&in).Elem()); err != nil {
			return nil, err
		}
		return fn(ctx, in)
	}
}

// requestIDKey is the context key of the request's id.
type requestIDKey struct{}

// RequestID returns the request ID in ctx, which the response contains. It returns "" outside a handler.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Serve answers a call.
func (s *Service) Serve(w http.ResponseWriter, r *http.Request, call *Call) {
	id := newRequestID()
	ctx := context.WithValue(r.Context(), requestIDKey{}, id)
	document, err := s.answer(ctx, id, call)
	if err != nil {
		s.writeError(w, r, id, s.shown(ctx, id, err))
		return
	}
	write(w, http.StatusOK, id, document)
}

// WriteError answers a request that does not reach an action, e.g. because its signature is invalid.
func (s *Service) WriteError(w http.ResponseWriter, r *http.Request, err *Error) {
	s.writeError(w, r, newRequestID(), err)
}

func (s *Service) answer(ctx context.Context, id string, call *Call) (document []byte, err error) {
	if call.Format != "" && !strings.EqualFold(call.Format, "JSON") {
		return nil, Invalid("Format", "replies are always JSON: omit it or use JSON")
	}
	if call.Version != s.config.Version {
		return nil, &Error{
			Code: "InvalidVersion", Message: "Specified parameter Version is not valid.",
			Recommend: "This server has " + strings.ToUpper(s.config.Name) + " " + s.config.Version + ".",
		}
	}
	act, ok := s.actions[call.Action]
	if !ok {
		return nil, &Error{
			Code: "InvalidAction.NotFound", Message: "Specified api is not found, please check your url and method.",
			Status: http.StatusNotFound,
		}
	}
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler:
			panic(cause)
		default:
			document, err = nil, fmt.Errorf("%s panicked: %s\n%s", call.Action, panics.Cause(cause), debug.Stack())
		}
	}()
	out, err := act(ctx, call.Parameters)
	if err != nil {
		return nil, err
	}
	text, err := encode(out)
	if err != nil {
		return nil, fmt.Errorf("write the reply of %s: %w", call.Action, err)
	}
	return withID(id, text), nil
}

// withID adds the request ID to a JSON object.
func withID(id string, object []byte) []byte {
	head := []byte(`{"RequestId":` + strconv.Quote(id))
	if rest := bytes.TrimPrefix(object, []byte("{")); !bytes.HasPrefix(rest, []byte("}")) {
		head = append(head, ',')
	}
	return append(head, object[1:]...)
}

// shown returns the error that a client sees. It logs other errors.
func (s *Service) shown(ctx context.Context, id string, err error) *Error {
	if shown, ok := errors.AsType[*Error](err); ok {
		return shown
	}
	if s.config.Errors != nil {
		if shown := s.config.Errors(err); shown != nil {
			return shown
		}
	}
	level := slog.LevelError
	if errors.Is(ctx.Err(), context.Canceled) {
		level = slog.LevelDebug // the client disconnected, which most likely caused the error
	}
	s.config.Log.Log(ctx, level, "internal failure", "service", s.config.Name, "request", id, "error", err)
	return &Error{Code: "InternalError", Message: "Server error.", Status: http.StatusInternalServerError}
}

// errorDocument is the response to a failed call.
type errorDocument struct {
	RequestID string `json:"RequestId"`
	HostID    string `json:"HostId"`
	Code      string
	Message   string
	Recommend string
}

func (s *Service) writeError(w http.ResponseWriter, r *http.Request, id string, e *Error) {
	recommend := e.Recommend
	if recommend == "" {
		recommend = "https://api.aliyun.com/troubleshoot?" + url.Values{
			"q": {e.Code}, "product": {strings.ToUpper(s.config.Name)}, "requestId": {id},
		}.Encode()
	}
	document, err := encode(errorDocument{RequestID: id, HostID: r.Host, Code: e.Code, Message: e.Message, Recommend: recommend})
	if err != nil {
		panic(err) // strings always marshal
	}
	write(w, e.status(), id, document)
}

// encode encodes a document without HTML escapes.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func write(w http.ResponseWriter, status int, id string, document []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json;charset=utf-8")
	h.Set("X-Acs-Request-Id", id)
	h.Set("X-Amzn-Requestid", id) // the server's log contains this ID
	w.WriteHeader(status)
	// This fails only if the client has disconnected.
	_, _ = w.Write(document)
}

// newRequestID returns a UUID in upper case, as on Alibaba Cloud.
func newRequestID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%X-%X-%X-%X-%X", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
