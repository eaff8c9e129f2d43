package wire_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

func TestParseToken(t *testing.T) {
	for _, tt := range []struct {
		token string
		want  wire.Token // without Text and URL
	}{
		{"arn:aws:lambda:us-east-1:123456789012:function:site",
			wire.Token{Service: wire.Lambda, Partition: "aws", Region: "us-east-1", Account: "123456789012", Name: "site"}},
		{"arn:aws-eusc:lambda:eusc-de-east-1:123456789012:function:site:$LATEST",
			wire.Token{Service: wire.Lambda, Partition: "aws-eusc", Region: "eusc-de-east-1", Account: "123456789012", Name: "site", Qualifier: "$LATEST"}},
		{"arn:aws:sns:us-west-2:84969EXAMPLE:CRTest",
			wire.Token{Service: wire.SNS, Partition: "aws", Region: "us-west-2", Account: "84969EXAMPLE", Name: "CRTest"}},
		{"arn:aws-cn:sns:cn-north-1::topic.fifo",
			wire.Token{Service: wire.SNS, Partition: "aws-cn", Region: "cn-north-1", Name: "topic.fifo"}},
		{"https://example.com/hook?a=1", wire.Token{Service: wire.HTTP}},
		{"HTTP://[::1]:8080", wire.Token{Service: wire.HTTP}},
		{"arn:aws:sqs:us-east-1:123456789012:q", wire.Token{Service: wire.Other}},
		{"arn:other:lambda:us-east-1:123456789012:function:site", wire.Token{Service: wire.Other}},
		{"arn:aws:http:a:b:c", wire.Token{Service: wire.Other}},
		{"acs:fc:cn-hangzhou:1234:functions/site",
			wire.Token{Service: wire.FC, Partition: "acs", Region: "cn-hangzhou", Account: "1234", Name: "site"}},
		{"acs:fc:cn-hangzhou:1234:services/web/functions/site",
			wire.Token{Service: wire.FC, Partition: "acs", Region: "cn-hangzhou", Account: "1234", Name: "site", FCService: "web"}},
		{"acs:fc:cn-hangzhou:1234:services/web.LATEST/functions/site",
			wire.Token{Service: wire.FC, Partition: "acs", Region: "cn-hangzhou", Account: "1234", Name: "site", FCService: "web", Qualifier: "LATEST"}},
		{"acs:mns:cn-hangzhou:1234:queues/q-1",
			wire.Token{Service: wire.Queue, Partition: "acs", Region: "cn-hangzhou", Account: "1234", Name: "q-1"}},
		{"acs:mns:cn-hangzhou:1234:/queues/q-1",
			wire.Token{Service: wire.Queue, Partition: "acs", Region: "cn-hangzhou", Account: "1234", Name: "q-1"}},
		{"acs:mns:cn-hangzhou:1234:topics/t",
			wire.Token{Service: wire.Topic, Partition: "acs", Region: "cn-hangzhou", Account: "1234", Name: "t"}},
		{"acs:mns:cn-hangzhou:1234:/topics/t",
			wire.Token{Service: wire.Topic, Partition: "acs", Region: "cn-hangzhou", Account: "1234", Name: "t"}},
		{"web:http://example.com", wire.Token{Service: wire.Web}},
		{"web[sync]:https://example.com/hook", wire.Token{Service: wire.Web, Sync: true}},
		{"web[idempotent]:https://example.com/hook?a=[b]:c", wire.Token{Service: wire.Web, Idempotent: true}},
		{"web[sync,idempotent]:https://example.com/hook", wire.Token{Service: wire.Web, Sync: true, Idempotent: true}},
		{"acs:ros:cn-hangzhou:1234:stack/x", wire.Token{Service: wire.Other}},
		{"website", wire.Token{Service: wire.Other}},
		{"CRTest", wire.Token{Service: wire.Other}},
	} {
		got, err := wire.ParseToken(wire.ServiceToken(tt.token))
		if err != nil {
			t.Errorf("%s: %v", tt.token, err)
			continue
		}
		if string(got.Text) != tt.token || (got.URL != nil) != (tt.want.Service == wire.HTTP || tt.want.Service == wire.Web) {
			t.Errorf("%s: text %q, URL %v", tt.token, got.Text, got.URL)
		}
		got.Text, got.URL = "", nil
		if got != tt.want {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.token, got, tt.want)
		}
	}
}

func TestParseTokenRefuses(t *testing.T) {
	for _, tt := range []struct{ token, problem string }{
		{"", "empty"},
		{strings.Repeat("x", 2049), "2049 bytes"},
		{"arn:aws:sns:us-west-2:1:CR Test", `' '`},
		{"arn:aws:sns:us-west-2:1:CRTest\n", `'\n'`},
		{"arn:aws:lambda:us-east-1:1:layer:site", "not a function ARN"},
		{"arn:aws:lambda:us-east-1:1:function:site:1:2", "not a function ARN"},
		{"arn:aws:lambda:us-east-1:1:function:site:", "ends in a colon"},
		{"arn:aws:lambda:us-east-1:1:function:", "names no function"},
		{"arn:aws:lambda", "not a function ARN"},
		{"arn:aws:sns:us-west-2:1:CRTest:5f1a", "not a topic ARN"},
		{"arn:aws:sns:us-west-2:1:../x", "name"},
		{"arn:aws:sns:us-west-2:1/2:x", "account"},
		{"https://", "without a host"},
		{"https://u:secret@h:port/", "cannot be read"},
		{"acs:fc:cn-hangzhou:1234", "not a function"},
		{"acs:fc:cn-hangzhou:1234:services/web", "not a function"},
		{"acs:fc:cn-hangzhou:1234:functions/", "name"},
		{"acs:fc:cn-hangzhou:1234:functions/a/b", "not a function"},
		{"acs:fc:cn-hangzhou:1234:/functions/a", "not a function"},
		{"acs:fc:cn hangzhou:1234:functions/a", `' '`},
		{"acs:fc::1234:functions/a", "region"},
		{"acs:fc:cn-hangzhou::functions/a", "account"},
		{"acs:fc:cn-hangzhou:1234:services//functions/a", "service"},
		{"acs:mns:cn-hangzhou:1234:queue/a", "not a queue or topic"},
		{"acs:mns:cn-hangzhou:1234:queues/a/messages", "not a queue or topic"},
		{"acs:mns:cn-hangzhou:1234:/queues/..%2f", "name"},
		{"acs:mns:cn-hangzhou:1234:queues/" + strings.Repeat("x", 500), "512 are allowed"},
		{"web:", "no http or https URL"},
		{"web:ftp://example.com/", "no http"},
		{"web:https://u:secret@h:port/", "cannot be read"},
		{"web:https:///x", "without a host"},
		{"web[sync:https://example.com/", "no ]"},
		{"web[sync]https://example.com/", "no ]"},
		{"web[fast]:https://example.com/", `"fast"`},
		{"web[]:https://example.com/", `""`},
		{"web[sync,sync]:https://example.com/", "twice"},
	} {
		_, err := wire.ParseToken(wire.ServiceToken(tt.token))
		if err == nil || !strings.Contains(err.Error(), tt.problem) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v, want %q", tt.token, err, tt.problem)
		}
	}
}

func TestStackARN(t *testing.T) {
	for _, tt := range []struct {
		region string
		want   wire.StackID
	}{
		{"us-east-1", "arn:aws:cloudformation:us-east-1:000000000000:stack/web/5f1a-2b"},
		{"cn-north-1", "arn:aws-cn:cloudformation:cn-north-1:000000000000:stack/web/5f1a-2b"},
		{"us-gov-west-1", "arn:aws-us-gov:cloudformation:us-gov-west-1:000000000000:stack/web/5f1a-2b"},
		{"eusc-de-east-1", "arn:aws-eusc:cloudformation:eusc-de-east-1:000000000000:stack/web/5f1a-2b"},
	} {
		id := wire.NewStackID(tt.region, "000000000000", "web", "5f1a-2b")
		if id != tt.want {
			t.Errorf("NewStackID = %s, want %s", id, tt.want)
		}
		arn, err := wire.ParseStackARN(id)
		if err != nil || arn.ID() != id || arn.Name != "web" || arn.GUID != "5f1a-2b" || arn.Region != tt.region {
			t.Errorf("ParseStackARN(%s) = %+v, %v", id, arn, err)
		}
	}
	for _, id := range []wire.StackID{
		"", "web", "arn:aws:s3:us-east-1:1:stack/web/5f1a", "arn:foo:cloudformation:us-east-1:1:stack/web/5f1a",
		"arn:aws:cloudformation:us-east-1:1:stack/web", "arn:aws:cloudformation:us-east-1:1:stack/web/5f1a/x",
		"arn:aws:cloudformation:us-east-1:1:stack/1web/5f1a", "arn:aws:cloudformation:us-east-1:1:stack/w_b/5f1a",
		"arn:aws:cloudformation:us-east-1::stack/web/5f1a", "arn:aws:cloudformation::1:stack/web/5f1a",
		"arn:aws:cloudformation:us-east-1:1:stack/web/", "arn:aws:cloudformation:us-east-1:1:changeSet/web/5f1a",
	} {
		if arn, err := wire.ParseStackARN(id); err == nil {
			t.Errorf("ParseStackARN(%q) = %+v, want an error", id, arn)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("arn:aws:lambda:us-east-1:123456789012:function:site:1")
	f.Add("arn:aws:sns:us-west-2:84969EXAMPLE:CRTest")
	f.Add("web[sync]:https://example.com/hook")
	f.Add("web[sync,idempotent]:https://example.com/hook")
	f.Add("acs:fc:cn-hangzhou:1234:services/web/functions/site")
	f.Add("acs:mns:cn-hangzhou:1234:/queues/q-1")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := wire.ParseToken(wire.ServiceToken(text))
		if err != nil {
			return
		}
		var named, web bool
		switch token.Service {
		case wire.Lambda, wire.SNS, wire.FC, wire.Queue, wire.Topic:
			named = true
		case wire.HTTP, wire.Web:
			web = true
		case wire.Other:
		}
		if string(token.Text) != text || named != (token.Name != "") || web != (token.URL != nil) ||
			strings.ContainsAny(token.Name, "/\\ ") {
			t.Errorf("%q: %+v", text, token)
		}
	})
}

func FuzzParseStackARN(f *testing.F) {
	f.Add("arn:aws:cloudformation:us-east-1:000000000000:stack/web/5f1a-2b")
	f.Fuzz(func(t *testing.T, text string) {
		if arn, err := wire.ParseStackARN(wire.StackID(text)); err == nil && string(arn.ID()) != text {
			t.Errorf("%q became %q", text, arn.ID())
		}
	})
}
