// Package lambdaapi is Lambda's REST API with the calls of the CDK, the AWS CLI and custom resource handlers.
//
// Source: Lambda API Reference, version 2015-03-31 (layers: 2018-10-31); AWS REST JSON 1.1 protocol.
package lambdaapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Limits of bodies in bytes.
const (
	maxBody   = 1 << 20
	maxUpload = 69905067 // 50 MB of a zip file in base64. Source: CreateFunction's own error
)

// Config configures the handler.
type Config struct {
	// Functions are the functions to serve. Required.
	Functions *lambda.Functions
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

type handler struct {
	config Config
	mux    *http.ServeMux
}

// New returns the API. It returns an error if config is incomplete.
func New(config Config) (http.Handler, error) {
	if config.Functions == nil || config.Caller == nil {
		return nil, errors.New("lambda: the functions and the caller are required")
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	f := &handler{config: config, mux: http.NewServeMux()}
	const one, layers = "/2015-03-31/functions/{name}", "/2018-10-31/layers/{name}/versions"
	const events = "/2019-09-25/functions/{name}/event-invoke-config"
	for pattern, do := range map[string]func(*call) (answer, error){
		"POST " + one + "/invocations":                    (*call).invoke,
		"POST /2015-03-31/functions":                      (*call).create,
		"POST /2015-03-31/functions/{$}":                  (*call).create,
		"GET /2015-03-31/functions":                       (*call).list,
		"GET /2015-03-31/functions/{$}":                   (*call).list,
		"GET " + one:                                      (*call).get,
		"DELETE " + one:                                   (*call).remove,
		"GET " + one + "/configuration":                   (*call).getConfiguration,
		"PUT " + one + "/configuration":                   (*call).updateConfiguration,
		"PUT " + one + "/code":                            (*call).updateCode,
		"GET " + one + "/versions":                        (*call).listVersions,
		"POST " + one + "/versions":                       (*call).publish,
		"GET " + one + "/policy":                          (*call).getPolicy,
		"POST " + one + "/policy":                         (*call).addPermission,
		"DELETE " + one + "/policy/{statement}":           (*call).removePermission,
		"PUT " + events:                                   (*call).putEventConfig,
		"POST " + events:                                  (*call).updateEventConfig,
		"GET " + events:                                   (*call).getEventConfig,
		"DELETE " + events:                                (*call).deleteEventConfig,
		"GET " + events + "/list":                         (*call).listEventConfigs,
		"POST " + layers:                                  (*call).publishLayer,
		"GET " + layers + "/{version}":                    (*call).getLayer,
		"DELETE " + layers + "/{version}":                 (*call).deleteLayer,
		"GET /2018-10-31/layers":                          (*call).getLayerByARN,
		"GET /2017-03-31/tags/{name}":                     (*call).listTags,
		"PUT /2017-10-31/functions/{name}/concurrency":    (*call).putConcurrency,
		"DELETE /2017-10-31/functions/{name}/concurrency": (*call).deleteConcurrency,
	} {
		f.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, do) })
	}
	f.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { f.serve(w, r, (*call).unknown) })
	return f, nil
}

// ServeHTTP implements [http.Handler].
func (f *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// answer is the response to a call: a value to encode as JSON, or bytes.
type answer struct {
	status int // 0 means 200
	value  any
	bytes  []byte
	id     string // of the request; empty for a new one
}

// call is an API call.
type call struct {
	*handler
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context
	place registry.Scope
}

func (f *handler) serve(w http.ResponseWriter, r *http.Request, do func(*call) (answer, error)) {
	caller, ok := f.config.Caller(r.Context())
	if !ok {
		f.fail(w, r, errors.New("the request reached the functions without a caller"))
		return
	}
	a, err := do(&call{handler: f, w: w, r: r, ctx: r.Context(), place: registry.ScopeOf(caller)})
	if err != nil {
		f.fail(w, r, err)
		return
	}
	write(w, a)
}

func write(w http.ResponseWriter, a answer) {
	body := a.bytes
	if a.value != nil {
		text, err := json.Marshal(a.value)
		if err != nil {
			panic(err) // texts, numbers, booleans and valid JSON always marshal
		}
		body = text
	}
	if a.id == "" {
		a.id = uuid.NewString()
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	w.Header().Set("X-Amzn-RequestId", a.id)
	if a.status != http.StatusNoContent {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(a.status)
	if a.status != http.StatusNoContent {
		_, _ = w.Write(body) // the client may have disconnected
	}
}

// fail writes an error.
func (f *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	apiErr, ok := errors.AsType[*lambda.Error](err)
	switch {
	case ok:
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return // the client has disconnected
	default:
		f.config.Log.ErrorContext(r.Context(), "a call of the functions failed", "method", r.Method, "error", err)
		apiErr = &lambda.Error{Code: "ServiceException", Message: "An error occurred and the request cannot be processed.", Status: http.StatusInternalServerError}
	}
	body := map[string]string{"Message": apiErr.Message, "Type": "User"}
	if apiErr.Status >= http.StatusInternalServerError {
		body["Type"] = "Service"
	}
	if apiErr.Reason != "" {
		body["Reason"] = apiErr.Reason
	}
	w.Header().Set("X-Amzn-ErrorType", apiErr.Code)
	write(w, answer{status: apiErr.Status, value: body})
}

func (c *call) unknown() (answer, error) {
	return answer{}, &lambda.Error{
		Code: "UnknownOperationException", Status: http.StatusNotFound,
		Message: fmt.Sprintf("The local Lambda API does not support %s %.200s. AWS_ENDPOINT_URL_LAMBDA of the server's environment "+
			"names one that does.", c.r.Method, c.r.URL.Path),
	}
}

// read returns the body of at most limit bytes. operation is for the error message.
func (c *call) read(limit int64, operation string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, &lambda.Error{
			Code: "RequestEntityTooLargeException", Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("Request must be smaller than %d bytes for the %s operation", limit, operation),
		}
	case err != nil:
		return nil, invalidContent("the body broke off")
	}
	return body, nil
}

// decode parses a JSON body. Like AWS, it ignores unknown members.
func decode[T any](c *call, limit int64, operation string) (in T, err error) {
	body, err := c.read(limit, operation)
	if err != nil || len(body) == 0 {
		return in, err
	}
	if err := json.Unmarshal(body, &in); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return in, invalidContent(fmt.Sprintf("%s can not be a %s", kind.Field, kind.Value))
		}
		return in, invalidContent("the body is not JSON, or a ZipFile is not in base64")
	}
	return in, nil
}

func invalidContent(text string) error {
	return &lambda.Error{
		Code: "InvalidRequestContentException", Message: "Could not parse request body into json: " + text, Status: http.StatusBadRequest,
	}
}

// reference returns the function in the path, with the qualifier in the query.
func (c *call) reference() (lambda.Reference, error) {
	return c.config.Functions.Reference(c.place, c.r.PathValue("name"), c.r.URL.Query().Get("Qualifier"))
}

// function returns the item of that function.
func (c *call) function() (registry.Item[registry.Function], error) {
	return c.config.Functions.Show(c.ctx, c.place, c.r.PathValue("name"), c.r.URL.Query().Get("Qualifier"))
}
