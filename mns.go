package pintle

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// mnsWait is how long SMQ holds a receive call while the queue is empty. Source: SMQ, ReceiveMessage,
	// waitseconds, at most 30.
	mnsWait = 30 * time.Second
	// mnsVersion is the version of the API. Source: SMQ, common parameters.
	mnsVersion = "2015-06-06"
	// maxMNSReply is the size of the largest reply in bytes. A message has at most 64 KiB, and XML escaping adds to
	// that.
	maxMNSReply = 1 << 20
)

// mnsQueue is a client of one queue of SMQ, formerly MNS.
type mnsQueue struct {
	base        *url.URL // of the queue, /queues/NAME
	client      *http.Client
	credentials func(context.Context) (ROSCredentials, error)
	clock       clock.Clock
}

// mnsMessage is a received message. Its receipt is valid until the message is deleted or its visibility timeout
// expires.
type mnsMessage struct {
	MessageID    string `xml:"MessageId"`
	Receipt      string `xml:"ReceiptHandle"`
	Body         string `xml:"MessageBody"`
	DequeueCount int
}

// mnsError is the reply of SMQ to a call that it refuses.
type mnsError struct {
	status  int
	Code    string
	Message string
}

func (e *mnsError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%d %s: %s", e.status, e.Code, e.Message), ": ")
}

// parseQueueURL requires https, except for a loopback address, because messages contain response URLs.
func parseQueueURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the queue is not a URL like https://ACCOUNT.mns.REGION.aliyuncs.com/queues/NAME")
	}
	name, ok := strings.CutPrefix(u.Path, "/queues/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("the URL of the queue ends in %.100q, want /queues/NAME", u.Path)
	}
	address := net.ParseIP(u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || address == nil || !address.IsLoopback()) {
		return nil, errors.New("the URL of the queue must begin with https://")
	}
	return u, nil
}

func newMNSQueue(address string, credentials func(context.Context) (ROSCredentials, error), clock clock.Clock) (*mnsQueue, error) {
	base, err := parseQueueURL(address)
	if err != nil {
		return nil, err
	}
	return &mnsQueue{base: base, credentials: credentials, clock: clock, client: &http.Client{
		Timeout: mnsWait + 15*time.Second,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 10,
			IdleConnTimeout:     time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// receive waits for a message. It returns nil if none arrived.
func (q *mnsQueue) receive(ctx context.Context) (*mnsMessage, error) {
	var m mnsMessage
	err := q.do(ctx, http.MethodGet, url.Values{"waitseconds": {strconv.Itoa(int(mnsWait / time.Second))}}, &m)
	var refused *mnsError
	switch {
	case errors.As(err, &refused) && refused.Code == "MessageNotExist":
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("receive from the queue: %w", err)
	case m.Receipt == "":
		return nil, errors.New("receive from the queue: the message has no ReceiptHandle")
	}
	return &m, nil
}

// hide makes a message invisible to other consumers for a time. That changes its receipt.
func (q *mnsQueue) hide(ctx context.Context, m *mnsMessage, d time.Duration) error {
	var changed struct {
		Receipt string `xml:"ReceiptHandle"`
	}
	query := url.Values{"ReceiptHandle": {m.Receipt}, "VisibilityTimeout": {strconv.Itoa(int(d / time.Second))}}
	if err := q.do(ctx, http.MethodPut, query, &changed); err != nil {
		return fmt.Errorf("keep the message: %w", err)
	}
	m.Receipt = cmp.Or(changed.Receipt, m.Receipt)
	return nil
}

func (q *mnsQueue) delete(ctx context.Context, m *mnsMessage) error {
	if err := q.do(ctx, http.MethodDelete, url.Values{"ReceiptHandle": {m.Receipt}}, nil); err != nil {
		return fmt.Errorf("delete the message: %w", err)
	}
	return nil
}

// do calls the API and decodes the reply into v, unless v is nil.
func (q *mnsQueue) do(ctx context.Context, method string, query url.Values, v any) error {
	u := q.base.JoinPath("messages")
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return err
	}
	c, err := q.credentials(ctx)
	if err != nil {
		return err
	}
	signMNS(request, c, q.clock.Now())
	response, err := q.client.Do(request)
	if err != nil {
		return withoutURL(err) // the URL contains the receipt
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMNSReply))
	if err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		refused := &mnsError{status: response.StatusCode}
		_ = xml.Unmarshal(body, refused) // the status is enough
		refused.Code, refused.Message = wire.CleanText(refused.Code), wire.CleanText(refused.Message)
		return refused
	}
	if v == nil {
		return nil
	}
	if err := xml.Unmarshal(body, v); err != nil {
		return errors.New("the reply is not XML")
	}
	return nil
}

// signMNS signs a request without a body. Source: SMQ, sign requests.
func signMNS(r *http.Request, c ROSCredentials, at time.Time) {
	r.Header.Set("Date", at.UTC().Format(http.TimeFormat))
	r.Header.Set("Content-Type", "application/xml")
	r.Header.Set("x-mns-version", mnsVersion)
	if !c.SecurityToken.IsZero() {
		r.Header.Set("security-token", c.SecurityToken.Reveal())
	}
	mac := hmac.New(sha1.New, []byte(c.Secret.Reveal()))
	mac.Write([]byte(mnsText(r)))
	r.Header.Set("Authorization", "MNS "+c.KeyID+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// mnsText returns the text that the signature of a request covers.
func mnsText(r *http.Request) string {
	var headers []string
	for name, values := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-mns-") {
			headers = append(headers, name+":"+values[0])
		}
	}
	slices.Sort(headers)
	lines := []string{r.Method, r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"), r.Header.Get("Date")}
	return strings.Join(append(append(lines, headers...), r.URL.RequestURI()), "\n")
}
