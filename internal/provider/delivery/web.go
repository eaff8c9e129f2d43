package delivery

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/base/guard"
	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// MaxAnswer is how many bytes of an answer in a response body are read: one more than the limit of an answer.
const MaxAnswer = wire.MaxResponse + 1

const (
	// maxRefusal limits how much of an error body is read. It is much more than the text shows, so that secrets are
	// read, and masked, as a whole.
	maxRefusal = 64 << 10
	shown      = 200 // bytes of it that errors show
)

// idleConns is the number of idle connections to keep per provider. It equals the number of concurrent sends, so that
// connections are reused under load.
const idleConns = DefaultSends

// web sends requests to providers behind URLs.
type web struct {
	now           func() time.Time
	open, guarded *http.Client
}

func newWeb(now func() time.Time) *web {
	client := func(private bool) *http.Client {
		transport := guard.Transport(private)
		transport.ForceAttemptHTTP2 = true
		transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 2*idleConns, idleConns
		return &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return &web{now: now, open: client(true), guarded: client(false)}
}

func (w *web) close() {
	w.open.CloseIdleConnections()
	w.guarded.CloseIdleConnections()
}

// sendWeb sends the request document to a URL. A trusted URL may be in a private network.
func (rt *router) sendWeb(soft, hard context.Context, s *send, hide *redactor, target string, trusted bool) Outcome {
	r := s.request
	body, p, err := rt.newPost(s, hide, target, trusted)
	if err != nil {
		return Refused{Text: hide.text(err.Error())}
	}
	body = rt.posted(r, body)
	p.make = func(now time.Time) ([]byte, http.Header, error) {
		header := http.Header{"Content-Type": {"application/json"}}
		SignWebhook(header, rt.config.WebhookSecret, string(r.ID), now, body)
		return body, header, nil
	}
	p.taken = post.takenOrAnswered
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult { return rt.web.post(ctx, p) })
}

// newPost returns the document of a request and the post that sends it to a URL. The caller sets make and taken. The
// error may contain secrets of the request.
func (rt *router) newPost(s *send, hide *redactor, target string, trusted bool) ([]byte, post, error) {
	r := s.request
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" {
		// The parser's error would repeat the URL, which may contain a password.
		return nil, post{}, errors.New("the service token is not a valid http(s) URL")
	}
	body, responseURL, err := rt.document(r)
	if err != nil {
		return nil, post{}, err
	}
	p := post{
		client:   rt.web.guarded,
		url:      u,
		loopback: onLoopback(responseURL),
		hide:     hide,
		trace:    trace.Parse(r.Body.Trace),
		limit:    wire.MaxResponse,
	}
	if isROS(r) {
		p.limit, p.sized = rt.config.ROSResponse, true
	}
	if token, ok := r.Body.Properties.Get("ServiceToken"); ok {
		p.secret = token.Secret()
	}
	p.silence = func() string {
		switch {
		case isROS(r):
			return fmt.Sprintf("%s: no response within %s", p.name(), r.Body.Timeout)
		case rt.config.FidelityAWS:
			return statusreason.TimedOut(r.ID)
		}
		return statusreason.TimedOut(r.ID) + fmt.Sprintf(" (%s: no response within %s)", p.name(), r.Body.Timeout)
	}
	if trusted {
		p.client = rt.web.open
	}
	return body, p, nil
}

// posted returns the body for a webhook. For an event of a stack, it is an unsigned SNS notification document.
func (rt *router) posted(r store.Request, message []byte) []byte {
	if r.Type != store.TypeNotification || isROS(r) {
		return message
	}
	body, err := json.Marshal(struct{ Type, MessageId, TopicArn, Subject, Message, Timestamp string }{
		"Notification", string(r.ID), r.Body.Token.Text(), subject(r), string(message),
		rt.config.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	})
	if err != nil {
		panic(err) // strings always marshal
	}
	return body
}

// post is one request to a URL.
type post struct {
	client   *http.Client
	url      *url.URL
	loopback bool          // only this machine can reach the response URL
	secret   bool          // the URL is secret
	silence  func() string // the text for a provider that never responded
	hide     *redactor
	// make returns the body and the headers, signed at the given time. Its error is final: the request is refused with
	// it.
	make func(now time.Time) (body []byte, header http.Header, err error)
	// taken returns the result of a response with a 2xx status. here means that the response came from this machine.
	taken func(p post, ctx context.Context, response *http.Response, here bool) attemptResult
	// once means that a request which may have reached the provider is not sent again.
	once bool
	// limit is the maximum size of an answer in the response, in bytes.
	limit int
	// sized adds the size to an answer that is too long, as ROS requires.
	sized bool
	// trace is sent with the request. It may be empty.
	trace trace.Parent
}

// name returns the URL in a form that may be shown. It omits the query and the user, which may contain keys. A URL from
// a NoEcho parameter is masked completely.
func (p post) name() string {
	if p.secret {
		return "POST " + value.Mask
	}
	return "POST " + (&url.URL{Scheme: p.url.Scheme, Host: p.url.Host, Path: p.url.Path}).String()
}

func (w *web) post(ctx context.Context, p post) attemptResult {
	var written, here atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(info httptrace.GotConnInfo) { here.Store(sameMachine(info.Conn)) },
		WroteHeaders: func() { written.Store(true) },
	})
	body, header, err := p.make(w.now())
	if err != nil {
		return refused(p.hide.text(err.Error()))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), bytes.NewReader(body))
	if err != nil {
		return refused("the service token is not a valid http(s) URL")
	}
	request.Header = header
	if p.once {
		request.GetBody = nil // otherwise the client itself retries when a resource header is an Idempotency-Key
	}
	if p.trace != "" && header.Get(trace.Header) == "" {
		header.Set(trace.Header, string(p.trace))
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "pintle")
	}
	response, err := p.client.Do(request)
	if err != nil {
		return p.broken(ctx, err, written.Load())
	}
	defer response.Body.Close()

	status := response.StatusCode
	switch {
	case status >= 200 && status <= 299:
		return p.taken(p, ctx, response, here.Load())
	case status >= 300 && status <= 399:
		return attemptResult{delivered: true, outcome: Refused{Text: p.hide.text(fmt.Sprintf(
			"%s: %s, and redirects are not followed: use the target URL", p.name(), statusText(response)))}}
	}
	why, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // a partial body is enough, the status is known
	text := p.hide.text(p.name() + ": " + statusText(response))
	if why := p.hide.excerpt(string(why), shown); why != "" {
		text += ": " + why
	}
	if (status == http.StatusTooManyRequests || status >= 500) && !p.once {
		return attemptResult{text: text, delivered: true, wait: retryAfter(response)}
	}
	return attemptResult{delivered: true, outcome: Refused{Text: text}}
}

// takenOrAnswered uses the body of a response as the answer if it is one. Otherwise the answer comes through the
// response URL.
func (p post) takenOrAnswered(ctx context.Context, response *http.Response, here bool) attemptResult {
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(p.limit)+1))
	switch {
	case IsAnswer(body, p.limit):
		return attemptResult{outcome: p.answered(body, response)}
	case err != nil:
		// The body may have contained the answer, and it cannot be fetched again.
		return p.broken(ctx, err, true)
	case waitsIn(body):
		return attemptResult{delivered: true, outcome: Refused{Text: p.hide.text(p.name() + ": the reply is a pintleWaiting, which only a " +
			"process of this server's may return: reply 202, and answer at the ResponseURL when it is done")}}
	}
	return p.accepted(here)
}

// answered returns the answer. body may be truncated.
func (p post) answered(body []byte, response *http.Response) Answered {
	if !p.sized || len(body) <= p.limit {
		return Answered{Body: body}
	}
	return Answered{Body: body, Size: int(max(response.ContentLength, int64(len(body))))} // -1 if the sender gave no length
}

// accepted returns Accepted, or Refused if the provider cannot reach the response URL.
func (p post) accepted(here bool) attemptResult {
	if p.loopback && !here {
		return attemptResult{delivered: true, outcome: Refused{Text: p.hide.text(fmt.Sprintf(
			"%s: the provider took the request and did not answer in its response, and it cannot reach the "+
				"response URL, which is on loopback: start with --public-url", p.name()))}}
	}
	return attemptResult{outcome: Accepted{Once: p.once}}
}

// broken returns the result for a failed connection.
func (p post) broken(ctx context.Context, err error, written bool) attemptResult {
	var forbidden *guard.AddressError
	var certificate *tls.CertificateVerificationError
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL
	}
	switch {
	case errors.As(err, &forbidden), errors.As(err, &certificate), errors.Is(err, http.ErrSchemeMismatch):
		return refused(p.hide.text(p.name() + ": " + err.Error()))
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && written:
		// The provider got the request and did not respond, which has a text of its own.
		return attemptResult{delivered: true, outcome: Refused{Text: p.hide.text(p.silence())}}
	}
	text := p.hide.text(p.name() + ": " + err.Error())
	switch {
	case written && p.once && errors.Is(ctx.Err(), context.Canceled):
		// This node is stopping. The answer may come through the response URL, and the request must not be sent again.
		return attemptResult{outcome: Accepted{Once: true}}
	case written && p.once:
		return attemptResult{delivered: true, outcome: Refused{Text: text + ", and the provider may have got the request, which is not sent again: " +
			"a Create is only if the service token says idempotent, as in web[idempotent]:URL"}}
	}
	return attemptResult{text: text, delivered: written}
}

// IsAnswer reports whether a body is a response document: a JSON object with a Status. A truncated JSON object counts
// as one, because a reply of that size is meant as an answer.
func IsAnswer(body []byte, limit int) bool {
	cut := len(body) > limit
	body = bytes.Trim(bytes.TrimPrefix(body, []byte("\uFEFF")), " \t\r\n")
	if len(body) == 0 || body[0] != '{' {
		return false
	}
	if cut {
		return true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return false
	}
	_, ok := fields["Status"]
	return ok
}

// waitsIn reports whether a body asks to wait for the request. Such a request would never be polled.
func waitsIn(body []byte) bool {
	_, waits, _ := wire.ParseWaiting(body)
	return waits
}

// statusText returns the status code with Go's text for it, because a server can send any text.
func statusText(r *http.Response) string {
	return strings.TrimSpace(strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode))
}

// retryAfter reads Retry-After in seconds. It ignores dates, because the other side's clock may be wrong.
func retryAfter(r *http.Response) time.Duration {
	seconds, err := strconv.ParseUint(r.Header.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
