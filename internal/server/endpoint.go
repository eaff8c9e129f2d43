package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/api/oss"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

// The endpoints of the server.
const (
	endpointHealth   = "health"
	endpointMetrics  = "metrics"
	endpointAnswers  = "answers"
	endpointROS      = "ros-answers"
	endpointSignals  = "signals"
	endpointOperator = "operator"
	endpointConsole  = "console"
	endpointAPI      = "api"
)

// Endpoints lists the endpoint names that [Config.Served] receives.
func Endpoints() []string {
	return []string{endpointHealth, endpointMetrics, endpointAnswers, endpointROS, endpointSignals, endpointOperator, endpointConsole, endpointAPI}
}

// endpointOf returns the endpoint of a path.
func (s *Server) endpointOf(path string) string {
	switch {
	case path == "/healthz", path == "/readyz":
		return endpointHealth
	case path == "/metrics" && s.config.Metrics != nil:
		return endpointMetrics
	case strings.HasPrefix(path, s.responses), strings.HasPrefix(path, "/"+ResponsePath+"/"):
		return endpointAnswers
	case s.config.ROS.Signer != nil && (path == s.rosAnswers || path == "/"+ROSResponsePath):
		return endpointROS
	case s.config.ROS.Signals != nil && (path == s.rosSignals || path == "/"+ROSSignalPath):
		return endpointSignals
	case s.config.Signals != nil && (strings.HasPrefix(path, s.signals) || strings.HasPrefix(path, "/"+SignalPath+"/")):
		return endpointSignals
	case strings.HasPrefix(path, operator.Prefix):
		return endpointOperator
	case s.config.Console != nil && (path == ConsolePath || strings.HasPrefix(path, ConsolePath+"/")):
		return endpointConsole
	}
	return endpointAPI
}

// route passes a request to the handler of its endpoint.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	switch s.endpointOf(r.URL.Path) {
	case endpointHealth:
		s.health(w, r)
	case endpointMetrics:
		s.metrics(w, r)
	case endpointAnswers:
		s.answer(w, r)
	case endpointROS:
		s.answerROS(w, r)
	case endpointSignals:
		if strings.HasSuffix(r.URL.Path, "/"+ROSSignalPath) {
			s.signalROS(w, r)
			return
		}
		s.signal(w, r)
	case endpointConsole:
		s.console(w, r)
	default:
		s.enter(w, r)
	}
}

// metrics answers a scrape. A development server refuses requests under any name that is not a loopback name. This
// protects against DNS rebinding.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if s.config.Dev && !isLoopback(r.Host) {
		respond(w, r, http.StatusForbidden, "a development server is reached as localhost, 127.0.0.1 or [::1] only\n")
		return
	}
	s.config.Metrics.ServeHTTP(w, r)
}

// enter authenticates a call, or refuses it in the format of the requested API. A call takes a slot once its caller
// is authenticated and its body was read, so that slow or unauthenticated senders hold no slot. Bodies that an API
// reads as they arrive are the exception.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	own := strings.HasPrefix(r.URL.Path, operator.Prefix)
	service := s.claimed(r)
	refuse := func(e *query.Error) {
		if own {
			operator.WriteError(w, &operator.Error{Status: e.Status, Message: e.Message})
			return
		}
		if rpc.Claimed(r) {
			s.refuseROS(w, r, e)
			return
		}
		s.serviceOf(service, r).Refuse(w, r, e)
	}
	var open http.Handler
	if s.config.Unsigned != nil {
		open = s.config.Unsigned(r)
	}
	switch {
	case r.Method == http.MethodOptions:
		refuse(denied("OPTIONS is rejected: browsers cannot use this API."))
		return
	case s.config.Dev && !isLoopback(r.Host) && !(service == ossService && oss.Host(r.Host)): // browser pages never have OSS hosts
		refuse(denied("This is a development server: it is reached as localhost, 127.0.0.1 or [::1] only. " +
			"Start it without --dev, with keys of its own, to serve other names."))
		return
	}
	if open != nil {
		s.take(w, r, s.calls, s.config.Timeout, refuse, open.ServeHTTP)
		return
	}
	defer func() { _ = r.Body.Close() }() // closes the replaced body, which the HTTP server does not know
	long := s.isLong(service) && !own
	if long {
		s.extend(w, strangerTime) // the claimed service is not authenticated yet
	}
	switch {
	case !own && service == ossService:
		s.enterOSS(w, r, refuse)
		return
	case !own && s.enterROS(w, r, refuse):
		return
	}
	id, err := s.verifier.Verify(r)
	if err != nil {
		if long {
			s.extend(w, 0) // do not wait for the rest of the body
		}
		refuse(refusal(err))
		return
	}
	s.connections.Verified(r.Context())
	turns, timeout := s.calls, s.config.Timeout
	if s.isLong(id.Service) && !own {
		face := s.services[id.Service]
		turns, timeout = face.turns, face.Timeout
		s.extend(w, timeout)
	}
	s.take(w, r, turns, timeout, refuse, func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, id, own, refuse)
	})
}

// isLong reports whether calls of a service have a longer timeout than others.
func (s *Server) isLong(service string) bool {
	face, ok := s.services[service]
	return ok && face.Timeout > 0
}

// take serves an authenticated request once a slot is free, or refuses it.
func (s *Server) take(w http.ResponseWriter, r *http.Request, turns turns, timeout time.Duration, refuse func(*query.Error), serve http.HandlerFunc) {
	if !turns.take(r.Context()) {
		w.Header().Set("Retry-After", retryAfter)
		refuse(&query.Error{Code: "ServiceUnavailable", Message: "The server is busy. Please try again.",
			Status: http.StatusServiceUnavailable})
		return
	}
	defer turns.give()
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	defer context.AfterFunc(s.hard, cancel)()
	serve(w, r.WithContext(ctx))
}

// serve passes an authenticated call to its API.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, id sigv4.Identity, own bool, refuse func(*query.Error)) {
	r = r.WithContext(sigv4.WithIdentity(r.Context(), id))
	if s.config.Called != nil && !own {
		if failed := s.config.Called(id, func() bool { return entryOf(r, id).Action != "" }); failed != nil {
			defer func() {
				if response, ok := w.(*reply); ok && response.status >= http.StatusBadRequest {
					failed()
				}
			}()
		}
	}
	s.audited(w, r, id, func() {
		face, ok := s.services[id.Service]
		switch {
		case own:
			s.operator.ServeHTTP(w, r)
		case ok && face.Paths:
			face.Handler.ServeHTTP(w, r)
		case ok && r.URL.Path != "/" && r.URL.Path != "":
			refuse(&query.Error{Code: "NotFound", Message: "There is nothing at this path: the endpoint is the server's address without a path.",
				Status: http.StatusNotFound, Sender: true})
		default:
			s.call(w, r, id.Service)
		}
	})
}

// strangerTime bounds how long a connection may send the body of a long call before its caller is authenticated.
const strangerTime = 2 * time.Minute

// extend extends the deadlines of a connection for a call with a longer timeout.
func (s *Server) extend(w http.ResponseWriter, timeout time.Duration) {
	control := http.NewResponseController(w)
	until := time.Now().Add(s.config.Wait + timeout + readTimeout) // socket deadlines use the real clock
	_ = control.SetReadDeadline(until)                             // a writer without deadlines needs no change
	_ = control.SetWriteDeadline(until)
}

// call passes a call to the API of the service in the signature, or to the one whose version is in the form. Some
// clients sign for another service than the one they call.
func (s *Server) call(w http.ResponseWriter, r *http.Request, service string) {
	if face, ok := s.services[service]; ok {
		face.Handler.ServeHTTP(w, r)
		return
	}
	version := ""
	if service != "s3" && (r.URL.Path == "" || r.URL.Path == "/") { // the signature of an upload need not cover the form
		version = formVersion(r)
	}
	for _, face := range s.services {
		if face.Version != "" && face.Version == version {
			face.Handler.ServeHTTP(w, r)
			return
		}
	}
	s.absent(w, r, service)
}

// formVersion returns the Version parameter from the URL or the body, and leaves the body unchanged.
func formVersion(r *http.Request) string {
	if version := r.URL.Query().Get("Version"); version != "" || r.Method != http.MethodPost {
		return version
	}
	form, err := url.ParseQuery(string(peek(r)))
	if err != nil {
		return ""
	}
	return form.Get("Version")
}

// mostPeeked bounds how many bytes of a body peek reads.
const mostPeeked = 2 << 20

// peek returns the beginning of a body, and restores the body for later readers.
func peek(r *http.Request) []byte {
	body, err := io.ReadAll(io.LimitReader(r.Body, mostPeeked))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failing{err}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), r.Body}
	return body
}

// failing is a reader that repeats an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func denied(message string) *query.Error {
	return &query.Error{Code: "AccessDenied", Message: message, Status: http.StatusForbidden, Sender: true}
}

// refusal converts the error of a verifier to the client's error.
func refusal(err error) *query.Error {
	refused, ok := errors.AsType[*sigv4.Error](err)
	if !ok {
		return denied("The request could not be authenticated.")
	}
	return &query.Error{Code: refused.Code, Message: refused.Message, Status: refused.Status, Sender: true}
}

// isLoopback reports whether a Host header names this machine: localhost, a subdomain of it, or a loopback address.
func isLoopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	if name := strings.ToLower(strings.TrimSuffix(name, ".")); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
