package forward

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/base/backoff"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// The services that are called, as package awscall names them.
const (
	cloudFormation = "cloudformation"
	sts            = "sts"
)

// endpoint is a CloudFormation API.
type endpoint struct {
	*Forwarder
	rule Rule
	// host is the endpoint for people.
	host string
	// slots limits the number of requests in progress.
	slots chan struct{}

	mu      sync.Mutex
	clients map[string]*awscall.Client // by region

	recognized, moto atomic.Bool // set by recognize
}

func newEndpoint(f *Forwarder, r Rule) *endpoint {
	e := &endpoint{Forwarder: f, rule: r, host: native.ForwardedToAWS, slots: make(chan struct{}, mostOnAWS), clients: map[string]*awscall.Client{}}
	if u, err := url.Parse(r.Endpoint); err == nil && u.Host != "" {
		e.host, e.slots = u.Host, make(chan struct{}, mostElsewhere)
	}
	return e
}

// client returns the client of a region.
func (e *endpoint) client(ctx context.Context, region string) (*awscall.Client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.clients[region]; c != nil {
		return c, nil
	}
	c, err := e.config.Client(ctx, e.rule, region)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be called: %w", e.host, err)
	}
	e.clients[region] = c
	return c, nil
}

// refusedError is a definite error of the endpoint: the call had no effect.
type refusedError struct {
	host, code, message string
	// earlier is the error of an earlier try of the call, which may have had an effect; nil if there was none.
	earlier error
}

func (r *refusedError) Error() string { return fmt.Sprintf("Forwarded to %s: %s", r.host, r.message) }

// lacks reports whether an error says that an endpoint does not have an action. LocalStack answers 501.
func lacks(err error) bool {
	refused, ok := errors.AsType[*refusedError](err)
	return ok && (refused.code == "InvalidAction" || strings.Contains(refused.message, "Unknown action") ||
		strings.Contains(refused.message, "not yet implemented"))
}

// unsureError is the error of a call that may have had an effect, such as a lost answer or an HTTP status from 500.
type unsureError struct {
	host, action string
	err          error
}

func (u *unsureError) Error() string {
	return fmt.Sprintf("Forwarded to %s: %s", u.host, describe(u.action, u.err))
}

// maxQuoted is the number of bytes that a text quotes of an unexpected answer.
const maxQuoted = 200

// uncertain reports whether a call with this error may have had an effect.
func uncertain(err error) bool {
	_, unsure := errors.AsType[*unsureError](err)
	refused, _ := errors.AsType[*refusedError](err)
	return unsure || refused != nil && refused.earlier != nil
}

// describe describes an unexpected result of a call for people.
func describe(action string, err error) string {
	text := err.Error()
	if answer, ok := errors.AsType[*awscall.Error](err); ok {
		text = fmt.Sprintf("HTTP %d, %s: %s", answer.Status, answer.Code, answer.Message)
	} else if send, ok := errors.AsType[*awscall.SendError](err); ok {
		text = send.Err.Error()
	}
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return action + " failed: " + text
}

// throttles matches the error codes of a throttled call. Source: AWS, common errors.
var throttles = regexp.MustCompile(`Throttl|RequestLimitExceeded|TooManyRequests|SlowDown|BandwidthLimitExceeded`)

// maxBackoff bounds the pause between two tries of a call.
const maxBackoff = 10 * time.Second

// call calls an action until it succeeds or fails for good. It retries throttled calls until ctx ends, and other
// temporary errors for [Config.RetryFor]. The error is a [refusedError] or an [unsureError].
func (e *endpoint) call(ctx context.Context, region, service, action string, params map[string]any) (map[string]any, error) {
	c, err := e.client(ctx, region)
	if err != nil {
		return nil, err
	}
	var since time.Time // of the first of successive temporary errors
	var earlier error
	for try := 0; ; try++ {
		out, err := c.Call(ctx, service, action, params)
		if err == nil {
			return out, nil
		}
		throttled := false
		if answer, ok := errors.AsType[*awscall.Error](err); ok {
			throttled = answer.Status == http.StatusTooManyRequests || throttles.MatchString(answer.Code) || throttles.MatchString(answer.WireCode)
			if !throttled && (answer.Status < http.StatusInternalServerError || answer.Status == http.StatusNotImplemented) {
				return nil, &refusedError{e.host, answer.Code, answer.Message, earlier}
			}
		} else if hopeless(err) {
			return nil, &refusedError{e.host, "", err.Error(), nil}
		}
		if !throttled {
			earlier = &unsureError{e.host, action, err}
		}
		switch {
		case throttled:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= e.retryFor(err):
			return nil, &unsureError{e.host, action, err}
		}
		if !backoff.Wait(ctx, backoff.Random(e.config.Backoff, maxBackoff, try)) {
			return nil, &unsureError{e.host, action, err}
		}
	}
}

// motoRetryFor is [Config.RetryFor] for an internal error of moto, which most likely comes from the request itself.
const motoRetryFor = time.Second

// retryFor returns how long a call with this temporary error is repeated.
func (e *endpoint) retryFor(err error) time.Duration {
	if answer, ok := errors.AsType[*awscall.Error](err); ok && answer.Status == http.StatusInternalServerError && e.moto.Load() {
		return min(e.config.RetryFor, motoRetryFor)
	}
	return e.config.RetryFor
}

// hopeless reports whether an error comes from the call's own parameters, before anything was sent.
func hopeless(err error) bool {
	_, parameter := errors.AsType[*awscall.ParameterError](err)
	_, unsupported := errors.AsType[*awscall.UnsupportedError](err)
	return parameter || unsupported
}

// Verify checks the identity behind each endpoint: its account must be that of the stacks. The error is for people.
func (f *Forwarder) Verify(ctx context.Context, region string) error {
	var done []*endpoint
	for _, e := range f.endpoints {
		if !slices.Contains(done, e) {
			if err := e.verify(ctx, region); err != nil {
				return err
			}
			done = append(done, e)
		}
	}
	return nil
}

func (e *endpoint) verify(ctx context.Context, region string) error {
	out, err := e.call(ctx, region, sts, "GetCallerIdentity", nil)
	if err != nil {
		return fmt.Errorf("the account of %s is unknown: %w", e.host, err)
	}
	if account := text(out, "Account"); account != e.config.Account {
		return fmt.Errorf("%s has account %q, and stacks here have AWS::AccountId %s: %s", e.host, account, e.config.Account, e.config.AccountHint)
	}
	e.recognize(ctx)
	return nil
}

// recognize finds out whether the endpoint is moto, which has an API of its own under /moto-api.
func (e *endpoint) recognize(ctx context.Context) {
	if e.rule.Endpoint == AWS || e.recognized.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, e.rule.Endpoint+"/moto-api/data.json", http.NoBody)
	if err != nil {
		return
	}
	response, err := e.config.HTTP.Do(request)
	if err != nil {
		return
	}
	_ = response.Body.Close() // it is empty
	e.moto.Store(response.StatusCode == http.StatusOK)
	e.recognized.Store(true)
}

// text returns a string member of a response, "" if it is missing.
func text(of map[string]any, name string) string {
	s, _ := of[name].(string)
	return s
}

// objects returns the objects in a list member of a response.
func objects(of map[string]any, name string) []map[string]any {
	items, _ := of[name].([]any)
	var list []map[string]any
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			list = append(list, object)
		}
	}
	return list
}
