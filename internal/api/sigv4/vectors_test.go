package sigv4_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestVerifyPublishedVectors verifies requests of the AWS Signature Version 4 test suite with their published
// signatures. It omits get-space and get-utf8, whose unencoded paths cannot arrive over HTTP.
func TestVerifyPublishedVectors(t *testing.T) {
	v := newVerifier(t, time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	const form = "application/x-www-form-urlencoded"
	const unreserved = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	tests := []struct {
		name, method, target, body, signed, signature string
		header                                        http.Header
	}{
		{name: "get-vanilla", method: "GET", target: "/", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{name: "get-vanilla-query-order-key-case", method: "GET", target: "/?Param2=value2&Param1=value1", signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{name: "get-vanilla-query-order-key", method: "GET", target: "/?Param1=value2&Param1=Value1", signature: "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
		{name: "get-vanilla-query-order-value", method: "GET", target: "/?Param1=value2&Param1=value1", signature: "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
		{name: "get-vanilla-query-unreserved", method: "GET", target: "/?" + unreserved + "=" + unreserved, signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
		{name: "get-header-value-trim", method: "GET", target: "/", signed: "host;my-header1;my-header2;x-amz-date",
			header:    http.Header{"My-Header1": {" value1"}, "My-Header2": {` "a   b   c"`}},
			signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
		{name: "get-slashes", method: "GET", target: "//example//", signature: "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
		{name: "get-relative", method: "GET", target: "/example/..", signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{name: "get-slash-pointless-dot", method: "GET", target: "/./example", signature: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
		{name: "post-vanilla", method: "POST", target: "/", signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{name: "post-vanilla-query", method: "POST", target: "/?Param1=value1", signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
		{name: "post-header-key-case", method: "POST", target: "/", signed: "host;my-header1;x-amz-date", header: http.Header{"My-Header1": {"value1"}},
			signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
		{name: "post-x-www-form-urlencoded", method: "POST", target: "/", body: "Param1=value1", signed: "content-type;host;x-amz-date",
			header:    http.Header{"Content-Type": {form}},
			signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
		{name: "post-x-www-form-urlencoded-parameters", method: "POST", target: "/", body: "Param1=value1", signed: "content-type;host;x-amz-date",
			header:    http.Header{"Content-Type": {form + "; charset=utf8"}},
			signature: "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, spoilt := range []bool{false, true} {
				r := request(t, test.method, "https://example.amazonaws.com"+test.target, test.body)
				for name, values := range test.header {
					r.Header[name] = values
				}
				signed, signature := test.signed, test.signature
				if signed == "" {
					signed = "host;x-amz-date"
				}
				if spoilt {
					signature = strings.Repeat("0", 64)
				}
				r.Header.Set("X-Amz-Date", "20150830T123600Z")
				r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="+signed+", Signature="+signature)
				id, err := v.Verify(r)
				if spoilt {
					if code(err) != "SignatureDoesNotMatch" {
						t.Errorf("spoilt: %v", err)
					}
				} else if err != nil || id.Region != "us-east-1" || id.Service != "service" {
					t.Errorf("Verify: %+v, %v", id, err)
				}
			}
		})
	}
}
