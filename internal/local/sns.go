package local

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

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
	Subject           string
	Message           string
	Timestamp         string
	SignatureVersion  string
	Signature         string
	SigningCertURL    string `json:"SigningCertUrl"`
	UnsubscribeURL    string `json:"UnsubscribeUrl"`
	MessageAttributes struct{}
}

// SNSEvent returns the Lambda event of one SNS notification that carries message under subject, as a function subscribed to
// the topic gets it. The fields of the signature have their shapes but sign nothing.
// Source: AWS Lambda developer guide, "Invoking Lambda functions with Amazon SNS notifications".
func SNSEvent(topicARN, subject string, message []byte, now time.Time, messageID string) []byte {
	region, domain := DefaultRegion, "amazonaws.com"
	if fields := strings.Split(topicARN, ":"); len(fields) == 6 && fields[3] != "" {
		region = fields[3]
	}
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	host := "https://sns." + region + "." + domain
	subscription := topicARN + ":00000000-0000-0000-0000-000000000000"
	var event bytes.Buffer
	enc := json.NewEncoder(&event)
	enc.SetEscapeHTML(false) // response URLs stay readable
	err := enc.Encode(snsRecords{[]snsRecord{{
		EventSource:          "aws:sns",
		EventVersion:         "1.0",
		EventSubscriptionARN: subscription,
		Sns: snsNotification{
			Type:             "Notification",
			MessageID:        messageID,
			TopicARN:         topicARN,
			Subject:          subject,
			Message:          string(message),
			Timestamp:        now.UTC().Format("2006-01-02T15:04:05.000Z"),
			SignatureVersion: "1",
			Signature:        "bm90IHNpZ25lZA==", // "not signed"
			SigningCertURL:   host + "/SimpleNotificationService-00000000000000000000000000000000.pem",
			UnsubscribeURL:   host + "/?Action=Unsubscribe&SubscriptionArn=" + subscription,
		},
	}}})
	if err != nil {
		panic(err) // strings always marshal
	}
	return bytes.TrimSuffix(event.Bytes(), []byte("\n"))
}
