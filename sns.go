package pintle

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

const (
	// snsAge is the largest age of a notification: after that the response URL in it has expired.
	snsAge = 2 * time.Hour
	// maxCertificate is the size of the largest certificate that is read, in bytes. SNS certificates have about 2 KiB.
	maxCertificate = 64 << 10
	// maxCertificates is the number of cached certificates. A region uses one or two at a time.
	maxCertificates = 32
)

// snsMessage is a message that SNS posts to an HTTP endpoint. Source: SNS, HTTP/HTTPS notification JSON format.
type snsMessage struct {
	Type, MessageId, TopicArn, Message, Timestamp                    string
	Subject                                                          *string
	SignatureVersion, Signature, SigningCertURL, Token, SubscribeURL string
}

// signed returns the text that the signature covers. Source: SNS, verifying the signatures of messages.
func (m *snsMessage) signed() string {
	var b strings.Builder
	add := func(name, text string) { b.WriteString(name + "\n" + text + "\n") }
	add("Message", m.Message)
	add("MessageId", m.MessageId)
	if m.Type == "Notification" {
		if m.Subject != nil {
			add("Subject", *m.Subject)
		}
	} else {
		add("SubscribeURL", m.SubscribeURL)
	}
	add("Timestamp", m.Timestamp)
	if m.Type != "Notification" {
		add("Token", m.Token)
	}
	add("TopicArn", m.TopicArn)
	add("Type", m.Type)
	return b.String()
}

// serveSNS handles a message from SNS.
func (s *Server) serveSNS(w http.ResponseWriter, r *http.Request, body []byte) {
	if !s.enter(w) { // before the verification, which may send a request itself
		return
	}
	taken := false
	defer func() {
		if !taken {
			<-s.web.room
		}
	}()
	message, status, err := s.message(r, body)
	switch {
	case err != nil:
		s.log.Warn("SNS message refused", "error", err, "from", r.RemoteAddr)
		http.Error(w, err.Error(), status)
	case message != nil:
		taken = true
		s.serveNotification(w, r, message)
	}
}

// message verifies a message from SNS and confirms subscriptions. It returns the text of a notification, or nil for other
// messages. With an error it returns an HTTP status: 5xx if SNS should retry.
func (s *Server) message(r *http.Request, body []byte) (text []byte, status int, err error) {
	if r.Header.Get("x-amz-sns-rawdelivery") == "true" {
		return nil, http.StatusForbidden, errors.New("raw messages are not signed: turn raw message delivery off for this subscription")
	}
	var m snsMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, http.StatusBadRequest, errors.New("the message is not JSON")
	}
	if !s.web.topics[m.TopicArn] {
		return nil, http.StatusForbidden, fmt.Errorf("the topic %.200q is not allowed: add it to PINTLE_PROVIDER_TOPICS", m.TopicArn)
	}
	ctx, cancel := context.WithTimeout(r.Context(), notificationHold)
	defer cancel()
	if err := s.web.sns.verify(ctx, &m, s.clock.Now()); err != nil {
		var away *certificateError
		if errors.As(err, &away) {
			return nil, http.StatusServiceUnavailable, err
		}
		return nil, http.StatusForbidden, err
	}
	switch m.Type {
	case "Notification":
		return []byte(m.Message), 0, nil
	case "SubscriptionConfirmation":
		if err := s.web.sns.confirm(ctx, &m); err != nil {
			return nil, http.StatusServiceUnavailable, err
		}
		s.log.Info("subscription confirmed", "topic", m.TopicArn)
		return nil, 0, nil
	case "UnsubscribeConfirmation":
		s.log.Warn("the subscription was deleted; its requests no longer arrive here", "topic", m.TopicArn)
		return nil, 0, nil
	}
	return nil, http.StatusBadRequest, fmt.Errorf("the message has the unknown type %.40q", m.Type)
}

// serveNotification answers the request in a notification. If the answer arrives soon, it replies to SNS only after that,
// so that SNS delivers the notification again after a crash.
func (s *Server) serveNotification(w http.ResponseWriter, r *http.Request, text []byte) {
	done := make(chan error, 1)
	ctx := context.WithoutCancel(r.Context())
	s.work.Go(func() {
		defer func() { <-s.web.room }()
		a, err := s.take(ctx, delivery{text: text, deadline: s.clock.Now().Add(s.longest())})
		switch {
		case err == nil && a.waiting == nil:
			err = s.send(ctx, a)
		case err != nil:
			a.log.Error("not answered", "error", err)
		}
		done <- err
	})
	held, stop := s.clock.WithDeadline(r.Context(), s.clock.Now().Add(min(s.web.hold, notificationHold)))
	defer stop()
	select {
	case err := <-done:
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	case <-held.Done():
	}
}

// certificates fetches and caches the certificates of SNS and SMQ.
type certificates struct {
	client   *http.Client
	endpoint *url.URL // of an SNS other than Amazon's; nil for Amazon's
	mu       sync.Mutex
	known    map[string]*x509.Certificate
}

func newCertificates(client *http.Client) *certificates {
	return &certificates{client: client, known: map[string]*x509.Certificate{}}
}

// snsEndpoint parses the URL of an SNS other than Amazon's. It returns nil for an empty URL.
func snsEndpoint(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("the endpoint of SNS is not an http(s) URL, or has a user") // not quoted: it may contain a password
	}
	return u, nil
}

// snsHost matches the hosts of SNS, which also serve its certificates. Anyone can own a bucket whose host ends in
// amazonaws.com, so no prefix is allowed.
var snsHost = regexp.MustCompile(`^sns\.([a-z]{2}(?:-[a-z]+)+-[0-9]{1,2})\.amazonaws\.(?:com|com\.cn|eu)$`)

// snsURL checks and returns a URL of SNS in the region of a topic, or below the endpoint.
func (c *certificates) snsURL(text, topic string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil && c.endpoint != nil && u.Scheme == c.endpoint.Scheme && u.Host == c.endpoint.Host && u.User == nil && u.Opaque == "" &&
		strings.HasPrefix(u.Path, strings.TrimSuffix(c.endpoint.Path, "/")+"/") {
		return u, nil
	}
	if err != nil || u.Scheme != "https" || u.User != nil || u.Opaque != "" {
		return nil, errors.New("it is not an https URL of SNS")
	}
	host := snsHost.FindStringSubmatch(u.Host)
	token, err := wire.ParseToken(wire.ServiceToken(topic))
	if host == nil || err != nil || host[1] != token.Region {
		return nil, errors.New("it is not that of SNS in the region of the topic")
	}
	return u, nil
}

// certificateError is the error of a certificate that could not be fetched. A later attempt may succeed.
type certificateError struct {
	of  string // the service that the certificate belongs to
	err error
}

func (e *certificateError) Error() string {
	return "get the certificate of " + e.of + ": " + e.err.Error()
}
func (e *certificateError) Unwrap() error { return e.err }

// verify checks the signer and the time of a message.
func (c *certificates) verify(ctx context.Context, m *snsMessage, now time.Time) error {
	at, err := time.Parse(time.RFC3339, m.Timestamp)
	if err != nil || now.Sub(at) > snsAge || at.Sub(now) > webhookAge {
		return errors.New("the Timestamp of the message is missing, too old, or ahead: is the clock right?")
	}
	hash, sum := crypto.SHA1, []byte(nil)
	switch m.SignatureVersion {
	case "1":
		digest := sha1.Sum([]byte(m.signed()))
		sum = digest[:]
	case "2":
		digest := sha256.Sum256([]byte(m.signed()))
		hash, sum = crypto.SHA256, digest[:]
	default:
		return fmt.Errorf("the SignatureVersion %.20q is not known", m.SignatureVersion)
	}
	signature, err := base64.StdEncoding.DecodeString(m.Signature)
	if err != nil {
		return errors.New("the Signature of the message is not base64")
	}
	certificate, err := c.get(ctx, m)
	if err != nil {
		return err
	}
	if now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
		return errors.New("the certificate of the message is not valid now")
	}
	key, ok := certificate.PublicKey.(*rsa.PublicKey)
	if !ok || rsa.VerifyPKCS1v15(key, hash, sum, signature) != nil {
		return errors.New("the Signature of the message does not fit")
	}
	return nil
}

func (c *certificates) get(ctx context.Context, m *snsMessage) (*x509.Certificate, error) {
	u, err := c.snsURL(m.SigningCertURL, m.TopicArn)
	if err != nil {
		return nil, fmt.Errorf("the SigningCertURL of the message is refused: %w", err)
	}
	if !strings.HasSuffix(u.Path, ".pem") || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the SigningCertURL of the message is refused: it names no certificate")
	}
	return c.at(ctx, u, "SNS")
}

// at returns the certificate at a URL that has been checked.
func (c *certificates) at(ctx context.Context, u *url.URL, of string) (*x509.Certificate, error) {
	c.mu.Lock()
	known := c.known[u.String()]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	text, err := c.fetch(ctx, u)
	if err != nil {
		return nil, &certificateError{of, err}
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, &certificateError{of, errors.New("it is not a certificate")}
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, &certificateError{of, err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCertificates {
		clear(c.known)
	}
	c.known[u.String()] = certificate
	return certificate, nil
}

// fetch gets a URL of SNS. TLS proves the identity of the server.
func (c *certificates) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxCertificate))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return text, nil
}

// root returns the path of SNS at a URL that snsURL has returned.
func (c *certificates) root(u *url.URL) string {
	if c.endpoint != nil && u.Host == c.endpoint.Host && u.Scheme == c.endpoint.Scheme {
		return strings.TrimSuffix(c.endpoint.Path, "/") + "/"
	}
	return "/"
}

// confirm confirms a subscription. It builds the URL from the topic and the token and does not take it from the message.
func (c *certificates) confirm(ctx context.Context, m *snsMessage) error {
	u, err := c.snsURL(m.SubscribeURL, m.TopicArn)
	if err != nil {
		return fmt.Errorf("the SubscribeURL of the message is refused: %w", err)
	}
	query := url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {m.TopicArn}, "Token": {m.Token}}
	if _, err := c.fetch(ctx, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: c.root(u), RawQuery: query.Encode()}); err != nil {
		return fmt.Errorf("confirm the subscription to %s: %w", m.TopicArn, err)
	}
	return nil
}
