package server

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/oss"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// ossService is the name of the Alibaba Cloud OSS API, whose calls are not signed as AWS calls are.
const ossService = "oss"

// claimed returns the service that a request claims to be for, or "".
func (s *Server) claimed(r *http.Request) string {
	if _, ok := s.services[ossService]; ok && oss.Claimed(r) {
		return ossService
	}
	return sigv4.Claimed(r)
}

// OSSService returns the OSS service.
func OSSService(handler http.Handler) Service {
	return Service{Handler: handler, Refuse: func(w http.ResponseWriter, r *http.Request, e *query.Error) {
		oss.Refuse(w, r, &oss.Error{Code: e.Code, Message: e.Message, Status: e.Status})
	}}
}

// enterOSS serves an OSS call, or refuses it.
func (s *Server) enterOSS(w http.ResponseWriter, r *http.Request, refuse func(*query.Error)) {
	var holder sigv4.KeyOwner
	refused := oss.Verify(r, s.config.Now(), func(keyID, token, region string) (oss.Key, *oss.Error) {
		var err error
		if holder, err = s.verifier.Find(keyID, token, region, ossService); err != nil {
			return oss.Key{}, unknownOSSKey(token, err)
		}
		holder.Account = engine.ROSAccount(holder.Account)
		return oss.Key{Secret: string(holder.Secret), Known: holder.Known}, nil
	})
	if refused != nil {
		s.extend(w, 0) // do not wait for the rest of the body
		oss.Refuse(w, r, refused)
		return
	}
	s.connections.Verified(r.Context())
	face := s.services[ossService]
	timeout := cmp.Or(face.Timeout, s.config.Timeout)
	s.extend(w, timeout)
	s.take(w, r, face.turns, timeout, refuse, func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(sigv4.WithIdentity(r.Context(), holder.Identity))
		serve := func() { face.Handler.ServeHTTP(w, r) }
		if s.config.Audit == nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
			serve()
			return
		}
		e := audit.Entry{Endpoint: audit.EndpointAPI, Service: ossService, Action: r.Method + " " + wire.Redact(oss.Path(r))}
		s.record(w, r, holder.Identity, e, serve)
	})
}

// unknownOSSKey returns the OSS error for a key that is not accepted.
func unknownOSSKey(token string, err error) *oss.Error {
	refused, ok := errors.AsType[*sigv4.Error](err)
	switch {
	case ok && refused.Code == "ExpiredToken":
		return &oss.Error{
			Code: "SecurityTokenExpired", Message: "The security token you provided has expired.", Status: http.StatusForbidden,
		}
	case token != "":
		return &oss.Error{
			Code: "InvalidSecurityToken", Message: "The security token you provided is invalid.", Status: http.StatusForbidden,
		}
	}
	return oss.UnknownKey()
}
