// Package builtin holds the providers that are part of the program.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/awscall/customresource"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
	"github.com/pintle-dev/pintle/internal/provider/cdkframework"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/wire"
)

// cdkFunction is part of the name of the function that the CDK creates for all AwsCustomResources of a stack.
const cdkFunction = "AWS679f53fac002430cb0da5b7982bd2287"

// margin is the time that an event has in addition to its call, to assume the role and to send the answer.
const margin = time.Minute

// AWS configures how the provider calls AWS.
type AWS struct {
	// Allow lists the allowed calls. Empty allows none, unless All is set.
	Allow []project.Allow
	// All allows every call. It is for templates that may run code on this machine anyway.
	All bool
	// Env returns the endpoints and credentials for stacks of an account, as in package functionenv. A call without a
	// region goes to the stack's region. Nil means the configuration of this process, and Region.
	Env func(account string) map[string]string
	// Region is the region of calls without one. Empty means [local.DefaultRegion].
	Region string
	// Timeout is the maximum time of one call. Zero means [customresource.DefaultTimeout].
	Timeout time.Duration
	// Concurrency is the number of concurrent requests. Zero means [local.DefaultConcurrency].
	Concurrency int
	// HTTP sends the calls. Nil means awscall's own client.
	HTTP *http.Client
}

// IsAWS reports whether a service token names the function that the CDK creates for AwsCustomResources. It does not
// recognize functions with a custom name.
func IsAWS(token wire.ServiceToken) bool {
	parsed, err := wire.ParseToken(token)
	return err == nil && strings.HasPrefix(string(token), "arn:") && IsCDK(parsed.Name)
}

// IsCDK reports whether a name or a logical ID is that of this function.
func IsCDK(name string) bool { return strings.Contains(name, cdkFunction) }

// Check returns an error if a rule names an unknown service or action.
func (a AWS) Check() error {
	client, err := awscall.New(awscall.Config{Region: local.DefaultRegion, Credentials: aws.AnonymousCredentials{}})
	if err != nil {
		return err
	}
	_, err = customresource.New(customresource.Config{Client: client, Allow: rules(a.Allow)})
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "customresource: "))
	}
	return nil
}

// Provider returns the provider with a name. It loads the AWS configuration on the first request, so stacks without
// such resources need none. An invalid configuration fails the requests that need it.
func (a AWS) Provider(name string) (local.Provider, error) {
	memory, err := pintle.NewMemoryStore(0)
	if err != nil {
		return local.Provider{}, err
	}
	if a.Region == "" {
		a.Region = local.DefaultRegion
	}
	if a.Timeout == 0 {
		a.Timeout = customresource.DefaultTimeout
	}
	h := &handler{aws: a}
	h.of = h.customResource
	return local.Provider{
		Name: name, Serve: cdkframework.Serve(pintle.HandlerFunc(h.handle), memory, cdkframework.Whole), Concurrency: a.Concurrency, Timeout: a.Timeout + margin,
	}, nil
}

// handler is the provider. It is initialized on the first request.
type handler struct {
	aws AWS
	of  func(*awscall.Client) (pintle.Handler, error) // makes the handler of requests with a client

	mu   sync.Mutex
	made map[string]caller // by the account of the stack; without Env the key is empty
}

// caller makes the calls for an account.
type caller struct {
	client *awscall.Client
	own    pintle.Handler // for calls to the client's own region
}

// maxCallers is the maximum number of cached callers.
const maxCallers = 64

func (h *handler) handle(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	made, err := h.get(ctx, r.Account, r.Region)
	if err != nil {
		return pintle.Answer{}, err
	}
	answer, err := made.Handle(ctx, r)
	for name := range answer.Attributes {
		if name == clientSecret || strings.HasSuffix(name, "."+clientSecret) {
			answer.NoEcho = true
		}
	}
	return answer, err
}

// clientSecret is the attribute with the secret of a Cognito user pool client. The CDK reads it with an
// AwsCustomResource, and the CDK's handler does not mark the answer as secret.
const clientSecret = "ClientSecret"

// get returns the handler for stacks of an account and region.
func (h *handler) get(ctx context.Context, account, region string) (made pintle.Handler, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.aws.Env == nil {
		account = ""
	}
	c, ok := h.made[account]
	if !ok {
		if c.client, err = h.aws.client(ctx, account); err != nil {
			return nil, err
		}
		if c.own, err = h.of(c.client); err != nil {
			return nil, err
		}
		if h.made == nil || len(h.made) == maxCallers {
			h.made = map[string]caller{}
		}
		h.made[account] = c
	}
	if h.aws.Env == nil || region == "" || region == c.client.Region() {
		return c.own, nil
	}
	return h.of(c.client.WithRegion(region))
}

func (h *handler) customResource(client *awscall.Client) (pintle.Handler, error) {
	return customresource.New(customresource.Config{
		Client: client, Allow: rules(h.aws.Allow), AllowAll: h.aws.All, Timeout: h.aws.Timeout,
	})
}

func rules(list []project.Allow) []customresource.Rule {
	out := make([]customresource.Rule, len(list))
	for i, a := range list {
		out[i] = customresource.Rule{Calls: a.Calls, Regions: a.Regions, Roles: a.Roles, Accounts: a.Accounts}
	}
	return out
}

// Client returns a configured client for stacks of an account. It uses DefaultRegion if a has no region.
func (a AWS) Client(ctx context.Context, account string) (*awscall.Client, error) {
	if a.Region == "" {
		a.Region = local.DefaultRegion
	}
	return a.client(ctx, account)
}

// client returns a configured client for stacks of an account.
func (a AWS) client(ctx context.Context, account string) (*awscall.Client, error) {
	get := a.configuration
	if a.Env != nil {
		env := a.Env(account)
		get = func(ctx context.Context) (awscall.Config, error) { return a.configFrom(ctx, env) }
	}
	c, err := get(ctx)
	if err != nil {
		return nil, err
	}
	if a.HTTP != nil {
		c.HTTP = a.HTTP
	}
	client, err := awscall.New(c)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration of the server: %w", err)
	}
	return client, nil
}

// configuration returns the configuration of the AWS SDK in this process.
func (a AWS) configuration(ctx context.Context) (awscall.Config, error) {
	return awsconfig.Load(ctx, a.Region)
}

// Client returns a client of AWS with the configuration of the AWS SDK in this process, the same as the provider's.
func Client(ctx context.Context, region string) (*awscall.Client, error) {
	return AWS{Region: region}.client(ctx, "")
}
