// Package rosclient is a client of the API of ROS, with the calls that the command line needs. The caller defines the
// parameters and results of the actions.
//
// Calls are POSTs to the endpoint with all parameters in the form, signed with HMAC-SHA1 (V1), which all versions of
// the service accept. Source: Alibaba Cloud, RPC request syntax; ROS API 2019-09-10.
package rosclient

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/acs"
)

// Version is the version of the API.
const Version = "2019-09-10"

const (
	maxReply    = 16 << 20 // bytes
	maxAttempts = 4        // for a call that a busy server has not accepted
	pause       = 250 * time.Millisecond
	timeout     = 30 * time.Second
)

// ErrForeign means that the server does not answer with the API's protocol. It may be a different service.
var ErrForeign = errors.New("the server does not serve the ROS API")

// Keys are the credentials that sign calls.
type Keys struct {
	ID, Secret string
	// Token is the session token, or empty.
	Token string
}

// Error is an error response of the service.
type Error struct {
	Status                           int // HTTP status
	Code, Message, Recommend, Action string
	RequestID                        string
}

// Error returns the message with its code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%s)", e.Message, e.Code) }

// Config configures a client.
type Config struct {
	// Endpoint is the URL of the service. Required.
	Endpoint string
	// Region is the RegionId of every call. Required.
	Region string
	// Keys returns the credentials that sign a call. Required.
	Keys func(context.Context) (Keys, error)
	// HTTP sends the calls. Nil means [http.DefaultClient].
	HTTP *http.Client
	// Now is the clock. Nil means [time.Now].
	Now func() time.Time
}

// Client calls the service. It is safe for concurrent use.
type Client struct{ config Config }

// New returns a client. It returns an error if a required field is missing.
func New(config Config) (*Client, error) {
	if config.Endpoint == "" || config.Region == "" || config.Keys == nil {
		return nil, errors.New("rosclient: the endpoint, the region and the keys are required")
	}
	if config.HTTP == nil {
		config.HTTP = http.DefaultClient
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Client{config}, nil
}

// Region returns the region of the calls.
func (c *Client) Region() string { return c.config.Region }

// Call calls an action and decodes its response into out, which may be nil. An error response is an [*Error]. A
// response of another protocol is [ErrForeign]. Call retries calls that a busy server has not accepted.
func (c *Client) Call(ctx context.Context, action string, parameters url.Values, out any) error {
	for attempt := 1; ; attempt++ {
		err := c.call(ctx, action, parameters, out)
		apiErr, ok := errors.AsType[*Error](err)
		if !ok || attempt == maxAttempts || apiErr.Status != http.StatusServiceUnavailable && !strings.HasPrefix(apiErr.Code, "Throttling") {
			return err
		}
		timer := time.NewTimer(pause * time.Duration(attempt))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (c *Client) call(ctx context.Context, action string, parameters url.Values, out any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	form, err := c.sign(ctx, action, parameters)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.config.Endpoint, "/")+"/", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := c.config.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end or to the limit
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply+1))
	if err != nil {
		return err
	}
	if len(text) > maxReply {
		return fmt.Errorf("the reply to %s is longer than %d bytes", action, maxReply)
	}
	return read(response.StatusCode, action, text, out)
}

// sign returns the parameters of a call, including the common ones and the signature.
func (c *Client) sign(ctx context.Context, action string, parameters url.Values) (url.Values, error) {
	keys, err := c.config.Keys(ctx)
	if err != nil {
		return nil, err
	}
	form := url.Values{
		"Action": {action}, "Version": {Version}, "Format": {"JSON"}, "RegionId": {c.config.Region},
		"AccessKeyId": {keys.ID}, "SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"}, "SignatureNonce": {rand.Text()},
		"Timestamp": {c.config.Now().UTC().Format("2006-01-02T15:04:05Z")},
	}
	if keys.Token != "" {
		form.Set("SecurityToken", keys.Token)
	}
	for name, values := range parameters {
		form[name] = values
	}
	form.Set("Signature", acs.SignatureV1(http.MethodPost, form, keys.Secret))
	return form, nil
}

// read decodes a response.
func read(status int, action string, text []byte, out any) error {
	var parsed struct{ Code, Message, Recommend, RequestID string }
	if err := json.Unmarshal(text, &parsed); err != nil || parsed.RequestID == "" {
		return ErrForeign
	}
	if status != http.StatusOK || parsed.Code != "" {
		return &Error{status, parsed.Code, parsed.Message, parsed.Recommend, action, parsed.RequestID}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the reply to %s: %w", action, err)
	}
	return nil
}
