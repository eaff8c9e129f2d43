package local

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// SNSTime is the time format of SNS.
const SNSTime = "2006-01-02T15:04:05.000Z"

// Notification is an SNS message in the form that a function gets. Of the texts only TopicARN is required. Empty
// signature fields get well-formed values that are not a valid signature.
type Notification struct {
	TopicARN        string
	SubscriptionARN string
	MessageID       string
	// Subject is null in the event if it is empty.
	Subject string
	Message string
	// Timestamp has the format [SNSTime].
	Timestamp string
	// SignatureVersion defaults to "1".
	SignatureVersion, Signature    string
	SigningCertURL, UnsubscribeURL string
	Attributes                     map[string]NotificationAttribute
}

// NotificationAttribute is a message attribute. A Value of the type Binary is base64.
type NotificationAttribute struct{ Type, Value string }

type snsRecords struct {
	Records []snsRecord
}

type snsRecord struct {
	EventSource          string
	EventVersion         string
	EventSubscriptionARN string `json:"EventSubscriptionArn"`
	Sns                  snsNotification
}

type snsNotification struct {
	Type              string
	MessageID         string `json:"MessageId"`
	TopicARN          string `json:"TopicArn"`
	Subject           *string
	Message           string
	Timestamp         string
	SignatureVersion  string
	Signature         string
	SigningCertURL    string `json:"SigningCertUrl"`
	UnsubscribeURL    string `json:"UnsubscribeUrl"`
	MessageAttributes map[string]NotificationAttribute
}

// Event returns the Lambda event of the notification.
// Source: AWS Lambda developer guide, "Invoking Lambda functions with Amazon SNS notifications".
func (n Notification) Event() []byte {
	host := "https://" + snsHost(n.TopicARN)
	subscription := cmp.Or(n.SubscriptionARN, n.TopicARN+":00000000-0000-0000-0000-000000000000")
	record := snsRecord{
		EventSource:          "aws:sns",
		EventVersion:         "1.0",
		EventSubscriptionARN: subscription,
		Sns: snsNotification{
			Type:              "Notification",
			MessageID:         n.MessageID,
			TopicARN:          n.TopicARN,
			Message:           n.Message,
			Timestamp:         n.Timestamp,
			SignatureVersion:  cmp.Or(n.SignatureVersion, "1"),
			Signature:         cmp.Or(n.Signature, "bm90IHNpZ25lZA=="), // "not signed"
			SigningCertURL:    cmp.Or(n.SigningCertURL, host+"/SimpleNotificationService-00000000000000000000000000000000.pem"),
			UnsubscribeURL:    cmp.Or(n.UnsubscribeURL, host+"/?Action=Unsubscribe&SubscriptionArn="+subscription),
			MessageAttributes: n.Attributes,
		},
	}
	if n.Subject != "" {
		record.Sns.Subject = &n.Subject
	}
	if record.Sns.MessageAttributes == nil {
		record.Sns.MessageAttributes = map[string]NotificationAttribute{}
	}
	var event bytes.Buffer
	enc := json.NewEncoder(&event)
	enc.SetEscapeHTML(false) // response URLs stay readable
	if err := enc.Encode(snsRecords{[]snsRecord{record}}); err != nil {
		panic(err) // strings always marshal
	}
	return bytes.TrimSuffix(event.Bytes(), []byte("\n"))
}

// snsHost returns the host of SNS in the region of a topic.
func snsHost(topicARN string) string {
	region, domain := DefaultRegion, "amazonaws.com"
	if fields := strings.Split(topicARN, ":"); len(fields) == 6 && fields[3] != "" {
		region = fields[3]
	}
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return "sns." + region + "." + domain
}

// SNSEvent returns the Lambda event of an unsigned notification with a message and a subject.
func SNSEvent(topicARN, subject string, message []byte, now time.Time, messageID string) []byte {
	return Notification{TopicARN: topicARN, Subject: subject, Message: string(message), MessageID: messageID, Timestamp: now.UTC().Format(SNSTime)}.Event()
}
