package awscall

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/pintle-dev/pintle/awscall/internal/shape"
	"github.com/pintle-dev/pintle/internal/base/redact"
)

// do tries the call until it succeeds, fails permanently or runs out of tries.
func (c *call) do(ctx context.Context) (map[string]any, error) {
	retryer := retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = c.client.config.MaxAttempts })
	var skew time.Duration
	for attempt := 1; ; attempt++ {
		out, failed, err := c.try(ctx, skew)
		if err == nil {
			return out, nil
		}
		if failed != nil && failed.region != "" && !c.moved { // a bucket in another region is not a failure
			if err := c.mayLeaveFor(failed.region); err != nil {
				return nil, err
			}
			c.region, c.moved = failed.region, true
			attempt--
			continue
		}
		skewed := failed != nil && failed.skew != 0 && skew == 0
		if skewed {
			skew = failed.skew
		}
		if ctx.Err() != nil || attempt >= c.client.config.MaxAttempts || !skewed && !retryer.IsErrorRetryable(err) {
			return nil, err
		}
		delay, delayErr := retryer.RetryDelay(attempt, err)
		if delayErr != nil {
			return nil, err
		}
		if limit := c.client.config.MaxPause; limit > 0 {
			delay = min(delay, limit)
		}
		if sleepErr := c.client.config.clock.Sleep(ctx, delay); sleepErr != nil {
			return nil, errors.Join(err, sleepErr)
		}
	}
}

// failure holds the information from a failed try for the next one.
type failure struct {
	region string        // of the bucket
	skew   time.Duration // of the service's clock, ahead of ours
}

// try sends the request once.
func (c *call) try(ctx context.Context, skew time.Duration) (map[string]any, *failure, error) {
	t, err := c.locate()
	if err != nil {
		return nil, nil, err
	}
	if err := c.discover(ctx, &t); err != nil {
		return nil, nil, err
	}
	req, body, err := c.build(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	secrets, err := c.sign(ctx, req, body, t, skew)
	if err != nil {
		return nil, nil, err
	}
	if len(body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	resp, err := c.client.shared.http.Do(req)
	if err != nil {
		return nil, nil, c.sendError(req, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, c.client.config.MaxResponse+1))
	if err != nil {
		return nil, nil, c.sendError(req, err)
	}
	if int64(len(text)) > c.client.config.MaxResponse {
		return nil, nil, &ResponseTooLargeError{c.service.entry.Name, c.operation.Name, c.client.config.MaxResponse}
	}
	if err := c.verify(resp, text); err != nil {
		return nil, nil, c.sendError(req, err)
	}
	out, err := c.read(ctx, resp, text)
	var failed *Error
	if errors.As(err, &failed) {
		failed.Message = bound(strike(failed.Message, secrets))
		return nil, c.learn(resp, text, failed), err
	}
	return out, nil, err
}

// sendError drops the URL from a transport's error, because its query may contain parameters.
func (c *call) sendError(req *http.Request, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return &SendError{c.service.entry.Name, c.operation.Name, req.URL.Host, err}
}

// unsigned reports whether the action needs no signature.
func (c *call) unsigned() bool {
	m := c.operation.Model
	return m.AuthType == "none" || len(m.Auth) > 0 && slices.Contains(m.Auth, "smithy.api#noAuth")
}

const unsignedPayload = "UNSIGNED-PAYLOAD"

// sign signs the request and returns the secrets to redact in messages.
func (c *call) sign(ctx context.Context, req *http.Request, body []byte, t target, skew time.Duration) ([]string, error) {
	if c.unsigned() {
		return nil, nil
	}
	if aws.IsCredentialsProvider(c.client.config.Credentials, aws.AnonymousCredentials{}) {
		return nil, nil
	}
	credentials, err := c.client.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s %s: no credentials: %w", c.service.entry.Name, c.operation.Name, err)
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	if (c.operation.Model.UnsignedPayload || c.operation.Model.AuthType == "v4-unsigned-body") && req.URL.Scheme == "https" {
		hash = unsignedPayload
	}
	s3 := c.id() == "S3" || c.id() == "S3 Control" || t.name == "s3" || t.name == "s3-outposts" || t.name == "s3-object-lambda"
	if s3 || hash == unsignedPayload || c.id() == "Glacier" {
		req.Header.Set("X-Amz-Content-Sha256", hash)
	}
	req.ContentLength = int64(len(body))
	signer := v4.NewSigner(func(o *v4.SignerOptions) {
		o.DisableURIPathEscaping = s3 // S3 paths are keys, which are escaped once
	})
	at := c.client.config.clock.Now().Add(skew)
	if err := signer.SignHTTP(ctx, credentials, req, hash, t.name, t.region, at); err != nil {
		return nil, fmt.Errorf("%s %s: signing: %w", c.service.entry.Name, c.operation.Name, err)
	}
	_, signature, _ := strings.Cut(req.Header.Get("Authorization"), "Signature=")
	return []string{credentials.SecretAccessKey, credentials.SessionToken, signature}, nil
}

// minSecret is the length in bytes from which a text counts as a secret. AWS's secrets have 40; the "test" of a stand-in
// is just a word.
const minSecret = 16

// maxMessage is the largest part of a service's message that is kept, in bytes.
const maxMessage = 4 << 10

// strike redacts secrets in a message. A service that rejects a signature may quote all the signed text.
func strike(text string, secrets []string) string {
	known := redact.Secrets{Shortest: minSecret}
	known.Add(secrets...)
	return known.Mask(text)
}

func bound(message string) string {
	if len(message) > maxMessage { // after redaction, which would not find half of a secret
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}

// read returns the result or the error in a response.
func (c *call) read(ctx context.Context, resp *http.Response, body []byte) (map[string]any, error) {
	status := resp.StatusCode
	if status < 300 && c.failedInside(body) {
		resp.StatusCode, status = http.StatusInternalServerError, http.StatusInternalServerError // to be retried
	}
	out, err := c.operation.Response(ctx, resp, body)
	if err == nil {
		return out, nil
	}
	var api *shape.APIError
	if !errors.As(err, &api) {
		return nil, fmt.Errorf("%s %w", c.service.entry.Name, err)
	}
	e := &Error{Service: c.service.entry.Name, Action: c.operation.Name, Code: api.Code, WireCode: api.WireCode, Message: api.Message,
		Status: status, RequestID: requestID(resp.Header)}
	if e.Code == "" || e.Code == "UnknownError" {
		// The response has no error code: a response to HEAD has no body, and a proxy does not send an AWS error.
		if resp.Request != nil && resp.Request.Method == http.MethodHead || len(bytes.TrimSpace(body)) == 0 {
			e.Code = strings.ReplaceAll(http.StatusText(status), " ", "")
		}
		if e.Code == "" {
			e.Code = "UnknownError"
		}
		if e.Message == "" || e.Message == "UnknownError" {
			e.Message = fmt.Sprintf("%d %s", status, http.StatusText(status))
		}
	}
	return nil, e
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Amzn-Requestid", "X-Amz-Request-Id", "X-Amz-Id-2"} {
		if id := h.Get(name); id != "" && len(id) <= 200 {
			return id
		}
	}
	return ""
}

// learn returns the information from a failure for the next try.
func (c *call) learn(resp *http.Response, body []byte, e *Error) *failure {
	f := &failure{region: c.bucketRegion(resp, body, e)}
	switch e.Code {
	case "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture", "InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure":
		at, err := http.ParseTime(resp.Header.Get("Date"))
		if err != nil {
			break
		}
		if skew := at.Sub(c.client.config.clock.Now()); skew.Abs() > 4*time.Minute {
			f.skew = skew
		}
	}
	return f
}
