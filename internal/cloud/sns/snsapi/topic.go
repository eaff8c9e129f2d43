package snsapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/sns"
)

type createTopicInput struct {
	Name                 string  `query:",required"`
	Attributes           []entry `query:",entries"`
	Tags                 []tag
	DataProtectionPolicy string
}

type topicOutput struct {
	TopicARN string `query:"TopicArn"`
}

func (f *handler) createTopic(ctx context.Context, in createTopicInput) (out topicOutput, err error) {
	place, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	if in.DataProtectionPolicy != "" {
		return out, invalid("DataProtectionPolicy Reason: not supported by this version of Pintle")
	}
	item := registry.Item[registry.Topic]{Scope: place, Name: in.Name}
	if item.Of.Attributes, err = mapOf(in.Attributes); err != nil {
		return out, err
	}
	if item.Of.Tags, err = tagsOf(in.Tags); err != nil {
		return out, err
	}
	made, err := f.topics.Create(ctx, item)
	if err != nil {
		return out, err
	}
	return topicOutput{sns.ARN(made.Scope, made.Name)}, nil
}

func mapOf(entries []entry) (map[string]string, error) {
	all := map[string]string{}
	for _, e := range entries {
		if _, twice := all[e.Key]; twice {
			return nil, invalid("Attributes Reason: an attribute is given twice")
		}
		all[e.Key] = e.Value
	}
	return all, nil
}

// tagsOf returns nil if no tags were given.
func tagsOf(tags []tag) (map[string]string, error) {
	if tags == nil {
		return nil, nil
	}
	all := map[string]string{}
	for _, t := range tags {
		if _, twice := all[t.Key]; twice {
			return nil, invalid("Duplicated keys are not allowed.")
		}
		all[t.Key] = t.Value
	}
	return all, nil
}

func entriesOf(all map[string]string) []entry {
	var entries []entry
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, entry{name, all[name]})
	}
	return entries
}

type topicInput struct {
	TopicARN string `query:"TopicArn,required"`
}

func (f *handler) deleteTopic(ctx context.Context, in topicInput) (none query.None, err error) {
	if err := f.ownTopic(ctx, in.TopicARN); err != nil {
		return none, err
	}
	return none, f.topics.Delete(ctx, in.TopicARN)
}

type listTopicsInput struct{ NextToken *string }

type listTopicsOutput struct {
	Topics    []topicOutput
	NextToken *string
}

func (f *handler) listTopics(ctx context.Context, in listTopicsInput) (out listTopicsOutput, err error) {
	place, scope, after, err := f.page(ctx, "ListTopics", in.NextToken)
	if err != nil {
		return out, err
	}
	list, err := f.topics.List(ctx, place, after, pageSize)
	if err != nil {
		return out, err
	}
	for _, t := range list {
		out.Topics = append(out.Topics, topicOutput{sns.ARN(t.Scope, t.Name)})
	}
	out.NextToken, err = f.next(scope, len(list), func() string { return list[len(list)-1].Name })
	return out, err
}

type attributesOutput struct {
	Attributes []entry `query:",entries"`
}

func (f *handler) getTopicAttributes(ctx context.Context, in topicInput) (out attributesOutput, err error) {
	if err := f.ownTopic(ctx, in.TopicARN); err != nil {
		return out, err
	}
	all, err := f.topics.Attributes(ctx, in.TopicARN)
	return attributesOutput{entriesOf(all)}, err
}

type setTopicAttributesInput struct {
	TopicARN       string `query:"TopicArn,required"`
	AttributeName  string `query:",required"`
	AttributeValue string
}

func (f *handler) setTopicAttributes(ctx context.Context, in setTopicAttributesInput) (none query.None, err error) {
	if err := f.ownTopic(ctx, in.TopicARN); err != nil {
		return none, err
	}
	return none, f.topics.SetAttribute(ctx, in.TopicARN, in.AttributeName, in.AttributeValue)
}

type resourceInput struct {
	ResourceARN string `query:"ResourceArn,required"`
}

type tagsOutput struct{ Tags []tag }

// ofResource converts a topic error to the code that the tag calls use.
func ofResource(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return refuse("ResourceNotFound", "Resource does not exist", http.StatusNotFound)
	}
	return err
}

func (f *handler) listTags(ctx context.Context, in resourceInput) (out tagsOutput, err error) {
	if err := f.ownTopic(ctx, in.ResourceARN); err != nil {
		return out, err
	}
	topic, err := f.topics.Topic(ctx, in.ResourceARN)
	if err != nil {
		return out, ofResource(err)
	}
	for _, e := range entriesOf(registry.TagsOf(topic.Owner, topic.Of.Tags)) {
		out.Tags = append(out.Tags, tag(e))
	}
	return out, nil
}

type tagInput struct {
	ResourceARN string `query:"ResourceArn,required"`
	Tags        []tag  `query:",required"`
}

func (f *handler) tag(ctx context.Context, in tagInput) (out struct{}, err error) {
	if err := f.ownTopic(ctx, in.ResourceARN); err != nil {
		return out, err
	}
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return out, err
	}
	return out, ofResource(f.topics.Tag(ctx, in.ResourceARN, tags))
}

type untagInput struct {
	ResourceARN string   `query:"ResourceArn,required"`
	TagKeys     []string `query:",required"`
}

func (f *handler) untag(ctx context.Context, in untagInput) (out struct{}, err error) {
	if err := f.ownTopic(ctx, in.ResourceARN); err != nil {
		return out, err
	}
	return out, ofResource(f.topics.Untag(ctx, in.ResourceARN, in.TagKeys))
}
