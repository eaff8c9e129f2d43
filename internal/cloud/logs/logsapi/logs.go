// Package logsapi is the API of CloudWatch Logs: log groups, streams, events and resource policies. Groups and
// policies are in the catalog, events in package logs. Policies are recorded and not enforced.
//
// Source: CloudWatch Logs API Reference, version 2014-03-28; AWS JSON 1.1 protocol.
package logsapi

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/cloud/logs"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/wire"
)

// Target is the prefix of the X-Amz-Target header, before the dot and the action.
const Target = "Logs_20140328"

// Config configures the handler.
type Config struct {
	// Groups are the log groups. Required.
	Groups *registry.Collection[registry.LogGroup]
	// Streams holds the streams and events of the groups. Required.
	Streams *logs.Store
	// Records holds the resource policies. Required.
	Records *registry.Collection[registry.Record]
	// Caller returns the caller of a request. False means an internal error. Required.
	Caller func(context.Context) (api.Caller, bool)
	// Tokens creates paging tokens. Nil means tokens that become invalid when the process exits.
	Tokens *query.Tokens
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
	// Log gets internal errors. Nil discards them.
	Log *slog.Logger
}

type handler struct{ Config }

// New returns a service for the log group actions. It returns an error if config is incomplete.
func New(config Config) (*awsjson.Service, error) {
	if config.Groups == nil || config.Streams == nil || config.Records == nil || config.Caller == nil {
		return nil, errors.New("logs: the log groups, their streams, the records and the caller are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Tokens == nil {
		var err error
		if config.Tokens, err = query.NewTokens(nil); err != nil {
			return nil, err
		}
	}
	service, err := awsjson.New(awsjson.Config{
		Name: "logs", Target: Target, Endpoint: "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS", MaxBody: MaxBody, Log: config.Log,
	})
	if err != nil {
		return nil, err
	}
	f := &handler{config}
	awsjson.Handle(service, "CreateLogGroup", f.create)
	awsjson.Handle(service, "DeleteLogGroup", f.remove)
	awsjson.Handle(service, "DescribeLogGroups", f.describe)
	awsjson.Handle(service, "PutRetentionPolicy", f.putRetention)
	awsjson.Handle(service, "DeleteRetentionPolicy", f.deleteRetention)
	awsjson.Handle(service, "ListTagsForResource", f.listTags)
	awsjson.Handle(service, "TagResource", f.tag)
	awsjson.Handle(service, "UntagResource", f.untag)
	awsjson.Handle(service, "CreateLogStream", f.createStream)
	awsjson.Handle(service, "DeleteLogStream", f.deleteStream)
	awsjson.Handle(service, "DescribeLogStreams", f.describeStreams)
	awsjson.Handle(service, "PutLogEvents", f.putEvents)
	awsjson.Handle(service, "GetLogEvents", f.getEvents)
	awsjson.Handle(service, "FilterLogEvents", f.filter)
	awsjson.Handle(service, "PutResourcePolicy", f.putPolicy)
	awsjson.Handle(service, "DescribeResourcePolicies", f.describePolicies)
	awsjson.Handle(service, "DeleteResourcePolicy", f.deletePolicy)
	return service, nil
}

// MaxBody is the maximum length of a request body in bytes: a batch of events in which every character is escaped.
const MaxBody = 8 << 20

// Limits. Source: CloudWatch Logs API Reference.
const (
	maxTags = 50
	maxPage = 50
)

var (
	groupName = regexp.MustCompile(`^[.\-_/#A-Za-z0-9]{1,512}$`)
	groupPart = regexp.MustCompile(`^[.\-_/#A-Za-z0-9]{0,512}$`)
	groupARN  = regexp.MustCompile(`^arn:aws[a-z-]*:logs:([a-z0-9-]+):([0-9A-Za-z]+):log-group:([.\-_/#A-Za-z0-9]{1,512})(?::\*)?$`)
)

// CheckName returns the service's error for an invalid log group name.
func CheckName(name string) error {
	switch {
	case !groupName.MatchString(name):
		return invalid("1 validation error detected: Value '%.64s' at 'logGroupName' failed to satisfy constraint: "+
			`Member must satisfy regular expression pattern: [\.\-_/#A-Za-z0-9]+ and have 1 to 512 characters`, name)
	case strings.HasPrefix(strings.ToLower(name), "aws/"):
		return invalid("Log groups starting with AWS/ are reserved for AWS.")
	}
	return nil
}

// retentions are the valid retention periods in days.
var retentions = []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}

// CheckRetention returns the service's error for an invalid retention period.
func CheckRetention(days int) error {
	if slices.Contains(retentions, days) {
		return nil
	}
	texts := make([]string, len(retentions))
	for i, days := range retentions {
		texts[i] = strconv.Itoa(days)
	}
	return invalid("1 validation error detected: Value '%d' at 'retentionInDays' failed to satisfy constraint: Member must satisfy enum value set: [%s]",
		days, strings.Join(texts, ", "))
}

// ARN returns the ARN of a log group without the suffix for its streams.
func ARN(place registry.Scope, name string) string {
	return "arn:" + wire.Partition(place.Region) + ":logs:" + place.Region + ":" + place.Account + ":log-group:" + name
}

func invalid(format string, args ...any) *awsjson.Error {
	return awsjson.Refuse("InvalidParameterException", format, args...)
}

// apiError converts a catalog error to the service's error.
func apiError(err error) error {
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return awsjson.Refuse("ResourceNotFoundException", "The specified log group does not exist.")
	case errors.Is(err, registry.ErrExists):
		return awsjson.Refuse("ResourceAlreadyExistsException", "The specified log group already exists")
	case errors.Is(err, registry.ErrChanged):
		return awsjson.Refuse("OperationAbortedException", "A conflicting operation is currently in progress against this resource. Please try again.")
	}
	return err
}

func (f *handler) who(ctx context.Context) (registry.Scope, error) {
	caller, ok := f.Caller(ctx)
	if !ok {
		return registry.Scope{}, errors.New("the request reached CloudWatch Logs without a caller")
	}
	return registry.ScopeOf(caller), nil
}
