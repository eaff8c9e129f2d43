package sigv4_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

const (
	keyID  = "AKIDEXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func lookup(id string) (sigv4.Key, bool) {
	if id != keyID {
		return sigv4.Key{}, false
	}
	return sigv4.Key{ID: keyID, Secret: secret, Account: "123456789012", Role: "deployer"}, true
}

func newVerifier(t testing.TB, now time.Time) *sigv4.Verifier {
	t.Helper()
	v, err := sigv4.New(sigv4.Config{Lookup: lookup, Now: func() time.Time { return now }, MaxBody: 1000, Bodies: map[string]int64{"lambda": 2000}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// door serves Verify on a real socket. Tests read the result of the last request after its response has arrived.
type door struct {
	*httptest.Server
	identity sigv4.Identity
	err      error
	body     string
	bodyErr  error
}

func newDoor(t testing.TB, v *sigv4.Verifier) *door {
	d := &door{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		d.identity, d.err = v.Verify(r)
		var body []byte
		body, d.bodyErr = io.ReadAll(r.Body)
		d.body = string(body)
	}))
	t.Cleanup(d.Close)
	return d
}

// send signs r with the SDK's signer and sends it. change may modify it in between.
func (d *door) send(t rapid.TB, r *http.Request, service, hash string, at time.Time, change func(*http.Request)) {
	t.Helper()
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" })
	credentials := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
	if err := signer.SignHTTP(context.Background(), credentials, r, hash, service, "eu-west-1", at); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	response, err := d.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
}

func request(t rapid.TB, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func hashOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

func TestVerifySDK(t *testing.T) {
	d := newDoor(t, newVerifier(t, noon))
	tests := []struct {
		name, method, target, service, body string
		header                              http.Header
		declare                             bool // send x-amz-content-sha256
	}{
		{name: "form", method: "POST", target: "/", service: "cloudformation", body: "Action=ListStacks&Version=2010-05-15",
			header: http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}},
		{name: "declared hash", method: "POST", target: "/", service: "sts", body: "Action=GetCallerIdentity", declare: true},
		{name: "query", method: "GET", target: "/?Action=ListStacks&Version=2010-05-15&NextToken=a%2Fb%20c", service: "cloudformation"},
		{name: "query order", method: "GET", target: "/?k=a-b&k=a%2Fb&%C3%A9=2&a=&flag", service: "cloudformation"},
		{name: "plus in the query", method: "GET", target: "/?a=b+c", service: "cloudformation"},
		{name: "arn in the path", method: "POST", target: "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu-west-1%3A123456789012%3Afunction%3Af/invocations",
			service: "lambda", body: "{}", header: http.Header{"X-Amz-Invocation-Type": {"Event"}}},
		{name: "escapes in the path", method: "GET", target: "/a%20b/%E1%88%B4/c%2Fd/~x", service: "lambda"},
		{name: "dots and slashes, not normalised", method: "GET", target: "//a/./b/../c//", service: "lambda"},
		{name: "header spaces", method: "GET", target: "/", service: "sns", header: http.Header{"X-Amz-Meta-A": {"  a   b ", "c"}}},
		{name: "s3 key", method: "PUT", target: "/bucket/a%20b//c/../%E1%88%B4", service: "s3", body: "object", declare: true},
		{name: "s3 long upload", method: "PUT", target: "/bucket/key", service: "s3", body: strings.Repeat("x", 5000), declare: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := request(t, test.method, d.URL+test.target, test.body)
			for name, values := range test.header {
				r.Header[name] = values
			}
			hash := hashOf(test.body)
			if test.declare {
				r.Header.Set("X-Amz-Content-Sha256", hash)
			}
			d.send(t, r, test.service, hash, noon.Add(4*time.Minute), nil)
			if d.err != nil {
				t.Fatal(d.err)
			}
			want := sigv4.Identity{
				AccessKeyID: keyID, Account: "123456789012", Role: "deployer", UserID: keyID + ":pintle",
				ARN:    "arn:aws:sts::123456789012:assumed-role/deployer/pintle",
				Region: "eu-west-1", Service: test.service,
			}
			if diff := cmp.Diff(want, d.identity); diff != "" {
				t.Errorf("identity (-want +got):\n%s", diff)
			}
			if d.body != test.body || d.bodyErr != nil {
				t.Errorf("the handler reads %q, %v; want %q", d.body, d.bodyErr, test.body)
			}
		})
	}
}

func TestVerifyUnsignedS3Payload(t *testing.T) {
	d := newDoor(t, newVerifier(t, noon))
	for _, literal := range []string{"UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"} {
		r := request(t, "PUT", d.URL+"/bucket/key", "object")
		r.Header.Set("X-Amz-Content-Sha256", literal)
		d.send(t, r, "s3", literal, noon, nil)
		if d.err != nil || d.body != "object" || d.bodyErr != nil {
			t.Errorf("%s: %v, body %q, %v", literal, d.err, d.body, d.bodyErr)
		}
	}
	r := request(t, "POST", d.URL+"/", "Action=ListStacks")
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	d.send(t, r, "cloudformation", "UNSIGNED-PAYLOAD", noon, nil)
	if code(d.err) != "SignatureDoesNotMatch" {
		t.Errorf("cloudformation: %v, want SignatureDoesNotMatch", d.err)
	}
	r = request(t, "PUT", d.URL+"/bucket/key", "object")
	d.send(t, r, "s3", hashOf("object"), noon, nil)
	if code(d.err) != "InvalidRequest" {
		t.Errorf("s3 without a hash: %v, want InvalidRequest", d.err)
	}
}

func code(err error) string {
	if refused, ok := errors.AsType[*sigv4.Error](err); ok {
		return refused.Code
	}
	return ""
}

func TestVerifyRefuses(t *testing.T) {
	d := newDoor(t, newVerifier(t, noon))
	setHeader := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	edit := func(from, to string) func(*http.Request) {
		return func(r *http.Request) {
			header := r.Header.Get("Authorization")
			if !strings.Contains(header, from) {
				panic("the header has no " + from)
			}
			r.Header.Set("Authorization", strings.Replace(header, from, to, 1))
		}
	}
	const doesNotMatch = "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
	tests := []struct {
		name   string
		change func(*http.Request)
		at     time.Time
		want   sigv4.Error
	}{
		{name: "body", change: func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader("Action=ListStackz"))
		}, want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "path", change: func(r *http.Request) { r.URL.Path = "/other" },
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "query", change: func(r *http.Request) { r.URL.RawQuery = "a=b" },
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "broken query", change: func(r *http.Request) { r.URL.RawQuery = "a=%zz" },
			want: sigv4.Error{Code: "MalformedQueryString", Message: "The query string contains a syntax error.", Status: 400}},
		{name: "method", change: func(r *http.Request) { r.Method = "PUT" },
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "host", change: func(r *http.Request) { r.Host = "localhost" },
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "signed header", change: setHeader("Content-Type", "text/plain"),
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "region", change: edit("/eu-west-1/", "/eu-west-2/"),
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "service", change: edit("/cloudformation/", "/sts/"),
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "time", change: setHeader("X-Amz-Date", "20261121T120001Z"),
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: doesNotMatch, Status: 403}},
		{name: "scope date", change: edit("/20261121/", "/20261120/"),
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20261120' != '20261121', from '20261121T120000Z'.", Status: 403}},
		{name: "expired", at: noon.Add(-5*time.Minute - time.Second),
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: "Signature expired: 20261121T115459Z is now earlier than 20261121T115500Z (20261121T120000Z - 5 min.)", Status: 403}},
		{name: "not yet", at: noon.Add(5*time.Minute + time.Second),
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: "Signature not yet current: 20261121T120501Z is still later than 20261121T120500Z (20261121T120000Z + 5 min.)", Status: 403}},
		{name: "bad time", change: setHeader("X-Amz-Date", "yesterday"),
			want: sigv4.Error{Code: "IncompleteSignature", Message: "The X-Amz-Date header must be given as YYYYMMDD'T'HHMMSS'Z'.", Status: 400}},
		{name: "no time", change: func(r *http.Request) { r.Header.Del("X-Amz-Date") },
			want: sigv4.Error{Code: "IncompleteSignature", Message: "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.", Status: 400}},
		{name: "unknown key", change: edit(keyID, "AKIDOTHER"),
			want: sigv4.Error{Code: "InvalidClientTokenId", Message: "The security token included in the request is invalid.", Status: 403}},
		{name: "session token", change: setHeader("X-Amz-Security-Token", "left over"),
			want: sigv4.Error{Code: "InvalidClientTokenId", Message: "The security token included in the request is invalid. The key of this id has no session token: unset AWS_SESSION_TOKEN.", Status: 403}},
		{name: "added header", change: setHeader("X-Amz-Target", "Other"),
			want: sigv4.Error{Code: "AccessDenied", Message: "There were headers present in the request which were not signed: sign every x-amz header.", Status: 403}},
		{name: "no header", change: func(r *http.Request) { r.Header.Del("Authorization") },
			want: sigv4.Error{Code: "MissingAuthenticationToken", Message: "Request is missing Authentication Token", Status: 403}},
		{name: "wrong declared hash", change: nil,
			want: sigv4.Error{Code: "SignatureDoesNotMatch", Message: "The x-amz-content-sha256 header is not the SHA-256 of the body.", Status: 403}},
		{name: "long body", change: func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1001))), 1001
		}, want: sigv4.Error{Code: "RequestEntityTooLarge", Message: "The request body is longer than 1000 bytes.", Status: 413}},
		{name: "long body of unknown length", change: func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 1001))), -1
		}, want: sigv4.Error{Code: "RequestEntityTooLarge", Message: "The request body is longer than 1000 bytes.", Status: 413}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			const body = "Action=ListStacks"
			r := request(t, "POST", d.URL+"/", body)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			hash := hashOf(body)
			if test.name == "wrong declared hash" {
				hash = hashOf("other")
				r.Header.Set("X-Amz-Content-Sha256", hash)
			}
			at := test.at
			if at.IsZero() {
				at = noon
			}
			d.send(t, r, "cloudformation", hash, at, test.change)
			refused, ok := errors.AsType[*sigv4.Error](d.err)
			if !ok {
				t.Fatalf("error %v, want a *sigv4.Error", d.err)
			}
			if diff := cmp.Diff(test.want, *refused); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if d.identity != (sigv4.Identity{}) {
				t.Errorf("a refused request has an identity: %+v", d.identity)
			}
		})
	}
}

// TestVerifyLongBodyOfService checks the body limit of a single service.
func TestVerifyLongBodyOfService(t *testing.T) {
	d := newDoor(t, newVerifier(t, noon))
	for length, want := range map[int]string{2000: "", 2001: "RequestEntityTooLarge"} {
		body := strings.Repeat("x", length)
		r := request(t, "POST", d.URL+"/2015-03-31/functions/f/invocations", body)
		d.send(t, r, "lambda", hashOf(body), noon, nil)
		if got := code(d.err); got != want {
			t.Errorf("%d bytes: %q, want %q", length, got, want)
		}
	}
}

func TestVerifyS3BodyIsHashedWhileRead(t *testing.T) {
	d := newDoor(t, newVerifier(t, noon))
	r := request(t, "PUT", d.URL+"/bucket/key", "object")
	r.Header.Set("X-Amz-Content-Sha256", hashOf("object"))
	d.send(t, r, "s3", hashOf("object"), noon, func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader("forged"))
	})
	if d.err != nil || code(d.bodyErr) != "XAmzContentSHA256Mismatch" {
		t.Errorf("Verify: %v; reading the body: %v, want XAmzContentSHA256Mismatch", d.err, d.bodyErr)
	}
}

// TestVerifyAnyRequest checks arbitrary requests: the SDK's signature is valid, and invalid after flipping a bit.
func TestVerifyAnyRequest(t *testing.T) {
	d := newDoor(t, newVerifier(t, noon))
	segment := rapid.StringMatching(`[-a-zA-Z0-9 ._~:/?#@!$&'()*+,;=%|é]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		service := rapid.SampledFrom([]string{"cloudformation", "lambda", "s3"}).Draw(t, "service")
		body := rapid.StringN(0, 100, 400).Draw(t, "body")
		r := request(t, rapid.SampledFrom([]string{"POST", "PUT", "DELETE"}).Draw(t, "method"), d.URL, body)
		r.URL.Path = "/"
		for _, s := range rapid.SliceOfN(segment, 0, 4).Draw(t, "path") {
			r.URL.Path += s + "/"
		}
		query := r.URL.Query()
		for _, s := range rapid.SliceOfN(segment, 0, 4).Draw(t, "query") {
			query.Add("q"+s[:len(s)/2], s)
		}
		r.URL.RawQuery = query.Encode()
		r.Header.Set("X-Amz-Meta-M", rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "header"))
		if service == "s3" || rapid.Bool().Draw(t, "declare") {
			r.Header.Set("X-Amz-Content-Sha256", hashOf(body))
		}
		flip := rapid.Bool().Draw(t, "flip")
		d.send(t, r, service, hashOf(body), noon, func(r *http.Request) {
			if !flip {
				return
			}
			header := []byte(r.Header.Get("Authorization"))
			if last := &header[len(header)-1]; *last == '0' {
				*last = '1'
			} else {
				*last = '0'
			}
			r.Header.Set("Authorization", string(header))
		})
		switch {
		case flip && code(d.err) != "SignatureDoesNotMatch":
			t.Fatalf("flipped: %v, want SignatureDoesNotMatch", d.err)
		case !flip && d.err != nil:
			t.Fatal(d.err)
		case !flip && d.body != body:
			t.Fatalf("the handler reads %q, want %q", d.body, body)
		}
	})
}
