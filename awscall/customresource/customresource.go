// Package customresource implements the provider of the AWS CDK's AwsCustomResource, whose every request is one AWS call.
//
//	client, err := awscall.New(awscall.Config{Region: region, Credentials: credentials})
//	provider, err := customresource.New(customresource.Config{Client: client, Allow: []customresource.Rule{{Calls: "ssm:GetParameter"}}})
//	pintle.Main(provider)
//
// The properties Create, Update and Delete are calls. Each is an object or its JSON text:
//
//	service, action           as in [awscall.Client.Call]
//	parameters                of the call; "PHYSICAL:RESOURCEID:" as a value stands for the physical ID
//	physicalResourceId        {"id": "…"}, or {"responsePath": "Parameter.ARN"}
//	outputPaths, outputPath   only names that begin with one of these become attributes
//	ignoreErrorCodesMatching  a regular expression for names of errors that count as success
//	region                    of the call; the client's if left out
//	assumedRoleArn            role to call as, with externalId if it wants one
//	apiVersion                becomes the attribute of that name, and nothing else
//	logApiResponseData        false keeps even the names of attributes out of the log
//
// A request without a call does nothing, except that Create defaults to Update. The attributes are the response in the
// form of [awscall.Flatten], plus region, plus apiVersion if it was given. InstallLatestAwsSdk is accepted and has no
// effect.
//
// # Differences from the CDK's provider
//
// A failed Update keeps the physical ID. The CDK's provider returns another ID, so that the service deletes the resource.
// Bytes in a response become text of exactly these bytes. The error explains a path that the response does not have, and
// attributes that are too large. Without a rule in the config, no calls are allowed.
package customresource

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/wire"
)

// DefaultTimeout is the default of [Config.Timeout].
const DefaultTimeout = 2 * time.Minute

// Config configures a provider.
type Config struct {
	// Client makes the calls. Nil is an error.
	Client *awscall.Client
	// Allow lists the allowed calls. If it is empty, no calls are allowed unless AllowAll is set.
	Allow []Rule
	// AllowAll allows templates every call that the client's credentials permit, in every region and with every role. It
	// is for a provider whose templates are all from its owner.
	AllowAll bool
	// Timeout is how long one call may take, including retries. Zero means [DefaultTimeout].
	Timeout time.Duration

	now func() time.Time // for names of role sessions; nil: time.Now
}

// New makes a provider.
func New(config Config) (pintle.Handler, error) {
	if config.Client == nil {
		return nil, errors.New("customresource: no client")
	}
	if config.Timeout < 0 {
		return nil, errors.New("customresource: Timeout may not be negative")
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	if config.now == nil {
		config.now = time.Now
	}
	rules, err := compile(config.Client, config.Allow)
	if err != nil {
		return nil, err
	}
	p := &provider{config: config, rules: rules}
	return pintle.HandlerFunc(p.handle), nil
}

type provider struct {
	config Config
	rules  []rule
}

func (p *provider) handle(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	calls, err := parse(r.RawProperties)
	if err != nil {
		return pintle.Answer{}, err
	}
	c := calls.of(r.Type)
	id := calls.id(r)
	if c == nil {
		return answer(r, id, nil), nil
	}
	flat, ignored, err := p.call(ctx, r, c, id)
	if err != nil {
		if r.Type == pintle.Create && c.ResponsePath == "" && undecided(err) {
			return answer(r, id, nil), err // with the ID, so that a resource that may exist is deleted
		}
		return pintle.Answer{}, err
	}
	if ignored {
		return answer(r, id, nil), nil
	}
	all := c.complete(flat, p.regionOf(c))
	if path := c.ResponsePath; path != "" && r.Type != pintle.Delete { // a Delete keeps its ID
		found, ok := text(all[path])
		if !ok || found == "" {
			return pintle.Answer{}, fmt.Errorf("the call succeeded, but its response has no %s for the physical ID; it has %s%s", path, some(flat, 8), leftBehind(r))
		}
		id = found
	}
	data := c.chosen(all)
	if c.logged() {
		r.Log().Info("attributes", "names", some(data, 40))
	}
	a := answer(r, id, data)
	if err := fits(r, a); err != nil {
		a.Attributes = nil
		return a, err // with the ID, because the resource of the Create must be deleted
	}
	return a, nil
}

// answer returns an answer with an ID. A Delete cannot change it.
func answer(r *pintle.Request, id string, data map[string]any) pintle.Answer {
	if r.Type == pintle.Delete {
		return pintle.Answer{}
	}
	// Another ID replaces the resource, as it does for the CDK's handler.
	replaces := r.Type == pintle.Update && pintle.PhysicalID(id) != r.ID
	return pintle.Answer{ID: pintle.PhysicalID(id), Replaces: replaces, Attributes: data}
}

func leftBehind(r *pintle.Request) string {
	if r.Type != pintle.Create {
		return ""
	}
	return "; what the call made stays, as it cannot be named"
}

func (p *provider) regionOf(c *call) string {
	if c.Region != "" {
		return c.Region
	}
	return p.config.Client.Region()
}

// call makes the call. ignored reports that it failed with an error that counts as success.
func (p *provider) call(ctx context.Context, r *pintle.Request, c *call, id string) (flat map[string]any, ignored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	client := p.config.Client.WithRegion(p.regionOf(c))
	service, action, err := client.Name(c.Service, c.Action)
	if err != nil {
		if c.ignores(err) {
			r.Log().Warn("an error is ignored", "error", err)
			return nil, true, nil
		}
		return nil, false, unknown(err)
	}
	allowed := func(region string) error { return p.allowed(r.Account, service, action, region, c.AssumedRoleARN) }
	if err := allowed(p.regionOf(c)); err != nil {
		return nil, false, err
	}
	client = client.WithLogger(r.Log()).WithRegionCheck(allowed)
	if c.AssumedRoleARN != "" {
		credentials, err := p.assume(ctx, client, c, id)
		if err != nil && c.ignores(err) {
			r.Log().Info("an error is ignored", "code", errorName(err), "role", c.AssumedRoleARN)
			return nil, true, nil
		}
		if err != nil {
			return nil, false, &notSent{err}
		}
		client = client.WithCredentials(credentials)
	}
	params, _ := refer(c.Parameters, id).(map[string]any)
	about := []any{"service", service, "action", action, "region", p.regionOf(c)}
	if c.AssumedRoleARN != "" {
		about = append(about, "role", c.AssumedRoleARN)
	}
	r.Log().Info("calling", about...)
	out, err := client.Call(ctx, service, action, params)
	if err != nil {
		if c.ignores(err) {
			r.Log().Info("an error is ignored", "code", errorName(err))
			return nil, true, nil
		}
		return nil, false, explain(err)
	}
	return awscall.Flatten(out), false, nil
}

var notOfSession = regexp.MustCompile(`[^\w+=,.@-]`)

// assume assumes the role of a call.
func (p *provider) assume(ctx context.Context, client *awscall.Client, c *call, id string) (aws.CredentialsProvider, error) {
	session := notOfSession.ReplaceAllString(strconv.FormatInt(p.config.now().UnixMilli(), 10)+"-"+id, "")
	params := map[string]any{"RoleArn": c.AssumedRoleARN, "RoleSessionName": session[:min(len(session), 64)]}
	if c.ExternalID != "" {
		params["ExternalId"] = c.ExternalID
	}
	out, err := client.Call(ctx, "sts", "AssumeRole", params)
	if err != nil {
		return nil, fmt.Errorf("the role cannot be assumed: %w", explain(err))
	}
	credentials, _ := out["Credentials"].(map[string]any)
	key, _ := credentials["AccessKeyId"].(string)
	secret, _ := credentials["SecretAccessKey"].(string)
	token, _ := credentials["SessionToken"].(string)
	if key == "" || secret == "" {
		return nil, errors.New("the role cannot be assumed: the answer has no credentials")
	}
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: key, SecretAccessKey: secret, SessionToken: token, Source: "AssumeRole"}, nil
	}), nil
}

// unknown adds the CDK's message before an error.
func unknown(err error) error {
	var service *awscall.UnknownServiceError
	var action *awscall.UnknownActionError
	switch {
	case errors.As(err, &service):
		name := strings.TrimPrefix(strings.ToLower(service.Service), "@aws-sdk/client-")
		return fmt.Errorf("Package @aws-sdk/client-%.80s does not exist. %w", name, err) //nolint:staticcheck // the CDK's message
	case errors.As(err, &action):
		name := strings.ToUpper(action.Action[:min(1, len(action.Action))]) + action.Action[min(1, len(action.Action)):]
		return fmt.Errorf("Unable to find command named: %.80sCommand for action: %.80s in service package %s: %w", name, name, action.Package, err) //nolint:staticcheck // the CDK's message
	}
	return err
}

// explain puts the service's message first, because the CDK shows only that.
func explain(err error) error {
	var failed *awscall.Error
	if !errors.As(err, &failed) {
		return err
	}
	return &reason{failed}
}

// reason formats an error of a service for the events of a stack.
type reason struct{ err *awscall.Error }

func (r *reason) Error() string {
	message := r.err.Message
	if message == "" {
		message = "Internal Error"
	}
	text := fmt.Sprintf("%s (%s %s: %s", message, r.err.Service, r.err.Action, r.err.Code)
	if r.err.RequestID != "" {
		text += ", request " + r.err.RequestID
	}
	return text + ")"
}

func (r *reason) Unwrap() error { return r.err }

// errorName returns the name that ignoreErrorCodesMatching is compared with.
func errorName(err error) string {
	var failed *awscall.Error
	var sending *awscall.SendError
	var action *awscall.UnknownActionError
	switch {
	case errors.As(err, &failed):
		return failed.Code
	case errors.As(err, &sending) && errors.Is(err, context.DeadlineExceeded):
		return "TimeoutError"
	case errors.As(err, &sending), errors.As(err, &action):
		return "Error"
	}
	return "" // errors of this package are never ignored
}

// notSent is an error from before the call.
type notSent struct{ error }

func (n *notSent) Unwrap() error { return n.error }

// undecided reports whether the service may have performed a failed call: the request was sent, and the service did not
// refuse it.
func undecided(err error) bool {
	var before *notSent
	var failed *awscall.Error
	var sending *awscall.SendError
	var network *net.OpError
	switch {
	case errors.As(err, &before):
		return false
	case errors.As(err, &failed):
		return failed.Status >= http.StatusInternalServerError
	case errors.As(err, &network) && network.Op == "dial":
		return false
	}
	var large *awscall.ResponseTooLargeError
	return errors.As(err, &sending) || errors.As(err, &large)
}

// fits returns an error if an answer is too long. The error says how to make it shorter.
func fits(r *pintle.Request, a pintle.Answer) error {
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false) // like the answer
	if err := e.Encode(a.Attributes); err != nil {
		return errors.New("the response cannot be written as attributes")
	}
	w := wire.Response{Status: wire.Success, PhysicalResourceID: a.ID, StackID: r.StackID, RequestID: r.RequestID, LogicalResourceID: r.LogicalID,
		Data: bytes.TrimSpace(raw.Bytes())}
	body, err := w.Encode()
	if err != nil {
		return fmt.Errorf("the answer cannot be written: %w", err)
	}
	if len(body) <= wire.MaxResponse {
		return nil
	}
	var small []string
	for _, name := range slices.Sorted(maps.Keys(a.Attributes)) {
		if value, err := json.Marshal(a.Attributes[name]); err == nil && len(value) < 200 && name != "region" && name != "apiVersion" {
			small = append(small, strconv.Quote(name))
		}
	}
	hint := ""
	if len(small) > 0 {
		hint = `, such as "outputPaths": [` + strings.Join(small[:min(3, len(small))], ", ") + "]"
	}
	return fmt.Errorf("the response has %d attributes, which make the answer %d bytes long; %d are allowed: choose the attributes that are needed by outputPaths%s",
		len(a.Attributes), len(body), wire.MaxResponse, hint)
}

// some lists a few paths of a response.
func some(flat map[string]any, most int) string {
	names := slices.Sorted(maps.Keys(flat))
	if len(names) == 0 {
		return "nothing"
	}
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// text returns a scalar as text.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case nil:
		return "", false
	}
	raw, err := json.Marshal(v)
	return string(raw), err == nil
}
