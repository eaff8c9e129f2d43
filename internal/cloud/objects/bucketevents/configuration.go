package bucketevents

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Setting is the name of the bucket setting that holds the configuration, as [Configuration.XML] writes it.
const Setting = "notification"

// Configuration maps events of a bucket to destinations. It has the XML format of PutBucketNotificationConfiguration.
type Configuration struct {
	XMLName     xml.Name      `xml:"NotificationConfiguration"`
	Topics      []Destination `xml:"TopicConfiguration"`
	Queues      []Destination `xml:"QueueConfiguration"`
	Functions   []Destination `xml:"CloudFunctionConfiguration"`
	EventBridge *struct{}     `xml:"EventBridgeConfiguration"`
}

// Destination is a destination for events. Exactly one of Topic, Queue and Function is set, depending on its list.
type Destination struct {
	ID       string   `xml:"Id,omitempty"`
	Topic    string   `xml:"Topic,omitempty"`
	Queue    string   `xml:"Queue,omitempty"`
	Function string   `xml:"CloudFunction,omitempty"`
	Events   []string `xml:"Event"`
	Filter   *Filter  `xml:"Filter"`
}

// Filter selects keys.
type Filter struct {
	Rules []Rule `xml:"S3Key>FilterRule"`
}

// Rule matches the start or the end of a key. Name is prefix or suffix.
type Rule struct {
	Name  string
	Value string
}

// Error is S3's error for an invalid configuration. Its code is InvalidArgument.
type Error struct{ Message string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func invalid(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Limits of a configuration. Source: Amazon S3 API Reference, NotificationConfiguration.
const (
	maxDestinations = 100
	maxFilter       = 1024 // characters of a value
	maxID           = 255
)

// names are the valid event names without "s3:". Source: Amazon S3 User Guide, "Event notification types".
var names = []string{
	"ObjectCreated:*", "ObjectCreated:Put", "ObjectCreated:Post", "ObjectCreated:Copy", "ObjectCreated:CompleteMultipartUpload",
	"ObjectRemoved:*", "ObjectRemoved:Delete", "ObjectRemoved:DeleteMarkerCreated", "ReducedRedundancyLostObject",
	"ObjectRestore:*", "ObjectRestore:Post", "ObjectRestore:Completed", "ObjectRestore:Delete",
	"Replication:*", "Replication:OperationFailedReplication", "Replication:OperationMissedThreshold",
	"Replication:OperationReplicatedAfterThreshold", "Replication:OperationNotTracked",
	"LifecycleTransition", "LifecycleExpiration:*", "LifecycleExpiration:Delete", "LifecycleExpiration:DeleteMarkerCreated",
	"IntelligentTiering", "ObjectAcl:Put", "ObjectTagging:*", "ObjectTagging:Put", "ObjectTagging:Delete",
}

// Parse parses a document. It returns an [Error], or an error of package xml.
func Parse(text []byte) (Configuration, error) {
	var c Configuration
	if err := xml.Unmarshal(text, &c); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// XML returns the document. Destinations without an ID get one.
func (c *Configuration) XML() (string, error) {
	for _, list := range [...][]Destination{c.Topics, c.Queues, c.Functions} {
		for i := range list {
			if list[i].ID == "" {
				list[i].ID = uuid.NewString()
			}
		}
	}
	c.XMLName = xml.Name{Space: "http://s3.amazonaws.com/doc/2006-03-01/", Local: "NotificationConfiguration"}
	text, err := xml.Marshal(c)
	return xml.Header + string(text), err
}

// Empty reports whether the configuration has no destination.
func (c *Configuration) Empty() bool { return len(c.all()) == 0 && c.EventBridge == nil }

func (c *Configuration) all() []Destination { return slices.Concat(c.Topics, c.Queues, c.Functions) }

// Validate returns an [Error] if the configuration is invalid in itself.
func (c *Configuration) Validate() error {
	all := c.all()
	if len(all) > maxDestinations {
		return invalid("A bucket has %d notification configurations at most.", maxDestinations)
	}
	ids := map[string]bool{}
	for _, d := range all {
		if err := d.check(); err != nil {
			return err
		}
		if d.ID != "" && ids[d.ID] {
			return invalid("Same ID used for multiple configurations. IDs must be unique")
		}
		ids[d.ID] = true
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.overlaps(b) {
				return invalid("Configuration is ambiguously defined. Cannot have overlapping suffixes in two rules if the prefixes are " +
					"overlapping for the same event type.")
			}
		}
	}
	return nil
}

func (d Destination) check() error {
	switch {
	case d.Topic == "" && d.Queue == "" && d.Function == "":
		return invalid("The ARN is not well formed")
	case len(d.Events) == 0:
		return invalid("A notification configuration has at least one event.")
	case len(d.ID) > maxID:
		return invalid("The ID of a notification configuration has %d characters at most.", maxID)
	}
	for _, event := range d.Events {
		name, ok := strings.CutPrefix(event, "s3:")
		if !ok || !slices.Contains(names, name) {
			return invalid("The event '%.64s' is not supported for notifications", event)
		}
	}
	if d.Filter == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, rule := range d.Filter.Rules {
		name := strings.ToLower(rule.Name)
		switch {
		case name != "prefix" && name != "suffix":
			return invalid("filter rule name must be either prefix or suffix")
		case seen[name]:
			return invalid("Cannot specify more than one %s rule in a filter.", name)
		case utf8.RuneCountInString(rule.Value) > maxFilter:
			return invalid("Size of filter rule value cannot exceed 1024 bytes in UTF-8 representation")
		}
		seen[name] = true
	}
	return nil
}

// affixes returns the prefix and the suffix of the filter.
func (d Destination) affixes() (prefix, suffix string) {
	if d.Filter == nil {
		return "", ""
	}
	for _, rule := range d.Filter.Rules {
		value := rule.Value
		// Values are URL-encoded like keys in events, where a plus sign is a space.
		if decoded, err := url.QueryUnescape(value); err == nil && strings.ContainsAny(value, "%+") {
			value = decoded
		}
		if strings.EqualFold(rule.Name, "prefix") {
			prefix = value
		} else {
			suffix = value
		}
	}
	return prefix, suffix
}

// overlaps reports whether two destinations may match the same event.
func (d Destination) overlaps(o Destination) bool {
	shared := slices.ContainsFunc(d.Events, func(a string) bool {
		return slices.ContainsFunc(o.Events, func(b string) bool { return within(a, b) || within(b, a) })
	})
	prefix, suffix := d.affixes()
	otherPrefix, otherSuffix := o.affixes()
	return shared && (strings.HasPrefix(prefix, otherPrefix) || strings.HasPrefix(otherPrefix, prefix)) &&
		(strings.HasSuffix(suffix, otherSuffix) || strings.HasSuffix(otherSuffix, suffix))
}

// within reports whether a name in a configuration, which may end in an asterisk, includes an event.
func within(event, name string) bool {
	head, any := strings.CutSuffix(name, "*")
	return event == name || any && strings.HasPrefix(event, head)
}

// wants reports whether a destination gets an event of an object.
func (d Destination) wants(event, key string) bool {
	prefix, suffix := d.affixes()
	return strings.HasPrefix(key, prefix) && strings.HasSuffix(key, suffix) &&
		slices.ContainsFunc(d.Events, func(name string) bool { return within("s3:"+event, name) })
}
