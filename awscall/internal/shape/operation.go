package shape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// ErrEventStream is the error of [Service.Operation] for an operation with an event stream in its request or response.
var ErrEventStream = errors.New("it works by an event stream, which one answer cannot hold")

// Operation is an operation of a service.
type Operation struct {
	Name          string
	Model         *model.Operation
	Input, Output *Type // nil if the operation has none

	service *Service
	schema  *smithy.OperationSchema
}

// Request is a request without its endpoint and signature.
type Request struct {
	Method string
	Path   string // escaped
	Query  string
	Header http.Header
	Body   []byte
}

// Request writes a request. input comes from [Operation.Coerce].
func (o *Operation) Request(ctx context.Context, input *Input) (r Request, err error) {
	defer func() {
		if p := recover(); p != nil { // smithy-go panics on shapes that a protocol cannot represent
			err = fmt.Errorf("%s cannot be written: the serializer of its protocol panicked", o.Name)
		}
	}()
	ctx = middleware.WithOperationName(ctx, o.Name) // CBOR's path takes the name from there
	req, ok := smithyhttp.NewStackRequest().(*smithyhttp.Request)
	if !ok {
		return Request{}, errors.New("smithy-go makes another request")
	}
	if err := o.service.client.SerializeRequest(ctx, o.schema, input, req); err != nil {
		return Request{}, fmt.Errorf("%s cannot be written: %w", o.Name, err)
	}
	r = Request{Method: req.Method, Path: req.URL.EscapedPath(), Query: req.URL.RawQuery, Header: req.Header}
	if stream := req.GetStream(); stream != nil {
		if r.Body, err = io.ReadAll(stream); err != nil {
			return Request{}, fmt.Errorf("%s cannot be written: %w", o.Name, err)
		}
	}
	if o.service.Protocol == restXML && string(r.Body) == "{}" {
		r.Body = nil // smithy-go writes an omitted payload as JSON
		r.Header.Del("Content-Type")
	}
	if o.service.Model.Metadata.AWSQueryCompatible != nil {
		r.Header.Set("X-Amzn-Query-Mode", "true")
	}
	return r, nil
}

// HostPrefix returns the operation's prefix for the host of its endpoint, e.g. "123456789012.". It is often empty.
func (o *Operation) HostPrefix(in *Input) (string, error) {
	if o.Model.Endpoint == nil {
		return "", nil
	}
	prefix := o.Model.Endpoint.HostPrefix
	for _, m := range o.Input.hostLabels() {
		value := in.Text(m.Name)
		if !hostLabel.MatchString(value) {
			return "", &ParameterError{m.Name, "it becomes part of the host name, so only letters, digits and hyphens may be in it"}
		}
		prefix = strings.ReplaceAll(prefix, "{"+m.Name+"}", value)
	}
	return prefix, nil
}

var hostLabel = regexp.MustCompile(`^[A-Za-z0-9-]{1,63}$`)

func (t *Type) hostLabels() []*Member {
	var labels []*Member
	if t != nil {
		for _, m := range t.Members {
			if m.HostLabel {
				labels = append(labels, m)
			}
		}
	}
	return labels
}

// climbs reports whether text contains . or .. as a path segment.
func climbs(text string) bool {
	for segment := range strings.SplitSeq(text, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// APIError is the error response of a service.
type APIError struct {
	Code, Message string // Code is the name of the exception
	WireCode      string // as sent, if it is not Code: some services have codes that differ from the names of exceptions
}

// Error implements error.
func (e *APIError) Error() string { return e.Code + ": " + e.Message }

// maxDepth limits the nesting of a response, because its reader is recursive.
const maxDepth = 500

// maxCBOR limits the size of responses in CBOR, because their reader is recursive.
const maxCBOR = 512 << 10

// Response reads a response. It returns an [APIError] for an error response. For a response that does not match the model
// it returns another error, which quotes nothing of the response, because that may contain secrets.
func (o *Operation) Response(ctx context.Context, r *http.Response, body []byte) (v map[string]any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("the response to %s does not match its model", o.Name)
		}
	}()
	isJSON := o.service.Protocol == jsonRPC || o.service.Protocol == restJSON
	failed := r.StatusCode < 200 || r.StatusCode >= 300
	if isJSON && (failed || !o.hasRawPayload()) && value.Deeper(body, maxDepth) {
		return nil, fmt.Errorf("%s was answered with JSON nested more than %d deep", o.Name, maxDepth)
	}
	if o.service.Protocol == cborRPC && len(body) > maxCBOR {
		return nil, fmt.Errorf("%s was answered with more than %d bytes of CBOR", o.Name, maxCBOR)
	}
	if !failed && o.Output == nil {
		return map[string]any{}, nil
	}
	if isJSON && !failed && len(bytes.TrimSpace(body)) == 0 && !o.hasPayload() {
		body = []byte("{}")
	}
	if o.Output != nil && o.service.Model.Metadata.ServiceID == "S3" && o.Name == "GetBucketLocation" && !failed {
		body = around(body)
	}
	copied := *r
	copied.Body = io.NopCloser(bytes.NewReader(body))
	copied.ContentLength = int64(len(body))
	out := &output{typ: o.Output}
	err = o.service.client.DeserializeResponse(ctx, o.schema, &smithy.TypeRegistry{}, &smithyhttp.Response{Response: &copied}, out)
	var api *smithy.GenericAPIError
	switch {
	case errors.As(err, &api):
		code := api.Code
		if i := strings.IndexByte(code, ':'); i > 0 && isJSON {
			code = code[:i]
		}
		apiErr := &APIError{Code: o.service.ErrorName(code), Message: api.Message}
		if apiErr.Code != code {
			apiErr.WireCode = code
		}
		return nil, apiErr
	case err != nil && failed:
		return nil, &APIError{Code: "UnknownError", Message: "UnknownError"}
	case err != nil:
		return nil, fmt.Errorf("the response to %s does not match its model", o.Name) // the cause quotes the answer
	}
	if out.value == nil {
		out.value = map[string]any{}
	}
	if o.Output != nil {
		o.streams(out.value)
	}
	return out.value, nil
}

func (o *Operation) hasPayload() bool {
	if o.Output == nil {
		return false
	}
	for _, m := range o.Output.Members {
		if m.Payload {
			return true
		}
	}
	return false
}

// hasRawPayload reports whether the body of a response is unparsed bytes, such as the result of a Lambda function.
func (o *Operation) hasRawPayload() bool {
	return o.Output != nil && slices.ContainsFunc(o.Output.Members, func(m *Member) bool { return m.Payload && m.Type.Kind == Blob })
}

// streams turns members that the model calls streams into text. An empty stream becomes empty text.
func (o *Operation) streams(v map[string]any) {
	for _, m := range o.Output.Members {
		if !m.Streaming {
			continue
		}
		switch body := v[m.Name].(type) {
		case []byte:
			v[m.Name] = string(body)
		case nil:
			v[m.Name] = ""
		}
	}
}

// around wraps a document whose root is the value itself in an element.
func around(body []byte) []byte {
	if i := bytes.Index(body, []byte("?>")); i >= 0 && bytes.HasPrefix(bytes.TrimSpace(body), []byte("<?")) {
		body = body[i+2:]
	}
	return append(append([]byte("<Output>"), body...), "</Output>"...)
}
