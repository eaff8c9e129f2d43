package pintle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
)

// mnsNotification is a message as a topic of SMQ sends it to its subscribers, in JSON or XML.
type mnsNotification struct {
	XMLName     xml.Name `xml:"Notification" json:"-"`
	TopicOwner  string
	TopicName   string
	Message     string
	RequestType string // set in a request, which is not a notification
}

func parseNotification(text []byte) (mnsNotification, bool) {
	var n mnsNotification
	switch text = bytes.TrimSpace(text); {
	case bytes.HasPrefix(text, []byte("{")):
		return n, json.Unmarshal(text, &n) == nil && n.TopicName != "" && n.Message != "" && n.RequestType == ""
	case bytes.HasPrefix(text, []byte("<")):
		return n, xml.Unmarshal(text, &n) == nil && n.Message != ""
	}
	return n, false
}

// unwrapMNS returns the request in a message of SMQ. The message is plain or base64, and a topic or a Function
// Compute trigger may have wrapped it. Any other text is returned unchanged.
func unwrapMNS(text []byte) []byte {
	for range 3 { // a trigger, a topic, base64
		inner := unwrapOnce(text)
		if inner == nil {
			break
		}
		text = inner
	}
	return text
}

func unwrapOnce(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if n, ok := parseNotification(text); ok {
		return []byte(n.Message)
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		if plain, err := base64.StdEncoding.DecodeString(string(text)); err == nil && len(plain) > 0 {
			return plain
		}
		return nil
	}
	var event struct { // CloudEvents, from the trigger of a queue
		RequestType string
		Data        struct {
			MessageBody json.RawMessage `json:"messageBody"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &event) != nil || event.RequestType != "" {
		return nil
	}
	var body string
	switch {
	case json.Unmarshal(event.Data.MessageBody, &body) == nil && body != "":
		return []byte(body)
	case bytes.HasPrefix(event.Data.MessageBody, []byte("{")):
		return event.Data.MessageBody
	}
	return nil
}
