// Package awsapi is the server side of AWS's protocols: it reads requests and writes responses of a service by the
// service's compiled model. It supports the Query, EC2, JSON, REST-JSON and REST-XML protocols, without streams.
//
// Inputs and outputs are maps with the member names of the model. Values are string, bool, int64, float64, []byte,
// [time.Time], []any and map[string]any.
//
// Source: Smithy, AWS protocols; botocore's service models.
package awsapi

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
)

// Protocols, as models name them.
const (
	protocolJSON     = "json"
	protocolRESTJSON = "rest-json"
	protocolRESTXML  = "rest-xml"
	protocolQuery    = "query"
	protocolEC2      = "ec2"
)

// MaxBody is the maximum length of a request body in bytes.
const MaxBody = 1 << 20

// maxDepth is the maximum nesting depth of values.
const maxDepth = 50

// Error is an error returned to the client.
type Error struct {
	Code    string
	Message string
	Status  int // HTTP status; zero means 400
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refuse returns a client error with status 400.
func Refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Models reads models from the bundle on first use. It is safe for concurrent use.
type Models struct {
	mu     sync.Mutex
	bundle *model.Bundle
	read   map[string]*Service
}

// Service returns a service by the name of its botocore directory, such as "route53".
func (m *Models) Service(name string) (*Service, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.read[name]; s != nil {
		return s, nil
	}
	if m.bundle == nil {
		bundle, err := model.Open()
		if err != nil {
			return nil, err
		}
		m.bundle = bundle
		m.read = map[string]*Service{}
	}
	for _, entry := range m.bundle.Entries() {
		if entry.Name == name {
			described, err := m.bundle.Service(entry)
			if err != nil {
				return nil, err
			}
			s, err := newService(described)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			m.read[name] = s
			return s, nil
		}
	}
	return nil, fmt.Errorf("the bundle has no model of %s", name)
}

// Service reads requests and writes responses of one service. It is safe for concurrent use.
type Service struct {
	model    *model.Service
	protocol string
	routes   []route // of REST protocols
}

// route is the method, the path and the required query parameters of an operation.
type route struct {
	operation, method string
	path              []string
	query             url.Values
	greedy            bool // the last label takes the rest of the path
	literals          int
}

func newService(m *model.Service) (*Service, error) {
	s := &Service{model: m, protocol: m.Metadata.Protocol}
	switch s.protocol {
	case protocolJSON, protocolQuery, protocolEC2:
		return s, nil
	case protocolRESTJSON, protocolRESTXML:
	default:
		return nil, fmt.Errorf("protocol %s is not supported", s.protocol)
	}
	for name, o := range m.Operations {
		path, text, _ := strings.Cut(o.HTTP.RequestURI, "?")
		required, err := url.ParseQuery(text)
		if err != nil {
			return nil, fmt.Errorf("operation %s: %w", name, err)
		}
		r := route{operation: name, method: o.HTTP.Method, path: segments(path), query: required}
		for _, part := range r.path {
			if !strings.HasPrefix(part, "{") {
				r.literals++
			}
		}
		r.greedy = len(r.path) > 0 && strings.HasSuffix(r.path[len(r.path)-1], "+}")
		s.routes = append(s.routes, r)
	}
	// The most specific route goes first: more literal segments, then more query parameters.
	slices.SortFunc(s.routes, func(a, b route) int {
		return cmp.Or(b.literals-a.literals, len(b.query)-len(a.query), strings.Compare(a.operation, b.operation))
	})
	return s, nil
}

func segments(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// Has reports whether the service has an operation.
func (s *Service) Has(operation string) bool { return s.model.Operations[operation] != nil }

// Request is a request with its operation.
type Request struct {
	// Operation is the name in the model, or empty if no operation matches the request.
	Operation string

	labels map[string]string
	body   []byte
	form   url.Values
	http   *http.Request
}

// Read reads a request to its end and finds the operation. It returns an [Error] if the body is too long or is not a
// valid form.
func (s *Service) Read(r *http.Request) (*Request, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, MaxBody))
	if err != nil {
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			return nil, &Error{Code: "RequestEntityTooLarge", Message: fmt.Sprintf("The request has more than %d bytes.", MaxBody),
				Status: http.StatusRequestEntityTooLarge}
		}
		return nil, Refuse("IncompleteBody", "The request could not be read.")
	}
	q := &Request{body: body, http: r}
	switch s.protocol {
	case protocolJSON:
		if target, name, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok && target == s.model.Metadata.TargetPrefix && s.Has(name) {
			q.Operation = name
		}
	case protocolQuery, protocolEC2:
		if q.form, err = url.ParseQuery(string(body)); err != nil {
			return nil, Refuse("MalformedQueryString", "The request is not a form.")
		}
		for name, list := range r.URL.Query() {
			q.form[name] = append(q.form[name], list...)
		}
		if name := q.form.Get("Action"); s.Has(name) {
			q.Operation = name
		}
	default:
		q.Operation, q.labels = s.match(r)
	}
	return q, nil
}

// match finds the operation of a REST request and the labels in its path.
func (s *Service) match(r *http.Request) (string, map[string]string) {
	path := segments(r.URL.EscapedPath())
	for _, route := range s.routes {
		if route.method != r.Method || len(route.path) != len(path) && !(route.greedy && len(path) >= len(route.path)) {
			continue
		}
		labels, ok := route.match(path)
		for name, list := range route.query {
			given, has := r.URL.Query()[name]
			ok = ok && has && (list[0] == "" || slices.Contains(given, list[0]))
		}
		if ok {
			return route.operation, labels
		}
	}
	return "", nil
}

func (r route) match(path []string) (map[string]string, bool) {
	labels := map[string]string{}
	for i, part := range r.path {
		name, label := strings.CutPrefix(part, "{")
		if !label {
			if part != path[i] {
				return nil, false
			}
			continue
		}
		text := path[i]
		if strings.HasSuffix(name, "+}") {
			text = strings.Join(path[i:], "/")
		}
		text, err := url.PathUnescape(text)
		if err != nil {
			return nil, false
		}
		labels[strings.TrimRight(name, "+}")] = text
	}
	return labels, true
}

// EndpointVariable returns the environment variable that sets the endpoint of the service in AWS's clients. Source:
// AWS SDKs and Tools Reference Guide, service-specific endpoints.
func (s *Service) EndpointVariable() string {
	return "AWS_ENDPOINT_URL_" + strings.ReplaceAll(strings.ToUpper(s.model.Metadata.ServiceID), " ", "_")
}

// Body returns a body that reads the same bytes again and closes the original one.
func (q *Request) Body(original io.Closer) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(q.body), original}
}
