package logsapi

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/logs"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

var streamName = regexp.MustCompile(`^[^:*]{1,512}$`)

func checkStream(name string) error {
	if !streamName.MatchString(name) {
		return invalid("1 validation error detected: Value '%.64s' at 'logStreamName' failed to satisfy constraint: "+
			"Member must satisfy regular expression pattern: [^:*]* and have 1 to 512 characters", name)
	}
	return nil
}

// toldStream converts an error of the streams to the service's error.
func toldStream(err error) error {
	switch {
	case errors.Is(err, logs.ErrNotFound):
		return awsjson.Refuse("ResourceNotFoundException", "The specified log stream does not exist.")
	case errors.Is(err, logs.ErrExists):
		return awsjson.Refuse("ResourceAlreadyExistsException", "The specified log stream already exists")
	}
	return err
}

// group returns the group that a call names by its name or by its identifier, which is a name or an ARN.
func (f *handler) group(ctx context.Context, name, identifier string) (group registry.Item[registry.LogGroup], err error) {
	place, err := f.who(ctx)
	if err != nil {
		return group, err
	}
	switch {
	case name != "" && identifier != "":
		return group, invalid("LogGroup name and LogGroup identifier are mutually exclusive parameters.")
	case strings.HasPrefix(identifier, "arn:"):
		if place, name, err = f.named(ctx, identifier); err != nil {
			return group, err
		}
	case identifier != "":
		name = identifier
	}
	if err := CheckName(name); err != nil {
		return group, err
	}
	group, err = f.Groups.Get(ctx, place, name)
	return group, apiError(err)
}

type streamInput struct {
	Group  string `json:"logGroupName"`
	Stream string `json:"logStreamName"`
}

func (f *handler) createStream(ctx context.Context, in streamInput) (none awsjson.None, err error) {
	group, err := f.group(ctx, in.Group, "")
	if err != nil {
		return none, err
	}
	if err := checkStream(in.Stream); err != nil {
		return none, err
	}
	return none, toldStream(f.Streams.Create(group.Scope, group.Name, in.Stream))
}

func (f *handler) deleteStream(ctx context.Context, in streamInput) (none awsjson.None, err error) {
	group, err := f.group(ctx, in.Group, "")
	if err != nil {
		return none, err
	}
	if err := checkStream(in.Stream); err != nil {
		return none, err
	}
	return none, toldStream(f.Streams.Delete(group.Scope, group.Name, in.Stream))
}

type describeStreamsInput struct {
	Group      string  `json:"logGroupName"`
	Identifier string  `json:"logGroupIdentifier"`
	Prefix     string  `json:"logStreamNamePrefix"`
	Order      string  `json:"orderBy"`
	Descending bool    `json:"descending"`
	Token      *string `json:"nextToken"`
	Limit      *int    `json:"limit"`
}

type streamView struct {
	Name     string `json:"logStreamName"`
	Made     int64  `json:"creationTime"`
	First    int64  `json:"firstEventTimestamp,omitempty"`
	Last     int64  `json:"lastEventTimestamp,omitempty"`
	Ingested int64  `json:"lastIngestionTime,omitempty"`
	ARN      string `json:"arn"`
	// Stored is always zero: CloudWatch Logs no longer reports it either.
	Stored int64 `json:"storedBytes"`
}

type describeStreamsOutput struct {
	Streams []streamView `json:"logStreams"`
	Token   string       `json:"nextToken,omitempty"`
}

const byLastEvent = "LastEventTime"

func (f *handler) describeStreams(ctx context.Context, in describeStreamsInput) (out describeStreamsOutput, err error) {
	group, err := f.group(ctx, in.Group, in.Identifier)
	if err != nil {
		return out, err
	}
	limit, err := limitOf(in.Limit, maxPage)
	if err != nil {
		return out, err
	}
	switch {
	case in.Order != "" && in.Order != "LogStreamName" && in.Order != byLastEvent:
		return out, invalid("1 validation error detected: Value '%.32s' at 'orderBy' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [LogStreamName, LastEventTime]", in.Order)
	case in.Order == byLastEvent && in.Prefix != "":
		return out, invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
	}
	list, err := f.Streams.Streams(group.Scope, group.Name)
	if err != nil {
		return out, err
	}
	compare := func(a, b logs.Stream) int { return strings.Compare(a.Name, b.Name) }
	if in.Order == byLastEvent {
		compare = func(a, b logs.Stream) int {
			return cmp.Or(cmp.Compare(a.Last, b.Last), strings.Compare(a.Name, b.Name))
		}
	}
	if in.Descending {
		ascending := compare
		compare = func(a, b logs.Stream) int { return ascending(b, a) }
	}
	list = slices.DeleteFunc(list, func(s logs.Stream) bool { return !strings.HasPrefix(s.Name, in.Prefix) })
	slices.SortFunc(list, compare)
	direction := "up"
	if in.Descending {
		direction = "down"
	}
	scope := strings.Join([]string{"DescribeLogStreams", group.Account, group.Region, group.Name, in.Prefix, in.Order, direction}, "|")
	if in.Token != nil {
		var after logs.Stream
		if f.Tokens.Decode(scope, *in.Token, &after) != nil {
			return out, invalid("The specified nextToken is invalid.")
		}
		list = slices.DeleteFunc(list, func(s logs.Stream) bool { return compare(s, after) <= 0 })
	}
	if len(list) > limit {
		list = list[:limit]
		last := list[limit-1]
		if out.Token, err = f.Tokens.Encode(scope, logs.Stream{Name: last.Name, Last: last.Last}); err != nil {
			return out, err
		}
	}
	out.Streams = make([]streamView, 0, len(list))
	for _, s := range list {
		out.Streams = append(out.Streams, streamView{
			Name: s.Name, Made: s.Made, First: s.First, Last: s.Last, Ingested: s.Ingested,
			ARN: ARN(group.Scope, group.Name) + ":log-stream:" + s.Name,
		})
	}
	return out, nil
}
