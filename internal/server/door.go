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

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/api/ssm"
	"github.com/pintle-dev/pintle/internal/api/sts"
	"github.com/pintle-dev/pintle/internal/sigv4"
)

// faces are the services of AWS's Query protocol.
type faces struct {
	cloudformation *query.Service
	sts            *query.Service
}

// of returns the face of a service as it is named in the scope of a signature, nil if there is none.
func (f faces) of(service string) *query.Service {
	switch service {
	case "cloudformation":
		return f.cloudformation
	case "sts":
		return f.sts
	}
	return nil
}

// at returns the face whose API has a version, nil if there is none.
func (f faces) at(version string) *query.Service {
	switch version {
	case cloudformation.Version:
		return f.cloudformation
	case sts.Version:
		return f.sts
	}
	return nil
}

// route sends a request to whom it is for.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case path == "/healthz":
		s.healthz(w, r)
	case path == "/readyz":
		s.readyz(w, r)
	case strings.HasPrefix(path, s.responses), strings.HasPrefix(path, "/"+ResponsePath+"/"):
		s.answer(w, r)
	case s.config.Signals != nil && (strings.HasPrefix(path, s.signals) || strings.HasPrefix(path, "/"+SignalPath+"/")):
		s.signal(w, r)
	default:
		s.enter(w, r)
	}
}

// enter lets a call in, or refuses it in the form of the face it is for.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	own := strings.HasPrefix(r.URL.Path, operator.Prefix)
	refuse := func(e *query.Error) {
		if own {
			operator.WriteError(w, &operator.Error{Status: e.Status, Message: e.Message})
			return
		}
		if s.forSSM(r) {
			ssm.WriteError(w, e.Code, e.Message, e.Status)
			return
		}
		s.faces.cloudformation.WriteError(w, r, e)
	}
	switch {
	case r.Method == http.MethodOptions:
		refuse(denied("OPTIONS is refused: nothing here is for pages of a browser."))
		return
	case s.config.Dev && !isLoopback(r.Host):
		refuse(denied("This is a development server: it is reached as localhost, 127.0.0.1 or [::1] only. " +
			"Start it without --dev, with keys of its own, to serve other names."))
		return
	}
	if !s.calls.take(r.Context()) {
		w.Header().Set("Retry-After", retryAfter)
		refuse(&query.Error{Code: "ServiceUnavailable", Message: "The server is busy. Please try again.",
			Status: http.StatusServiceUnavailable})
		return
	}
	defer s.calls.give()
	ctx, cancel := context.WithTimeout(r.Context(), s.config.Timeout)
	defer cancel()
	defer context.AfterFunc(s.hard, cancel)()
	id, err := s.verifier.Verify(r)
	if err != nil {
		refuse(refusal(err))
		return
	}
	r = r.WithContext(sigv4.WithIdentity(ctx, id))
	switch {
	case own:
		s.operator.ServeHTTP(w, r)
	case r.URL.Path != "/" && r.URL.Path != "":
		refuse(&query.Error{Code: "NotFound", Message: "There is nothing at this path: the endpoint is the server's address without a path.",
			Status: http.StatusNotFound, Sender: true})
	case s.ssm != nil && id.Service == "ssm":
		s.ssm.ServeHTTP(w, r)
	default:
		s.call(w, r, id.Service)
	}
}

// forSSM reports whether a request is for the Parameter Store, as far as it can be told before it is let in.
func (s *Server) forSSM(r *http.Request) bool {
	return s.ssm != nil && strings.HasPrefix(r.Header.Get("X-Amz-Target"), ssm.Target)
}

// call hands a call of the Query protocol to its face.
func (s *Server) call(w http.ResponseWriter, r *http.Request, service string) {
	face := s.faces.of(service)
	if face == nil && service != "s3" { // the signature of an upload need not cover the form
		face = s.faces.at(formVersion(r))
	}
	if face == nil {
		s.faces.cloudformation.WriteError(w, r, query.Fault("InvalidAction",
			"This version of Pintle serves cloudformation, sts and ssm, not %s.", service))
		return
	}
	face.ServeHTTP(w, r)
}

// formVersion returns the Version of a form, wherever it is, and leaves the body as it was.
func formVersion(r *http.Request) string {
	if version := r.URL.Query().Get("Version"); version != "" || r.Method != http.MethodPost {
		return version
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, query.DefaultMaxBody))
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failing{err}
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), r.Body}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return ""
	}
	return form.Get("Version")
}

// failing is a reader that repeats an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func denied(message string) *query.Error {
	return &query.Error{Code: "AccessDenied", Message: message, Status: http.StatusForbidden, Sender: true}
}

// refusal turns the error of a verifier into the client's.
func refusal(err error) *query.Error {
	refused, ok := errors.AsType[*sigv4.Error](err)
	if !ok {
		return denied("The request could not be authenticated.")
	}
	return &query.Error{Code: refused.Code, Message: refused.Message, Status: refused.Status, Sender: true}
}

// isLoopback reports whether a Host header names this machine: localhost, or a loopback address.
func isLoopback(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	if strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
