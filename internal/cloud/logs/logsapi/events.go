package logsapi

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/logs"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// Limits of calls with events. Source: CloudWatch Logs API Reference.
const (
	maxEvents     = 10_000
	maxPageBytes  = 1 << 20
	maxBatch      = 1 << 20 // bytes of PutLogEvents, with eventOverhead per event
	eventOverhead = 26
	maxSpan       = 24 * time.Hour
	maxAge        = 14 * 24 * time.Hour
	maxFuture     = 2 * time.Hour
	maxNames      = 100
)

type inputEvent struct {
	Time    *int64  `json:"timestamp"`
	Message *string `json:"message"`
}

type putInput struct {
	streamInput
	Events []inputEvent `json:"logEvents"`
}

type rejected struct {
	TooNew  *int `json:"tooNewLogEventStartIndex,omitempty"`
	TooOld  *int `json:"tooOldLogEventEndIndex,omitempty"`
	Expired *int `json:"expiredLogEventEndIndex,omitempty"`
}

type putOutput struct {
	Token    string    `json:"nextSequenceToken"`
	Rejected *rejected `json:"rejectedLogEventsInfo,omitempty"`
}

// putEvents puts events into a stream. Sequence tokens are ignored, as in CloudWatch Logs since 2023.
func (f *handler) putEvents(ctx context.Context, in putInput) (out putOutput, err error) {
	group, err := f.group(ctx, in.Group, "")
	if err != nil {
		return out, err
	}
	if err := checkStream(in.Stream); err != nil {
		return out, err
	}
	if err := checkEvents(in.Events); err != nil {
		return out, err
	}
	if err := f.allExist(group.Scope, group.Name, []string{in.Stream}); err != nil {
		return out, err
	}
	var r rejected
	now := f.Now()
	events := make([]logs.Event, 0, len(in.Events))
	for i, e := range in.Events {
		end := i + 1
		switch at := *e.Time; {
		case at > now.Add(maxFuture).UnixMilli():
			if r.TooNew == nil {
				r.TooNew = &i
			}
		case at < now.Add(-maxAge).UnixMilli():
			r.TooOld = &end
		case at < f.Streams.Oldest(group.Of.Retention):
			r.Expired = &end
		default:
			events = append(events, logs.Event{Time: at, Message: *e.Message})
		}
	}
	if r != (rejected{}) {
		out.Rejected = &r
	}
	if len(events) > 0 {
		if _, err := f.Streams.Append(group.Scope, group.Name, in.Stream, events...); err != nil {
			return out, err
		}
	}
	out.Token = fmt.Sprintf("%056d", now.UnixNano())
	return out, nil
}

// checkEvents returns an error if a batch of events is invalid.
func checkEvents(events []inputEvent) error {
	if len(events) == 0 || len(events) > maxEvents {
		return invalid("1 validation error detected: Value at 'logEvents' failed to satisfy constraint: Member must have length from 1 to %d", maxEvents)
	}
	size, last := 0, int64(0)
	for i, e := range events {
		switch {
		case e.Time == nil || *e.Time < 0:
			return invalid("1 validation error detected: Value at 'logEvents.%d.member.timestamp' failed to satisfy constraint: "+
				"Member must have value greater than or equal to 0", i+1)
		case e.Message == nil || *e.Message == "":
			return invalid("1 validation error detected: Value at 'logEvents.%d.member.message' failed to satisfy constraint: "+
				"Member must have length greater than or equal to 1", i+1)
		case *e.Time < last:
			return invalid("Log events in a single PutLogEvents request must be in chronological order.")
		}
		last = *e.Time
		size += len(*e.Message) + eventOverhead
	}
	switch {
	case size > maxBatch:
		return invalid("Upload too large: %d bytes exceeds limit of %d", size, maxBatch)
	case last-*events[0].Time > maxSpan.Milliseconds():
		return invalid("The batch of log events in a single PutLogEvents request cannot span more than 24 hours.")
	}
	return nil
}

type getInput struct {
	streamInput
	Identifier string  `json:"logGroupIdentifier"`
	Start      *int64  `json:"startTime"`
	End        *int64  `json:"endTime"`
	Token      *string `json:"nextToken"`
	Limit      *int    `json:"limit"`
	Head       bool    `json:"startFromHead"`
}

type outputEvent struct {
	Time     int64  `json:"timestamp"`
	Message  string `json:"message"`
	Ingested int64  `json:"ingestionTime"`
}

type getOutput struct {
	Events   []outputEvent `json:"events"`
	Forward  string        `json:"nextForwardToken"`
	Backward string        `json:"nextBackwardToken"`
}

// getEvents returns events of a stream. A token at the first or the last event is returned again.
func (f *handler) getEvents(ctx context.Context, in getInput) (out getOutput, err error) {
	group, err := f.group(ctx, in.Group, in.Identifier)
	if err != nil {
		return out, err
	}
	if err := checkStream(in.Stream); err != nil {
		return out, err
	}
	if err := f.allExist(group.Scope, group.Name, []string{in.Stream}); err != nil {
		return out, err
	}
	q := logs.Query{Streams: []string{in.Stream}, From: f.Streams.Oldest(group.Of.Retention), Bytes: maxPageBytes, Last: !in.Head}
	if q.Limit, err = limitOf(in.Limit, maxEvents); err != nil {
		return out, err
	}
	if in.Start != nil {
		q.From = max(q.From, *in.Start)
	}
	if in.End != nil { // exclusive
		if q.Until = *in.End - 1; q.Until <= 0 {
			return out, invalid("endTime must be greater than 0")
		}
	}
	at := logs.Position{Stream: in.Stream}
	if in.Token != nil {
		forward := strings.HasPrefix(*in.Token, forwardToken)
		if at.Time, at.Seq, err = parsePosition(*in.Token); err != nil {
			return out, err
		}
		if q.Last = !forward; forward {
			q.After = &at
		} else {
			q.Before = &at
		}
	}
	found, _, err := f.Streams.Read(group.Scope, group.Name, q)
	if err != nil {
		return out, err
	}
	out.Events = make([]outputEvent, 0, len(found))
	for _, e := range found {
		out.Events = append(out.Events, outputEvent{e.Time, e.Message, e.Ingested})
	}
	first, last := at, at
	if len(found) > 0 {
		first, last = found[0].Position, found[len(found)-1].Position
	} else if in.Token == nil {
		first.Time, last.Time = q.From, q.From // later events come after this position
	}
	out.Forward, out.Backward = positionToken(forwardToken, last), positionToken(backwardToken, first)
	return out, nil
}

// The prefixes of GetLogEvents tokens.
const (
	forwardToken  = "f/"
	backwardToken = "b/"
)

// positionToken returns a GetLogEvents token in the service's format: a direction, 56 digits and a letter.
func positionToken(direction string, p logs.Position) string {
	return direction + fmt.Sprintf("%037d%019d", p.Time, p.Seq) + "/s"
}

func parsePosition(token string) (at, seq int64, err error) {
	refused := invalid("The specified nextToken is invalid.")
	if len(token) != 60 || !strings.HasPrefix(token, forwardToken) && !strings.HasPrefix(token, backwardToken) || !strings.HasSuffix(token, "/s") {
		return 0, 0, refused
	}
	digits := token[2:58]
	if strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, 0, refused
	}
	if _, err := fmt.Sscanf(digits[:37]+" "+digits[37:], "%d %d", &at, &seq); err != nil {
		return 0, 0, refused
	}
	return at, seq, nil
}

type filterInput struct {
	Group      string   `json:"logGroupName"`
	Identifier string   `json:"logGroupIdentifier"`
	Streams    []string `json:"logStreamNames"`
	Prefix     string   `json:"logStreamNamePrefix"`
	Start      *int64   `json:"startTime"`
	End        *int64   `json:"endTime"`
	Pattern    string   `json:"filterPattern"`
	Token      *string  `json:"nextToken"`
	Limit      *int     `json:"limit"`
}

type filteredEvent struct {
	Stream string `json:"logStreamName"`
	outputEvent
	ID string `json:"eventId"`
}

type filterOutput struct {
	Events []filteredEvent `json:"events"`
	// Searched is always empty: CloudWatch Logs no longer reports it either.
	Searched []struct{} `json:"searchedLogStreams"`
	Token    string     `json:"nextToken,omitempty"`
}

// filter returns the events of all streams of a group that match a pattern, by time.
func (f *handler) filter(ctx context.Context, in filterInput) (out filterOutput, err error) {
	group, err := f.group(ctx, in.Group, in.Identifier)
	if err != nil {
		return out, err
	}
	q := logs.Query{Streams: in.Streams, Prefix: in.Prefix, From: f.Streams.Oldest(group.Of.Retention), Bytes: maxPageBytes}
	if q.Limit, err = limitOf(in.Limit, maxEvents); err != nil {
		return out, err
	}
	pattern, err := logs.ParsePattern(in.Pattern)
	switch {
	case err != nil:
		return out, invalid("%s", err)
	case len(in.Streams) > 0 && in.Prefix != "":
		return out, invalid("LogStream name prefix and LogStream names are mutually exclusive parameters.")
	case len(in.Streams) > maxNames:
		return out, invalid("1 validation error detected: Value at 'logStreamNames' failed to satisfy constraint: Member must have length "+
			"less than or equal to %d", maxNames)
	}
	if err := f.allExist(group.Scope, group.Name, in.Streams); err != nil {
		return out, err
	}
	q.Match = pattern.Match
	if in.Start != nil {
		q.From = max(q.From, *in.Start)
	}
	if in.End != nil {
		if q.Until = *in.End; q.Until <= 0 {
			return out, invalid("endTime must be greater than 0")
		}
	}
	asked := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", in.Streams, in.Prefix, in.Pattern))
	scope := strings.Join([]string{"FilterLogEvents", group.Account, group.Region, group.Name, fmt.Sprintf("%x", asked[:8])}, "|")
	if in.Token != nil {
		q.After = &logs.Position{}
		if f.Tokens.Decode(scope, *in.Token, q.After) != nil {
			return out, invalid("The specified nextToken is invalid.")
		}
	}
	found, more, err := f.Streams.Read(group.Scope, group.Name, q)
	if err != nil {
		return out, err
	}
	out.Events, out.Searched = make([]filteredEvent, 0, len(found)), []struct{}{}
	for _, e := range found {
		out.Events = append(out.Events, filteredEvent{e.Stream, outputEvent{e.Time, e.Message, e.Ingested}, eventID(e.Position)})
	}
	if more {
		out.Token, err = f.Tokens.Encode(scope, found[len(found)-1].Position)
	}
	return out, err
}

// allExist returns the service's error unless a group has all of these streams.
func (f *handler) allExist(place registry.Scope, group string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	list, err := f.Streams.Streams(place, group)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(list, func(s logs.Stream) bool { return s.Name == name }) {
			return toldStream(logs.ErrNotFound)
		}
	}
	return nil
}

// eventID returns the ID of an event: 56 digits, which sort in the order of the events of a stream.
func eventID(p logs.Position) string {
	sum := sha256.Sum256([]byte(p.Stream))
	return fmt.Sprintf("%019d%018d%019d", p.Time, binary.BigEndian.Uint64(sum[:])%1e18, p.Seq)
}
