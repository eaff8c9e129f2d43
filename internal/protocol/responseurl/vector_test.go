package responseurl

import (
	"net/url"
	"testing"
	"time"
)

// The example of a presigned GET in the AWS documentation: S3, authenticating requests, using query parameters.
func TestSignatureKnownAnswer(t *testing.T) {
	p := presigned{
		method: "GET", host: "examplebucket.s3.amazonaws.com", path: "/test.txt",
		at: time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC), region: "us-east-1",
		query: url.Values{
			"X-Amz-Algorithm":     {"AWS4-HMAC-SHA256"},
			"X-Amz-Credential":    {"AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"},
			"X-Amz-Date":          {"20130524T000000Z"},
			"X-Amz-Expires":       {"86400"},
			"X-Amz-SignedHeaders": {"host"},
		},
	}
	want := "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
	s := &Signer{secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	sign := func(p presigned) string { return s.signature(p, escapePath(p.path), escapeQuery(p.query)) }
	if got := sign(p); got != want {
		t.Errorf("signature = %s, want %s", got, want)
	}
	for _, other := range []presigned{{at: p.at.AddDate(0, 0, 1), region: p.region}, {at: p.at, region: "eu-west-1"}} {
		sign(other) // its key differs and must not be cached for the next call
		if got := sign(p); got != want {
			t.Errorf("after another scope: signature = %s, want %s", got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	if got, want := escapePath("/a:b|c d/é+~_.-"), "/a%3Ab%7Cc%20d/%C3%A9%2B~_.-"; got != want {
		t.Errorf("escapePath = %s, want %s", got, want)
	}
	if got, want := escapeQuery(url.Values{"a-": {"1"}, "a": {"b/c", " "}, "B": {""}}), "B=&a=%20&a=b%2Fc&a-=1"; got != want {
		t.Errorf("escapeQuery = %s, want %s", got, want)
	}
}
