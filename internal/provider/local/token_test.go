package local_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

func TestMatch(t *testing.T) {
	const mapped = "arn:aws:lambda:us-east-1:111111111111:function:Mapped"
	names := map[string]bool{"CRTest": true, mapped: true, "Mapped": true, "": true, "shop/site": true, "shop$page": true, "site": true}
	has := func(name string) bool { return names[name] }
	for token, want := range map[wire.ServiceToken]string{
		"arn:aws:sns:us-east-1:84969EXAMPLE:CRTest":                  "CRTest",
		"arn:aws-cn:sns:cn-north-1:000000000000:CRTest":              "CRTest",
		"arn:aws:lambda:us-east-1:000000000000:function:CRTest":      "CRTest",
		"arn:aws:lambda:eu-west-1:000000000000:function:CRTest:live": "CRTest",
		mapped: mapped,
		"arn:aws:lambda:us-east-1:222222222222:function:Mapped":   "Mapped",
		"acs:fc:cn-hangzhou:1:functions/CRTest":                   "CRTest",
		"acs:fc:cn-hangzhou:1:services/s/functions/CRTest":        "CRTest",
		"acs:fc:cn-hangzhou:1:services/s.LATEST/functions/CRTest": "CRTest",
		"acs:fc:cn-hangzhou:1:services/shop/functions/site":       "shop/site",
		"acs:fc:cn-hangzhou:1:services/shop.v1/functions/page":    "shop$page",
		"acs:fc:cn-hangzhou:1:services/other/functions/site":      "site",
		"acs:fc:cn-hangzhou:1:services/other/functions/page":      "",
		"acs:mns:cn-hangzhou:1:queues/CRTest":                     "CRTest",
		"acs:mns:cn-hangzhou:1:/queues/CRTest":                    "CRTest",
		"acs:mns:cn-hangzhou:1:/topics/CRTest":                    "CRTest",
		"web:https://example.com/CRTest":                          "",
		"CRTest":                                                  "CRTest",
		"arn:aws:sns:us-east-1:1:crtest":                          "",
		"arn:aws:sns:us-east-1:1:CRTest:1":                        "",
		"arn:aws:lambda:us-east-1:1:CRTest":                       "",
		"arn:aws:lambda:us-east-1:1:layer:CRTest":                 "",
		"arn:aws:sqs:us-east-1:1:CRTest":                          "",
		"arn:aws:sns:us-east-1:1:":                                "",
		"https://example.com/CRTest":                              "",
		"":                                                        "",
	} {
		name, ok := local.Match(token, has)
		if name != want || ok != (want != "") {
			t.Errorf("%s: got %q %v, want %q", token, name, ok, want)
		}
	}
}

func TestRuntimeMatch(t *testing.T) {
	k := newKit(t, "handle", nil)
	if name, ok := k.Match("arn:aws:sns:us-east-1:1:P"); name != "P" || !ok {
		t.Errorf("got %q %v, want P", name, ok)
	}
}

func TestFunctionName(t *testing.T) {
	for provider, want := range map[string]string{
		"CRTest": "CRTest",
		"arn:aws:lambda:us-east-1:1:function:Name:live": "Name",
		"https://example.com/a b":                       "https---example.com-a-b",
	} {
		if got := local.FunctionName(provider); got != want {
			t.Errorf("%s: got %s, want %s", provider, got, want)
		}
	}
}

func TestSNSEvent(t *testing.T) {
	const topic = "arn:aws:sns:eu-west-1:84969EXAMPLE:CRTest"
	message := `{"RequestType":"Create","ResponseURL":"http://127.0.0.1/a?b=c&d=e"}`
	now := time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.FixedZone("", 3600))
	var got any
	if err := json.Unmarshal(local.SNSEvent(topic, "a subject", []byte(message), now, "id-1"), &got); err != nil {
		t.Fatal(err)
	}
	const subscription = topic + ":00000000-0000-0000-0000-000000000000"
	want := map[string]any{"Records": []any{map[string]any{
		"EventSource": "aws:sns", "EventVersion": "1.0", "EventSubscriptionArn": subscription,
		"Sns": map[string]any{
			"Type": "Notification", "MessageId": "id-1", "TopicArn": topic,
			"Subject": "a subject", "Message": message,
			"Timestamp": "2026-11-21T11:00:00.005Z", "SignatureVersion": "1", "Signature": "bm90IHNpZ25lZA==",
			"SigningCertUrl":    "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-00000000000000000000000000000000.pem",
			"UnsubscribeUrl":    "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=" + subscription,
			"MessageAttributes": map[string]any{},
		},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOutcomeString(t *testing.T) {
	for want, outcome := range map[string]local.Outcome{
		"returned":            {Kind: local.Returned},
		"errored: Oops":       {Kind: local.Errored, Type: "Oops"},
		"errored: Oops: no":   {Kind: local.Errored, Type: "Oops", Message: "no"},
		"exited: why":         {Kind: local.Exited, Message: "why"},
		"crashed: why":        {Kind: local.Crashed, Message: "why"},
		"timed out: why":      {Kind: local.TimedOut, Message: "why"},
		"init failed: A: why": {Kind: local.InitFailed, Type: "A", Message: "why"},
		"stopped: why":        {Kind: local.Stopped, Message: "why"},
		"outcome 0":           {},
	} {
		if got := outcome.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
