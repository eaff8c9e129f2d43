package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/acs"
	"github.com/pintle-dev/pintle/internal/server"
)

// rosCall returns a ROS call with a V1 signature.
func rosCall(method, action, secret string, more ...string) url.Values {
	p := url.Values{
		"Action": {action}, "Version": {"2019-09-10"}, "AccessKeyId": {"AKID"}, "SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"},
		"SignatureNonce": {time.Now().String()}, "Timestamp": {time.Now().UTC().Format(time.RFC3339)}, "Format": {"JSON"}, "RegionId": {"cn-hangzhou"},
	}
	for i := 0; i < len(more); i += 2 {
		p.Set(more[i], more[i+1])
	}
	p.Set("Signature", acs.SignatureV1(method, p, secret))
	return p
}

func (w *world) ros(method string, p url.Values, header http.Header) (int, map[string]any) {
	w.t.Helper()
	target, body := w.url+"/?"+p.Encode(), ""
	if header == nil {
		header = http.Header{}
	}
	if method == http.MethodPost {
		target, body = w.url+"/", p.Encode()
		header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	status, _, text := w.send(method, target, body, header)
	var reply map[string]any
	if err := json.Unmarshal([]byte(text), &reply); err != nil {
		w.t.Fatalf("%s: %v", text, err)
	}
	return status, reply
}

func TestROSDoor(t *testing.T) {
	const secret = "a secret of a key"
	known := func(_ *world, c *server.Config) {
		c.Dev = false
		c.Keys = func(id string) (sigv4.Key, bool) {
			return sigv4.Key{ID: id, Secret: secret, Account: "123456789012"}, id == "AKID"
		}
	}
	w := newWorld(t, known)
	for _, c := range []struct {
		name   string
		method string
		p      url.Values
		status int
		code   string
	}{
		{"get", "GET", rosCall("GET", "DescribeRegions", secret), 200, ""},
		{"post", "POST", rosCall("POST", "DescribeRegions", secret), 200, ""},
		{"wrong secret", "POST", rosCall("POST", "DescribeRegions", "another"), 400, "SignatureDoesNotMatch"},
		{"unknown key", "POST", rosCall("POST", "DescribeRegions", secret, "AccessKeyId", "OTHER"), 404, "InvalidAccessKeyId.NotFound"},
		{"wrong token", "POST", rosCall("POST", "DescribeRegions", secret, "SecurityToken", "x"), 400, "InvalidSecurityToken.MismatchWithAccessKey"},
		{"unknown action", "POST", rosCall("POST", "MakeStack", secret), 404, "InvalidAction.NotFound"},
		{"other version", "POST", rosCall("POST", "DescribeRegions", secret, "Version", "2015-09-01"), 400, "InvalidVersion"},
	} {
		status, reply := w.ros(c.method, c.p, nil)
		code, _ := reply["Code"].(string)
		if status != c.status || code != c.code {
			t.Errorf("%s: %d %v", c.name, status, reply)
		}
	}
	r, err := http.NewRequest(http.MethodPost, w.url+"/?RegionId=cn-hangzhou", nil)
	w.must(err)
	r.Header = http.Header{
		"X-Acs-Action": {"DescribeRegions"}, "X-Acs-Version": {"2019-09-10"}, "X-Acs-Date": {time.Now().UTC().Format(time.RFC3339)},
		"X-Acs-Signature-Nonce": {"n"}, "X-Acs-Content-Sha256": {acs.Hash(nil)},
	}
	names := acs.SignedV3(r.Header)
	r.Header.Set("Authorization", acs.Algorithm+" Credential=AKID,SignedHeaders="+strings.Join(names, ";")+
		",Signature="+acs.SignatureV3(r, names, acs.Hash(nil), secret))
	if status, _, text := w.send(r.Method, r.URL.String(), "", r.Header); status != 200 || !strings.Contains(text, "cn-hangzhou") {
		t.Errorf("V3: %d %s", status, text)
	}
	if strings.Contains(w.log.String(), secret) {
		t.Error("the secret is in the log")
	}
}

// TestROSDoorOfDevelopment checks that a development server accepts any key, but only under loopback names.
func TestROSDoorOfDevelopment(t *testing.T) {
	w := newWorld(t, nil)
	if status, reply := w.ros("POST", rosCall("POST", "DescribeRegions", "any"), nil); status != 200 {
		t.Error(status, reply)
	}
	if status, reply := w.ros("GET", rosCall("GET", "DescribeRegions", "any"), http.Header{"Host": {"example.com"}}); status != 403 || reply["Code"] != "Forbidden" {
		t.Error(status, reply)
	}
	for _, method := range []string{"GET", "POST"} {
		status, reply := w.ros(method, rosCall(method, "DescribeRegions", "any"), http.Header{"Origin": {"https://example.com"}})
		if status != 403 || reply["Code"] != "Forbidden" {
			t.Error(method, status, reply)
		}
	}
	// Requests signed for AWS still reach the AWS APIs.
	if status, text := w.call("cloudformation", "Action=ListStacks&Version=2010-05-15"); status != 200 {
		t.Error(status, text)
	}
}
