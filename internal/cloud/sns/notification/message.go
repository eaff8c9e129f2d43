package notification

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// The types of a [Message].
const (
	// Notification is a published message.
	Notification = "Notification"
	// SubscriptionConfirmation asks an endpoint to confirm its subscription.
	SubscriptionConfirmation = "SubscriptionConfirmation"
)

// Message is the document that SNS posts to an HTTP endpoint, with fields in the order of SNS. [Signer.Sign] sets
// Timestamp, SignatureVersion, Signature and SigningCertURL. Source: SNS developer guide, HTTP/HTTPS notification
// JSON format.
type Message struct {
	Type              string
	MessageID         string `json:"MessageId"`
	Token             string `json:",omitempty"`
	TopicARN          string `json:"TopicArn"`
	Subject           string `json:",omitempty"`
	Message           string
	SubscribeURL      string `json:",omitempty"`
	Timestamp         string
	SignatureVersion  string
	Signature         string
	SigningCertURL    string
	UnsubscribeURL    string                                 `json:",omitempty"`
	MessageAttributes map[string]local.NotificationAttribute `json:",omitempty"`
}

// signed returns the text that the signature covers. Source: SNS developer guide, verifying the signatures of Amazon
// SNS messages.
func (m *Message) signed() string {
	var b strings.Builder
	add := func(name, text string) {
		if text != "" {
			b.WriteString(name + "\n" + text + "\n")
		}
	}
	add("Message", m.Message)
	add("MessageId", m.MessageID)
	add("Subject", m.Subject)
	add("SubscribeURL", m.SubscribeURL)
	add("Timestamp", m.Timestamp)
	add("Token", m.Token)
	add("TopicArn", m.TopicARN)
	add("Type", m.Type)
	return b.String()
}

// Encode returns the message as the body of a POST.
func (m *Message) Encode() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		panic(err) // strings always marshal
	}
	return b.Bytes()
}

// Header returns the headers of the POST that carries a message. subscription is an ARN. It is empty for a
// confirmation. Source: SNS developer guide, HTTP/HTTPS headers.
func Header(kind, id, topic, subscription string) http.Header {
	header := http.Header{}
	header.Set("Content-Type", "text/plain; charset=UTF-8")
	header.Set("User-Agent", "Amazon Simple Notification Service Agent")
	header.Set("x-amz-sns-message-type", kind)
	header.Set("x-amz-sns-message-id", id)
	header.Set("x-amz-sns-topic-arn", topic)
	if subscription != "" {
		header.Set("x-amz-sns-subscription-arn", subscription)
	}
	return header
}
