package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

// sender sends responses to response URLs: by PUT to CloudFormation, by POST to ROS. Its errors and log lines never
// contain such a URL.
type sender struct {
	client  *http.Client
	clock   clock.Clock
	tries   int           // at least 1
	backoff time.Duration // the longest pause before the second try; it doubles with each try
}

const maxBackoff = 5 * time.Second

func newSender(client *http.Client, clock clock.Clock) sender {
	if client == nil {
		client = &http.Client{
			Timeout: 10 * time.Second, // for each try
			Transport: &http.Transport{
				Proxy:               http.ProxyFromEnvironment,
				DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
				TLSHandshakeTimeout: 5 * time.Second,
				IdleConnTimeout:     30 * time.Second,
				ForceAttemptHTTP2:   true,
			},
		}
	}
	// A redirected PUT can become a GET, whose success does not mean that the answer arrived.
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return sender{client: &own, clock: clock, tries: 8, backoff: 200 * time.Millisecond}
}

// send sends the body. It retries connection errors, 429 and 5xx after a random pause, until it runs out of tries or the
// context ends. Any other status except 2xx is an error immediately.
func (s sender) send(ctx context.Context, to wire.Dialect, responseURL string, body []byte, log *slog.Logger) error {
	target, err := url.Parse(responseURL)
	if responseURL == "" {
		return errors.New("send response: the request has no response URL")
	}
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return errors.New("send response: the response URL is not an http or https URL")
	}
	for try := 1; ; try++ {
		again, err := s.try(ctx, to, responseURL, body)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("send response to %s, try %d: %w", target.Host, try, err)
		if !again || try >= s.tries || ctx.Err() != nil {
			return err
		}
		pause := rand.N(min(s.backoff<<(try-1), maxBackoff))
		log.Warn("response did not arrive, trying again", "error", err, "pause", pause)
		if s.clock.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// try sends the body once. The path of the URL is sent unchanged: it is signed, and S3 does not accept another encoding.
func (s sender) try(ctx context.Context, to wire.Dialect, responseURL string, body []byte) (again bool, err error) {
	method := http.MethodPut
	if to == wire.ROS {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, responseURL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the response URL cannot be read")
	}
	switch to {
	case wire.CloudFormation:
		// Old response URLs are signed for an empty content type, so the header must be present and empty.
		request.Header["Content-Type"] = []string{""}
	case wire.ROS:
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json")
		request.Header.Set("Date", s.clock.Now().UTC().Format(http.TimeFormat))
	}
	response, err := s.client.Do(request)
	if err != nil {
		return true, withoutURL(err)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 2<<10)) // for the error text only
	if response.StatusCode >= 200 && response.StatusCode <= 299 {
		return false, nil
	}
	again = response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500
	return again, errors.New(strings.TrimSpace(response.Status + " " + refusal(to, answer)))
}

// withoutURL returns an error of net/http without the URL.
func withoutURL(err error) error {
	var with *url.Error
	if errors.As(err, &with) {
		err = with.Err
	}
	if text := err.Error(); wire.Redact(text) != text {
		return errors.New(wire.Redact(text))
	}
	return err
}

// refusal returns the error message of a service that refuses an answer.
func refusal(by wire.Dialect, body []byte) string {
	if by == wire.ROS {
		return rosError(body)
	}
	return s3Error(body)
}

// rosError returns the code and message of an error document of Alibaba Cloud, or "" for any other text.
func rosError(body []byte) string {
	var doc struct{ Code, Message string }
	if json.Unmarshal(body, &doc) != nil || doc.Code == "" && doc.Message == "" {
		return ""
	}
	return wire.CleanText(wire.Redact(doc.Code + ": " + doc.Message))
}

// s3Error returns the code and message of an error document of S3, or "" for any other text.
func s3Error(body []byte) string {
	var doc struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}
	if xml.Unmarshal(body, &doc) != nil {
		return ""
	}
	return wire.CleanText(wire.Redact(doc.Code + ": " + doc.Message))
}
