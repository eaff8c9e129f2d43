package check_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/author/check"
)

// The request as CloudFormation sends it, and the expected recording.
const (
	arrived = `{"RequestType": "Update", "ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:F", "ResponseURL": ` +
		`"https://bucket.s3.amazonaws.com/key?X-Amz-Signature=5ec2e75ec2e7", "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/s/1", ` +
		`"RequestId": "r-1", "LogicalResourceId": "Note", "PhysicalResourceId": "note-a", "ResourceType": "Custom::Note", "ResourceProperties": ` +
		`{"Name": "it's \"a\"", "Open": "true", "Password": "hunter2-hunter2", "Pin": "12", "Url": "db://x:hunter2-hunter2@host"}, ` +
		`"OldResourceProperties": {"Name": "b", "Password": "hunter1-hunter1"}}`
	kept = `{"RequestType":"Update","ServiceToken":"arn:aws:lambda:us-east-1:123456789012:function:F","StackId":` +
		`"arn:aws:cloudformation:us-east-1:123456789012:stack/s/1","RequestId":"r-1","LogicalResourceId":"Note","PhysicalResourceId":` +
		`"note-a","ResourceType":"Custom::Note","ResourceProperties":{"Name":"it's \"a\"","Open":"true","Password":"*****","Pin":"*****","Url":` +
		`"db://x:*****@host"},"OldResourceProperties":{"Name":"b","Password":"*****"}}`
)

// A request is found wherever AWS writes one, and its secrets are not recorded.
func TestRecord(t *testing.T) {
	quoted := strconv.Quote(arrived)
	python := strings.NewReplacer(`"it's \"a\""`, `'it\'s "a"'`, `"`, "'").Replace(arrived)
	for name, text := range map[string]string{
		"the request":          arrived,
		"a log line of Node":   "2026-11-27T10:00:00.000Z\t7e5e\tINFO\t" + arrived + "\n",
		"a log line in JSON":   `{"level": "INFO", "message": ` + arrived + `, "requestId": "x"}`,
		"a message in JSON":    `{"level": "INFO", "message": ` + quoted + `}`,
		"a line of Python":     "[INFO] received {'a': 1} and " + python + "\nEND RequestId: 7e5e\n",
		"an SNS message":       `{"Type": "Notification", "Message": ` + quoted + `}`,
		"an event with SNS":    `{"Records": [{"EventSource": "aws:sns", "Sns": {"Message": ` + quoted + `}}]}`,
		"a queue with a topic": `{"Records": [{"body": ` + strconv.Quote(`{"Message": `+quoted+`}`) + `}]}`,
		"twice in a log":       arrived + "\n" + arrived,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := check.Record([]byte(text), []string{"Pin"})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 {
				t.Fatalf("%d requests", len(got))
			}
			var v json.RawMessage = got[0]
			if compact, err := compacted(v); err != nil || compact != kept {
				t.Errorf("got %s, %v\nwant %s", compact, err, kept)
			}
		})
	}
	for name, text := range map[string]string{
		"nothing": "", "no request": `{"a": 1}`, "cut": arrived[:200], "no quotes": "{RequestType: 'Create'}",
		"deep": strings.Repeat("{", 10000), "quote without end": "{'a",
	} {
		if got, err := check.Record([]byte(text), nil); err == nil || !strings.Contains(err.Error(), "no request in it") {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}

// Secrets and response URLs are removed at every depth, and other values stay.
func TestRecordMasks(t *testing.T) {
	for name, c := range map[string]struct{ properties, want string }{
		"JSON in a text": {
			`{"Create": "{\"p\":{\"MasterUserPassword\":\"hunter2-hunter2\",\"Size\":5}}", "Url": "x:hunter2-hunter2@h"}`,
			`{"Create":"{\"p\":{\"MasterUserPassword\":\"*****\",\"Size\":5}}","Url":"x:*****@h"}`,
		},
		"named in JSON in a text": {`{"Create": "call {\"Pin\": 12} now"}`, `{"Create":"call {\"Pin\":\"*****\"} now"}`},
		"quoted JSON in a text":   {`{"A": "\"{\\\"Pin\\\": 1}\""}`, `{"A":"\"{\\\"Pin\\\":\\\"*****\\\"}\""}`},
		"named ARN":               {`{"Pin": "arn:aws:x", "Password": "arn:aws:y"}`, `{"Pin":"*****","Password":"arn:aws:y"}`},
		"response URLs": {
			`{"a": [{"ResponseURL": "https://x/"}], "b": "{\"InnerResponseURL\":\"https://x/\",\"c\":1}", "d": "ResponseURL=https://x/y!"}`,
			`{"a":[{}],"b":"{\"c\":1}","d":"ResponseURL=*****"}`,
		},
		"response URL by its shape": {`{"a": "see https://b.s3.amazonaws.com/k?X-Amz-Signature=5e5e5e5e now"}`, `{"a":"see ***** now"}`},
		"equal number":              {`{"Pin": 123456789, "a": 123456789, "b": "n 123456789."}`, `{"Pin":"*****","a":"*****","b":"n *****."}`},
		"part of a number":          {`{"Pin": 123456789, "a": "1234567890"}`, `{"Pin":"*****","a":"1234567890"}`},
		"encoded neighbour":         {`{"Pin": "hunters", "a": "x%3Ahunters"}`, `{"Pin":"*****","a":"x%3A*****"}`},
		"key":                       {`{"Pin": "hunter2", "a": {"hunter2": 1}}`, `{"Pin":"*****","a":{"*****":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			head := `{"RequestType":"Create","StackId":"arn:aws:cloudformation:us-east-1:123456789012:stack/s/1",` +
				`"RequestId":"r","LogicalResourceId":"L","ResourceProperties":`
			got, err := check.Record([]byte(head+c.properties+"}"), []string{"Pin"})
			if err != nil || len(got) != 1 {
				t.Fatalf("got %s, %v", got, err)
			}
			if text, err := compacted(got[0]); err != nil || text != head+c.want+"}" {
				t.Errorf("got %s, %v\nwant %s", text, err, head+c.want+"}")
			}
		})
	}
}

// Recording any text ends, and the result has no response URL at any depth.
func FuzzRecord(f *testing.F) {
	f.Add(arrived)
	f.Add(`{'RequestType': 'Create', 'a': "b\x41é", 'c': None}`)
	f.Add(strings.Replace(arrived, `"Open": "true"`, `"Open": [{"ResponseURL": "https://x/", "a": "{\"ResponseURL\": 1}"}]`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		found, _ := check.Record([]byte(text), nil)
		for _, document := range found {
			var v any
			if err := json.Unmarshal(document, &v); err != nil || hasResponseURL(v) {
				t.Errorf("recorded %s: %v", document, err)
			}
		}
	})
}

// hasResponseURL reports whether a value has a response URL, also in texts that are JSON.
func hasResponseURL(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if key == "ResponseURL" || hasResponseURL(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasResponseURL)
	case string:
		var inner any
		return json.Unmarshal([]byte(v), &inner) == nil && hasResponseURL(inner)
	}
	return false
}

func compacted(v json.RawMessage) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return strings.TrimSpace(b.String()), err
}
