package server

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Errors of [Server.receive].
var (
	errCutOff = errors.New("the body is shorter than its length says")
	errNoTurn = errors.New("there was no turn in time")
)

// receive reads at most limit bytes of a body that was sent to a signed URL, and then takes a slot, so that slow
// senders hold none. After a nil error, the caller serves the request with ctx and calls end. ctx does not end when
// the sender disconnects.
func (s *Server) receive(r *http.Request, limit int64) (body []byte, ctx context.Context, end func(), err error) {
	s.connections.Verified(r.Context())
	if body, err = io.ReadAll(io.LimitReader(r.Body, limit)); err != nil {
		return nil, nil, nil, errCutOff
	}
	if !s.answers.take(r.Context()) {
		return nil, nil, nil, errNoTurn
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), s.config.Timeout)
	stop := context.AfterFunc(s.hard, cancel)
	return body, ctx, func() {
		stop()
		cancel()
		s.answers.give()
	}, nil
}
