package snsapi

import (
	"context"
	"errors"
	"net/http"
	"regexp"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
)

// message holds the fields of Publish and of each entry of PublishBatch.
type message struct {
	Message                string `query:",required,secret"`
	Subject                *string
	MessageStructure       string
	MessageAttributes      []messageAttribute `query:",entries"`
	MessageDeduplicationID string             `query:"MessageDeduplicationId"`
	MessageGroupID         string             `query:"MessageGroupId"`
}

type messageAttribute struct {
	Name  string
	Value struct {
		DataType    string
		StringValue string `query:",secret"`
		BinaryValue string `query:",secret"`
	}
}

func (m message) of() (out sns.Message, err error) {
	out = sns.Message{Message: m.Message, Structure: m.MessageStructure, Attributes: map[string]sns.Attribute{}}
	switch {
	case m.MessageDeduplicationID != "":
		return out, invalid("MessageDeduplicationId Reason: The request includes MessageDeduplicationId parameter that is not valid for this topic type")
	case m.Subject != nil && *m.Subject == "":
		return out, invalid("Subject")
	case m.Subject != nil:
		out.Subject = *m.Subject
	}
	for _, a := range m.MessageAttributes {
		if _, twice := out.Attributes[a.Name]; twice {
			return out, invalid("MessageAttributes Reason: an attribute is given twice")
		}
		value := a.Value.StringValue
		if value == "" {
			value = a.Value.BinaryValue
		}
		out.Attributes[a.Name] = sns.Attribute{Type: a.Value.DataType, String: value}
	}
	return out, nil
}

type publishInput struct {
	TopicARN    string `query:"TopicArn"`
	TargetARN   string `query:"TargetArn"`
	PhoneNumber string `query:",secret"`
	message
}

type publishOutput struct {
	MessageID string `query:"MessageId"`
}

func (f *handler) publish(ctx context.Context, in publishInput) (out publishOutput, err error) {
	arn := in.TopicARN
	switch {
	case in.PhoneNumber != "":
		return out, invalid("PhoneNumber Reason: this version of Pintle sends no text messages")
	case arn == "":
		arn = in.TargetARN
	case in.TargetARN != "":
		return out, invalid("TargetArn Reason: both TopicArn and TargetArn are given")
	}
	if arn == "" {
		return out, invalid("TopicArn or TargetArn Reason: no value for required parameter")
	}
	if err := f.ownTopic(ctx, arn); err != nil {
		return out, err
	}
	m, err := in.of()
	if err != nil {
		return out, err
	}
	out.MessageID, err = f.topics.Publish(ctx, arn, m)
	return out, err
}

type batchEntry struct {
	ID string `query:"Id,required"`
	message
}

type publishBatchInput struct {
	TopicARN string       `query:"TopicArn,required"`
	Entries  []batchEntry `query:"PublishBatchRequestEntries,required"`
}

type published struct {
	ID        string `query:"Id"`
	MessageID string `query:"MessageId"`
}

type unpublished struct {
	ID          string `query:"Id"`
	Code        string
	Message     string
	SenderFault bool
}

type publishBatchOutput struct {
	Successful []published
	Failed     []unpublished
}

// maxBatch is the maximum number of messages in a batch. Source: SNS API Reference, PublishBatch.
const maxBatch = 10

var batchID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

func (f *handler) publishBatch(ctx context.Context, in publishBatchInput) (out publishBatchOutput, err error) {
	if err := f.ownTopic(ctx, in.TopicARN); err != nil {
		return out, err
	}
	if err := checkBatch(in.Entries); err != nil {
		return out, err
	}
	if _, err := f.topics.Topic(ctx, in.TopicARN); err != nil {
		return out, err
	}
	for _, e := range in.Entries {
		m, err := e.of()
		var id string
		if err == nil {
			id, err = f.topics.Publish(ctx, in.TopicARN, m)
		}
		apiErr, known := errors.AsType[*query.Error](err)
		if !known {
			apiErr = shown(err)
		}
		switch {
		case err == nil:
			out.Successful = append(out.Successful, published{e.ID, id})
		case apiErr == nil:
			return out, err
		default:
			out.Failed = append(out.Failed, unpublished{e.ID, apiErr.Code, apiErr.Message, apiErr.Sender})
		}
	}
	return out, nil
}

func checkBatch(entries []batchEntry) error {
	switch {
	case len(entries) == 0:
		return query.Fault("EmptyBatchRequest", "The batch request doesn't contain any entries.")
	case len(entries) > maxBatch:
		return query.Fault("TooManyEntriesInBatchRequest", "The batch request contains more entries than permissible.")
	}
	seen, size := map[string]bool{}, 0
	for _, e := range entries {
		switch {
		case !batchID.MatchString(e.ID):
			return query.Fault("InvalidBatchEntryId", "The Id of a batch entry in a batch request doesn't abide by the specification.")
		case seen[e.ID]:
			return query.Fault("BatchEntryIdsNotDistinct", "Two or more batch entries in the request have the same Id.")
		}
		seen[e.ID] = true
		size += len(e.Message)
		for _, a := range e.MessageAttributes {
			size += len(a.Name) + len(a.Value.DataType) + len(a.Value.StringValue) + len(a.Value.BinaryValue)
		}
	}
	if size > sns.MaxMessage {
		return refuse("BatchRequestTooLong", "The length of all the messages put together is more than the limit.", http.StatusBadRequest)
	}
	return nil
}
