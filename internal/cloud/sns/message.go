package sns

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/cloud/sns/notification"
	"github.com/pintle-dev/pintle/internal/cloud/sqs"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// MaxMessage is the maximum length in bytes of a message with its attributes, and of all messages of a batch. Source:
// SNS API Reference, Publish.
const MaxMessage = 256 << 10

const (
	maxSubject    = 100 // characters; a subject must be shorter
	maxAttributes = 100 // per message; our choice
)

// Message is a message to publish.
type Message struct {
	// Subject may be empty.
	Subject string
	// Message is the text. If Structure is "json", it is an object of texts by protocol, with a member "default".
	Message   string
	Structure string
	// Attributes are the message attributes by name.
	Attributes map[string]Attribute
}

// Attribute is a message attribute.
type Attribute struct {
	// Type is String, Number, Binary or String.Array, optionally followed by a dot and a custom label.
	Type string
	// String is the value. It is base64 for Binary.
	String string
}

var attributeName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,256}$`)

// texts are the texts of a message by protocol. The key "" is for all other protocols.
type texts map[string]string

func (t texts) of(protocol string) string {
	if text, ok := t[protocol]; ok {
		return text
	}
	return t[""]
}

// check validates the message as SNS does, and returns its texts.
func (m *Message) check() (texts, error) {
	if m.Message == "" {
		return nil, invalid("Empty message")
	}
	size := len(m.Message)
	if m.Subject != "" && (utf8.RuneCountInString(m.Subject) >= maxSubject || strings.ContainsFunc(m.Subject, unicode.IsControl) ||
		!utf8.ValidString(m.Subject)) {
		return nil, invalid("Subject")
	}
	if len(m.Attributes) > maxAttributes {
		return nil, invalid("MessageAttributes Reason: a message has %d at most", maxAttributes)
	}
	for name, a := range m.Attributes {
		if err := a.check(name); err != nil {
			return nil, err
		}
		size += len(name) + len(a.Type) + len(a.String)
	}
	if size > MaxMessage {
		return nil, invalid("Message too long")
	}
	switch m.Structure {
	case "":
		return texts{"": m.Message}, nil
	case "json":
	default:
		return nil, invalid("Message Structure - it is json or left out")
	}
	var by map[string]any
	if json.Unmarshal([]byte(m.Message), &by) != nil {
		return nil, invalid("Message Structure - JSON message body failed to parse")
	}
	split := texts{}
	for protocol, text := range by {
		if text, ok := text.(string); ok { // like SNS, ignore other values
			split[protocol] = text
		}
	}
	text, ok := split["default"]
	if !ok {
		return nil, invalid("Message Structure - No default entry in JSON message body")
	}
	split[""] = text
	return split, nil
}

// shown returns the attributes for subscribers.
func (m *Message) shown() map[string]local.NotificationAttribute {
	attributes := make(map[string]local.NotificationAttribute, len(m.Attributes))
	for name, a := range m.Attributes {
		attributes[name] = local.NotificationAttribute{Type: a.Type, Value: a.String}
	}
	return attributes
}

// queued returns the attributes for an SQS message.
func (m *Message) queued() map[string]sqs.Attribute {
	attributes := make(map[string]sqs.Attribute, len(m.Attributes))
	for name, a := range m.Attributes {
		of := sqs.Attribute{Type: a.Type, String: a.String}
		if kind, _, _ := strings.Cut(a.Type, "."); kind == "Binary" {
			of.Binary, _ = base64.StdEncoding.DecodeString(a.String) // check has validated it
		}
		attributes[name] = of
	}
	return attributes
}

func (a Attribute) check(name string) error {
	wrong := func(text string) error {
		return &Error{Code: "ParameterValueInvalid", Status: http.StatusBadRequest, Message: text}
	}
	if !attributeName.MatchString(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") {
		return wrong("The message attribute name '" + shorten(name) + "' is not valid: it has letters, digits, and _ - . between them.")
	}
	kind, _, _ := strings.Cut(a.Type, ".")
	switch {
	case kind != "String" && kind != "Number" && kind != "Binary" || len(a.Type) > 256:
		return wrong("The message attribute '" + name + "' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.")
	case a.String == "":
		return wrong("The message attribute '" + name + "' must contain non-empty message attribute value for message attribute type '" + a.Type + "'.")
	}
	if kind == "Number" {
		if _, err := strconv.ParseFloat(a.String, 64); err != nil {
			return wrong("Could not cast message attribute '" + name + "' value to number.")
		}
	}
	if kind == "Binary" {
		if _, err := base64.StdEncoding.DecodeString(a.String); err != nil {
			return wrong("The message attribute '" + name + "' of the type Binary is not base64.")
		}
	}
	return nil
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > 64 {
		return string(runes[:64]) + "…"
	}
	return text
}

// event returns the event for a function.
func event(m *notification.Message, subscription string) []byte {
	return local.Notification{
		TopicARN: m.TopicARN, SubscriptionARN: subscription, MessageID: m.MessageID, Subject: m.Subject, Message: m.Message,
		Timestamp: m.Timestamp, SignatureVersion: m.SignatureVersion, Signature: m.Signature, SigningCertURL: m.SigningCertURL,
		UnsubscribeURL: m.UnsubscribeURL, Attributes: m.MessageAttributes,
	}.Event()
}
