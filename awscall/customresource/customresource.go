// Package customresource is the provider behind AwsCustomResource of the AWS CDK: a resource each of whose requests is one AWS call.
//
//	client, err := awscall.New(awscall.Config{Region: region, Credentials: credentials})
//	provider, err := customresource.New(customresource.Config{Client: client, Allow: []customresource.Rule{{Calls: "ssm:GetParameter"}}})
//	pintle.Main(provider)
//
// The properties Create, Update and Delete are calls, each an object or the text of one:
//
//	service, action           as [awscall.Client.Call] takes them
//	parameters                of the call; "PHYSICAL:RESOURCEID:" as a value stands for the physical ID
//	physicalResourceId        {"id": "…"}, or {"responsePath": "Parameter.ARN"}
//	outputPaths, outputPath   only what begins with one of these becomes an attribute
//	ignoreErrorCodesMatching  a regular expression for names of errors that count as success
//	region                    of the call; the client's if left out
//	assumedRoleArn            role to call as, with externalId if it wants one
//	apiVersion                becomes the attribute of that name, and nothing else
//	logApiResponseData        false keeps even the names of attributes out of the log
//
// A request whose call is missing does nothing, but Create is Update if it is missing. The attributes are the response as
// [awscall.Flatten] makes it, and region, and apiVersion if it was given. InstallLatestAwsSdk is accepted and means nothing here.
//
// # Where it differs from the CDK's
//
// A failed Update keeps the physical ID, where the CDK's answers with another and so has the service delete the resource. Bytes in a
// response are only the bytes in it. A path that the response does not have, and attributes that do not fit into an answer, are
// explained. Without a rule in the config nothing may be called.
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

// DefaultTimeout is how long one call may take.
const DefaultTimeout = 2 * time.Minute

// Config says what a provider calls with.
type Config struct {
	// Client makes the calls. Nil is an error.
	Client *awscall.Client
	// Allow lists what may be called. Empty means nothing, unless AllowAll.
	Allow []Rule
	// AllowAll lets templates make every call the client's credentials are good for, in every region and as every role. It is for a
	// provider whose templates are all its owner's.
	AllowAll bool
	// Timeout is how long one call may take, its repetitions included. Zero means [DefaultTimeout].
	Timeout time.Duration

	now func() time.Time // names sessions of roles; nil: time.Now
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
			return answer(r, id, nil), err // with the ID: what may have been made is to be deleted
		}
		return pintle.Answer{}, err
	}
	if ignored {
		return answer(r, id, nil), nil
	}
	all := c.complete(flat, p.regionOf(c))
	if path := c.ResponsePath; path != "" && r.Type != pintle.Delete { // whose ID is what it was
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
		return a, err // with the ID: a Create has made what is to be deleted
	}
	return a, nil
}

// answer is the answer with an ID. A Delete cannot change it.
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

// call makes the call. ignored says that it failed with an error that counts as success.
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

// assume takes on the role of a call.
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
	told, _ := out["Credentials"].(map[string]any)
	key, _ := told["AccessKeyId"].(string)
	secret, _ := told["SecretAccessKey"].(string)
	token, _ := told["SessionToken"].(string)
	if key == "" || secret == "" {
		return nil, errors.New("the role cannot be assumed: the answer has no credentials")
	}
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: key, SecretAccessKey: secret, SessionToken: token, Source: "AssumeRole"}, nil
	}), nil
}

// unknown puts the CDK's words before ours.
func unknown(err error) error {
	var service *awscall.UnknownServiceError
	var action *awscall.UnknownActionError
	switch {
	case errors.As(err, &service):
		name := strings.TrimPrefix(strings.ToLower(service.Service), "@aws-sdk/client-")
		return fmt.Errorf("Package @aws-sdk/client-%.80s does not exist. %w", name, err) //nolint:staticcheck // a sentence of the CDK's
	case errors.As(err, &action):
		name := strings.ToUpper(action.Action[:min(1, len(action.Action))]) + action.Action[min(1, len(action.Action)):]
		return fmt.Errorf("Unable to find command named: %.80sCommand for action: %.80s in service package %s: %w", name, name, action.Package, err) //nolint:staticcheck // the same
	}
	return err
}

// explain puts what the service said first, as the CDK says nothing else.
func explain(err error) error {
	var failed *awscall.Error
	if !errors.As(err, &failed) {
		return err
	}
	return &reason{failed}
}

// reason is an error of a service for those who look at a stack.
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

// errorName is what ignoreErrorCodesMatching is about.
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
	return "" // our own refusals are never ignored
}

// notSent is an error that came before the call.
type notSent struct{ error }

func (n *notSent) Unwrap() error { return n.error }

// undecided reports whether the service may have done what it was asked for all the same: the request went out, and no refusal
// came back.
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

// fits explains an answer that is too long by what would make it shorter.
func fits(r *pintle.Request, a pintle.Answer) error {
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false) // as the answer is written
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

// some names a few of the paths of a response.
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

// text is a scalar as text.
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
