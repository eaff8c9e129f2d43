// Package forward provides resource types through the CloudFormation API of other endpoints, such as AWS, ministack,
// LocalStack or moto.
//
// Each resource is the only resource of a stack at the endpoint, the inner stack. The package creates, updates and
// deletes inner stacks, and reads Ref, the attributes that the template uses, and the reasons for failures from them.
//
// # Idempotency
//
// A request of the engine may be served again after a crash or a lost answer. The name of an inner stack is derived
// from the stack, the logical ID and the request that creates it, so the second attempt finds the stack of the first.
// A row with the name is stored before the first call. Stack tags name the owner, and an output holds a digest of the
// declaration: an inner stack with other tags is not touched, and one with the right digest is done.
//
// # Replacement
//
// Before an update, a change set asks the endpoint whether it would replace the resource. If so, the update creates a
// second inner stack and returns its physical ID. The engine deletes the old inner stack in its clean-up, so that a
// rollback still has the old resource.
//
// # Results
//
// A request succeeds only if the inner stack is complete and its Ref output is not empty. Every other result is a
// failure with the endpoint's own reason.
//
// Sources: AWS CloudFormation API Reference, CreateStack, UpdateStack, DeleteStack, DescribeStacks, CreateChangeSet.
package forward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// AWS is the endpoint that the configuration of the AWS SDK selects.
const AWS = "aws"

// Rule forwards types to an endpoint.
type Rule struct {
	// Types are names of types, or patterns that end in "::*", such as AWS::SQS::*.
	Types []string
	// Endpoint is an http(s) URL, or [AWS].
	Endpoint string
	// Profile is the profile of the AWS SDK's configuration with the credentials. Empty means the default.
	Profile string
}

// ParseRule reads TYPE[,TYPE…]=ENDPOINT.
func ParseRule(text string) (Rule, error) {
	types, endpoint, found := strings.Cut(text, "=")
	if !found {
		return Rule{}, errors.New("want TYPE[,TYPE…]=URL, such as AWS::SQS::*=http://127.0.0.1:4566")
	}
	r := Rule{Types: strings.Split(types, ","), Endpoint: endpoint}
	return r, r.Check()
}

// Check returns an error if the rule is invalid.
func (r *Rule) Check() error {
	if len(r.Types) == 0 {
		return errors.New("no type is named")
	}
	for i, name := range r.Types {
		r.Types[i] = strings.TrimSpace(name)
		if err := checkPattern(r.Types[i]); err != nil {
			return err
		}
	}
	if r.Endpoint == AWS {
		return nil
	}
	u, err := url.Parse(r.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the endpoint must be aws, or an http(s) URL without a user and a query")
	}
	r.Endpoint = strings.TrimSuffix(r.Endpoint, "/")
	return nil
}

// checkPattern rejects patterns that match more than the types of one service.
func checkPattern(pattern string) error {
	parts := strings.Split(pattern, "::")
	for i, part := range parts {
		if part == "" || strings.Contains(part, "*") && (part != "*" || i != 2) {
			return fmt.Errorf("%q is neither a resource type nor a pattern such as AWS::SQS::*", pattern)
		}
	}
	switch {
	case len(parts) != 3:
		return fmt.Errorf("%q is neither a resource type nor a pattern such as AWS::SQS::*", pattern)
	case parts[0] != "AWS":
		return fmt.Errorf("%s cannot be forwarded: only types of AWS can", pattern)
	case parts[1] == "CloudFormation":
		return fmt.Errorf("%s cannot be forwarded: types of CloudFormation act on the stack itself", pattern)
	}
	return nil
}

// Matches reports whether a rule forwards a type.
func (r *Rule) Matches(name string) bool {
	for _, pattern := range r.Types {
		prefix, isPattern := strings.CutSuffix(pattern, "*")
		if pattern == name || isPattern && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// String returns the rule in the form that [ParseRule] reads.
func (r *Rule) String() string { return strings.Join(r.Types, ",") + "=" + r.Endpoint }

// Defaults of [Config].
const (
	// DefaultWithin is how long an endpoint may take for one request.
	DefaultWithin = 50 * time.Minute
	// DefaultRetryFor is how long a call is retried while the endpoint cannot be reached or answers with an HTTP status
	// from 500. Throttled calls are retried until the end of the request.
	DefaultRetryFor = 30 * time.Second
	// DefaultBackoff is the longest first pause between two tries, and between two looks at a stack.
	DefaultBackoff = 50 * time.Millisecond
)

// Concurrent requests of an endpoint. Source: Pintle's own limits; AWS throttles callers that exceed its own.
const (
	mostOnAWS     = 10
	mostElsewhere = 20
)

// Config configures a [Forwarder].
type Config struct {
	// Rules are tried in order. The first one that matches a type decides.
	Rules []Rule
	// Catalog stores the inner stacks. Required.
	Catalog *registry.Catalog
	// Key is the key of digests, so that they reveal nothing about secrets. It is the same on all nodes. Required.
	Key []byte
	// Account is the account of the stacks that may use the endpoints. Required.
	Account string
	// AccountHint says how to change Account, for errors.
	AccountHint string
	// Own is the URL of this server, which cannot be an endpoint. It may be empty.
	Own string
	// Client returns a client for an endpoint and a region that tries each call once. Required.
	Client func(ctx context.Context, r Rule, region string) (*awscall.Client, error)
	// HTTP sends the request that recognizes moto, as the clients of endpoints other than AWS send theirs: through the same
	// proxies, and under the same rules about addresses. Nil means [http.DefaultClient].
	HTTP *http.Client
	// Allowed returns an error if stacks of an account may not use the server's credentials for a call, such as
	// cloudformation:CreateStack. Nil allows all calls.
	Allowed func(account, call string) error
	// Within, RetryFor and Backoff default to [DefaultWithin], [DefaultRetryFor] and [DefaultBackoff].
	Within, RetryFor, Backoff time.Duration
	// Log gets messages for operators. Nil discards them.
	Log *slog.Logger
}

// Forwarder forwards types. It implements [native.Forward]. Make one with [New]. It is safe for concurrent use.
type Forwarder struct {
	config    Config
	endpoints []*endpoint // by rule; rules with the same endpoint and profile share one

	types   sync.Map // name to *forwarded
	checked checked
}

// New returns a Forwarder. It makes no call.
func New(config Config) (*Forwarder, error) {
	switch {
	case config.Catalog == nil, config.Client == nil, len(config.Key) == 0, config.Account == "":
		return nil, errors.New("forward: Catalog, Client, Key and Account are required")
	}
	config.Within = cmp.Or(config.Within, DefaultWithin)
	config.RetryFor = cmp.Or(config.RetryFor, DefaultRetryFor)
	config.Backoff = cmp.Or(config.Backoff, DefaultBackoff)
	if config.Allowed == nil {
		config.Allowed = func(string, string) error { return nil }
	}
	if config.HTTP == nil {
		config.HTTP = http.DefaultClient
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	f := &Forwarder{config: config}
	shared := map[[2]string]*endpoint{}
	for i := range config.Rules {
		r := &config.Rules[i]
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("forward %s: %w", strings.Join(r.Types, ","), err)
		}
		if config.Own != "" && sameServer(r.Endpoint, config.Own) {
			return nil, fmt.Errorf("forward %s: %s is Pintle itself", r, r.Endpoint)
		}
		key := [2]string{r.Endpoint, r.Profile}
		if shared[key] == nil {
			shared[key] = newEndpoint(f, *r)
		}
		f.endpoints = append(f.endpoints, shared[key])
	}
	return f, nil
}

// sameServer reports whether two URLs have the same host and port.
func sameServer(a, b string) bool {
	one, err := url.Parse(a)
	two, err2 := url.Parse(b)
	if err != nil || err2 != nil || one.Host == "" {
		return false
	}
	local := func(u *url.URL) string {
		if u.Hostname() == "localhost" {
			return "127.0.0.1:" + u.Port()
		}
		return u.Host
	}
	return local(one) == local(two)
}

// Type implements [native.Forward].
func (f *Forwarder) Type(name string) native.Type {
	if known, ok := f.types.Load(name); ok {
		return known.(*forwarded)
	}
	for i := range f.config.Rules {
		if f.config.Rules[i].Matches(name) {
			t := &forwarded{f, f.endpoints[i], &native.Schema{Name: name, Forwarded: f.endpoints[i].host}}
			made, _ := f.types.LoadOrStore(name, t)
			return made.(*forwarded)
		}
	}
	return nil
}

// forwarded is a type.
type forwarded struct {
	*Forwarder
	endpoint *endpoint
	schema   *native.Schema
}

// Schema implements [native.Type].
func (t *forwarded) Schema() *native.Schema { return t.schema }
