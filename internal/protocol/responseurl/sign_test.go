package responseurl_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/wire"
)

const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

var (
	siteKey = responseurl.ResponseKey{
		StackID:   "arn:aws:cloudformation:eu-west-1:123456789012:stack/web/5f1a",
		LogicalID: "Site", RequestID: "0b6b0a2e-5a5e-4b57-9f0a-000000000001",
	}
	now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func parseURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newSigner(t testing.TB, bases ...string) *responseurl.Signer {
	t.Helper()
	c := responseurl.SignerConfig{KeyID: "PINTLEKEY1", Secret: secret}
	for _, base := range bases {
		c.Bases = append(c.Bases, parseURL(t, base))
	}
	s, err := responseurl.NewSigner(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// arrive returns the request that a server reads from a client which sends target and host unchanged.
func arrive(t testing.TB, method, target, host string) *http.Request {
	t.Helper()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Request{Method: method, URL: u, Host: host, RequestURI: target}
}

func TestSign(t *testing.T) {
	s := newSigner(t, "http://127.0.0.1:4600/response")
	got, err := s.Sign(parseURL(t, "http://127.0.0.1:4600/response"), siteKey, now, responseurl.SignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bare, _, _ := strings.Cut(got, "&X-Amz-Signature=")
	want := "http://127.0.0.1:4600/response/arn%3Aaws%3Acloudformation%3Aeu-west-1%3A123456789012%3Astack/web/5f1a" +
		"%7CSite%7C0b6b0a2e-5a5e-4b57-9f0a-000000000001" +
		"?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=PINTLEKEY1%2F20261121%2Feu-west-1%2Fs3%2Faws4_request" +
		"&X-Amz-Date=20261121T120000Z&X-Amz-Expires=7200&X-Amz-SignedHeaders=host"
	if bare != want {
		t.Errorf("\n got %s\nwant %s", bare, want)
	}
}

func TestVerify(t *testing.T) {
	const direct = "http://127.0.0.1:4600/response"
	const public = "https://Pintle.example:443/engine/response"
	s := newSigner(t, direct, public)
	sign := func(base string, o responseurl.SignOptions) string {
		signed, err := s.Sign(parseURL(t, base), siteKey, now, o)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(signed, "://")
		return rest[strings.IndexByte(rest, '/'):]
	}
	plain := sign(direct, responseurl.SignOptions{})
	for _, tt := range []struct {
		name, method, target, host string
		at                         time.Duration
		code                       string // empty: accepted
	}{
		{"as signed", "PUT", plain, "127.0.0.1:4600", 0, ""},
		{"at its expiry", "PUT", plain, "127.0.0.1:4600", 2 * time.Hour, ""},
		{"path decoded by the client", "PUT", strings.NewReplacer("%3A", ":", "%7C", "|").Replace(plain), "127.0.0.1:4600", 0, ""},
		{"path in lower case hex", "PUT", strings.NewReplacer("%3A", "%3a", "%7C", "%7c").Replace(plain), "127.0.0.1:4600", 0, ""},
		{"query decoded by the client", "PUT", strings.ReplaceAll(plain, "%2F", "/"), "127.0.0.1:4600", 0, ""},
		{"host changed by a proxy", "PUT", plain, "backend:80", 0, ""},
		{"public", "PUT", sign(public, responseurl.SignOptions{}), "pintle.example", 0, ""},
		{"prefix removed by a proxy", "PUT", strings.TrimPrefix(sign(public, responseurl.SignOptions{}), "/engine"), "backend", 0, ""},
		{"by a host not in the bases", "PUT", sign("http://other:1/response", responseurl.SignOptions{}), "OTHER:1", 0, ""},
		{"POST signed", "POST", sign(direct, responseurl.SignOptions{Method: "POST"}), "127.0.0.1:4600", 0, ""},
		{"clock of the signer ahead", "PUT", plain, "127.0.0.1:4600", -10 * time.Minute, ""},

		{"expired", "PUT", plain, "127.0.0.1:4600", 2*time.Hour + time.Second, "AccessDenied"},
		{"not valid yet", "PUT", plain, "127.0.0.1:4600", -time.Hour, "AccessDenied"},
		{"unsigned", "PUT", strings.Split(plain, "?")[0], "127.0.0.1:4600", 0, "AccessDenied"},
		{"another method", "POST", plain, "127.0.0.1:4600", 0, "SignatureDoesNotMatch"},
		{"another resource", "PUT", strings.Replace(plain, "Site", "Sita", 1), "127.0.0.1:4600", 0, "SignatureDoesNotMatch"},
		{"another expiry", "PUT", strings.Replace(plain, "7200", "7201", 1), "127.0.0.1:4600", 0, "SignatureDoesNotMatch"},
		{"a parameter more", "PUT", plain + "&a=1", "127.0.0.1:4600", 0, "SignatureDoesNotMatch"},
		{"encoded twice", "PUT", strings.ReplaceAll(plain, "%7C", "%257C"), "127.0.0.1:4600", 0, "SignatureDoesNotMatch"},
		{"another path", "PUT", strings.Replace(plain, "/response/", "/elsewhere/", 1), "127.0.0.1:4600", 0, "SignatureDoesNotMatch"},
		{"empty signature", "PUT", plain[:strings.LastIndexByte(plain, '=')+1], "127.0.0.1:4600", 0, "SignatureDoesNotMatch"},
		{"another key", "PUT", strings.Replace(plain, "PINTLEKEY1", "PINTLEKEY2", 1), "127.0.0.1:4600", 0, "InvalidAccessKeyId"},
		{"another day in the scope", "PUT", strings.Replace(plain, "%2F20261121", "%2F20261122", 1), "127.0.0.1:4600", 0, "AuthorizationQueryParametersError"},
		{"more headers signed", "PUT", strings.Replace(plain, "=host", "=content-type%3Bhost", 1), "127.0.0.1:4600", 0, "AuthorizationQueryParametersError"},
		{"another algorithm", "PUT", strings.Replace(plain, "SHA256", "SHA512", 1), "127.0.0.1:4600", 0, "AuthorizationQueryParametersError"},
		{"endless life", "PUT", strings.Replace(plain, "7200", "9999999", 1), "127.0.0.1:4600", 0, "AuthorizationQueryParametersError"},
		{"two dates", "PUT", plain + "&X-Amz-Date=20261121T120000Z", "127.0.0.1:4600", 0, "AuthorizationQueryParametersError"},
		{"broken query", "PUT", plain + "&%zz", "127.0.0.1:4600", 0, "AuthorizationQueryParametersError"},
		{"huge query", "PUT", plain + "&a=" + strings.Repeat("a", 5000), "127.0.0.1:4600", 0, "AuthorizationQueryParametersError"},
	} {
		key, err := s.Verify(arrive(t, tt.method, tt.target, tt.host), now.Add(tt.at))
		if tt.code == "" {
			if err != nil || key != siteKey {
				t.Errorf("%s: %+v, %v", tt.name, key, err)
			}
			continue
		}
		var access *responseurl.AccessError
		if !errors.As(err, &access) || access.Code != tt.code {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.code)
		}
	}
}

// Sends a signed request by net/http to a real server, which verifies it.
func TestVerifyOverTheWire(t *testing.T) {
	var signer *responseurl.Signer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, err := signer.Verify(r, now)
		if err != nil {
			responseurl.WriteError(w, err)
			return
		}
		fmt.Fprint(w, key)
	}))
	defer server.Close()
	base := server.URL + "/response"
	signer = newSigner(t, base)
	signed, err := signer.Sign(parseURL(t, base), siteKey, now, responseurl.SignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ url, want string }{
		{signed, siteKey.String()},
		{signed + "0", "SignatureDoesNotMatch"},
	} {
		request, err := http.NewRequest(http.MethodPut, tt.url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "text/whatever")
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, 2000)
		n, _ := response.Body.Read(body)
		response.Body.Close()
		if !strings.Contains(string(body[:n]), tt.want) {
			t.Errorf("%d %s, want %s", response.StatusCode, body[:n], tt.want)
		}
	}
}

func TestWriteError(t *testing.T) {
	expired := &responseurl.AccessError{Code: "AccessDenied", Message: "Request has expired", Expires: now, ServerTime: now.Add(time.Second)}
	for _, tt := range []struct {
		err    error
		status int
		want   string
	}{
		{fmt.Errorf("answer: %w", expired), 403, "<Error><Code>AccessDenied</Code><Message>Request has expired</Message>" +
			"<Expires>2026-11-21T12:00:00Z</Expires><ServerTime>2026-11-21T12:00:01Z</ServerTime></Error>"},
		{&responseurl.AccessError{Code: "AuthorizationQueryParametersError", Message: "a<b"}, 400,
			"<Error><Code>AuthorizationQueryParametersError</Code><Message>a&lt;b</Message></Error>"},
		{errors.New("disk on fire"), 500, "<Error><Code>InternalError</Code>" +
			"<Message>We encountered an internal error. Please try again.</Message></Error>"},
	} {
		w := httptest.NewRecorder()
		responseurl.WriteError(w, tt.err)
		if w.Code != tt.status || w.Body.String() != xml.Header+tt.want || w.Header().Get("Content-Type") != "application/xml" {
			t.Errorf("%v: %d %s", tt.err, w.Code, w.Body)
		}
	}
}

func TestSignerRefuses(t *testing.T) {
	base := parseURL(t, "http://h/response")
	for _, c := range []responseurl.SignerConfig{
		{Secret: secret, Bases: []*url.URL{base}},
		{KeyID: "A/B", Secret: secret, Bases: []*url.URL{base}},
		{KeyID: "A", Secret: "short", Bases: []*url.URL{base}},
		{KeyID: "A", Secret: secret},
		{KeyID: "A", Secret: secret, Bases: []*url.URL{parseURL(t, "ftp://h/")}},
		{KeyID: "A", Secret: secret, Bases: []*url.URL{parseURL(t, "http://h/?a=1")}},
		{KeyID: "A", Secret: secret, Bases: []*url.URL{nil}},
		{KeyID: "A", Secret: secret, Bases: []*url.URL{{Scheme: "http", Host: "h", Path: "response"}}},
	} {
		if _, err := responseurl.NewSigner(c); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("NewSigner(%+v): %v", c, err)
		}
	}
	s := newSigner(t, "http://h/response")
	if text := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(text, secret) {
		t.Errorf("prints its secret: %s", text)
	}
	for name, key := range map[string]responseurl.ResponseKey{
		"empty":  {StackID: "s", LogicalID: "l"},
		"bar":    {StackID: "s", LogicalID: "l|m", RequestID: "r"},
		"dots":   {StackID: "s/../t", LogicalID: "l", RequestID: "r"},
		"slash":  {StackID: "s//t", LogicalID: "l", RequestID: "r"},
		"length": {StackID: "s", LogicalID: "l", RequestID: wire.RequestID(strings.Repeat("r", 1024))},
	} {
		if signed, err := s.Sign(base, key, now, responseurl.SignOptions{}); err == nil {
			t.Errorf("%s: signed %s", name, signed)
		}
	}
	for _, o := range []responseurl.SignOptions{{Expires: time.Millisecond}, {Expires: 8 * 24 * time.Hour}, {Region: "a/b"}} {
		if signed, err := s.Sign(base, siteKey, now, o); err == nil {
			t.Errorf("%+v: signed %s", o, signed)
		}
	}
}

func FuzzSignVerify(f *testing.F) {
	f.Add("arn:aws:cloudformation:us-east-1:1:stack/web/5f1a", "Site", "r-1", "us-east-1")
	f.Add("8acc3dcd", "A[0]", "é %2F?#", "")
	s := newSigner(f, "http://127.0.0.1:4600/response")
	base := parseURL(f, "http://127.0.0.1:4600/response")
	f.Fuzz(func(t *testing.T, stack, logical, request, region string) {
		key := responseurl.ResponseKey{StackID: wire.StackID(stack), LogicalID: wire.LogicalID(logical), RequestID: wire.RequestID(request)}
		signed, err := s.Sign(base, key, now, responseurl.SignOptions{Region: region})
		if err != nil {
			return
		}
		u := parseURL(t, signed)
		r := arrive(t, "PUT", u.RequestURI(), u.Host)
		if back, err := s.Verify(r, now); err != nil || back != key {
			t.Errorf("%+v came back as %+v, %v", key, back, err)
		}
		r.Host = "elsewhere"
		if back, err := s.Verify(r, now); err != nil || back != key {
			t.Errorf("through a proxy: %+v came back as %+v, %v", key, back, err)
		}
		r.URL.Path += "x"
		if _, err := s.Verify(r, now); err == nil {
			t.Error("accepted another path")
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add("/response/a|b|c", "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=PINTLEKEY1/20261121/a/s3/aws4_request"+
		"&X-Amz-Date=20261121T120000Z&X-Amz-Expires=7200&X-Amz-SignedHeaders=host&X-Amz-Signature=00")
	s := newSigner(f, "http://127.0.0.1:4600/response")
	f.Fuzz(func(t *testing.T, path, query string) {
		r := &http.Request{Method: "PUT", URL: &url.URL{Path: path, RawQuery: query}, Host: "127.0.0.1:4600"}
		var access *responseurl.AccessError
		if _, err := s.Verify(r, now); !errors.As(err, &access) {
			t.Errorf("%s?%s: error %v", path, query, err)
		}
	})
}
