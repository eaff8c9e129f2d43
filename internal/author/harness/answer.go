package harness

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/wire"
)

// newSigner returns a signer of CloudFormation response URLs below base.
func newSigner(base *url.URL) (*responseurl.Signer, error) {
	return responseurl.NewSigner(responseurl.SignerConfig{KeyID: "AKIATRIAL", Secret: rand.Text(), Bases: []*url.URL{base}})
}

// address makes the response URLs of an exchange.
func (s *Session) address(e *exchange) (err error) {
	r := &e.order.Request
	if r.Dialect == wire.ROS {
		s.addressROS(e)
		return nil
	}
	if r.ResponseURL, err = s.signer.Sign(s.responses(), responseurl.KeyOf(*r), time.Now(), responseurl.SignOptions{}); err != nil {
		return fmt.Errorf("response URL: %w", err)
	}
	u, err := url.Parse(r.ResponseURL)
	if err != nil {
		return fmt.Errorf("response URL: %w", err)
	}
	e.signature = u.Query().Get("X-Amz-Signature")
	return nil
}

// addressROS makes those of ROS, in the form that the engine's have. No one signs anything: the signature is a password for
// this one request.
func (s *Session) addressROS(e *exchange) {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails
	e.signature = hex.EncodeToString(random[:])
	r := &e.order.Request
	query := url.Values{
		"stackname": {r.StackName}, "stackid": {string(r.StackID)},
		"resource": {string(r.LogicalResourceID)}, "requestid": {string(r.RequestID)},
		"expire": {strconv.FormatInt(time.Now().Add(e.order.Timeout+lastWords).Unix(), 10)}, "signature": {e.signature},
	}
	u := *s.base
	u.Path, u.RawQuery = strings.TrimSuffix(u.Path, "/")+rosPath, query.Encode()
	r.ResponseURL = u.String()
	r.IntranetResponseURL = r.ResponseURL
}

const rosPath = "/ros/response"

// refusal is the reply to an answer that is not accepted.
type refusal struct {
	status        int
	code, message string
	access        error // of CloudFormation, which says the same in XML
}

// maxDrained is how much is read of an answer that is too long.
const maxDrained = 64 << 20

// ServeHTTP accepts an answer, as an engine's response URL does, and records all other requests. It also serves the certificate
// of notifications.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, strings.TrimSuffix(s.base.Path, "/")+notification.CertificatePath) {
		s.notifications.Certificate().ServeHTTP(w, r)
		return
	}
	e := s.meant(r)
	refused := s.admit(e, r)
	body, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxResponse+1))
	if err == nil { // a sender that is cut off gets an error here, but not from S3
		_, err = io.CopyN(io.Discard, r.Body, maxDrained)
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if err != nil && refused == nil {
		refused = &refusal{status: http.StatusBadRequest, code: "IncompleteBody", message: "the body ended early"}
	}
	attempt := Attempt{
		Method: r.Method, Header: r.Header.Clone(), Length: r.ContentLength, Body: body, Status: http.StatusOK, At: time.Now(),
	}
	if len(r.TransferEncoding) > 0 {
		attempt.Header["Transfer-Encoding"] = r.TransferEncoding
	}
	if e != nil {
		attempt.Intact = intact(e.order.Request.ResponseURL, r)
		if refused == nil && e.busy() {
			refused = &refusal{status: http.StatusServiceUnavailable, code: "SlowDown", message: "Please reduce your request rate."}
		}
	}
	if refused != nil {
		attempt.Status = refused.status
	}
	s.note(e, attempt)
	switch {
	case refused != nil:
		refused.write(w, e != nil && e.order.Request.Dialect == wire.ROS || strings.HasSuffix(r.URL.Path, rosPath))
	case e.order.Request.Dialect == wire.ROS:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}\n") // the status suffices if the client does not read it
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// meant returns the exchange that an attempt belongs to, or nil if that is unknown.
func (s *Session) meant(r *http.Request) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, e := range s.exchange {
		if strings.Contains(r.RequestURI, url.QueryEscape(string(id))) {
			return e
		}
	}
	var alone *exchange // whose URL was spoilt may still be clear
	for _, e := range s.exchange {
		e.mu.Lock()
		over := e.over
		e.mu.Unlock()
		if over {
			continue
		}
		if alone != nil {
			return nil
		}
		alone = e
	}
	return alone
}

// admit makes the checks of an engine before it reads the body.
func (s *Session) admit(e *exchange, r *http.Request) *refusal {
	if e != nil && e.order.Request.Dialect == wire.ROS || e == nil && strings.HasSuffix(r.URL.Path, rosPath) {
		given := r.URL.Query().Get("signature")
		switch {
		case r.Method != http.MethodPost:
			return &refusal{
				status: http.StatusMethodNotAllowed, code: "MethodNotAllowed", message: "ROS accepts answers with POST, unlike CloudFormation",
			}
		case e == nil || !strings.HasSuffix(r.URL.Path, rosPath) || subtle.ConstantTimeCompare([]byte(given), []byte(e.signature)) != 1:
			return &refusal{
				status: http.StatusForbidden, code: "SignatureDoesNotMatch", message: "this is not the response URL of the request",
			}
		}
		return nil
	}
	if r.Method != http.MethodPut {
		return &refusal{status: http.StatusMethodNotAllowed, code: "MethodNotAllowed", message: "MethodNotAllowed"}
	}
	key, err := s.signer.Verify(r, time.Now())
	if err == nil && (e == nil || key != responseurl.KeyOf(e.order.Request)) {
		err = &responseurl.AccessError{Code: "NoSuchKey", Message: "The specified key does not exist."}
	}
	switch {
	case err != nil:
		return &refusal{status: http.StatusForbidden, access: err}
	case r.ContentLength == 0 && r.Header.Get("Content-Length") == "":
		return &refusal{status: http.StatusLengthRequired, message: "MissingContentLength"}
	}
	return nil
}

func (r *refusal) write(w http.ResponseWriter, ros bool) {
	switch {
	case r.access != nil:
		responseurl.WriteError(w, r.access)
	case ros:
		if r.status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", http.MethodPost)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(r.status)
		_ = json.NewEncoder(w).Encode(map[string]string{"Code": r.code, "Message": r.message}) // the status suffices if the client does not read it
	default:
		http.Error(w, r.message, r.status)
	}
}

// intact reports whether a request has the path and the query of its URL, letter by letter.
func intact(responseURL string, r *http.Request) bool {
	_, rest, _ := strings.Cut(responseURL, "://")
	at := strings.IndexByte(rest, '/')
	return at >= 0 && rest[at:] == r.RequestURI
}

// busy counts the attempts that get 503.
func (e *exchange) busy() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.order.Unavailable == 0 {
		return false
	}
	e.order.Unavailable--
	return true
}

// note keeps an attempt, and takes it as the answer if it is the first good one.
func (s *Session) note(e *exchange, a Attempt) {
	if e == nil {
		s.stray("", a)
		return
	}
	e.mu.Lock()
	if len(e.attempts) < maxAttempts {
		e.attempts = append(e.attempts, a)
	}
	first := false
	if a.Status == http.StatusOK {
		e.accepted++
		first = e.accepted == 1
	}
	over := e.over
	e.mu.Unlock()
	if over {
		s.stray(e.order.Request.RequestID, a)
	}
	if first { // the announced length counts unless the body is longer
		e.answers <- answer{a.Body, max(int(a.Length), len(a.Body)), a.At}
	}
}

func (s *Session) stray(id wire.RequestID, a Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.strays) < maxAttempts {
		s.strays = append(s.strays, Stray{id, a})
	}
}

// answers returns how many attempts of a request were taken.
func (s *Session) answers(id wire.RequestID) int {
	e := s.find(id)
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.accepted
}

// reply accepts an answer in the HTTP response to our POST.
func (s *Session) reply(e *exchange, r *http.Response, body []byte) {
	s.note(e, Attempt{
		Intact: true, Header: r.Header.Clone(), Length: r.ContentLength, Body: body[:min(len(body), wire.MaxResponse+1)],
		Status: http.StatusOK, At: time.Now(),
	})
}
