package native

import (
	"context"
	"errors"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// ROSStackType is the name of the ROS type of nested stacks.
const ROSStackType = "ALIYUN::ROS::Stack"

// rosStack is ALIYUN::ROS::Stack. It only finds the template; the engine does the rest.
//
// Source: ROS, ALIYUN::ROS::Stack; package ros-cdk-ros 1.11.0.
type rosStack struct{ stack }

// ROSStack returns the ROS type of nested stacks. See [Config] for the arguments.
func ROSStack(template func(ctx context.Context, url string) (string, error), nest Nest) Type {
	return rosStack{stack{template, nest}}
}

// maxROSTags is the maximum number of tags of a nested stack.
const maxROSTags = 20

var rosStackSchema = Schema{
	Name: ROSStackType, Dialect: wire.ROS,
	Properties: []Property{
		{Name: "Parameters", Kind: Object},
		{Name: "ResourceGroupId", Change: Replaces},
		{Name: "Tags", Kind: List},
		{Name: "TemplateBody", Kind: Document},
		{Name: "TemplateId"},
		{Name: "TemplateURL"},
		{Name: "TemplateVersion"},
		{Name: "TimeoutMins", Kind: Integer, Min: 1, Max: maxTimeoutInMinutes},
	},
	Open: OutputPrefix, Nested: true,
}

// Schema implements [Type].
func (rosStack) Schema() *Schema { return &rosStackSchema }

// Declare implements [Declarer].
func (rosStack) Declare(d Declaration) (Wanted, error) {
	body, written := d.Properties.Get("TemplateBody")
	url, named := d.Properties.Get("TemplateURL")
	_, kept := d.Properties.Get("TemplateId")
	switch {
	case written && body.Kind() == value.String && body.Text() == "":
		return Wanted{}, BadValue(wire.ROS, "TemplateBody", "be a template")
	case written:
	case named && url.Text() == "":
		return Wanted{}, BadValue(wire.ROS, "TemplateURL", "be the URL of a template")
	case named:
	case kept:
		return Wanted{}, BadValue(wire.ROS, "TemplateId", "not be given alone: there are no stored templates here, so give TemplateURL or TemplateBody")
	default:
		return Wanted{}, wrong("Property TemplateURL not assigned: give TemplateURL or TemplateBody")
	}
	tags, _ := d.Properties.Get("Tags")
	if len(tags.Items()) > maxROSTags {
		return Wanted{}, BadValue(wire.ROS, "Tags", "have 20 members at most")
	}
	for _, tag := range tags.Items() {
		key, _ := tag.Get("Key")
		text, _ := tag.Get("Value")
		if !key.IsScalar() || key.Text() == "" || !text.IsScalar() && !text.IsNull() {
			return Wanted{}, BadValue(wire.ROS, "Tags", "be a list of objects with the members Key and Value")
		}
	}
	return Wanted{Timeout: DefaultTimeout}, nil
}

// Serve implements [Type]. TemplateBody takes precedence over TemplateURL.
func (s rosStack) Serve(ctx context.Context, r *store.Request) (Result, error) {
	if s.nest == nil {
		return Result{}, wrong("stacks cannot be nested here")
	}
	result, waits, err := s.nest(ctx, r, func(ctx context.Context) (string, error) {
		if body, given := r.Body.Properties.Get("TemplateBody"); given {
			if body.Kind() == value.Map {
				return string(body.JSON()), nil
			}
			return body.Text(), nil
		}
		url, _ := r.Body.Properties.Get("TemplateURL")
		if s.template == nil {
			return "", errors.New("templates cannot be fetched here")
		}
		return s.template(ctx, url.Text())
	})
	result.Pending = waits
	return result, err
}
