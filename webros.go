package pintle

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

const (
	// syncTime is how long an answer in the reply may take; the rest of the ten seconds is for the network.
	syncTime = wire.ROSSyncTimeout - 500*time.Millisecond
	// rosHold is how long a request is held open while its answer is sent to the response URL. How long ROS waits is not
	// documented, but it is at least as long as for a synchronous reply.
	rosHold = 5 * time.Second
)

// serveROS handles a request of ROS, unless it is signed as a webhook: then it is from an engine that does so. It returns
// false for any other request.
func (s *Server) serveROS(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if r.Header.Get("webhook-signature") != "" {
		return false
	}
	form := strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "application/x-www-form-urlencoded")
	if form && !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		http.Error(w, "this is a form, and how ROS puts a request into one is not known: set ContentType in the HttpConfig of the resource to "+
			"application/json, or leave it out", http.StatusUnsupportedMediaType)
		return true
	}
	request, err := wire.ParseRequest(body)
	if request.Dialect != wire.ROS {
		return false
	}
	if !s.web.unsigned {
		if err := s.verifyROS(r, body); err != nil {
			s.log.Warn("request refused", "error", err, "from", r.RemoteAddr)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return true
		}
	}
	if err != nil && (request.StackID == "" || request.RequestID == "" || request.LogicalResourceID == "") {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return true
	}
	if s.ros.Sync || strings.HasSuffix(s.tokenPath(r), "/sync") || s.responseURL(request) == "" {
		s.replyROS(w, r, body)
	} else {
		s.acceptROS(w, r, body)
	}
	return true
}

// tokenPath returns the path of the URL in the service token. That path is signed; a proxy or another sender may have
// changed the path of the request.
func (s *Server) tokenPath(r *http.Request) string {
	if u, err := url.Parse(s.ros.URL); s.ros.URL != "" && err == nil {
		return u.Path
	}
	return r.URL.Path
}

// verifyROS checks the Signature in a request.
func (s *Server) verifyROS(r *http.Request, body []byte) error {
	if len(s.ros.SignKeys) == 0 {
		return errors.New("this provider has no sign key, so it takes no request of ROS over HTTP: set PINTLE_ROS_SIGN_KEY to the SignKey in " +
			"the HttpConfig of the resource")
	}
	headers := make(map[string]string, len(s.ros.SignHeaders))
	for _, name := range s.ros.SignHeaders {
		headers[name] = r.Header.Get(name)
	}
	urls := []string{s.ros.URL}
	if s.ros.URL == "" {
		uri := r.URL.RequestURI() // as received, except for a scheme and host in it
		here := "://" + r.Host + uri
		urls = []string{"https" + here, "http" + here}
		if bare, ok := strings.CutSuffix(here, "/"); ok && uri == "/" {
			urls = append(urls, "https"+bare, "http"+bare)
		}
	}
	var err error
	for _, key := range s.ros.SignKeys {
		for _, address := range urls {
			if err = (wire.ROSSigning{Key: key, Headers: headers, URL: address}).Verify(body, s.clock.Now()); err == nil {
				return nil
			}
		}
	}
	return err
}

// replyROS answers a request in its reply, as the option sync of a service token requires.
func (s *Server) replyROS(w http.ResponseWriter, r *http.Request, body []byte) {
	if !s.enter(w) {
		return
	}
	type result struct {
		answered
		err error
	}
	reply := make(chan result, 1)
	ctx := context.WithoutCancel(r.Context())
	s.work.Go(func() {
		defer func() { <-s.web.room }()
		a, err := s.take(ctx, delivery{text: body, deadline: s.clock.Now().Add(syncTime), inPlace: true})
		reply <- result{a, err}
	})
	got := <-reply                            // in time: take has a watchdog
	if got.err == nil && got.waiting != nil { // started by another delivery through another transport
		got.err = errors.New("the request waits already, and is answered at its response URL")
	}
	if got.err != nil {
		s.notAnswered(w, got.answered, got.err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", s.clock.Now().UTC().Format(http.TimeFormat))
	if _, err := w.Write(got.body); err != nil {
		got.log.Warn("the reply was not taken", "error", err)
		return
	}
	s.sent(got.answered)
}

// acceptROS answers a request at its response URL. It replies 200 when the answer has arrived, or will take longer. If
// the answer cannot be sent it replies 500, so that ROS does not wait in vain.
func (s *Server) acceptROS(w http.ResponseWriter, r *http.Request, body []byte) {
	if !s.enter(w) {
		return
	}
	type result struct {
		answered
		err error
	}
	done := make(chan result, 1)
	ctx := context.WithoutCancel(r.Context())
	s.work.Go(func() {
		defer func() { <-s.web.room }()
		a, err := s.take(ctx, delivery{text: body, deadline: s.clock.Now().Add(s.ros.Timeout)})
		switch {
		case err != nil:
			a.log.Error("not answered", "error", err)
		case a.waiting == nil:
			err = s.send(ctx, a)
		}
		done <- result{a, err}
	})
	held, stop := s.clock.WithDeadline(r.Context(), s.clock.Now().Add(min(s.web.hold, rosHold)))
	defer stop()
	select {
	case got := <-done:
		if got.err != nil {
			http.Error(w, got.err.Error(), http.StatusInternalServerError)
		}
	case <-held.Done():
	}
}

// notAnswered replies to a request without an answer. ROS may send the request again after status 500.
func (s *Server) notAnswered(w http.ResponseWriter, a answered, err error) {
	a.log.Error("not answered", "error", err)
	status := http.StatusInternalServerError
	var bad *wire.RequestError
	if errors.As(err, &bad) {
		status = http.StatusBadRequest
	}
	http.Error(w, err.Error(), status)
}
