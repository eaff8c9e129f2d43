package delivery

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/internal/base/acs"
	"github.com/pintle-dev/pintle/wire"
)

// alibaba calls the services of Alibaba Cloud.
type alibaba struct{ client *http.Client }

func newAlibaba() *alibaba {
	return &alibaba{client: &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			IdleConnTimeout:        time.Minute,
			MaxIdleConns:           2 * idleConns,
			MaxIdleConnsPerHost:    idleConns,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// alibabaCall is one call of a service of Alibaba Cloud.
type alibabaCall struct {
	service  string // in words for people
	action   string // as the rules of accounts name it
	variable string // environment variable with another endpoint
	endpoint string // including its scheme
	path     string
	header   http.Header
	body     []byte
	sign     func(r *http.Request, c acs.Credentials, body []byte, at time.Time)
	failure  func(body []byte) alibabaFailure
}

// alibabaFailure is the error of a service that refuses a call.
type alibabaFailure struct{ code, message, requestID string }

// maxQuoted limits how much of a response is read, in bytes.
const maxQuoted = 64 << 10

// newCall returns the call that sends a message to the target of a token. inBase64 applies only to queues and topics.
func newCall(token wire.Token, message []byte, inBase64 bool) alibabaCall {
	switch {
	case token.Service == wire.FC && token.FCService != "":
		service := token.FCService
		if token.Qualifier != "" {
			service += "." + token.Qualifier
		}
		return alibabaCall{
			service: "Function Compute", action: "fc:InvokeFunction", variable: "ALIBABA_CLOUD_FC_ENDPOINT",
			endpoint: "https://" + token.Account + "." + token.Region + ".fc.aliyuncs.com",
			path:     "/2016-08-15/services/" + service + "/functions/" + token.Name + "/invocations",
			header: http.Header{
				"Content-Type": {"application/octet-stream"}, "X-Fc-Invocation-Type": {"Async"}, "X-Fc-Account-Id": {token.Account},
			},
			body: message, sign: acs.SignFC, failure: failureInJSON,
		}
	case token.Service == wire.FC:
		return alibabaCall{
			service: "Function Compute", action: "fc:InvokeFunction", variable: "ALIBABA_CLOUD_FC3_ENDPOINT",
			endpoint: "https://fcv3." + token.Region + ".aliyuncs.com",
			path:     "/2023-03-30/functions/" + token.Name + "/invocations",
			header:   http.Header{"Content-Type": {"application/octet-stream"}, "X-Fc-Invocation-Type": {"Async"}},
			body:     message, failure: failureInJSON,
			sign: func(r *http.Request, c acs.Credentials, body []byte, at time.Time) {
				acs.SignV3(r, c, "InvokeFunction", "2023-03-30", body, rand.Text(), at)
			},
		}
	}
	if inBase64 {
		message = []byte(base64.StdEncoding.EncodeToString(message))
	}
	kind, action := "queues", "mns:SendMessage"
	if token.Service == wire.Topic {
		kind, action = "topics", "mns:PublishMessage"
	}
	return alibabaCall{
		service: "Simple Message Queue", action: action, variable: "ALIBABA_CLOUD_MNS_ENDPOINT",
		endpoint: "https://" + token.Account + ".mns." + token.Region + ".aliyuncs.com",
		path:     "/" + kind + "/" + token.Name + "/messages",
		header:   http.Header{"Content-Type": {"application/xml"}},
		body:     messageXML(message), sign: acs.SignMNS, failure: failureInXML,
	}
}

// messageXML returns the XML document that sends a JSON message. Characters that XML does not allow are escaped as in
// JSON.
func messageXML(message []byte) []byte {
	text := strings.NewReplacer("\uFFFE", `\ufffe`, "\uFFFF", `\uffff`, "&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(string(message))
	return []byte(xml.Header + `<Message xmlns="http://mns.aliyuncs.com/doc/v1/"><MessageBody>` + text + "</MessageBody></Message>")
}

// sendAlibaba sends the request to a function, queue or topic of Alibaba Cloud. Like ROS, it accepts any region.
func (rt *router) sendAlibaba(soft, hard context.Context, s *send, hide *redactor, token wire.Token) Outcome {
	r := s.request
	if err := rt.config.Allowed(accountOf(r), newCall(token, nil, false).action); err != nil {
		return Refused{Text: hide.text(fmt.Sprintf("%s, and %v", rt.unknown(r, token.Name), err))}
	}
	credentials, err := acs.Find(os.Getenv)
	if err != nil {
		return Refused{Text: hide.text(fmt.Sprintf("%s and no Alibaba Cloud credentials: %v. Add it to pintle.yaml under "+
			"providers, or use --provider %s=./path, or configure Alibaba Cloud credentials", rt.unknown(r, token.Name), err, token.Name))}
	}
	hide = newRedactor(r, slices.Concat(hide.secrets, []string{credentials.Secret, credentials.Token})...)
	refuse := func(text string) Outcome { return Refused{Text: hide.text(text)} }
	body, responseURL, err := rt.document(r)
	if err != nil {
		return refuse(err.Error())
	}
	call := newCall(token, body, rt.config.ROSBase64)
	if call.endpoint, err = endpoint(call, os.Getenv); err != nil {
		return refuse(err.Error())
	}
	if onLoopback(responseURL) && !onLoopback(call.endpoint) {
		return refuse(fmt.Sprintf("%s is in Alibaba Cloud, and its answers cannot reach the response URL, which is on loopback: "+
			"start with --public-url, or add a local provider %s to pintle.yaml under providers", token.Text, token.Name))
	}
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return rt.callAlibaba(ctx, call, credentials, token, hide)
	})
}

// endpoint returns the service's endpoint from the environment, or the default. The variable is a URL, or a host that
// is reached by TLS.
func endpoint(call alibabaCall, getenv func(string) string) (string, error) {
	text := getenv(call.variable)
	if text == "" {
		return call.endpoint, nil
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("%s is not an endpoint: give a host, or a URL without a path", call.variable)
	}
	return u.Scheme + "://" + u.Host, nil
}

func (rt *router) callAlibaba(ctx context.Context, call alibabaCall, credentials acs.Credentials, token wire.Token, hide *redactor) attemptResult {
	var written atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, call.endpoint+call.path, bytes.NewReader(call.body))
	if err != nil {
		return refused(hide.text(fmt.Sprintf("%s: the endpoint is not a valid URL", call.service)))
	}
	request.Header = call.header.Clone()
	request.Header.Set("User-Agent", "pintle")
	call.sign(request, credentials, call.body, rt.config.Now())
	response, err := rt.acs.client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return attemptResult{text: hide.text(fmt.Sprintf("%s: %v", call.service, err)), delivered: written.Load()}
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxQuoted)) // a partial body is enough, the status is known
	if response.StatusCode >= 200 && response.StatusCode <= 299 {
		return attemptResult{outcome: Accepted{}}
	}
	return rt.judgeAlibaba(call, response, body, token, hide)
}

// judgeAlibaba distinguishes temporary from permanent errors.
func (rt *router) judgeAlibaba(call alibabaCall, response *http.Response, body []byte, token wire.Token, hide *redactor) attemptResult {
	status := response.StatusCode
	failure := call.failure(body)
	failure.requestID = cmp.Or(failure.requestID, response.Header.Get("X-Fc-Request-Id"), response.Header.Get("X-Acs-Request-Id"), response.Header.Get("X-Mns-Request-Id"))
	message := cmp.Or(failure.message, failure.code, hide.excerpt(string(body), shown), http.StatusText(status))
	text := fmt.Sprintf("%s: %s (Status Code: %d", call.service, hide.excerpt(message, 4*shown), status)
	if failure.code != "" {
		text += "; Error Code: " + hide.excerpt(failure.code, shown)
	}
	if failure.requestID != "" {
		text += "; Request ID: " + hide.excerpt(failure.requestID, shown)
	}
	text = hide.text(text + ")")
	// Source: Simple Message Queue, error codes; Function Compute, error codes.
	throttled := status == http.StatusTooManyRequests || strings.Contains(failure.code, "Throttl") || failure.code == "QpsLimitExceeded"
	if throttled || status >= 500 {
		return attemptResult{text: text, delivered: status >= 500, wait: retryAfter(response)}
	}
	if status == http.StatusNotFound && !rt.config.FidelityAWS {
		text += hide.text(fmt.Sprintf(". No local provider is named %s either", token.Name))
	}
	return refused(text)
}

// failureInJSON reads the error of Function Compute, of either version.
func failureInJSON(body []byte) alibabaFailure {
	var parsed struct {
		Code, Message, RequestID string
		ErrorCode, ErrorMessage  string // version 2.0
	}
	_ = json.Unmarshal(body, &parsed) // any other body leaves the fields empty
	return alibabaFailure{cmp.Or(parsed.Code, parsed.ErrorCode), cmp.Or(parsed.Message, parsed.ErrorMessage), parsed.RequestID}
}

// failureInXML reads the error of Simple Message Queue.
func failureInXML(body []byte) alibabaFailure {
	var parsed struct {
		Code, Message string
		RequestID     string `xml:"RequestId"`
	}
	_ = xml.Unmarshal(body, &parsed) // see above
	return alibabaFailure{parsed.Code, parsed.Message, parsed.RequestID}
}
