package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Subjects of the messages that CloudFormation publishes. Source: captured events.
const (
	requestSubject      = "AWS CloudFormation custom resource request"
	notificationSubject = "AWS CloudFormation Notification"
)

func subject(r store.Request) string {
	if r.Type == store.TypeNotification {
		return notificationSubject
	}
	return requestSubject
}

const (
	callTimeout  = 30 * time.Second // of one call of a service
	credsTimeout = 10 * time.Second // of the search for credentials
)

// cloud holds the clients of AWS by region.
type cloud struct {
	mu      sync.Mutex
	regions map[string]*client
}

// client calls AWS in one region.
type client struct {
	*awscall.Client
	config awscall.Config // the client's configuration
}

// client returns the client of a region, after it has found credentials: missing ones must be reported before anything
// is sent. Errors are not cached, because the configuration may be fixed while this process runs.
func (c *cloud) client(ctx context.Context, region string) (*client, error) {
	found, err := c.load(ctx, region)
	if err != nil {
		return nil, err
	}
	if err := retrieve(ctx, found.config.Credentials); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.regions[region] == found {
			delete(c.regions, region)
		}
		return nil, err
	}
	return found, nil
}

func (c *cloud) load(ctx context.Context, region string) (*client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.regions[region]; found != nil {
		return found, nil
	}
	found, err := newClient(ctx, region)
	if err != nil {
		return nil, err
	}
	if c.regions == nil { // a Sender has no constructor
		c.regions = map[string]*client{}
	}
	c.regions[region] = found
	return found, nil
}

func newClient(ctx context.Context, region string) (*client, error) {
	c, err := awsconfig.Load(ctx, region, awsconfig.MetadataIfAsked)
	if err != nil {
		return nil, err
	}
	if c.Credentials == nil {
		return nil, errNoCredentials
	}
	c.MaxAttempts = 1 // retries are decided in this package
	// Only two services are called, so a bad endpoint of another one does not matter.
	maps.DeleteFunc(c.Endpoints, func(service, _ string) bool { return service != lambdaService && service != snsService })
	// The client has no timeout: each call has its own, and a function may run for 15 minutes.
	c.HTTP = &http.Client{Transport: tracing{c.HTTP.Transport}}
	made, err := awscall.New(c)
	if err != nil {
		return nil, fmt.Errorf("the AWS configuration is invalid: %w", err)
	}
	return &client{made, c}, nil
}

// endpoint returns the configured endpoint of a service, or "" for AWS's own.
func (c *client) endpoint(service string) string {
	return cmp.Or(c.config.Endpoints[service], c.config.Endpoint)
}

// The services that are called, as package awscall names them.
const (
	lambdaService = "lambda"
	snsService    = "sns"
)

// tracing sends the trace of a request to AWS, in an unsigned header.
type tracing struct{ next http.RoundTripper }

type traceKey struct{}

// RoundTrip implements http.RoundTripper.
func (t tracing) RoundTrip(r *http.Request) (*http.Response, error) {
	if header, ok := r.Context().Value(traceKey{}).(string); ok {
		r = r.Clone(r.Context())
		r.Header.Set(trace.XRayHeader, header)
	}
	return t.next.RoundTrip(r)
}

// traced returns a context whose AWS calls belong to the trace of a request.
func traced(ctx context.Context, r store.Request) context.Context {
	if parent := trace.Parse(r.Body.Trace); parent != "" {
		return context.WithValue(ctx, traceKey{}, parent.XRay())
	}
	return ctx
}

// invocation returns the parameters of Lambda's Invoke. kind is the InvocationType.
func invocation(named wire.ServiceToken, token wire.Token, kind string, payload []byte) map[string]any {
	params := map[string]any{
		"FunctionName":   strings.TrimSuffix(string(named), ":"+token.Qualifier),
		"InvocationType": kind,
		"Payload":        payload,
	}
	if token.Qualifier != "" {
		params["Qualifier"] = token.Qualifier
	}
	return params
}

// The invocation types of Lambda. Source: AWS Lambda, Invoke.
const (
	asynchronous = "Event"
	synchronous  = "RequestResponse"
)

// invoked is the result of a synchronous invocation.
type invoked struct {
	payload []byte
	failed  bool   // the payload describes an error of the function
	log     string // end of the function's log in base64, if it was asked for
}

// invoke calls a function and waits for its result.
func (c *client) invoke(ctx context.Context, params map[string]any) (invoked, error) {
	out, err := c.Call(ctx, lambdaService, "Invoke", params)
	if err != nil {
		return invoked{}, err
	}
	payload, _ := out["Payload"].([]byte) // missing if the function returned nothing
	_, failed := out["FunctionError"]
	log, _ := out["LogResult"].(string)
	return invoked{payload, failed, log}, nil
}

// service describes how to call one AWS service.
type service struct {
	// name is the service's name in package awscall.
	name string
	// action is the call, as the rules of accounts name it.
	action string
	// call sends the body to the service.
	call func(ctx context.Context, c *client, token wire.Token, r store.Request, body []byte) error
	// failure formats the service's error in CloudFormation's form.
	failure func(message, code string, status int, requestID string) string
	// elsewhere returns AWS's error text for a token from a different region than the stack's, or "" if the text is
	// unknown.
	elsewhere func(r store.Request) string
}

var invoke = service{
	name:   lambdaService,
	action: invokeAction,
	call: func(ctx context.Context, c *client, token wire.Token, r store.Request, body []byte) error {
		_, err := c.Call(traced(ctx, r), lambdaService, "Invoke", invocation(r.Body.ServiceToken(), token, asynchronous, body))
		return err
	},
	failure: func(message, _ string, status int, requestID string) string {
		return fmt.Sprintf("%s (Service: Lambda, Status Code: %d, Request ID: %s)", message, status, requestID)
	},
	elsewhere: func(store.Request) string { return "" },
}

// invokeAction is the action that invokes a Lambda function.
const invokeAction = "lambda:Invoke"

var publish = service{
	name:   snsService,
	action: "sns:Publish",
	call: func(ctx context.Context, c *client, _ wire.Token, r store.Request, body []byte) error {
		_, err := c.Call(traced(ctx, r), snsService, "Publish", map[string]any{
			"TopicArn": string(r.Body.ServiceToken()),
			"Subject":  subject(r),
			"Message":  string(body),
		})
		return err
	},
	failure: func(message, code string, status int, requestID string) string {
		return fmt.Sprintf("%s (Service: AmazonSNS; Status Code: %d; Error Code: %s; Request ID: %s)",
			message, status, code, requestID)
	},
	elsewhere: func(r store.Request) string {
		return fmt.Sprintf("Invalid parameter: TopicArn (Service: AmazonSNS; Status Code: 400; Error Code: InvalidParameter; "+
			"Request ID: %s)", r.ID)
	},
}

// sendCloud sends the request through an AWS service.
func (rt *router) sendCloud(soft, hard context.Context, s *send, hide *redactor, token wire.Token, to service) Outcome {
	r := s.request
	refuse := func(text string) Outcome { return Refused{Text: hide.text(text)} }

	if err := rt.config.Allowed(accountOf(r), to.action); err != nil {
		return refuse(fmt.Sprintf("%s, and %v", rt.unknown(r, token.Name), err))
	}
	c, err := rt.cloud.client(hard, r.Body.Region)
	switch {
	case err != nil && soft.Err() != nil:
		return nil
	case err != nil:
		return refuse(fmt.Sprintf("%s and no AWS credentials: %v. "+
			"Add it to pintle.yaml under providers, or use --provider %s=./path, or configure AWS credentials "+
			"(those of an EC2 role are used if AWS_EC2_METADATA_DISABLED=false is set)", rt.unknown(r, token.Name), err, token.Name))
	case token.Region != r.Body.Region:
		return refuse(rt.elsewhere(r, token, to))
	}
	body, responseURL, err := rt.document(r)
	if err != nil {
		return refuse(err.Error())
	}
	if onLoopback(responseURL) && !onLoopback(c.endpoint(to.name)) {
		return refuse(fmt.Sprintf("%s runs in AWS and cannot reach the response URL, which is on loopback: "+
			"start with --public-url, or add a local provider %s to pintle.yaml under providers", r.Body.ServiceToken(), token.Name))
	}
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return rt.judge(to.call(ctx, c, token, r, body), to, token, hide)
	})
}

// elsewhere returns the reason why a token from a different region than the stack's is refused.
func (rt *router) elsewhere(r store.Request, token wire.Token, to service) string {
	text := to.elsewhere(r)
	if text != "" && rt.config.FidelityAWS {
		return text
	}
	if text != "" {
		text += ": "
	}
	return fmt.Sprintf("%s%s is in %s, and a service token must be in the region of its stack, %s",
		text, r.Body.ServiceToken(), token.Region, r.Body.Region)
}

var errNoCredentials = errors.New("none are configured")

// retrieve retrieves credentials. The provider caches them.
func retrieve(ctx context.Context, creds aws.CredentialsProvider) error {
	ctx, cancel := context.WithTimeout(ctx, credsTimeout)
	defer cancel()
	_, err := creds.Retrieve(ctx)
	if last, ok := errors.AsType[*smithy.OperationError](err); ok && last.ServiceID == "ec2imds" {
		return errNoCredentials // the SDK tries the instance metadata last
	}
	return err
}

// judge distinguishes temporary from permanent errors.
func (rt *router) judge(err error, to service, token wire.Token, hide *redactor) attemptResult {
	if err == nil {
		return attemptResult{outcome: Accepted{}}
	}
	api, ok := errors.AsType[*awscall.Error](err)
	if large, ok := errors.AsType[*awscall.ResponseTooLargeError](err); ok {
		return attemptResult{delivered: true, outcome: Refused{Text: large.Error()}}
	}
	if !ok {
		connection, ok := errors.AsType[*net.OpError](err)
		if ok {
			err = connection
		} else {
			for inner := err; inner != nil; inner = errors.Unwrap(inner) { // the innermost error does not repeat the call's name
				err = inner
			}
		}
		dialling := ok && connection.Op == "dial"
		return attemptResult{text: hide.text(fmt.Sprintf("%s: %v", token.Service, err)), delivered: !dialling}
	}
	text := hide.text(to.failure(cmp.Or(api.Message, api.Code), cmp.Or(api.WireCode, api.Code), api.Status, api.RequestID))
	throttled := retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err) == aws.TrueTernary
	if throttled || api.Status == http.StatusTooManyRequests || api.Status >= 500 {
		return attemptResult{text: text, delivered: api.Status >= 500}
	}
	if api.Status == http.StatusNotFound && !rt.config.FidelityAWS {
		text += hide.text(fmt.Sprintf(". No local provider is named %s either", token.Name))
	}
	return refused(text)
}
