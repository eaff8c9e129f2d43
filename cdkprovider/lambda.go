package cdkprovider

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/awssign"
	"github.com/pintle-dev/pintle/internal/base/clock"
	"github.com/pintle-dev/pintle/wire"
)

// LambdaConfig configures [LambdaFunction]. [LambdaConfigFromEnvironment] reads one from the environment.
type LambdaConfig struct {
	// Region is the region of a function without an ARN.
	Region string
	// Endpoint is the URL of the Lambda service. Empty means the default URL of the region.
	Endpoint string
	// Credentials returns the key that signs a call. It is called for each call. Required.
	Credentials func(context.Context) (Credentials, error)
	// Client makes the calls. It should not have a timeout: a call takes as long as the function. Nil means a client that
	// respects HTTPS_PROXY.
	Client *http.Client

	clock clock.Clock // nil: the system clock
}

// Credentials are AWS credentials. SessionToken is empty for long-term keys.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey pintle.Secret
	SessionToken    pintle.Secret
}

// LambdaConfigFromEnvironment returns the configuration in the environment variables AWS_REGION or AWS_DEFAULT_REGION, and
// AWS_ENDPOINT_URL_LAMBDA or AWS_ENDPOINT_URL. Its Credentials read AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN for each call. Lambda sets these for a function.
func LambdaConfigFromEnvironment() LambdaConfig {
	return LambdaConfig{
		Region:   cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		Endpoint: cmp.Or(os.Getenv("AWS_ENDPOINT_URL_LAMBDA"), os.Getenv("AWS_ENDPOINT_URL")),
		Credentials: func(context.Context) (Credentials, error) {
			return Credentials{
				AccessKeyID:     os.Getenv("AWS_ACCESS_KEY_ID"),
				SecretAccessKey: pintle.NewSecret(os.Getenv("AWS_SECRET_ACCESS_KEY")),
				SessionToken:    pintle.NewSecret(os.Getenv("AWS_SESSION_TOKEN")),
			}, nil
		},
	}
}

const (
	// maxResult is the size of the largest result of a function in bytes. Source: Lambda, quotas, synchronous payload.
	maxResult = 6 << 20
	// invokeTries is the maximum number of tries for a call that did not reach the function.
	invokeTries = 6
	// longestPause is the longest pause between two tries.
	longestPause = 5 * time.Second
	// activeWithin is how long to wait for a function to become active.
	activeWithin = 5 * time.Minute
)

// functionName matches the names that Invoke accepts: a name with an optional qualifier, or an ARN. Source: Lambda, API,
// Invoke.
var functionName = regexp.MustCompile(`^(?:arn:(aws[a-z-]*):lambda:([a-z0-9-]+):[0-9]{12}:function:|[0-9]{12}:function:)?([A-Za-z0-9_-]{1,140})(?::(\$LATEST|[A-Za-z0-9_-]{1,128}))?$`)

// lambdaFunction is a Lambda function that is called by its name.
type lambdaFunction struct {
	LambdaConfig
	id                      string // as given
	partition, region, name string // the first two are set only for an ARN
}

// LambdaFunction returns the Lambda function with a name or an ARN, which may end with a version or alias. It is called
// synchronously. A call that is throttled or gets a server error is retried after a pause. If the function is not active
// yet, the call waits for it. Both happen within the time of the request. The program needs the permission
// lambda:InvokeFunction. An error of the function is a [FunctionError].
func LambdaFunction(id string, c LambdaConfig) (Function, error) {
	parts := functionName.FindStringSubmatch(id)
	if parts == nil {
		return nil, fmt.Errorf("%.200q is not a Lambda function: want its name or its ARN", id)
	}
	if c.Credentials == nil {
		return nil, errors.New("a call of a Lambda function needs credentials, and none are set")
	}
	if c.clock == nil {
		c.clock = clock.System{}
	}
	if c.Client == nil {
		c.Client = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			IdleConnTimeout:     30 * time.Second,
			ForceAttemptHTTP2:   true,
		}}
	}
	own := *c.Client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Client = &own
	f := lambdaFunction{LambdaConfig: c, id: id, partition: parts[1], region: parts[2], name: parts[3]}
	return f.call, nil
}

// call retries the call until the function runs.
func (f lambdaFunction) call(ctx context.Context, event []byte) ([]byte, error) {
	start := f.clock.Now()
	pause := 200 * time.Millisecond
	for try := 1; ; try++ {
		result, err := f.invoke(ctx, event)
		var refused *invokeError
		if !errors.As(err, &refused) || refused.again == never {
			return result, err
		}
		switch late := f.clock.Now().Sub(start) > activeWithin; {
		case refused.again == whenActive && late, refused.again == soon && try >= invokeTries, ctx.Err() != nil:
			return nil, err
		case refused.again == whenActive:
			pause = max(pause, time.Second)
		}
		if f.clock.Sleep(ctx, pause/2+rand.N(pause)) != nil {
			return nil, err
		}
		pause = min(2*pause, longestPause)
	}
}

// again is whether and when to retry a call.
type again int

const (
	never      again = iota
	soon             // the call did not reach the function
	whenActive       // the function is not active yet
)

// invokeError is the error of a call that the service refused.
type invokeError struct {
	text  string
	again again
}

func (e *invokeError) Error() string { return e.text }

// invoke makes one call.
func (f lambdaFunction) invoke(ctx context.Context, event []byte) ([]byte, error) {
	request, err := f.request(ctx, event)
	if err != nil {
		return nil, fmt.Errorf("invoke %s: %w", f.id, err)
	}
	response, err := f.Client.Do(request)
	if err != nil {
		refused := &invokeError{text: fmt.Sprintf("invoke %s: %v", f.id, withoutURL(err))}
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			refused.again = soon // otherwise the function may be running
		}
		return nil, refused
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResult+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("invoke %s: the result was cut off: %w", f.id, withoutURL(err))
	case response.StatusCode != http.StatusOK:
		return nil, f.refusal(response, body)
	case len(body) > maxResult:
		return nil, fmt.Errorf("invoke %s: the result is longer than %d bytes", f.id, maxResult)
	case response.Header.Get("X-Amz-Function-Error") != "":
		return nil, f.failure(body)
	}
	return body, nil
}

// request returns a signed Invoke request.
func (f lambdaFunction) request(ctx context.Context, event []byte) (*http.Request, error) {
	region := cmp.Or(f.region, f.Region)
	if region == "" {
		return nil, errors.New("there is no region: set AWS_REGION")
	}
	c, err := f.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	key := awssign.Key{ID: c.AccessKeyID, Secret: c.SecretAccessKey.Reveal(), Session: c.SessionToken.Reveal()}
	if key.ID == "" || key.Secret == "" {
		return nil, errors.New("there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	domain := "amazonaws.com"
	if f.partition == "aws-cn" || f.partition == "" && strings.HasPrefix(region, "cn-") {
		domain = "amazonaws.com.cn"
	}
	endpoint := cmp.Or(f.Endpoint, "https://lambda."+region+"."+domain)
	base, err := url.Parse(endpoint)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New("the endpoint of Lambda is not an http or https URL")
	}
	base = base.JoinPath("2015-03-31/functions", awssign.EscapePath(f.id), "invocations")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base.String(), bytes.NewReader(event))
	if err != nil {
		return nil, errors.New("the endpoint of Lambda is not a URL")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Amz-Invocation-Type", "RequestResponse")
	key.Sign(request, event, region, "lambda", f.clock.Now())
	return request, nil
}

// refusal returns the error of a call that did not run the function.
func (f lambdaFunction) refusal(response *http.Response, body []byte) error {
	var said struct {
		Message string `json:"message"` // or Message: encoding/json ignores case
		Type    string
	}
	_ = json.Unmarshal(body, &said) // a body that is not JSON adds nothing
	kind, _, _ := strings.Cut(response.Header.Get("X-Amzn-ErrorType"), ":")
	said.Message = wire.CleanText(wire.Redact(said.Message))
	e := &invokeError{text: fmt.Sprintf("invoke %s: %s %s: %.500s", f.id, response.Status, kind, said.Message)}
	switch {
	case kind == "ResourceNotReadyException", kind == "ResourceConflictException" && strings.Contains(said.Message, "Pending"):
		e.again = whenActive
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode >= 500 && !permanent[kind]:
		e.again = soon
	}
	return e
}

// permanent are the errors with status 502 that a retry cannot fix. Source: Lambda, API, Invoke, errors.
var permanent = map[string]bool{
	"InvalidRuntimeException": true, "InvalidZipFileException": true, "InvalidSecurityGroupIDException": true, "InvalidSubnetIDException": true,
	"KMSAccessDeniedException": true, "KMSDisabledException": true, "KMSInvalidStateException": true, "KMSNotFoundException": true,
}

// failure returns the error of a function that ran.
func (f lambdaFunction) failure(body []byte) error {
	var said struct {
		Message    string   `json:"errorMessage"`
		Trace      []string `json:"trace"`      // from Node
		StackTrace []any    `json:"stackTrace"` // from Python and Go
	}
	if err := json.Unmarshal(body, &said); err != nil && said.Message == "" {
		said.Message = "error"
	}
	e := &FunctionError{Message: cmp.Or(said.Message, "error"), Logs: "/aws/lambda/" + f.name, Trace: said.Trace}
	for _, line := range said.StackTrace {
		if text, ok := line.(string); ok {
			e.Trace = append(e.Trace, text)
		} else {
			e.Trace = append(e.Trace, fmt.Sprint(line))
		}
	}
	return e
}

// withoutURL returns an error of net/http without the URL.
func withoutURL(err error) error {
	var with *url.Error
	if errors.As(err, &with) {
		err = with.Err
	}
	if text := err.Error(); wire.Redact(text) != text {
		return errors.New(wire.Redact(text))
	}
	return err
}
