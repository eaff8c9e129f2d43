package harness

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/wire"
)

// maxRefusal is the number of bytes read of a reply that is not an answer.
const maxRefusal = 4 << 10

// busyError is that of a URL that wants the request at another time.
type busyError struct{ error }

// post sends the request to a URL.
func (s *Session) post(ctx context.Context, e *exchange, message []byte) error {
	target := s.config.Provider.Target.Path()
	u, err := url.Parse(target)
	if err != nil {
		return errors.New("the target is not a valid URL")
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	body, header, err := s.posted(ctx, e, message)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return errors.New("the target is not a valid URL")
	}
	request.Header = header
	transport := &http.Transport{ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var unheard bool // in the response to this very request alone
	request = request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		unheard = delivery.OutOfReach(e.order.Request.ResponseURL, c.Conn)
	}}))
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL, which may hold a password
		}
		return fmt.Errorf("POST %s: %w", shown, err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxRefusal+1))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		text := e.redact(strings.TrimSpace(string(body[:min(len(body), maxRefusal)])))
		err := fmt.Errorf("POST %s: %s: %s", shown, response.Status, text)
		if response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable {
			return &busyError{err}
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("POST %s: the reply was cut off: %w", shown, err)
	}
	answered := delivery.IsAnswer(body, wire.MaxResponse)
	switch {
	case answered && e.order.SNS:
		return fmt.Errorf("POST %s: the reply is a response document, which SNS ignores: PUT it to the ResponseURL", shown)
	case answered:
		s.reply(e, response, body)
	case unheard:
		return fmt.Errorf("POST %s: the provider accepted the request and did not answer in its response, and it cannot reach the response "+
			"URL, which is on loopback: use --listen and --public-url with check", shown)
	}
	return nil
}

// posted returns the body and headers for a URL: a notification of SNS, or the request document as a webhook.
func (s *Session) posted(ctx context.Context, e *exchange, message []byte) ([]byte, http.Header, error) {
	request := e.order.Request
	if e.order.SNS {
		return s.notifications.Post(ctx, string(request.ServiceToken), string(request.RequestID), snsSubject, string(message))
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"pintle"}}
	if secret := s.config.WebhookSecret; secret != "" {
		key := []byte(secret)
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return nil, nil, errors.New("the webhook secret is not base64 after whsec_")
			}
		}
		delivery.SignWebhook(header, key, string(request.RequestID), time.Now(), message)
	}
	return message, header, nil
}

// snsSubject is the subject of the notifications that carry requests.
const snsSubject = "AWS CloudFormation custom resource request"
