// Package awsjson serves AWS's JSON protocols: a POST to the root whose header X-Amz-Target names the action, with a
// JSON object as its body and another one as its answer. Systems Manager, CloudWatch Logs and Step Functions use them.
//
// An API is a [Service] with actions that are registered by [Handle]. Unknown members of an input are ignored, as on
// AWS.
//
// Source: Smithy, AWS JSON 1.0 and 1.1 protocols.
package awsjson

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

const defaultVersion = "1.1"

// DefaultMaxBody is the default of Config.MaxBody.
const DefaultMaxBody = 64 << 10

// Config configures a [Service].
type Config struct {
	// Name is the service's name in the log. Required.
	Name string
	// Target is the part of X-Amz-Target before the dot and the action, e.g. "AmazonSSM". Required.
	Target string
	// Version is the protocol version, "1.0" or "1.1". Empty means "1.1".
	Version string
	// Endpoint is the environment variable that sends clients to another server, e.g. AWS_ENDPOINT_URL_SSM. The error
	// for an unknown action names it. Required.
	Endpoint string
	// MaxBody is the maximum size of a body in bytes. Zero means [DefaultMaxBody].
	MaxBody int64
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

// Service answers its registered actions. It is an [http.Handler]. It is safe for concurrent use, but all actions must
// be registered before it serves the first request.
type Service struct {
	config  Config
	actions map[string]action
}

type action func(ctx context.Context, body []byte) (any, error)

// New returns a service without actions. It returns an error if a required field is missing.
func New(config Config) (*Service, error) {
	if config.Name == "" || config.Target == "" || config.Endpoint == "" {
		return nil, errors.New("awsjson: a service needs a name, a target and the variable of its endpoint")
	}
	config.Version = cmp.Or(config.Version, defaultVersion)
	if config.MaxBody == 0 {
		config.MaxBody = DefaultMaxBody
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{config, map[string]action{}}, nil
}

// None is the input or output of an action without one.
type None struct{}

// Handle registers an action. It panics if the name is empty or already registered.
func Handle[In, Out any](s *Service, name string, do func(context.Context, In) (Out, error)) {
	if _, taken := s.actions[name]; taken || name == "" {
		panic(fmt.Sprintf("awsjson: action %q of %s is empty or registered twice", name, s.config.Name))
	}
	s.actions[name] = func(ctx context.Context, body []byte) (any, error) {
		var in In
		if err := json.Unmarshal(body, &in); err != nil {
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) {
				return nil, Refuse("SerializationException", "%s can not be a %s", kind.Field, kind.Value)
			}
			return nil, Refuse("SerializationException", "the body is not JSON")
		}
		return do(ctx, in)
	}
}

// Error is an error that the client sees.
type Error struct {
	Code    string // e.g. ResourceNotFoundException
	Message string // shown to the user unchanged
	Status  int    // HTTP status; zero means 400
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refuse returns an error of the client, with status 400.
func Refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: http.StatusBadRequest}
}

// ServeHTTP answers one call.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := s.answer(r)
	if err != nil {
		s.WriteError(w, r, err)
		return
	}
	write(w, s.config.Version, http.StatusOK, out)
}

// WriteError answers a call that does not reach an action, e.g. because its signature is invalid. Errors other than
// [*Error] are logged, and the client sees an internal error.
func (s *Service) WriteError(w http.ResponseWriter, r *http.Request, err error) {
	apiErr, ok := errors.AsType[*Error](err)
	if !ok {
		level := slog.LevelError
		if errors.Is(r.Context().Err(), context.Canceled) {
			level = slog.LevelDebug // the client disconnected, which most likely caused the error
		}
		s.config.Log.Log(r.Context(), level, "internal failure", "service", s.config.Name, "target", r.Header.Get("X-Amz-Target"), "error", err)
		apiErr = &Error{Code: "InternalServerError", Message: "An internal error occurred.", Status: http.StatusInternalServerError}
	}
	writeError(w, s.config.Version, apiErr)
}

// WriteError answers a call without a particular service.
func WriteError(w http.ResponseWriter, e *Error) { writeError(w, defaultVersion, e) }

func writeError(w http.ResponseWriter, version string, e *Error) {
	w.Header().Set("X-Amzn-ErrorType", e.Code)
	write(w, version, cmp.Or(e.Status, http.StatusBadRequest), map[string]string{"__type": e.Code, "message": e.Message})
}

func write(w http.ResponseWriter, version string, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings, numbers and booleans always marshal
	}
	w.Header().Set("Content-Type", "application/x-amz-json-"+version)
	w.Header().Set("X-Amzn-RequestId", uuid.NewString())
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have disconnected
}

// answer executes a call.
func (s *Service) answer(r *http.Request) (any, error) {
	name, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), s.config.Target+".")
	if !ok || r.Method != http.MethodPost {
		return nil, Refuse("UnknownOperationException", "A call is a POST with the header X-Amz-Target: %s.ACTION.", s.config.Target)
	}
	do, ok := s.actions[name]
	if !ok {
		return nil, Refuse("UnknownOperationException", "This version of Pintle answers %s, not %.64q. Set %s to the address of a server that does.",
			s.list(), name, s.config.Endpoint)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, s.config.MaxBody+1))
	if err != nil {
		return nil, Refuse("SerializationException", "the body broke off")
	}
	if int64(len(body)) > s.config.MaxBody {
		return nil, &Error{"RequestEntityTooLarge", fmt.Sprintf("A body has %d bytes at most.", s.config.MaxBody), http.StatusRequestEntityTooLarge}
	}
	return do(r.Context(), body)
}

// list returns the names of the actions as a text for people.
func (s *Service) list() string {
	names := slices.Sorted(maps.Keys(s.actions))
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
