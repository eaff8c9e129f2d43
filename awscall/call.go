package awscall

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/awscall/internal/shape"
	"github.com/pintle-dev/pintle/internal/base/suggest"
)

// Call calls an action of a service and returns its result. It does not change params, which may be nil.
//
// Errors: [UnknownServiceError], [UnknownActionError], [UnsupportedError] and [ParameterError] before anything is sent;
// [Error] if the service refuses the call; [SendError] and [ResponseTooLargeError]. Call retries failures that may be
// temporary, up to the limit in the config.
func (c *Client) Call(ctx context.Context, service, action string, params map[string]any) (map[string]any, error) {
	if err := checkRegion(c.config.Region); err != nil {
		return nil, err
	}
	s, name, err := c.find(service, action)
	if err != nil {
		return nil, err
	}
	call := &call{client: c, service: s, region: c.config.Region}
	if call.operation, err = s.shapes.Operation(name); err != nil {
		if errors.Is(err, shape.ErrEventStream) {
			return nil, &UnsupportedError{s.entry.Name, name, err.Error()}
		}
		return nil, err
	}
	if err := call.supported(); err != nil {
		return nil, err
	}
	if err := call.prepare(params); err != nil {
		return nil, err
	}
	return call.do(ctx)
}

// call is one call, including its retries.
type call struct {
	client    *Client
	service   *service
	operation *shape.Operation
	input     *shape.Input
	region    string
	moved     bool // to the region of the bucket
}

func (c *call) id() string { return c.service.shapes.Model.Metadata.ServiceID }

func (c *call) refuse(why string) error {
	return &UnsupportedError{c.service.entry.Name, c.operation.Name, why}
}

// supported refuses calls that would fail.
func (c *call) supported() error {
	m := c.service.shapes.Model.Metadata
	switch {
	case m.SignatureVersion == "v2":
		return c.refuse("the service takes only version 2 of AWS signatures")
	case m.SignatureVersion == "bearer" && !slices.Contains(m.Auth, "aws.auth#sigv4"):
		return c.refuse("the service takes only bearer tokens")
	case len(m.Auth) > 0 && !slices.Contains(m.Auth, "aws.auth#sigv4") && !slices.Contains(m.Auth, "smithy.api#noAuth"):
		return c.refuse("the service takes only " + strings.Join(m.Auth, " and "))
	case c.id() == "Machine Learning" && c.operation.Name == "Predict":
		return c.refuse("it is sent to an address that its parameters name")
	}
	return nil
}

// newToken returns an idempotency token: a random UUID, as in the AWS SDKs. Secrets Manager refuses tokens of less than
// 32 characters.
func newToken() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never returns an error
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// prepare checks and coerces parameters.
func (c *call) prepare(params map[string]any) error {
	params = c.before(params)
	var unknown []string
	in, err := c.operation.Coerce(params, func(path string, known []string) error {
		if c.client.config.Strict {
			last := path[strings.LastIndexByte(path, '.')+1:]
			return &shape.ParameterError{Path: shorten(path), Problem: "there is no such parameter" + meant(suggest.Name(last, known))}
		}
		unknown = append(unknown, shorten(path))
		return nil
	}, newToken)
	var problem *shape.ParameterError
	if errors.As(err, &problem) {
		return &ParameterError{c.service.entry.Name, c.operation.Name, problem.Path, problem.Problem}
	}
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		c.client.config.Log.Warn("parameters that the action does not have are left out",
			"service", c.service.entry.Name, "action", c.operation.Name, "parameters", strings.Join(unknown[:min(len(unknown), 20)], ", "))
	}
	c.input = in
	c.after(in)
	return nil
}

// target is the endpoint of a request and the scope of its signature.
type target struct {
	url     *url.URL
	headers http.Header
	name    string // service name in the signature
	region  string // region in the signature
}

// locate finds the endpoint.
func (c *call) locate() (target, error) {
	m := c.service.shapes.Model.Metadata
	t := target{name: m.SigningName, region: c.region}
	if t.name == "" {
		t.name = m.EndpointPrefix
	}
	own := c.client.config.Endpoint
	if text := c.client.config.Endpoints[c.service.entry.Name]; text != "" {
		own = text
	}
	var text string
	if c.service.rules == nil {
		text = own
		if text == "" {
			text = "https://" + m.EndpointPrefix + "." + c.region + "." + c.client.shared.partitions.DNSSuffix(c.region)
		}
	} else {
		e, err := c.service.rules.Resolve(c.client.shared.partitions, c.ruleParams(own))
		if err != nil {
			return t, fmt.Errorf("%s %s: no endpoint: %w", c.service.entry.Name, c.operation.Name, err)
		}
		switch e.Scheme {
		case "", "sigv4":
		case "sigv4a":
			return t, c.refuse("the endpoint takes only version 4a of AWS signatures")
		case "sigv4-s3express":
			return t, c.refuse("directory buckets of S3 Express take signatures of their own")
		default:
			return t, c.refuse("the endpoint takes only signatures of the kind " + e.Scheme)
		}
		if e.SigningName != "" {
			t.name = e.SigningName
		}
		if e.SigningRegion != "" {
			// Services without regions have a region for signatures. In S3 it differs only if an ARN names another one.
			global := c.region == "aws-global" && e.SigningRegion == "us-east-1"
			if s3 := c.id() == "S3" || c.id() == "S3 Control"; s3 && !global {
				if err := c.mayLeaveFor(e.SigningRegion); err != nil {
					return t, err
				}
			}
			t.region = e.SigningRegion
		}
		text, t.headers = e.URL, e.Headers
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return t, fmt.Errorf("%s %s: no endpoint: the rules made no URL of it", c.service.entry.Name, c.operation.Name)
	}
	if own != "" && c.id() == "S3 Control" {
		if u, err = url.Parse(own); err != nil { // the rules prefix the host with the account, which a custom endpoint hardly supports
			return t, fmt.Errorf("%s %s: no endpoint: %w", c.service.entry.Name, c.operation.Name, err)
		}
	}
	if own == "" {
		if err := c.elsewhere(u, &t); err != nil {
			return t, err
		}
		prefix, err := c.operation.HostPrefix(c.input)
		var problem *shape.ParameterError
		if errors.As(err, &problem) {
			return t, &ParameterError{c.service.entry.Name, c.operation.Name, problem.Path, problem.Problem}
		}
		if !strings.HasPrefix(u.Host, prefix) { // the rules of S3 Control may have added it
			u.Host = prefix + u.Host
		}
	}
	t.url = u
	return t, nil
}

// mayLeaveFor returns an error if the call must not go to a region.
func (c *call) mayLeaveFor(region string) error {
	if region == c.client.config.Region || c.client.may == nil {
		return nil
	}
	return c.client.may(region)
}

// ruleParams are the parameters of the endpoint rules.
func (c *call) ruleParams(own string) map[string]any {
	config := c.client.config
	builtIns := map[string]any{"AWS::Region": c.region, "AWS::UseFIPS": config.FIPS, "AWS::UseDualStack": config.DualStack,
		"AWS::Auth::AccountIdEndpointMode": "disabled", "AWS::S3::UseArnRegion": true, "AWS::S3Control::UseArnRegion": true,
		"AWS::S3::DisableMultiRegionAccessPoints": false, "AWS::S3::ForcePathStyle": config.PathStyle}
	if own != "" {
		builtIns["SDK::Endpoint"] = strings.TrimSuffix(own, "/")
		if u, err := url.Parse(own); err == nil && !strings.Contains(u.Hostname(), ".") {
			builtIns["AWS::S3::ForcePathStyle"] = true // a bucket name before localhost is not a valid host
		}
	}
	params := map[string]any{}
	for meaning, v := range builtIns {
		if name := c.service.rules.BuiltIn(meaning); name != "" {
			params[name] = v
		}
	}
	for name, p := range c.operation.Model.StaticContextParams {
		params[name] = p.Value
	}
	c.input.Each(func(m *shape.Member, v any) {
		if m.Context != "" {
			params[m.Context] = v
		}
	})
	return params
}

// build makes the unsigned request for a target, and its body.
func (c *call) build(ctx context.Context, t target) (*http.Request, []byte, error) {
	r, err := c.operation.Request(ctx, c.input)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.service.entry.Name, err)
	}
	u := *t.url
	path := strings.TrimSuffix(u.EscapedPath(), "/") + "/" + strings.TrimPrefix(r.Path, "/")
	if path == u.EscapedPath()+"/" && c.id() == "S3" {
		path = u.EscapedPath() // a bucket's own URL has no trailing slash
	}
	if u.Path, err = url.PathUnescape(path); err != nil {
		return nil, nil, fmt.Errorf("%s %s: the path cannot be written", c.service.entry.Name, c.operation.Name)
	}
	if u.Path == "" {
		u.Path, path = "/", "/"
	}
	u.RawPath, u.RawQuery = path, r.Query
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: the request cannot be written", c.service.entry.Name, c.operation.Name)
	}
	req.URL = &u
	req.Header = r.Header
	for name, values := range t.headers {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("User-Agent", strings.TrimSpace(c.client.config.UserAgent+" pintle-awscall"))
	if err := c.dress(req.Header, r.Body); err != nil {
		return nil, nil, err
	}
	return req, r.Body, nil
}
