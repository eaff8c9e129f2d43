package logsapi

import (
	"context"
	"maps"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

type createInput struct {
	Name      string            `json:"logGroupName"`
	Key       string            `json:"kmsKeyId"`
	Tags      map[string]string `json:"tags"`
	Class     string            `json:"logGroupClass"`
	Protected bool              `json:"deletionProtectionEnabled"`
}

func (f *handler) create(ctx context.Context, in createInput) (none awsjson.None, err error) {
	place, err := f.who(ctx)
	if err != nil {
		return none, err
	}
	if err := CheckName(in.Name); err != nil {
		return none, err
	}
	switch {
	case in.Protected:
		return none, invalid("deletionProtectionEnabled is not supported by this version of Pintle")
	case in.Class != "" && in.Class != "STANDARD" && in.Class != "INFREQUENT_ACCESS" && in.Class != "DELIVERY":
		return none, invalid("1 validation error detected: Value '%.32s' at 'logGroupClass' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [STANDARD, INFREQUENT_ACCESS, DELIVERY]", in.Class)
	}
	if err := checkTags(in.Tags); err != nil {
		return none, err
	}
	_, err = f.Groups.Put(ctx, registry.Item[registry.LogGroup]{Scope: place, Name: in.Name, Of: registry.LogGroup{
		Class: in.Class, Tags: in.Tags, Key: in.Key, Made: f.Now().UTC(),
	}})
	return none, apiError(err)
}

type groupInput struct {
	Name string `json:"logGroupName"`
}

func (f *handler) remove(ctx context.Context, in groupInput) (none awsjson.None, err error) {
	place, err := f.who(ctx)
	if err != nil {
		return none, err
	}
	if err := CheckName(in.Name); err != nil {
		return none, err
	}
	if err := f.Groups.Delete(ctx, place, in.Name, 0); err != nil {
		return none, apiError(err)
	}
	return none, f.Streams.DeleteGroup(place, in.Name)
}

type retentionInput struct {
	Name string `json:"logGroupName"`
	Days *int   `json:"retentionInDays"`
}

func (f *handler) putRetention(ctx context.Context, in retentionInput) (none awsjson.None, err error) {
	if in.Days == nil {
		return none, invalid("1 validation error detected: Value null at 'retentionInDays' failed to satisfy constraint: Member must not be null")
	}
	if err := CheckRetention(*in.Days); err != nil {
		return none, err
	}
	return none, f.retain(ctx, in.Name, *in.Days)
}

func (f *handler) deleteRetention(ctx context.Context, in groupInput) (none awsjson.None, err error) {
	return none, f.retain(ctx, in.Name, 0)
}

func (f *handler) retain(ctx context.Context, name string, days int) error {
	if err := CheckName(name); err != nil {
		return err
	}
	place, err := f.who(ctx)
	if err != nil {
		return err
	}
	return f.change(ctx, place, name, func(g *registry.LogGroup) error {
		g.Retention = days
		return nil
	})
}

func (f *handler) change(ctx context.Context, place registry.Scope, name string, change func(*registry.LogGroup) error) error {
	_, err := f.Groups.Change(ctx, place, name, func(i *registry.Item[registry.LogGroup]) error { return change(&i.Of) })
	return apiError(err)
}

type describeInput struct {
	Prefix      string   `json:"logGroupNamePrefix"`
	Pattern     string   `json:"logGroupNamePattern"`
	Class       string   `json:"logGroupClass"`
	Limit       *int     `json:"limit"`
	Token       *string  `json:"nextToken"`
	Identifiers []string `json:"logGroupIdentifiers"`
}

type groupView struct {
	Name      string `json:"logGroupName"`
	Made      int64  `json:"creationTime"`
	Retention int    `json:"retentionInDays,omitempty"`
	Filters   int    `json:"metricFilterCount"`
	ARN       string `json:"arn"`
	Stored    int64  `json:"storedBytes"`
	Key       string `json:"kmsKeyId,omitempty"`
	Class     string `json:"logGroupClass"`
	GroupARN  string `json:"logGroupArn"`
}

type describeOutput struct {
	Groups []groupView `json:"logGroups"`
	Token  string      `json:"nextToken,omitempty"`
}

// limitOf returns the page size: most, unless the caller requests fewer.
func limitOf(limit *int, most int) (int, error) {
	switch {
	case limit == nil:
		return most, nil
	case *limit < 1 || *limit > most:
		return 0, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value from 1 to %d",
			*limit, most)
	}
	return *limit, nil
}

func (f *handler) describe(ctx context.Context, in describeInput) (out describeOutput, err error) {
	place, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	limit, err := limitOf(in.Limit, maxPage)
	if err != nil {
		return out, err
	}
	switch {
	case in.Prefix != "" && in.Pattern != "":
		return out, invalid("LogGroup name prefix and LogGroup name pattern are mutually exclusive parameters.")
	case !groupPart.MatchString(in.Prefix) || !groupPart.MatchString(in.Pattern):
		return out, invalid("The prefix or pattern of names has characters that a name of a log group cannot have.")
	case len(in.Identifiers) > 0:
		return out, invalid("logGroupIdentifiers is not supported by this version of Pintle")
	}
	scope := strings.Join([]string{"DescribeLogGroups", place.Account, place.Region, in.Prefix, in.Pattern, in.Class}, "|")
	after := before(in.Prefix)
	if in.Token != nil && f.Tokens.Decode(scope, *in.Token, &after) != nil {
		return out, invalid("The specified nextToken is invalid.")
	}
	out.Groups = []groupView{}
	for {
		items, err := f.Groups.List(ctx, place, after, maxPage)
		if err != nil {
			return out, err
		}
		for _, item := range items {
			if item.Name > in.Prefix && !strings.HasPrefix(item.Name, in.Prefix) {
				return out, nil
			}
			if !matches(item, in) {
				after = item.Name
				continue
			}
			if len(out.Groups) == limit { // there are more
				out.Token, err = f.Tokens.Encode(scope, after)
				return out, err
			}
			after = item.Name
			one := view(item)
			if one.Stored, err = f.Streams.Bytes(place, item.Name); err != nil {
				return out, err
			}
			out.Groups = append(out.Groups, one)
		}
		if len(items) < maxPage {
			return out, nil
		}
	}
}

// before returns a text that sorts just before all names with a prefix.
func before(prefix string) string {
	if prefix == "" {
		return ""
	}
	last := len(prefix) - 1
	return prefix[:last] + string(rune(prefix[last]-1)) + "~" // sorts after all characters of a name
}

func matches(item registry.Item[registry.LogGroup], in describeInput) bool {
	return strings.HasPrefix(item.Name, in.Prefix) && strings.Contains(strings.ToLower(item.Name), strings.ToLower(in.Pattern)) &&
		(in.Class == "" || in.Class == class(item.Of))
}

func class(g registry.LogGroup) string {
	if g.Class == "" {
		return "STANDARD"
	}
	return g.Class
}

func view(item registry.Item[registry.LogGroup]) groupView {
	arn := ARN(item.Scope, item.Name)
	v := groupView{Name: item.Name, Retention: item.Of.Retention, ARN: arn + ":*", GroupARN: arn, Key: item.Of.Key, Class: class(item.Of)}
	if !item.Of.Made.IsZero() {
		v.Made = item.Of.Made.UnixMilli()
	}
	return v
}

// named returns the scope and the name of the group with an ARN. The group must be in the caller's account and
// region.
func (f *handler) named(ctx context.Context, arn string) (place registry.Scope, name string, err error) {
	if place, err = f.who(ctx); err != nil {
		return place, "", err
	}
	parts := groupARN.FindStringSubmatch(arn)
	if parts == nil {
		return place, "", invalid("%.200q is not the ARN of a log group", arn)
	}
	if parts[1] != place.Region || parts[2] != place.Account {
		return place, "", apiError(registry.ErrNotFound)
	}
	return place, parts[3], nil
}

type resourceInput struct {
	ARN string `json:"resourceArn"`
}

type tagsOutput struct {
	Tags map[string]string `json:"tags"`
}

func (f *handler) listTags(ctx context.Context, in resourceInput) (out tagsOutput, err error) {
	place, name, err := f.named(ctx, in.ARN)
	if err != nil {
		return out, err
	}
	group, err := f.Groups.Get(ctx, place, name)
	if err != nil {
		return out, apiError(err)
	}
	out.Tags = map[string]string{}
	maps.Copy(out.Tags, registry.TagsOf(group.Owner, group.Of.Tags))
	return out, nil
}

type tagInput struct {
	ARN  string            `json:"resourceArn"`
	Tags map[string]string `json:"tags"`
}

func (f *handler) tag(ctx context.Context, in tagInput) (none awsjson.None, err error) {
	place, name, err := f.named(ctx, in.ARN)
	if err != nil {
		return none, err
	}
	return none, f.change(ctx, place, name, func(g *registry.LogGroup) error {
		if g.Tags == nil {
			g.Tags = map[string]string{}
		}
		maps.Copy(g.Tags, in.Tags)
		return checkTags(g.Tags)
	})
}

func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return awsjson.Refuse("TooManyTagsException", "A log group has %d tags at most.", maxTags)
	}
	for key, value := range tags {
		if key == "" || len([]rune(key)) > 128 || len([]rune(value)) > 256 {
			return invalid("The key of a tag has 1 to 128 characters, its value 256 at most.")
		}
	}
	return nil
}

type untagInput struct {
	ARN  string   `json:"resourceArn"`
	Keys []string `json:"tagKeys"`
}

func (f *handler) untag(ctx context.Context, in untagInput) (none awsjson.None, err error) {
	place, name, err := f.named(ctx, in.ARN)
	if err != nil {
		return none, err
	}
	return none, f.change(ctx, place, name, func(g *registry.LogGroup) error {
		for _, key := range in.Keys {
			delete(g.Tags, key)
		}
		return nil
	})
}
