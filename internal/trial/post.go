package trial

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

	"github.com/pintle-dev/pintle/internal/delivery"
	"github.com/pintle-dev/pintle/wire"
)

// maxRefusal bounds what is read of a reply that is no answer.
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
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(message))
	if err != nil {
		return errors.New("the target is not a valid URL")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "pintle")
	if secret := s.config.WebhookSecret; secret != "" {
		key := []byte(secret)
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return errors.New("the webhook secret is not base64 after whsec_")
			}
		}
		delivery.SignWebhook(request.Header, key, string(e.order.Request.RequestID), time.Now(), message)
	}
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
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusal+1))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		text := e.scrub(strings.TrimSpace(string(body[:min(len(body), maxRefusal)])))
		err := fmt.Errorf("POST %s: %s: %s", shown, response.Status, text)
		if response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable {
			return &busyError{err}
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("POST %s: the reply broke off: %w", shown, err)
	}
	switch {
	case delivery.IsAnswer(body, wire.MaxResponse):
		s.reply(e, response, body)
	case unheard:
		return fmt.Errorf("POST %s: the provider took the request and did not answer in its response, and it cannot reach the response "+
			"URL, which is on loopback: check takes --listen and --public-url", shown)
	}
	return nil
}
