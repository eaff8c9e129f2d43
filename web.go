package pintle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/wire"
)

const (
	defaultHold        = 20 * time.Second
	defaultConcurrency = 100
	// notificationHold is less than the 15 seconds after which SNS considers a delivery failed. Source: SNS, HTTP
	// endpoints.
	notificationHold = 10 * time.Second
	// maxPost is the size of the largest HTTP request in bytes. A notification contains a request as a JSON string, in
	// which every byte may take two.
	maxPost = 2*wire.MaxRequest + 64<<10
)

// web is the HTTP state of a server.
type web struct {
	keys     webhookKeys
	unsigned bool
	topics   map[string]bool
	sns      *certificates
	hold     time.Duration
	room     chan struct{} // has a value for every request in progress
}

func newWeb(c ServerConfig, client *http.Client) (web, error) {
	w := web{
		unsigned: c.AllowUnsigned, topics: map[string]bool{}, sns: newCertificates(client),
		hold: max(cmp.Or(c.Hold, defaultHold), 0), room: make(chan struct{}, max(cmp.Or(c.Concurrency, defaultConcurrency), 1)),
	}
	var err error
	if w.keys, err = parseWebhookSecrets(c.WebhookSecrets); err != nil {
		return web{}, err
	}
	for _, topic := range c.Topics {
		t, err := wire.ParseToken(wire.ServiceToken(topic))
		switch {
		case err == nil && t.Service == wire.SNS && t.Region != "":
			w.topics[topic] = true
		case err == nil && t.Service == wire.Topic:
			w.topics[pushTopic(t.Account, t.Name)] = true
		default:
			return web{}, fmt.Errorf("%.100q is not a topic, want arn:aws:sns:REGION:ACCOUNT:NAME or acs:mns:REGION:ACCOUNT:topics/NAME", topic)
		}
	}
	if len(w.topics) > 0 {
		if w.sns.endpoint, err = snsEndpoint(c.SNSEndpoint); err != nil {
			return web{}, err
		}
	}
	return w, nil
}

// closed reports whether every HTTP request would be rejected.
func (w *web) closed() bool { return len(w.keys) == 0 && len(w.topics) == 0 && !w.unsigned }

// ServeHTTP takes a request from Pintle, signed by the Standard Webhooks specification, or a notification of SNS that
// contains a request. If there is an answer within [ServerConfig.Hold], it is the body of the reply. Otherwise the reply
// is 202 and the answer goes to the response URL. Answers for SNS, and for requests that [ServerConfig.Waiter] takes
// over, always go to the response URL. A request that is not signed by a known secret, or is not from an allowed topic,
// is rejected with 401 or 403. Requests of ROS also come here, signed with a SignKey or pushed by a topic of SMQ. If the
// client disconnects, the request continues.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this is a provider of custom resources: it takes POST", http.StatusMethodNotAllowed)
		return
	}
	if s.web.unsigned && (r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "") {
		http.Error(w, "requests that are not signed are not taken from a browser: any page could send them", http.StatusForbidden)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPost))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, fmt.Sprintf("the request is longer than %d bytes", maxPost), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the request was cut off", http.StatusBadRequest)
		return
	}
	r = r.WithContext(trace.NewContext(r.Context(), trace.Parse(r.Header.Get(trace.Header))))
	if r.Header.Get("x-amz-sns-message-type") != "" {
		s.serveSNS(w, r, body)
		return
	}
	if r.Header.Get("x-mns-signing-cert-url") != "" {
		s.servePush(w, r, body)
		return
	}
	if s.serveROS(w, r, body) {
		return
	}
	if !s.web.unsigned {
		if err := s.web.keys.verify(r.Header, body, s.clock.Now()); err != nil {
			s.log.Warn("request refused", "error", err, "from", r.RemoteAddr)
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
	}
	s.servePost(w, r, body)
}

// enter reserves a slot for a request. If none is free, it sends an error reply and returns false.
func (s *Server) enter(w http.ResponseWriter) bool {
	select {
	case s.web.room <- struct{}{}:
		return true
	default:
		w.Header().Set("Retry-After", "2")
		http.Error(w, "too many requests are being handled, come back", http.StatusServiceUnavailable)
		return false
	}
}

// servePost answers a request in its reply, or later.
func (s *Server) servePost(w http.ResponseWriter, r *http.Request, body []byte) {
	if !s.enter(w) {
		return
	}
	type result struct {
		answered
		err error
	}
	reply, gone := make(chan result), make(chan struct{})
	ctx := context.WithoutCancel(r.Context())
	s.work.Go(func() {
		defer func() { <-s.web.room }()
		a, err := s.take(ctx, delivery{text: body, deadline: s.clock.Now().Add(s.longest())})
		select {
		case reply <- result{a, err}:
			return
		case <-gone:
		}
		if err != nil {
			a.log.Error("not answered", "error", err)
			return
		}
		if a.waiting != nil {
			return
		}
		_ = s.send(ctx, a) // send logs its errors
	})
	held, stop := s.clock.WithDeadline(r.Context(), s.clock.Now().Add(s.web.hold))
	defer stop()
	select {
	case got := <-reply:
		if got.err != nil {
			got.log.Error("not answered", "error", got.err)
			var bad *wire.RequestError
			status := http.StatusServiceUnavailable // the engine retries that
			if errors.As(got.err, &bad) {
				status = http.StatusBadRequest
			}
			http.Error(w, got.err.Error(), status)
			return
		}
		if got.waiting != nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write(got.body); err != nil {
			got.log.Warn("the reply was not taken; the request will be delivered again", "error", err)
			return
		}
		s.sent(got.answered)
	case <-held.Done():
		close(gone)
		w.WriteHeader(http.StatusAccepted)
	}
}
