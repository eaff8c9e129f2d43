package sigv4_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

const (
	scope     = "Credential=test/20261121/eu-west-1/cloudformation/aws4_request"
	signature = "Signature=0000000000000000000000000000000000000000000000000000000000000000"
)

func TestDev(t *testing.T) {
	v, err := sigv4.New(sigv4.Config{Dev: true, Lookup: lookup, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		value []string
		want  sigv4.Identity
		code  string
	}{
		{name: "any key", value: []string{"AWS4-HMAC-SHA256 " + scope + ", SignedHeaders=host;x-amz-date, " + signature},
			want: sigv4.Identity{AccessKeyID: "test", Account: "000000000000", UserID: "000000000000", ARN: "arn:aws:iam::000000000000:root", Region: "eu-west-1", Service: "cloudformation"}},
		{name: "a known key, signed by someone else", value: []string{"AWS4-HMAC-SHA256 " + strings.Replace(scope, "test", keyID, 1) + ", SignedHeaders=host;x-amz-date, " + signature},
			code: "SignatureDoesNotMatch"},
		{name: "another partition, no spaces", value: []string{"AWS4-HMAC-SHA256 " + strings.Replace(scope, "eu-west-1", "cn-north-1", 1) + ",SignedHeaders=host," + signature},
			want: sigv4.Identity{AccessKeyID: "test", Account: "000000000000", UserID: "000000000000", ARN: "arn:aws-cn:iam::000000000000:root", Region: "cn-north-1", Service: "cloudformation"}},
		{name: "none", code: "MissingAuthenticationToken"},
		{name: "empty", value: []string{""}, code: "MissingAuthenticationToken"},
		{name: "twice", value: []string{"AWS4-HMAC-SHA256 a", "AWS4-HMAC-SHA256 b"}, code: "IncompleteSignature"},
		{name: "too long", value: []string{"AWS4-HMAC-SHA256 " + strings.Repeat("x", 9000)}, code: "IncompleteSignature"},
		{name: "Basic", value: []string{"Basic dGVzdDp0ZXN0"}, code: "IncompleteSignature"},
		{name: "another algorithm", value: []string{"AWS4-HMAC-SHA256-PAYLOAD " + scope + ", SignedHeaders=host, " + signature}, code: "IncompleteSignature"},
		{name: "no parameters", value: []string{"AWS4-HMAC-SHA256"}, code: "IncompleteSignature"},
		{name: "no equal-sign", value: []string{"AWS4-HMAC-SHA256 x"}, code: "IncompleteSignature"},
		{name: "unknown parameter", value: []string{"AWS4-HMAC-SHA256 " + scope + ", SignedHeaders=host, Other=1, " + signature}, code: "IncompleteSignature"},
		{name: "parameter twice", value: []string{"AWS4-HMAC-SHA256 " + scope + ", " + scope + ", SignedHeaders=host, " + signature}, code: "IncompleteSignature"},
		{name: "short scope", value: []string{"AWS4-HMAC-SHA256 Credential=test/eu-west-1, SignedHeaders=host, " + signature}, code: "IncompleteSignature"},
		{name: "terminator", value: []string{"AWS4-HMAC-SHA256 " + strings.Replace(scope, "aws4_request", "x", 1) + ", SignedHeaders=host, " + signature}, code: "SignatureDoesNotMatch"},
		{name: "region", value: []string{"AWS4-HMAC-SHA256 " + strings.Replace(scope, "eu-west-1", "eu:west", 1) + ", SignedHeaders=host, " + signature}, code: "IncompleteSignature"},
		{name: "date", value: []string{"AWS4-HMAC-SHA256 " + strings.Replace(scope, "20261121", "20261321", 1) + ", SignedHeaders=host, " + signature}, code: "IncompleteSignature"},
		{name: "host not signed", value: []string{"AWS4-HMAC-SHA256 " + scope + ", SignedHeaders=x-amz-date, " + signature}, code: "SignatureDoesNotMatch"},
		{name: "unsorted", value: []string{"AWS4-HMAC-SHA256 " + scope + ", SignedHeaders=x-amz-date;host, " + signature}, code: "IncompleteSignature"},
		{name: "upper case", value: []string{"AWS4-HMAC-SHA256 " + scope + ", SignedHeaders=Host;host, " + signature}, code: "IncompleteSignature"},
		{name: "too many headers", value: []string{"AWS4-HMAC-SHA256 " + scope + ", SignedHeaders=host" + strings.Repeat(";x", 100) + ", " + signature}, code: "IncompleteSignature"},
		{name: "signature", value: []string{"AWS4-HMAC-SHA256 " + scope + ", SignedHeaders=host, Signature=00ff"}, code: "IncompleteSignature"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := request(t, "POST", "http://127.0.0.1/", "")
			r.Header["Authorization"] = test.value
			r.Header.Set("X-Amz-Date", "20261121T120000Z")
			id, err := v.Verify(r)
			if code(err) != test.code || (err == nil) != (test.code == "") {
				t.Fatalf("error %v, want code %q", err, test.code)
			}
			if diff := cmp.Diff(test.want, id); diff != "" {
				t.Errorf("identity (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDevKnownKey checks that a known key requires its secret, even on a development server that accepts any other key.
func TestDevKnownKey(t *testing.T) {
	v, err := sigv4.New(sigv4.Config{Dev: true, Lookup: lookup, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(t, v)
	d.send(t, request(t, "POST", d.URL, "a=b"), "cloudformation", hashOf("a=b"), noon, nil)
	want := sigv4.Identity{AccessKeyID: keyID, Account: "123456789012", Role: "deployer", UserID: keyID + ":pintle",
		ARN: "arn:aws:sts::123456789012:assumed-role/deployer/pintle", Region: "eu-west-1", Service: "cloudformation"}
	if diff := cmp.Diff(want, d.identity); d.err != nil || d.body != "a=b" || diff != "" {
		t.Errorf("%v, body %q, identity (-want +got):\n%s", d.err, d.body, diff)
	}
	d.send(t, request(t, "POST", d.URL, "a=b"), "cloudformation", hashOf("a=c"), noon, nil)
	if code(d.err) != "SignatureDoesNotMatch" {
		t.Errorf("another body: %v", d.err)
	}
}

func TestMissingParametersAreNamed(t *testing.T) {
	v := newVerifier(t, noon)
	r := request(t, "POST", "http://127.0.0.1/", "")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 "+scope)
	_, err := v.Verify(r)
	want := "IncompleteSignature: Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter."
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestDateHeader(t *testing.T) {
	v := newVerifier(t, noon)
	for date, want := range map[string]string{
		"Sat, 21 Nov 2026 12:00:00 GMT": "SignatureDoesNotMatch: The request signature we calculated",
		"20261121T120000Z":              "SignatureDoesNotMatch: The request signature we calculated",
		"Sat, 21 Nov 2026 11:00:00 GMT": "SignatureDoesNotMatch: Signature expired: 20261121T110000Z",
		"today":                         "IncompleteSignature: The Date header is not a valid date.",
	} {
		r := request(t, "POST", "http://127.0.0.1/", "")
		r.Header.Set("Date", date)
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 "+strings.Replace(scope, "test", keyID, 1)+", SignedHeaders=date;host, "+signature)
		if _, err := v.Verify(r); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", date, err, want)
		}
	}
}

func TestNew(t *testing.T) {
	for name, config := range map[string]sigv4.Config{
		"no keys":       {},
		"negative skew": {Lookup: lookup, Skew: -1},
		"negative body": {Lookup: lookup, MaxBody: -1},
	} {
		if _, err := sigv4.New(config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestContext(t *testing.T) {
	id := sigv4.Identity{AccessKeyID: "test"}
	if got, ok := sigv4.FromContext(sigv4.WithIdentity(t.Context(), id)); !ok || got != id {
		t.Errorf("FromContext = %+v, %v", got, ok)
	}
	if _, ok := sigv4.FromContext(t.Context()); ok {
		t.Error("FromContext finds an identity in an empty context")
	}
}

// FuzzVerify checks that no header makes Verify panic or succeed, and that errors do not quote the input.
func FuzzVerify(f *testing.F) {
	f.Add("AWS4-HMAC-SHA256 "+scope+", SignedHeaders=host;x-amz-date, "+signature, "20261121T120000Z", "/a/../b?c=d")
	f.Add("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/eu-west-1/s3/aws4_request,SignedHeaders=host,"+signature, "", "//")
	f.Add("AWS4-HMAC-SHA256 =,==", "x", "/%zz?%")
	v := newVerifier(f, noon)
	f.Fuzz(func(t *testing.T, header, date, target string) {
		r, err := http.NewRequest("GET", "http://127.0.0.1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := r.URL.Parse(target); err == nil {
			r.URL = u
		}
		r.Header.Set("Authorization", header)
		r.Header.Set("X-Amz-Date", date)
		id, err := v.Verify(r)
		refused, ok := errors.AsType[*sigv4.Error](err)
		if !ok {
			t.Fatalf("identity %+v, error %v", id, err)
		}
		if refused.Code == "" || refused.Message == "" || refused.Status < 400 {
			t.Errorf("half an error: %+v", refused)
		}
		if i := strings.Index(header, "Signature="); i >= 0 && len(header) > i+40 && strings.Contains(refused.Message, header[i:]) {
			t.Errorf("the message quotes the signature: %s", refused.Message)
		}
	})
}
