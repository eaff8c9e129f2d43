package pintletest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/wire"
)

const (
	resourceName = "Thing"
	serviceToken = "arn:aws:lambda:us-east-1:123456789012:function:provider"
	// signature is in every response URL. It must not appear in any output.
	signature = "c0ffee5ec2e7c0ffee"
	// deliveries is how often Lambda delivers one event at most.
	deliveries = 3
)

// service simulates the sender of requests, and the bucket that receives the answers.
type service struct {
	life   Lifecycle
	clock  *simulated
	server *pintle.Server
	stack  wire.StackID
	log    bytes.Buffer
	sent   int // number of requests

	expire bool // end the handler's context before the call
	lost   int  // number of PUTs that will still fail
	put    []byte

	lines    []string
	problems []string
	where    string // the current step, used in problems
}

func newService(l Lifecycle) (*service, error) {
	s := &service{life: l, clock: newClock(), stack: wire.NewStackID("us-east-1", "123456789012", "test", "5f1a")}
	return s, s.restart()
}

// restart starts the provider with an empty store.
func (s *service) restart() (err error) {
	s.server, err = pintle.NewServer(pintle.ServerConfig{
		Handlers:    []pintle.Handler{(*provided)(s)},
		Client:      &http.Client{Transport: s},
		Logger:      slog.New(slog.NewTextHandler(&s.log, nil)),
		Idempotency: newStore(s.clock),
		ROS:         pintle.ROSConfig{SignKeys: []string{signKey}, PlainSecrets: s.life.PlainSecrets},
	})
	return err
}

// provided is the provider with the faults of a step.
type provided service

// Reads reports whether the provider answers a Read.
func (s *provided) Reads() bool {
	r, ok := s.life.Handler.(interface{ Reads() bool })
	return ok && r.Reads()
}

// Plans reports whether the provider answers a Plan.
func (s *provided) Plans() bool {
	p, ok := s.life.Handler.(interface{ Plans() bool })
	return ok && p.Plans()
}

// Handle calls the provider.
func (s *provided) Handle(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	if s.expire {
		var end context.CancelFunc
		ctx, end = s.clock.WithDeadline(ctx, s.clock.Now())
		defer end()
	}
	return s.life.Handler.Handle(ctx, r)
}

// RoundTrip implements the bucket.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if s.lost > 0 {
		s.lost--
		return nil, errors.New("connection reset by peer")
	}
	s.received(r)
	s.put = body
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: http.NoBody, Request: r}, nil
}

func (s *service) problem(format string, args ...any) {
	s.problems = append(s.problems, s.where+": "+fmt.Sprintf(format, args...))
}

func (s *service) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// request makes a request with a new ID.
func (s *service) request(kind pintle.RequestType, id pintle.PhysicalID, properties, old Map) (wire.Request, error) {
	s.sent++
	r := wire.Request{
		RequestType: kind, ServiceToken: serviceToken, StackID: s.stack,
		RequestID: wire.RequestID(fmt.Sprintf("request-%d", s.sent)), LogicalResourceID: resourceName, PhysicalResourceID: id,
		ResourceType: s.life.ResourceType,
	}
	if r.ResourceType == "" {
		r.ResourceType = wire.CustomTypePrefix + "Test"
	}
	if s.life.Transport != CloudFormation {
		r.ServiceToken = ""
		return s.rosRequest(r, properties, old)
	}
	if kind != pintle.Plan { // a Plan has none
		r.ResponseURL = "https://bucket.invalid/" + string(r.StackID) + "|" + string(r.LogicalResourceID) + "|" + string(r.RequestID) + "?X-Amz-Signature=" + signature
	}
	var err error
	if r.ResourceProperties, err = encode(properties); err != nil {
		return r, err
	}
	if kind == pintle.Update || kind == pintle.Plan && id != "" {
		r.OldResourceProperties, err = encode(old)
	}
	return r, err
}

// encode encodes properties as CloudFormation sends them.
func encode(properties Map) (json.RawMessage, error) {
	all := Map{"ServiceToken": serviceToken}
	for name, value := range properties {
		all[name] = value
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("properties: %w", err)
	}
	return wire.Stringify(raw)
}

// deliver delivers a request and returns the answer that arrived, or nil.
func (s *service) deliver(ctx context.Context, r wire.Request) *wire.Response {
	event, err := r.Encode()
	if err != nil {
		s.problem("%v", err)
		return nil
	}
	for try := 1; try <= deliveries; try++ {
		s.line("-> %s", describe(r))
		err := s.deliverOnce(ctx, event)
		if s.put != nil {
			break
		}
		s.line("   no answer arrives: %v", err)
	}
	if s.put == nil {
		return nil
	}
	answer, err := s.life.Transport.dialect().ParseResponse(s.put)
	if err != nil {
		s.problem("the service does not take the answer: %v", err)
		return nil
	}
	if wrong := answer.Mismatches(r); wrong != nil {
		s.problem("the answer is for another request: %v", wrong)
	}
	s.line("<- %s", show(answer))
	s.guard("reason", answer.Reason)
	return &answer
}

// guard reports secrets in a text that must not contain them.
func (s *service) guard(what, text string) {
	for _, secret := range append([]string{signature, signKey}, s.life.Secrets...) {
		if secret != "" && strings.Contains(text, secret) {
			name := fmt.Sprintf("the secret %q", secret)
			if secret == signature {
				name = "the signature of the response URL"
			}
			s.problem("the %s shows %s", what, name)
		}
	}
}

// describe formats a request in one line, without the parts that all requests share.
func describe(r wire.Request) string {
	text := string(r.RequestType)
	if r.PhysicalResourceID != "" {
		text += " " + string(r.PhysicalResourceID)
	}
	text += " " + plain(r.ResourceProperties)
	if r.OldResourceProperties != nil {
		text += " was " + plain(r.OldResourceProperties)
	}
	return text
}

func plain(properties json.RawMessage) string {
	var all Map
	if json.Unmarshal(properties, &all) != nil {
		return string(properties)
	}
	delete(all, "ServiceToken")
	return compact(all)
}

// show formats an answer in one line, with its secrets.
func show(r wire.Response) string {
	text := fmt.Sprintf("%s %s", r.Status, r.PhysicalResourceID)
	if r.State != nil {
		text += " is " + compact(r.State)
	}
	if len(r.Data) > 0 {
		text += " " + string(r.Data)
	}
	if r.NoEcho {
		text += " NoEcho"
	}
	if r.Reason != "" {
		text += fmt.Sprintf(" %q", r.Reason)
	}
	return text
}

// compact returns a value as JSON, without HTML escapes.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
