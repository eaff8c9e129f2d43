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
		{"acs:fc:cn-hangzhou:1234:functions/site", wire.Token{Service: wire.Other}},
		{"web[sync]:https://example.com/hook", wire.Token{Service: wire.Other}},
		{"CRTest", wire.Token{Service: wire.Other}},
	} {
		got, err := wire.ParseToken(wire.ServiceToken(tt.token))
		if err != nil {
			t.Errorf("%s: %v", tt.token, err)
			continue
		}
		if string(got.Text) != tt.token || (got.URL != nil) != (tt.want.Service == wire.HTTP) {
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
		{"arn:aws:lambda:us-east-1:1:layer:site", "no function ARN"},
		{"arn:aws:lambda:us-east-1:1:function:site:1:2", "no function ARN"},
		{"arn:aws:lambda:us-east-1:1:function:site:", "ends in a colon"},
		{"arn:aws:lambda:us-east-1:1:function:", "names no function"},
		{"arn:aws:lambda", "no function ARN"},
		{"arn:aws:sns:us-west-2:1:CRTest:5f1a", "no topic ARN"},
		{"arn:aws:sns:us-west-2:1:../x", "name"},
		{"arn:aws:sns:us-west-2:1/2:x", "account"},
		{"https://", "without a host"},
		{"https://u:secret@h:port/", "cannot be read"},
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
	f.Fuzz(func(t *testing.T, text string) {
		token, err := wire.ParseToken(wire.ServiceToken(text))
		if err != nil {
			return
		}
		named := token.Service == wire.Lambda || token.Service == wire.SNS
		if string(token.Text) != text || named != (token.Name != "") || (token.Service == wire.HTTP) != (token.URL != nil) ||
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
