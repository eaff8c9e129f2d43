package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

const rosStack = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"

// rosUpdate is an Update as shown in ROS's documentation.
const rosUpdate = `{"RequestType":"Update","RequestId":"B288A0BE-D927-4888-B0F7-B35EF84B6E6F",
	"ResponseURL":"https://ros.example/cb?expire=1&signature=5ec2e7","IntranetResponseURL":"http://100.100.100.110/cb?signature=5ec2e7",
	"ResourceType":"Custom::Example1","LogicalResourceId":"my-resource","PhysicalResourceId":"example-1",
	"StackId":"` + rosStack + `","StackName":"my-stack","ResourceOwnerId":"123456789","CallerId":"987654321","RegionId":"cn-hangzhou",
	"ResourceProperties":{"Year":2024,"On":true},"OldResourceProperties":{"Year":2023.50},"Hereafter":[1]}`

func TestROSRequest(t *testing.T) {
	got, err := wire.ParseRequest([]byte(rosUpdate))
	if err != nil {
		t.Fatal(err)
	}
	want := wire.Request{
		Dialect: wire.ROS, RequestType: wire.Update, RequestID: "B288A0BE-D927-4888-B0F7-B35EF84B6E6F",
		ResponseURL:         "https://ros.example/cb?expire=1&signature=5ec2e7",
		IntranetResponseURL: "http://100.100.100.110/cb?signature=5ec2e7",
		ResourceType:        "Custom::Example1", LogicalResourceID: "my-resource", PhysicalResourceID: "example-1",
		StackID: rosStack, StackName: "my-stack", ResourceOwnerID: "123456789", CallerID: "987654321", RegionID: "cn-hangzhou",
		ResourceProperties: json.RawMessage(`{"Year":2024,"On":true}`), OldResourceProperties: json.RawMessage(`{"Year":2023.50}`),
		Extra: map[string]json.RawMessage{"Hereafter": json.RawMessage("[1]")},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v\n%s\n%s", got, want, got.ResourceProperties, got.Extra)
	}
	text, err := got.Encode()
	if err != nil || !strings.Contains(string(text), `"ResponseURL":"https://ros.example/cb?expire=1&signature=5ec2e7","IntranetResponseURL":`) {
		t.Fatalf("%s, %v", text, err)
	}
	if back, err := wire.ParseRequest(text); err != nil || !reflect.DeepEqual(back, want) {
		t.Errorf("changed on the way: %v\n%s", err, text)
	}
	if text := fmt.Sprintf("%v %+v %#v", got, got, got); strings.Contains(text, "5ec2e7") || strings.Contains(text, "2024") {
		t.Errorf("shows a secret: %s", text)
	}
}

func TestROSRequestOptionalFields(t *testing.T) {
	for _, kind := range []string{"Create", "Update", "Delete"} {
		r, err := wire.ParseRequest([]byte(`{"RequestType":"` + kind + `","RequestId":"r","LogicalResourceId":"A[0]","StackId":"` + rosStack +
			`","PhysicalResourceId":null,"InnerResponseURL":"http://inner"}`))
		if err != nil || r.Dialect != wire.ROS || r.IntranetResponseURL != "http://inner" || r.ResponseURL != "" || r.PhysicalResourceID != "" {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
	both := strings.Replace(rosUpdate, `"ResourceType":`, `"InnerResponseURL":"http://inner/cb?signature=5ec2e7","ResourceType":`, 1)
	r, err := wire.ParseRequest([]byte(both))
	if err != nil || r.IntranetResponseURL != "http://100.100.100.110/cb?signature=5ec2e7" || r.InnerResponseURL != "http://inner/cb?signature=5ec2e7" {
		t.Errorf("both names: %q, %q, %v", r.IntranetResponseURL, r.InnerResponseURL, err)
	}
	if text, err := r.Encode(); err != nil || !strings.Contains(string(text), `"InnerResponseURL":"http://inner/cb?signature=5ec2e7"`) {
		t.Errorf("%s, %v", text, err)
	}
	if text := fmt.Sprintf("%v %+v %#v", r, r, r); strings.Contains(text, "5ec2e7") {
		t.Errorf("shows a secret: %s", text)
	}
	_, err = wire.ParseRequest([]byte(`{"RequestType":"Create","CallerId":7,"ResourceProperties":[],"IntranetResponseURL":"x"}`))
	const want = "request is not valid: StackId is missing; RequestId is missing; LogicalResourceId is missing; " +
		"ResourceProperties is not an object; CallerId is not a string"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestDialect(t *testing.T) {
	for _, tt := range []struct {
		name, members string
		want          wire.Dialect
	}{
		{"an ARN", `"StackId":"arn:aws:cloudformation:us-east-1:1:stack/a/b"`, wire.CloudFormation},
		{"ARN and a ROS field", `"StackId":"arn:aws:cloudformation:us-east-1:1:stack/a/b","RegionId":"cn-hangzhou"`, wire.CloudFormation},
		{"a UUID", `"StackId":"` + rosStack + `"`, wire.ROS},
		{"a UUID in capitals", `"StackId":"` + strings.ToUpper(rosStack) + `"`, wire.ROS},
		{"a UUID and a token", `"StackId":"` + rosStack + `","ServiceToken":"arn:aws:lambda:us-east-1:1:function:a"`, wire.CloudFormation},
		{"another text", `"StackId":"` + rosStack[1:] + `"`, wire.CloudFormation},
		{"another text and a ROS field", `"StackId":"s","CallerId":"1"`, wire.ROS},
		{"empty ROS fields", `"StackId":"s","CallerId":"","RegionId":null`, wire.CloudFormation},
		{"no stack", `"ResourceOwnerId":"1"`, wire.ROS},
	} {
		r, _ := wire.ParseRequest([]byte("{" + tt.members + "}"))
		if r.Dialect != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, r.Dialect, tt.want)
		}
	}
	if a, b := wire.CloudFormation.String(), wire.ROS.String(); a != "cloudformation" || b != "ros" {
		t.Error(a, b)
	}
}

func TestROSLimits(t *testing.T) {
	for _, tt := range []struct {
		name string
		ok   bool
	}{
		{"ALIYUN::ROS::CustomResource", true}, {"Custom::" + strings.Repeat("x", 60), true}, {"Custom::" + strings.Repeat("x", 61), false},
		{"AWS::CloudFormation::CustomResource", false}, {"Custom::a:b", false},
	} {
		if err := wire.ROS.CheckResourceType(tt.name); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := wire.CloudFormation.CheckResourceType("Custom::" + strings.Repeat("x", 60)); err == nil {
		t.Error("68 characters in CloudFormation: no error")
	}
	for _, tt := range []struct {
		raw  string
		want time.Duration // zero: an error
	}{
		{"", time.Minute}, {"null", time.Minute}, {"1", time.Second}, {"43200", 12 * time.Hour}, {`"600"`, 10 * time.Minute},
		{"43201", 0}, {"0", 0}, {"1.5", 0},
	} {
		got, err := wire.ROS.ParseTimeout(json.RawMessage(tt.raw))
		if got != tt.want || (err == nil) != (tt.want != 0) || err != nil && !strings.HasPrefix(err.Error(), "Timeout must be a whole number of seconds from 1 to 43200") {
			t.Errorf("%q: %v, %v", tt.raw, got, err)
		}
	}
	if got, err := wire.CloudFormation.ParseTimeout(nil); got != time.Hour || err != nil {
		t.Error(got, err)
	}
	if wire.ROS.MaxPhysicalID() != 255 || wire.CloudFormation.MaxPhysicalID() != 1024 {
		t.Error("physical IDs")
	}
}

func TestROSResponse(t *testing.T) {
	request, err := wire.ParseRequest([]byte(rosUpdate))
	if err != nil {
		t.Fatal(err)
	}
	r := wire.ResponseTo(request, wire.Success)
	r.Reason, r.NoEcho, r.Data = "done", true, json.RawMessage(`{"n":1.50}`)
	const copies = `"StackId":"` + rosStack + `","RequestId":"B288A0BE-D927-4888-B0F7-B35EF84B6E6F","LogicalResourceId":"my-resource"`
	for _, tt := range []struct {
		status wire.Status
		id     wire.PhysicalID
		want   string
	}{
		{wire.Success, "example-1", `{"Status":"SUCCESS","PhysicalResourceId":"example-1",` + copies + `,"Data":{"n":1.50}}`},
		{wire.Failed, "", `{"Status":"FAILED","Reason":"done",` + copies + `,"Data":{"n":1.50}}`},
	} {
		r.Status, r.PhysicalResourceID = tt.status, tt.id
		got, err := r.Encode()
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v\nwant %s", got, err, tt.want)
		}
		back, err := wire.ROS.ParseResponse(got)
		if err != nil || back.Dialect != wire.ROS || back.Mismatches(request) != nil {
			t.Errorf("%v, %v", back, err)
		}
	}
	for _, tt := range []struct{ body, problem string }{
		{`{"Status":"SUCCESS","PhysicalResourceId":"` + strings.Repeat("x", 255) + `","NoEcho":true}`, ""},
		{`{"Status":"FAILED","Reason":"no"}`, ""},
		{`{"Status":"SUCCESS"}`, "PhysicalResourceId is missing"},
		{`{"Status":"SUCCESS","PhysicalResourceId":null}`, "PhysicalResourceId is missing"},
		{`{"Status":"SUCCESS","PhysicalResourceId":"` + strings.Repeat("x", 256) + `"}`, "It has 256 bytes, 255 are allowed"},
		{`{"Status":"SUCCESS","PhysicalResourceId":"a\u0001"}`, "control characters"},
		{`{"Status":"SUCCESS","PhysicalResourceId":7}`, "PhysicalResourceId is not a string"},
		{`{"Status":"FAILED"}`, "Reason is missing"},
		{`{"Status":"success","PhysicalResourceId":"a"}`, `Status is "success"`},
		{`{"PhysicalResourceId":"a"}`, "Status is missing"},
		{`{"Status":"SUCCESS","PhysicalResourceId":"a","Data":[]}`, "Data is not an object"},
		{`null`, "must be a JSON object"},
		{`{"Status":"FAILED","Reason":"` + strings.Repeat("x", 4096), "too long"},
	} {
		got, err := wire.ROS.ParseResponse([]byte(tt.body))
		if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%.80s: %v, want %q", tt.body, err, tt.problem)
		}
		if got.NoEcho && err == nil {
			t.Errorf("%.80s: NoEcho", tt.body)
		}
	}
}

func FuzzROSResponse(f *testing.F) {
	f.Add([]byte(`{"Status":"SUCCESS","PhysicalResourceId":"a","Data":{"n":1.50}}`))
	f.Add([]byte(`{"Status":"FAILED","Reason":"no","NoEcho":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := wire.ROS.ParseResponse(body)
		if err != nil {
			var refused *wire.ResponseError
			if !errors.As(err, &refused) || refused.Text == "" {
				t.Fatalf("error is %#v", err)
			}
			return
		}
		if !r.Status.Valid() || (r.Status == wire.Success) && r.PhysicalResourceID == "" || r.Status == wire.Failed && r.Reason == "" ||
			len(r.PhysicalResourceID) > wire.MaxROSPhysicalID {
			t.Errorf("accepted %q", body)
		}
		if r.Status == wire.Success {
			r.Reason = "" // it is not sent
		}
		again(t, r)
	})
}

// The vectors were made with Python's json, hashlib and hmac.
const (
	signedBody = `{"RequestType": "Create", "Z": [1, 2.5, -0.0, true, null, {"b": "\u00fc\u007f\u2028\ud83d\ude00<&>", ` +
		`"a": "\"\\/\n\r\t\b\f\u0001"}], "StackId": "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", "\u00e9": {}, "e": [], ` +
		`"ResourceProperties": {"Year": 2024, "Ratio": 1e-07}`
	signedDate = "2021-03-11T13:32:02Z"
)

func withSignature(value string) []byte {
	return []byte(signedBody + `, "Signature": {"Date": "` + signedDate + `", "Value": "` + value + `"}}`)
}

func TestROSSigning(t *testing.T) {
	at := time.Date(2021, 3, 11, 13, 32, 2, 0, time.UTC)
	headers := map[string]string{"X-B": "2", "X-A": "1 x"}
	for _, tt := range []struct {
		name    string
		headers map[string]string
		value   string
	}{
		{"as we sign", nil, "e8c2db168783f8780dda09cb1d249b149760bea3"},
		{"headers", headers, "9eddc9b95f928dfc92c3f852617e4f475b9f91bb"},
		{"no spaces", nil, "d15b5eab5c28349db604cffb0c0a86b701590709"},
		{"base64", nil, "8c532455619e47c8edd24d87af0c86938dcec22c"},
		{"base64, no spaces, headers", headers, "6a78546e8ececfdab7f3db2c2b65c529e1b163c5"},
		{"capitals", nil, "E8C2DB168783F8780DDA09CB1D249B149760BEA3"},
	} {
		s := wire.ROSSigning{Key: "sign-key", URL: "https://abc.com", Headers: tt.headers}
		if err := s.Verify(withSignature(tt.value), at.Add(wire.MaxROSSignatureAge)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	s := wire.ROSSigning{Key: "sign-key", URL: "https://abc.com"}
	signed, err := s.Sign([]byte(signedBody+`,"Signature":null}`), at)
	if err != nil || !bytes.HasSuffix(signed, []byte(`"Signature":{"Date":"2021-03-11T13:32:02Z","Value":"e8c2db168783f8780dda09cb1d249b149760bea3"}}`)) {
		t.Errorf("%s, %v", signed, err)
	}
	for _, tt := range []struct {
		name    string
		edit    func(s *wire.ROSSigning, document *string, now *time.Time)
		problem string
	}{
		{"another key", func(s *wire.ROSSigning, _ *string, _ *time.Time) { s.Key = "other" }, "does not fit"},
		{"no key", func(s *wire.ROSSigning, _ *string, _ *time.Time) { s.Key = "" }, "no SignKey"},
		{"another URL", func(s *wire.ROSSigning, _ *string, _ *time.Time) { s.URL += "/" }, "does not fit"},
		{"another content type", func(s *wire.ROSSigning, _ *string, _ *time.Time) { s.ContentType = "text/plain" }, "does not fit"},
		{"another header", func(s *wire.ROSSigning, _ *string, _ *time.Time) { s.Headers = headers }, "does not fit"},
		{"another body", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = strings.Replace(*d, "2024", "2025", 1) }, "does not fit"},
		{"a member more", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = strings.Replace(*d, "{", `{"X":1,`, 1) }, "does not fit"},
		{"another date", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = strings.Replace(*d, "32:02", "32:03", 1) }, "does not fit"},
		{"truncated value", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = strings.Replace(*d, "e8c2db", "", 1) }, "does not fit"},
		{"no value", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = strings.Replace(*d, `"Value"`, `"X"`, 1) }, "no Date and Value"},
		{"old", func(_ *wire.ROSSigning, _ *string, now *time.Time) { *now = now.Add(wire.MaxROSSignatureAge + 1) }, "clock"},
		{"ahead", func(_ *wire.ROSSigning, _ *string, now *time.Time) { *now = now.Add(-wire.MaxROSSignatureAge - 1) }, "clock"},
		{"no date", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = strings.Replace(*d, signedDate, "now", 1) }, "is not a time"},
		{"not hex", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = strings.Replace(*d, "e8c2db", "xyzxyz", 1) }, "hexadecimal"},
		{"none", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = signedBody + "}" }, "has no Signature"},
		{"a list", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = "[]" }, "not a JSON object"},
		{"not JSON", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d = "{" }, "not JSON"},
		{"too long", func(_ *wire.ROSSigning, d *string, _ *time.Time) { *d += strings.Repeat(" ", wire.MaxRequest) }, "are allowed"},
	} {
		s, document, now := s, string(withSignature("e8c2db168783f8780dda09cb1d249b149760bea3")), at
		tt.edit(&s, &document, &now)
		err := s.Verify([]byte(document), now)
		if err == nil || !strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "sign-key") || strings.Contains(err.Error(), "e8c2db") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.problem)
		}
	}
	for _, bad := range []wire.ROSSigning{{URL: "u"}, {Key: "k"}, {Key: strings.Repeat("k", 129), URL: "u"}} {
		if _, err := bad.Sign([]byte("{}"), at); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	if _, err := s.Sign([]byte("[]"), at); err == nil {
		t.Error("a list is signed")
	}
}

func FuzzROSSigning(f *testing.F) {
	f.Add([]byte(rosUpdate), "key")
	f.Add(withSignature("00"), "key")
	f.Fuzz(func(t *testing.T, document []byte, key string) {
		at := time.Date(2021, 3, 11, 13, 32, 2, 0, time.UTC)
		s := wire.ROSSigning{Key: key, URL: "https://abc.com"}
		_ = s.Verify(document, at) // must not panic
		signed, err := s.Sign(document, at)
		if err != nil || len(signed) > wire.MaxRequest {
			return
		}
		if err := s.Verify(signed, at); err != nil {
			t.Errorf("%v: %s", err, signed)
		}
		if (wire.ROSSigning{Key: key + "x", URL: s.URL}).Verify(signed, at) == nil {
			t.Error("another key fits")
		}
	})
}

// A service that accepts more than 4,096 bytes reads up to its own limit and reports a body that is too long.
func TestROSResponseReceived(t *testing.T) {
	good := `{"Status":"SUCCESS","PhysicalResourceId":"p","StackId":"` + rosStack + `","RequestId":"r","LogicalResourceId":"L","Data":{"x":"` +
		strings.Repeat("x", 9000) + `"}}`
	if r, err := wire.ROS.ParseReceived([]byte(good), 0); err != nil || r.PhysicalResourceID != "p" || len(r.Data) < 9000 {
		t.Errorf("%.100v, %v", r, err)
	}
	tests := map[string]struct {
		body string
		size int
		want string
	}{
		"too long":            {good[:5001], len(good), fmt.Sprintf("Response object is too long. The response has %d bytes, 5000 are allowed.", len(good))},
		"too long, unknown":   {good[:5001], 5001, "Response object is too long. The response has more than 5000 bytes."},
		"long and not valid":  {strings.Replace(good, `"SUCCESS"`, `"OK"`, 1), 0, fmt.Sprintf("The response has %d bytes.", len(good)-5)},
		"short and not valid": {`{}`, 0, "The response has 2 bytes."},
	}
	for name, test := range tests {
		if _, err := wire.ROS.ParseReceived([]byte(test.body), test.size); err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := wire.ROS.ParseResponse([]byte(good)); err == nil {
		t.Error("the limit is gone where it is not the caller's")
	}
}
