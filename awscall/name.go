package awscall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/awscall/internal/endpoint"
	"github.com/pintle-dev/pintle/awscall/internal/shape"
	"github.com/pintle-dev/pintle/internal/base/awsapi/model"
	"github.com/pintle-dev/pintle/internal/base/suggest"
)

// service is a service of the index. Its model is loaded on the first call.
type service struct {
	entry  model.Entry
	source model.Source

	once   sync.Once
	shapes *shape.Service
	rules  *endpoint.Rules // nil if its models have no rules
	err    error
}

// formerNames are names in the AWS SDK for JavaScript v2 that differ from the current name by more than hyphens.
var formerNames = map[string]string{
	"augmentedairuntime": "sagemaker-a2i-runtime", "cur": "cost-and-usage-report-service",
	"cognitoidentityserviceprovider": "cognito-identity-provider", "dms": "database-migration-service",
	"discovery": "application-discovery-service", "elb": "elastic-load-balancing", "elbv2": "elastic-load-balancing-v2",
	"es": "elasticsearch-service", "forecastqueryservice": "forecastquery", "forecastservice": "forecast", "iotdata": "iot-data-plane",
	"kinesisvideosignalingchannels": "kinesis-video-signaling", "lexruntime": "lex-runtime-service", "rdsdataservice": "rds-data",
	"stepfunctions": "sfn", "transcribeservice": "transcribe", "cloudwatch-events": "eventbridge", "cloudwatchevents": "eventbridge",
}

// index returns the services of the sources by all their names. A later source overrides an earlier one.
func index(sources []model.Source) (map[string]*service, []string) {
	byFolder := map[string]*service{}
	for _, source := range sources {
		for _, e := range source.Entries() {
			byFolder[e.Name] = &service{entry: e, source: source}
			if e.Rules == "" && source != sources[0] {
				byFolder[e.Name].entry.Rules = "own" // next to the model, or from the bundle: see load
			}
		}
	}
	folders := make([]string, 0, len(byFolder))
	for name := range byFolder {
		folders = append(folders, name)
	}
	slices.Sort(folders)
	services := make(map[string]*service, 3*len(folders))
	add := func(name string, s *service) {
		if _, taken := services[name]; !taken && name != "" {
			services[name] = s
		}
	}
	for _, name := range folders { // exact names take precedence over names without hyphens
		add(current(byFolder[name].entry.ServiceID), byFolder[name])
	}
	for _, name := range folders {
		add(strings.ToLower(name), byFolder[name])
	}
	for former, name := range formerNames {
		if s := services[name]; s != nil {
			add(former, s)
		}
	}
	for _, name := range folders {
		add(bare(byFolder[name].entry.ServiceID), byFolder[name])
		add(bare(name), byFolder[name])
	}
	return services, folders
}

// current returns the name in the AWS SDK for JavaScript v3.
func current(serviceID string) string {
	return strings.ReplaceAll(strings.ToLower(serviceID), " ", "-")
}

// bare removes all characters except letters and digits.
func bare(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

func (s *shared) service(name string) (*service, error) {
	wanted := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "@aws-sdk/client-")
	if found := s.services[wanted]; found != nil {
		return found, nil
	}
	return nil, &UnknownServiceError{Service: name, Nearest: suggest.Name(wanted, s.names)}
}

// load reads the models of a service.
func (c *Client) load(s *service) error {
	s.once.Do(func() {
		m, err := s.source.Service(s.entry)
		if err == nil {
			s.shapes, err = shape.New(m)
		}
		if err != nil {
			s.err = fmt.Errorf("%s: %w", s.entry.Name, err)
			return
		}
		rules, err := s.source.Rules(s.entry)
		if rules == nil && err == nil {
			rules, err = c.bundledRules(s)
		}
		if rules != nil && err == nil {
			s.rules, err = endpoint.Parse(rules)
		}
		if err != nil {
			s.err = fmt.Errorf("%s: %w", s.entry.Name, err)
		}
	})
	return s.err
}

// bundledRules returns the bundled rules of a service whose overlay has none.
func (c *Client) bundledRules(s *service) ([]byte, error) {
	bundle, err := model.Open()
	if err != nil {
		return nil, err
	}
	for _, e := range bundle.Entries() {
		if e.Name == s.entry.Name || e.ServiceID == s.entry.ServiceID {
			return bundle.Rules(e)
		}
	}
	return nil, nil
}

// Services lists the services by their names in the AWS CLI.
func (c *Client) Services() []string { return slices.Clone(c.shared.names) }

// ServiceID returns the name of a service in AWS's own SDKs, which configurations use, e.g. "Elastic Load Balancing v2".
// The error is an [UnknownServiceError].
func (c *Client) ServiceID(service string) (string, error) {
	s, err := c.shared.service(service)
	if err != nil {
		return "", err
	}
	return s.entry.ServiceID, nil
}

// Actions lists the actions of a service. The error is an [UnknownServiceError], or about the service's models.
func (c *Client) Actions(service string) ([]string, error) {
	s, err := c.loaded(service)
	if err != nil {
		return nil, err
	}
	return s.shapes.Names(), nil
}

// Payload returns the output member that holds the raw response body of an action, or an empty string if the action has
// none. stream reports whether AWS's SDKs stream the member; [Client.Call] returns such a member as a string. The error
// is an [UnknownServiceError], an [UnknownActionError], or an error of the service's model.
func (c *Client) Payload(service, action string) (member string, stream bool, err error) {
	s, name, err := c.find(service, action)
	if err != nil {
		return "", false, err
	}
	o, err := s.shapes.Operation(name)
	if err != nil || o.Output == nil {
		return "", false, err
	}
	for _, m := range o.Output.Members {
		if m.Payload && m.Type.Kind == shape.Blob || m.Streaming {
			return m.Name, m.Streaming, nil
		}
	}
	return "", false, nil
}

// Name returns the names of a service and an action in the models. A service with several names has one there. The error
// is an [UnknownServiceError] or an [UnknownActionError].
func (c *Client) Name(service, action string) (string, string, error) {
	s, name, err := c.find(service, action)
	if s == nil {
		return "", "", err
	}
	return s.entry.Name, name, err
}

// find returns a service with its models loaded, and the name of one of its actions. If only the action is unknown, it
// returns the service with the error.
func (c *Client) find(called, action string) (s *service, name string, err error) {
	if s, err = c.loaded(called); err != nil {
		return nil, "", err
	}
	name, err = s.action(action)
	return s, name, err
}

// loaded returns a service with its models loaded.
func (c *Client) loaded(called string) (*service, error) {
	s, err := c.shared.service(called)
	if err != nil {
		return nil, err
	}
	return s, c.load(s)
}

// action finds the name of an action. It ignores the JavaScript SDK's suffix "Command", unless the service has such an
// action.
func (s *service) action(text string) (string, error) {
	wanted := strings.TrimSpace(text)
	if name, ok := s.shapes.Name(wanted); ok {
		return name, nil
	}
	if len(wanted) > len("Command") && strings.EqualFold(wanted[len(wanted)-len("Command"):], "Command") {
		if name, ok := s.shapes.Name(wanted[:len(wanted)-len("Command")]); ok {
			return name, nil
		}
	}
	return "", &UnknownActionError{Service: s.entry.Name, Package: "@aws-sdk/client-" + current(s.entry.ServiceID), Action: text,
		Nearest: suggest.Name(wanted, s.shapes.Names())}
}

// IsUnknown reports whether an error is about an unknown service or action.
func IsUnknown(err error) bool {
	var s *UnknownServiceError
	var a *UnknownActionError
	return errors.As(err, &s) || errors.As(err, &a)
}
