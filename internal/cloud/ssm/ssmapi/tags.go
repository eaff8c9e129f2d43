package ssmapi

import (
	"errors"
	"maps"
	"slices"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store"
)

// maxTags is the maximum number of tags of a parameter. Source: Systems Manager API Reference, AddTagsToResource.
const maxTags = 50

type tag struct{ Key, Value string }

// tagsOf returns the tags in a put request, or nil.
func (c *call) tagsOf(in putInput) (registry.Tags, error) {
	switch {
	case len(in.Tags) == 0 || c.config.Tags == nil:
		return nil, nil
	case in.Overwrite:
		return nil, invalid("Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please remove overwrite flag. " +
			"To update tags for an existing parameter, please use AddTagsToResource or RemoveTagsFromResource.")
	}
	tags := registry.Tags{}
	return tags, add(tags, in.Tags)
}

// add adds or changes tags.
func add(tags registry.Tags, more []tag) error {
	for _, t := range more {
		if t.Key == "" || len([]rune(t.Key)) > 128 || len([]rune(t.Value)) > 256 {
			return invalid("The key of a tag has 1 to 128 characters, its value 256 at most.")
		}
		tags[t.Key] = t.Value
	}
	if len(tags) > maxTags {
		return refuse("TooManyTagsError", "A parameter has %d tags at most.", maxTags)
	}
	return nil
}

// changeTags applies change to the tags of a parameter. It may call change again. If change returns an error, nothing
// changes.
func (c *call) changeTags(name string, change func(registry.Tags) error) error {
	place := c.place
	for {
		_, err := c.config.Tags.Change(c.ctx, place, registry.ParameterTags(name), func(i *registry.Item[registry.Tags]) error { return change(i.Of) })
		if !errors.Is(err, registry.ErrNotFound) {
			return err
		}
		made := registry.Item[registry.Tags]{Scope: place, Name: registry.ParameterTags(name), Of: registry.Tags{}}
		if err := change(made.Of); err != nil {
			return err
		}
		if _, err = c.config.Tags.Put(c.ctx, made); !errors.Is(err, registry.ErrExists) {
			return err
		}
	}
}

type resourceInput struct {
	ResourceType string
	ID           string `json:"ResourceId"`
}

// resource returns an error unless the resource is an existing parameter.
func (c *call) resource(in resourceInput) error {
	if in.ResourceType != "Parameter" {
		return refuse("InvalidResourceType", "The resource type isn't valid: this version of Pintle has tags of parameters, not of %.64q.", in.ResourceType)
	}
	if _, err := c.config.Store.Parameter(c.ctx, c.place, in.ID, 0); errors.Is(err, store.ErrNotFound) {
		return refuse("InvalidResourceId", "The resource ID isn't valid. Verify that you entered the correct ID and try again.")
	} else if err != nil {
		return err
	}
	return nil
}

type addTagsInput struct {
	resourceInput
	Tags []tag
}

func (c *call) addTags(in addTagsInput) (none awsjson.None, err error) {
	if err := c.resource(in.resourceInput); err != nil {
		return none, err
	}
	return none, c.changeTags(in.ID, func(tags registry.Tags) error { return add(tags, in.Tags) })
}

type removeTagsInput struct {
	resourceInput
	TagKeys []string
}

func (c *call) removeTags(in removeTagsInput) (none awsjson.None, err error) {
	if err := c.resource(in.resourceInput); err != nil {
		return none, err
	}
	return none, c.changeTags(in.ID, func(tags registry.Tags) error {
		for _, key := range in.TagKeys {
			delete(tags, key)
		}
		return nil
	})
}

type tagsOutput struct{ TagList []tag }

func (c *call) listTags(in resourceInput) (out tagsOutput, err error) {
	if err := c.resource(in); err != nil {
		return out, err
	}
	found, err := c.config.Tags.Get(c.ctx, c.place, registry.ParameterTags(in.ID))
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return out, err
	}
	holder, err := c.holder(in.ID)
	if err != nil {
		return out, err
	}
	all := registry.TagsOf(holder, found.Of)
	out.TagList = []tag{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out.TagList = append(out.TagList, tag{key, all[key]})
	}
	return out, nil
}

// holder returns the stack resource that created a parameter, or "". Package aws records it.
func (c *call) holder(name string) (string, error) {
	if c.config.Records == nil {
		return "", nil
	}
	record, err := c.config.Records.Get(c.ctx, c.place, "AWS::SSM::Parameter/"+name)
	if errors.Is(err, registry.ErrNotFound) {
		return "", nil
	}
	return record.Owner, err
}
