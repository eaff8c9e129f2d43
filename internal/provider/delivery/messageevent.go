package delivery

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// queueEvent is the CloudEvents event that a queue's trigger sends to a function of Function Compute for a message.
// Source: EventBridge, custom event source of the type Simple Message Queue, sample event.
type queueEvent struct {
	ID                string    `json:"id"`
	Source            string    `json:"source"`
	SpecVersion       string    `json:"specversion"`
	Type              string    `json:"type"`
	DataContentType   string    `json:"datacontenttype"`
	Subject           string    `json:"subject"`
	Time              string    `json:"time"`
	AliyunPublishTime string    `json:"aliyunpublishtime"`
	AliyunEventBus    string    `json:"aliyuneventbusname"`
	Data              queueData `json:"data"`
}

type queueData struct {
	RequestID   string `json:"requestId"`
	MessageID   string `json:"messageId"`
	MessageBody string `json:"messageBody"`
}

// topicEvent is the event that a topic's trigger sends for a message, in its JSON format. Source: Function Compute,
// triggers of SMQ topics, event format.
type topicEvent struct {
	TopicOwner       string
	Message          string
	Subscriber       string
	PublishTime      int64 // in milliseconds
	SubscriptionName string
	MessageMD5       string
	TopicName        string
	MessageId        string
}

// messageEvent returns the event that a function gets if a queue or topic that triggers it receives the request.
func messageEvent(token wire.Token, request []byte, id wire.RequestID, now time.Time) []byte {
	message := strings.ToUpper(strings.ReplaceAll(string(id), "-", ""))
	if token.Service == wire.Queue {
		at := now.UTC().Format("2006-01-02T15:04:05.000Z")
		return encodeEvent(queueEvent{
			ID: string(id), Source: "acs:mns", SpecVersion: "1.0", Type: "mns:Queue:SendMessage",
			DataContentType: "application/json; charset=utf-8", Subject: fmt.Sprintf("acs:mns:%s:%s:queues/%s", token.Region, token.Account, token.Name),
			Time: at, AliyunPublishTime: at, AliyunEventBus: "default",
			Data: queueData{RequestID: message[:min(len(message), 24)], MessageID: message, MessageBody: string(request)},
		})
	}
	return encodeEvent(topicEvent{
		TopicOwner: token.Account, Message: string(request), Subscriber: token.Account, PublishTime: now.UnixMilli(),
		SubscriptionName: "pintle", MessageMD5: fmt.Sprintf("%X", md5.Sum(request)), TopicName: token.Name, MessageId: message,
	})
}

func encodeEvent(event any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(event); err != nil {
		panic(err) // strings and numbers always marshal
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
