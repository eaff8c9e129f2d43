package delivery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/pintle-dev/pintle/internal/base/trace"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// The subjects of what CloudFormation publishes. Source: captured events.
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
	regions map[string]*clients
}

type clients struct {
	creds  aws.CredentialsProvider
	lambda *lambda.Client
	sns    *sns.Client
}

// clients returns those of a region, with credentials found: their absence has to be known before anything is sent. On
// an error nothing is kept, since the configuration may be fixed while this process runs.
func (c *cloud) clients(ctx context.Context, region string) (*clients, error) {
	found, err := c.load(ctx, region)
	if err != nil {
		return nil, err
	}
	if err := retrieve(ctx, found.creds); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.regions[region] == found {
			delete(c.regions, region)
		}
		return nil, err
	}
	return found, nil
}

func (c *cloud) load(ctx context.Context, region string) (*clients, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.regions[region]; found != nil {
		return found, nil
	}
	found, err := newClients(ctx, region)
	if err == nil {
		c.regions[region] = found
	}
	return found, err
}

func newClients(ctx context.Context, region string) (*clients, error) {
	options := []func(*config.LoadOptions) error{
		config.WithRegion(region),
		// Which failures are tried again, and how long, is decided here, not in the SDK.
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
	}
	if !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "false") {
		options = append(options, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, err
	}
	return &clients{creds: cfg.Credentials, lambda: lambda.NewFromConfig(cfg), sns: sns.NewFromConfig(cfg)}, nil
}

// service is how one service of AWS is called.
type service struct {
	// action is the call, as rules of accounts name it.
	action string
	// call hands the body to the service.
	call func(ctx context.Context, c *clients, token wire.Token, r store.Request, body []byte) error
	// endpoint is the configured one, nil if it is the service's own.
	endpoint func(c *clients) *string
	// failure formats the service's error in CloudFormation's form.
	failure func(message, code string, status int, requestID string) string
	// elsewhere is AWS's text for a token of another region than the stack's, empty if it is not known.
	elsewhere func(r store.Request) string
}

var invoke = service{
	action: invokeAction,
	call: func(ctx context.Context, c *clients, token wire.Token, r store.Request, body []byte) error {
		input := &lambda.InvokeInput{
			FunctionName:   aws.String(strings.TrimSuffix(string(r.Body.ServiceToken()), ":"+token.Qualifier)),
			InvocationType: types.InvocationTypeEvent,
			Payload:        body,
		}
		if token.Qualifier != "" {
			input.Qualifier = aws.String(token.Qualifier)
		}
		_, err := c.lambda.Invoke(ctx, input, func(o *lambda.Options) { o.APIOptions = append(o.APIOptions, traced(r)...) })
		return err
	},
	endpoint: func(c *clients) *string { return c.lambda.Options().BaseEndpoint },
	failure: func(message, _ string, status int, requestID string) string {
		return fmt.Sprintf("%s (Service: Lambda, Status Code: %d, Request ID: %s)", message, status, requestID)
	},
	elsewhere: func(store.Request) string { return "" },
}

// invokeAction is the call that invokes a function of AWS.
const invokeAction = "lambda:Invoke"

var publish = service{
	action: "sns:Publish",
	call: func(ctx context.Context, c *clients, _ wire.Token, r store.Request, body []byte) error {
		_, err := c.sns.Publish(ctx, &sns.PublishInput{
			TopicArn: aws.String(string(r.Body.ServiceToken())),
			Subject:  aws.String(subject(r)),
			Message:  aws.String(string(body)),
		}, func(o *sns.Options) { o.APIOptions = append(o.APIOptions, traced(r)...) })
		return err
	},
	endpoint: func(c *clients) *string { return c.sns.Options().BaseEndpoint },
	failure: func(message, code string, status int, requestID string) string {
		return fmt.Sprintf("%s (Service: AmazonSNS; Status Code: %d; Error Code: %s; Request ID: %s)",
			message, status, code, requestID)
	},
	elsewhere: func(r store.Request) string {
		return fmt.Sprintf("Invalid parameter: TopicArn (Service: AmazonSNS; Status Code: 400; Error Code: InvalidParameter; "+
			"Request ID: %s)", r.ID)
	},
}

// traced puts the trace of a request into a call, from where the service passes it on.
func traced(r store.Request) []func(*middleware.Stack) error {
	parent := trace.Parse(r.Body.Trace)
	if parent == "" {
		return nil
	}
	return []func(*middleware.Stack) error{smithyhttp.SetHeaderValue(trace.XRayHeader, parent.XRay())}
}

// sendCloud hands the request to a service of AWS.
func (d *Delivery) sendCloud(soft, hard context.Context, s *send, hide *scrubber, token wire.Token, to service) Outcome {
	r := s.request
	refuse := func(text string) Outcome { return Refused{Text: hide.text(text)} }

	if err := d.config.Allowed(accountOf(r), to.action); err != nil {
		return refuse(fmt.Sprintf("no local provider named %q, and %v", token.Name, err))
	}
	c, err := d.cloud.clients(hard, r.Body.Region)
	switch {
	case err != nil && soft.Err() != nil:
		return nil
	case err != nil:
		return refuse(fmt.Sprintf("no local provider named %q and no AWS credentials: %v. "+
			"Add it to pintle.yaml under providers, or give --provider %s=./path, or configure AWS credentials "+
			"(those of an EC2 role are used if AWS_EC2_METADATA_DISABLED=false is set)", token.Name, err, token.Name))
	case token.Region != r.Body.Region:
		return refuse(d.elsewhere(r, token, to))
	}
	body, responseURL, err := d.document(r)
	if err != nil {
		return refuse(err.Error())
	}
	if endpoint := to.endpoint(c); onLoopback(responseURL) && (endpoint == nil || !onLoopback(*endpoint)) {
		return refuse(fmt.Sprintf("%s runs in AWS and cannot reach the response URL, which is on loopback: "+
			"start with --public-url, or add a local provider %s to pintle.yaml under providers", r.Body.ServiceToken(), token.Name))
	}
	return d.persist(soft, hard, s, func(ctx context.Context) verdict {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return d.judge(to.call(ctx, c, token, r, body), to, token, hide)
	})
}

// elsewhere is why a token of another region than the stack's is refused.
func (d *Delivery) elsewhere(r store.Request, token wire.Token, to service) string {
	text := to.elsewhere(r)
	if text != "" && d.config.FidelityAWS {
		return text
	}
	if text != "" {
		text += ": "
	}
	return fmt.Sprintf("%s%s is in %s, and a service token must be in the region of its stack, %s",
		text, r.Body.ServiceToken(), token.Region, r.Body.Region)
}

// retrieve looks for credentials. Those that were found before are in the provider's cache.
func retrieve(ctx context.Context, creds aws.CredentialsProvider) error {
	if creds == nil {
		return errors.New("none are configured")
	}
	ctx, cancel := context.WithTimeout(ctx, credsTimeout)
	defer cancel()
	_, err := creds.Retrieve(ctx)
	var last *smithy.OperationError
	if errors.As(err, &last) && last.ServiceID == "ec2imds" {
		return errors.New("none are configured") // the instance metadata is where the SDK looks last
	}
	return err
}

// judge tells what may pass from what will not.
func (d *Delivery) judge(err error, to service, token wire.Token, hide *scrubber) verdict {
	if err == nil {
		return verdict{outcome: Accepted{}}
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		// Without the SDK's wrapping, which tells of operations and attempts.
		var connection *net.OpError
		if errors.As(err, &connection) {
			err = connection
		} else {
			for inner := err; inner != nil; inner = errors.Unwrap(inner) {
				err = inner
			}
		}
		dialling := connection != nil && connection.Op == "dial"
		return verdict{text: hide.text(fmt.Sprintf("%s: %v", token.Service, err)), delivered: !dialling}
	}
	status, requestID := 0, ""
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		status, requestID = response.HTTPStatusCode(), response.ServiceRequestID()
	}
	message := api.ErrorMessage()
	if message == "" {
		message = api.ErrorCode()
	}
	text := hide.text(to.failure(message, api.ErrorCode(), status, requestID))
	throttled := retry.ThrottleErrorCode{Codes: retry.DefaultThrottleErrorCodes}.IsErrorThrottle(err) == aws.TrueTernary
	if throttled || status == http.StatusTooManyRequests || status >= 500 {
		return verdict{text: text, delivered: status >= 500}
	}
	if status == http.StatusNotFound && !d.config.FidelityAWS {
		text += hide.text(fmt.Sprintf(". No local provider is named %s either", token.Name))
	}
	return refused(text)
}
