package delivery

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// The content types that HttpConfig allows. Source: resource schema of ROS, HttpConfig.
const (
	contentJSON = "application/json"
	contentForm = "application/x-www-form-urlencoded"
)

// maxConfigHeaders limits the size of an HttpConfig's headers in bytes, to the usual limit of servers.
const maxConfigHeaders = 32 << 10

// sendWebROS sends a ROS request to the URL in its service token, as HttpConfig specifies.
func (rt *router) sendWebROS(soft, hard context.Context, s *send, hide *redactor, token wire.Token) Outcome {
	own := *s.request.Body
	own.Timeout = patience(token, own.Timeout)
	s.request.Body = &own
	r := s.request
	config, err := readHTTPConfig(r.Body.HTTPConfig)
	if err != nil {
		return Refused{Text: hide.text(err.Error())}
	}
	document, responseURL, err := rt.document(r)
	if err != nil {
		return Refused{Text: hide.text(err.Error())}
	}
	_, address, _ := strings.Cut(string(token.Text), ":") // no option has a colon
	p := post{
		client:   rt.web.guarded,
		url:      token.URL,
		loopback: onLoopback(responseURL),
		secret:   r.Body.Token.Secret(),
		hide:     hide,
		trace:    trace.Parse(r.Body.Trace),
		make:     func(now time.Time) ([]byte, http.Header, error) { return config.body(document, address, now) },
		taken:    func(p post, _ context.Context, _ *http.Response, here bool) attemptResult { return p.accepted(here) },
		once:     r.Type == wire.Create && !token.Idempotent,
		limit:    rt.config.ROSResponse,
		sized:    true,
	}
	p.silence = func() string {
		text := fmt.Sprintf("%s: no response within %s", p.name(), r.Body.Timeout)
		if token.Sync {
			text += ", the time that ROS waits for the reply of a provider whose service token says sync, regardless of Timeout: " +
				"leave the option out, and answer at the ResponseURL"
		}
		return text
	}
	if token.Sync {
		p.taken = post.answeredInPlace
	}
	if rt.config.AllowPrivate {
		p.client = rt.web.open
	}
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult { return rt.web.post(ctx, p) })
}

// patience returns the time that a provider has to respond. timeout is the timeout of its resource.
func patience(token wire.Token, timeout time.Duration) time.Duration {
	if token.Sync {
		return min(timeout, wire.ROSSyncTimeout)
	}
	return timeout
}

// answeredInPlace uses the body of a response as the answer, as the option sync requires. It does not validate the
// answer.
func (p post) answeredInPlace(ctx context.Context, response *http.Response, _ bool) attemptResult {
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(p.limit)+1))
	if err != nil {
		return p.broken(ctx, err, true)
	}
	if start := bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\uFEFF")), " \t\r\n"); !bytes.HasPrefix(start, []byte("{")) {
		text := p.name() + ": " + statusText(response) + " with no response document, and a service token with sync takes the reply for the " +
			"answer: reply with a JSON object that has a Status"
		if said := p.hide.excerpt(string(start), shown); said != "" {
			text += ", not with " + said
		}
		return attemptResult{delivered: true, outcome: Refused{Text: p.hide.text(text)}}
	}
	return attemptResult{outcome: p.answered(body, response)}
}

// httpConfig is the HttpConfig of a resource.
type httpConfig struct {
	signKey     string // empty for no signature
	contentType string
	headers     map[string]string // with unchanged names
}

// reservedHeaders control the transfer of the request, or have their own setting.
var reservedHeaders = []string{
	"Connection", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// readHTTPConfig parses an HttpConfig. Its errors quote no values.
func readHTTPConfig(v value.Value) (httpConfig, error) {
	c := httpConfig{contentType: contentJSON}
	if v.IsNull() {
		return c, nil
	}
	if v.Kind() != value.Map {
		return c, errors.New("HttpConfig is not a map")
	}
	text := func(key string) (string, error) {
		member, _ := v.Get(key)
		if !member.IsNull() && member.Kind() != value.String {
			return "", fmt.Errorf("HttpConfig.%s is not a string", key)
		}
		return member.Text(), nil
	}
	var problems []string
	var err error
	if c.signKey, err = text("SignKey"); err != nil {
		problems = append(problems, err.Error())
	}
	if len([]rune(c.signKey)) > wire.MaxROSSignKey {
		problems = append(problems, fmt.Sprintf("HttpConfig.SignKey has more than %d characters", wire.MaxROSSignKey))
	}
	named, err := text("ContentType")
	if err != nil {
		problems = append(problems, err.Error())
	}
	if c.contentType = cmp.Or(named, contentJSON); c.contentType != contentJSON && c.contentType != contentForm {
		problems = append(problems, fmt.Sprintf("HttpConfig.ContentType must be %s or %s", contentJSON, contentForm))
	}
	headers, _ := v.Get("Headers")
	if !headers.IsNull() && headers.Kind() != value.Map {
		problems = append(problems, "HttpConfig.Headers is not a map")
	}
	size := 0
	c.headers = make(map[string]string, len(headers.Members()))
	seen := map[string]bool{}
	for _, m := range headers.Members() {
		size += len(m.Key) + len(m.Value.Text())
		if problem := checkHeader(m.Key, m.Value); problem != "" {
			problems = append(problems, fmt.Sprintf("HttpConfig.Headers: %.100q %s", m.Key, problem))
			continue
		}
		if canonical := textproto.CanonicalMIMEHeaderKey(m.Key); seen[canonical] {
			problems = append(problems, fmt.Sprintf("HttpConfig.Headers: %.100q is a duplicate (case-insensitive)", m.Key))
		} else {
			seen[canonical] = true
		}
		c.headers[m.Key] = m.Value.Text()
	}
	if size > maxConfigHeaders {
		problems = append(problems, fmt.Sprintf("HttpConfig.Headers have %d bytes, %d are allowed", size, maxConfigHeaders))
	}
	if len(problems) > 0 {
		return c, errors.New(strings.Join(problems, "; "))
	}
	return c, nil
}

// checkHeader returns the problem with a header, or "" if the header is valid.
func checkHeader(name string, v value.Value) string {
	switch v.Kind() {
	case value.String, value.Number, value.Bool:
	case value.Null, value.List, value.Map:
		return "is not a string"
	}
	if name == "" || strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7F || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}) {
		return "is not a header name"
	}
	if slices.Contains(reservedHeaders, textproto.CanonicalMIMEHeaderKey(name)) {
		return "cannot be set here; the content type is HttpConfig.ContentType"
	}
	if strings.ContainsFunc(v.Text(), func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7F }) {
		return "holds control characters"
	}
	return ""
}

// body returns the headers and the document in the content type's format, signed at the given time if there is a key.
func (c httpConfig) body(document []byte, address string, now time.Time) ([]byte, http.Header, error) {
	header := http.Header{}
	for name, text := range c.headers {
		header.Set(name, text)
	}
	header.Set("Content-Type", c.contentType)
	if c.signKey != "" {
		var err error
		signing := wire.ROSSigning{Key: c.signKey, ContentType: c.contentType, Headers: c.headers, URL: address}
		if document, err = signing.Sign(document, now); err != nil {
			return nil, nil, err
		}
	}
	if c.contentType == contentForm {
		return form(document), header, nil
	}
	return document, header, nil
}

// form encodes a document as form fields: strings unchanged, everything else as JSON. How ROS does this is unknown.
func form(document []byte) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		panic(err) // the document was just encoded
	}
	fields := url.Values{}
	for name, raw := range members {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		fields.Set(name, text)
	}
	return []byte(fields.Encode())
}
