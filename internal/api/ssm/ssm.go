// Package ssm answers what clients ask of the Systems Manager Parameter Store about the server's own parameters: PutParameter,
// GetParameter, GetParameters and DeleteParameter, in AWS's JSON protocol.
//
// Source: Systems Manager API Reference, version 2014-11-06; AWS JSON 1.1 protocol.
package ssm

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/parameters"
	"github.com/pintle-dev/pintle/internal/store"
)

// Target is what the header X-Amz-Target of a call begins with; the name of the action follows.
const Target = "AmazonSSM."

const (
	contentType = "application/x-amz-json-1.1"
	maxBody     = 64 << 10 // bytes
)

// Store is the parameters. [parameters.Own] is one.
type Store interface {
	Parameter(ctx context.Context, place parameters.Place, name string, version int64) (store.Parameter, error)
	Put(ctx context.Context, parameter store.Parameter, overwrite bool) (int64, error)
	Delete(ctx context.Context, place parameters.Place, name string) error
}

// Caller is on whose behalf a call is answered.
type Caller struct {
	Account string
	Region  string
}

// Config is what the face is made of.
type Config struct {
	// Store has the parameters. Required.
	Store Store
	// Caller tells who signed a call; false is a fault of the server. Required.
	Caller func(context.Context) (Caller, bool)
	// Partition returns the partition of a region. Required.
	Partition func(region string) string
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors; nil discards them.
	Log *slog.Logger
}

// Face answers the actions. It is an [http.Handler].
type Face struct{ config Config }

// New returns a face. It returns an error if the config lacks something.
func New(config Config) (*Face, error) {
	if config.Store == nil || config.Caller == nil || config.Partition == nil {
		return nil, errors.New("ssm: the store, the caller and the partition are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &Face{config}, nil
}

// fault is an error as the client sees it.
type fault struct {
	code, message string
	status        int
}

func (f *fault) Error() string { return f.code + ": " + f.message }

func refuse(code, format string, args ...any) error {
	return &fault{code, fmt.Sprintf(format, args...), http.StatusBadRequest}
}

func invalid(format string, args ...any) error {
	return refuse("ValidationException", format, args...)
}

// ServeHTTP implements [http.Handler].
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := f.answer(r)
	if err != nil {
		code, message, status := f.known(r, err)
		WriteError(w, code, message, status)
		return
	}
	write(w, http.StatusOK, out)
}

// WriteError answers with an error, of which code, message and status are given.
func WriteError(w http.ResponseWriter, code, message string, status int) {
	w.Header().Set("X-Amzn-ErrorType", code)
	write(w, status, map[string]string{"__type": code, "message": message})
}

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts, numbers and booleans always marshal
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Amzn-RequestId", uuid.NewString())
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that is gone needs no answer
}

// known returns an error as the client sees it.
func (f *Face) known(r *http.Request, err error) (code, message string, status int) {
	if told, ok := errors.AsType[*fault](err); ok {
		return told.code, told.message, told.status
	}
	f.config.Log.ErrorContext(r.Context(), "a call of the parameter store failed", "target", r.Header.Get("X-Amz-Target"), "error", err)
	return "InternalServerError", "An internal error occurred.", http.StatusInternalServerError
}

// answer does what a call asks for.
func (f *Face) answer(r *http.Request) (any, error) {
	action, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), Target)
	if !ok || r.Method != http.MethodPost {
		return nil, refuse("UnknownOperationException", "A call is a POST with the header X-Amz-Target: %sACTION.", Target)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, refuse("SerializationException", "the body broke off")
	}
	if len(body) > maxBody {
		return nil, &fault{"RequestEntityTooLarge", fmt.Sprintf("A body has %d bytes at most.", maxBody), http.StatusRequestEntityTooLarge}
	}
	caller, ok := f.config.Caller(r.Context())
	if !ok {
		return nil, errors.New("the request reached the parameter store without a caller")
	}
	c := &call{Face: f, ctx: r.Context(), place: parameters.Place(caller)}
	switch action {
	case "PutParameter":
		return handle(body, c.put)
	case "GetParameter":
		return handle(body, c.get)
	case "GetParameters":
		return handle(body, c.getAll)
	case "DeleteParameter":
		return handle(body, c.remove)
	}
	return nil, refuse("UnknownOperationException",
		"This version of Pintle answers PutParameter, GetParameter, GetParameters and DeleteParameter, not %.64q.", action)
}

// handle reads the input of an action. What it does not know of it is left out, as AWS does.
func handle[In, Out any](body []byte, do func(In) (Out, error)) (any, error) {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return nil, refuse("SerializationException", "%s can not be a %s", kind.Field, kind.Value)
		}
		return nil, refuse("SerializationException", "the body is no JSON")
	}
	return do(in)
}

// newPlaceholder stands for a secret that is asked for without decryption.
func newPlaceholder() string { return "encrypted:" + rand.Text() }
