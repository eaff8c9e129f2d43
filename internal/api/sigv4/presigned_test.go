package sigv4_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

// presign returns a request with a signature in its URL, made by the SDK's signer.
func presign(t testing.TB, method, target string, id, service, hash string, at time.Time, change func(*http.Request)) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, target, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" })
	credentials := aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}
	signed, headers, err := signer.PresignHTTP(context.Background(), credentials, r, hash, service, "eu-west-1", at)
	if err != nil {
		t.Fatal(err)
	}
	r.URL, err = url.Parse(signed)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range headers {
		if name != "Host" {
			r.Header[name] = values
		}
	}
	return r
}

func TestPresigned(t *testing.T) {
	const unsigned = "UNSIGNED-PAYLOAD"
	const hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of hello
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) {
			query := r.URL.Query()
			query.Set(name, value)
			r.URL.RawQuery = query.Encode()
		}
	}
	hour := set("X-Amz-Expires", "3600")
	all := func(changes ...func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			for _, change := range changes {
				change(r)
			}
		}
	}
	tests := []struct {
		name                string
		method, path        string
		id, service, hash   string
		at                  time.Time
		before, after       func(*http.Request) // changes before and after the request is signed
		code, text, bodyErr string
	}{
		{name: "get", before: hour},
		{name: "a key that is encoded", path: "/b/a%20b/gr%C3%BC%2B%2F..//x", before: hour},
		{name: "parameters", path: "/b/k?response-content-type=a%2Fb&x=&a=~", before: hour},
		{name: "put with headers", method: "PUT", before: all(hour, func(r *http.Request) { r.Header.Set("X-Amz-Meta-A", "b"); r.Header.Set("Content-Type", "text/x") })},
		{name: "a body", method: "PUT", hash: hash, before: all(hour, set("X-Amz-Content-Sha256", hash))},
		{name: "another body", method: "PUT", hash: strings.Repeat("0", 64), before: all(hour, set("X-Amz-Content-Sha256", strings.Repeat("0", 64))),
			bodyErr: "XAmzContentSHA256Mismatch"},
		{name: "as it ends", before: set("X-Amz-Expires", "60"), at: noon.Add(-time.Minute)},
		{name: "ended", before: set("X-Amz-Expires", "59"), at: noon.Add(-time.Minute), code: "AccessDenied", text: "Request has expired"},
		{name: "from the future", before: hour, at: noon.Add(6 * time.Minute), code: "AccessDenied", text: "not valid yet"},
		{name: "too long", before: set("X-Amz-Expires", "604801"), code: "AuthorizationQueryParametersError", text: "X-Amz-Expires"},
		{name: "for no time", before: set("X-Amz-Expires", "-1"), code: "AuthorizationQueryParametersError", text: "X-Amz-Expires"},
		{name: "no number", before: set("X-Amz-Expires", "1h"), code: "AuthorizationQueryParametersError", text: "number"},
		{name: "no end", code: "AuthorizationQueryParametersError", text: "X-Amz-Expires parameters"},
		{name: "another expiry", before: hour, after: set("X-Amz-Expires", "3601"), code: "SignatureDoesNotMatch"},
		{name: "another parameter", before: hour, after: set("versionId", "x"), code: "SignatureDoesNotMatch"},
		{name: "another path", before: hour, after: func(r *http.Request) { r.URL.Path = "/b/other" }, code: "SignatureDoesNotMatch"},
		{name: "another method", before: hour, after: func(r *http.Request) { r.Method = "DELETE" }, code: "SignatureDoesNotMatch"},
		{name: "another header", before: hour, after: func(r *http.Request) { r.Header.Set("X-Amz-Meta-A", "b") }, code: "AccessDenied"},
		{name: "another time", before: hour, after: set("X-Amz-Date", "20261121T120001Z"), code: "SignatureDoesNotMatch"},
		{name: "another day", before: hour, after: set("X-Amz-Date", "20261120T120001Z"), code: "AuthorizationQueryParametersError", text: "credential date"},
		{name: "no time", before: hour, after: set("X-Amz-Date", "now"), code: "AuthorizationQueryParametersError", text: "X-Amz-Date"},
		{name: "another signature", before: hour, after: set("X-Amz-Signature", strings.Repeat("0", 64)), code: "SignatureDoesNotMatch"},
		{name: "no signature", before: hour, after: set("X-Amz-Signature", "x"), code: "AuthorizationQueryParametersError", text: "64 hexadecimal"},
		{name: "another algorithm", before: hour, after: set("X-Amz-Algorithm", "AWS4-ECDSA-P256-SHA256"), code: "AuthorizationQueryParametersError", text: "X-Amz-Algorithm"},
		{name: "twice", before: hour, after: func(r *http.Request) { r.URL.RawQuery += "&X-Amz-Expires=1" }, code: "AuthorizationQueryParametersError"},
		{name: "two names of the signature", before: hour, after: func(r *http.Request) { r.URL.RawQuery += "&X-Amz%2DSignature=00" }, code: "AuthorizationQueryParametersError"},
		{name: "no credential", before: hour, after: set("X-Amz-Credential", "a/b"), code: "IncompleteSignature"},
		{name: "no host", before: hour, after: set("X-Amz-SignedHeaders", "a"), code: "SignatureDoesNotMatch"},
		{name: "no key", id: "AKIDUNKNOWN", before: hour, code: "InvalidAccessKeyId"},
		{name: "invalid payload hash", before: hour, after: set("X-Amz-Content-Sha256", "x"), code: "InvalidRequest"},
		{name: "no query", before: hour, after: func(r *http.Request) { r.URL.RawQuery += "&%zz" }, code: "MalformedQueryString"},
		{name: "another service", service: "cloudformation", before: hour, code: "MissingAuthenticationToken"},
		{name: "version 2", after: func(r *http.Request) { r.URL.RawQuery = "AWSAccessKeyId=a&Signature=b&Expires=1" }, code: "InvalidRequest", text: "s3v4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newDoor(t, newVerifier(t, noon))
			if test.method == "" {
				test.method = "GET"
			}
			if test.path == "" {
				test.path = "/b/k"
			}
			if test.id == "" {
				test.id = keyID
			}
			if test.service == "" {
				test.service = "s3"
			}
			if test.hash == "" {
				test.hash = unsigned
			}
			if test.at.IsZero() {
				test.at = noon
			}
			r := presign(t, test.method, d.URL+test.path, test.id, test.service, test.hash, test.at, test.before)
			if test.after != nil {
				test.after(r)
			}
			signature := r.URL.Query().Get("X-Amz-Signature")
			if test.method == "PUT" {
				body, err := http.NewRequest("PUT", d.URL, strings.NewReader("hello"))
				if err != nil {
					t.Fatal(err)
				}
				r.Body, r.ContentLength = body.Body, body.ContentLength
			}
			if !sigv4.Presigned(r) {
				t.Error("it is not seen to be presigned")
			}
			response, err := d.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
			want := sigv4.Identity{}
			if test.code == "" {
				want = sigv4.Identity{AccessKeyID: keyID, Account: "123456789012", Role: "deployer", UserID: keyID + ":pintle", Region: "eu-west-1", Service: "s3",
					ARN: "arn:aws:sts::123456789012:assumed-role/deployer/pintle"}
				if d.err != nil {
					t.Errorf("refused: %v", d.err)
				}
			} else if d.err == nil || !strings.HasPrefix(d.err.Error(), test.code+": ") || !strings.Contains(d.err.Error(), test.text) {
				t.Errorf("got %v, want %s: %s", d.err, test.code, test.text)
			}
			if d.err != nil && signature != "" && len(signature) == 64 && strings.Contains(d.err.Error(), signature) {
				t.Errorf("the error has the signature: %v", d.err)
			}
			if diff := cmp.Diff(want, d.identity); diff != "" {
				t.Error(diff)
			}
			if (test.bodyErr == "") != (d.bodyErr == nil) || d.bodyErr != nil && !strings.HasPrefix(d.bodyErr.Error(), test.bodyErr) {
				t.Errorf("the body ends with %v, want %s", d.bodyErr, test.bodyErr)
			}
		})
	}
}

// TestPresignedDev checks that presigned URLs need a known key even on a development server, so that web pages cannot
// make them.
func TestPresignedDev(t *testing.T) {
	v, err := sigv4.New(sigv4.Config{Lookup: lookup, Dev: true, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(t, v)
	for _, test := range []struct{ id, want string }{{keyID, ""}, {"AKIDANY", "InvalidAccessKeyId"}} {
		r := presign(t, "GET", d.URL+"/b/k?X-Amz-Expires=60", test.id, "s3", "UNSIGNED-PAYLOAD", noon, nil)
		response, err := d.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Error(err)
		}
		if test.want == "" && d.err != nil || test.want != "" && (d.err == nil || !strings.HasPrefix(d.err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %s", test.id, d.err, test.want)
		}
	}
}

func FuzzPresigned(f *testing.F) {
	f.Add("X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIDEXAMPLE%2F20261121%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=20261121T120000Z" +
		"&X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature=" + strings.Repeat("0", 64))
	f.Add("AWSAccessKeyId=a&Signature=b")
	f.Add("%zz&X-Amz-Signature=&&;=")
	v := newVerifier(f, noon)
	f.Fuzz(func(t *testing.T, query string) {
		r := &http.Request{Method: "GET", Host: "localhost", Header: http.Header{}, URL: &url.URL{Path: "/b/k", RawQuery: query}, Body: http.NoBody}
		if id, err := v.Verify(r); err == nil {
			t.Errorf("%q lets %v in", query, id)
		}
	})
}
