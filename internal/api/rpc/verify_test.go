package rpc_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/intake"
	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/base/acs"
)

const secret = "correct horse battery staple"

var now = time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)

// common returns the parameters of a call for a V1 signature.
func common(more ...string) url.Values {
	p := url.Values{
		"Action": {"GetStack"}, "Version": {"2019-09-10"}, "AccessKeyId": {"AKID"}, "SignatureMethod": {"HMAC-SHA1"},
		"SignatureVersion": {"1.0"}, "SignatureNonce": {"n-1"}, "Timestamp": {"2026-11-22T05:00:00Z"}, "Format": {"JSON"},
		"StackId": {"a b*c~/é"},
	}
	for i := 0; i < len(more); i += 2 {
		p.Set(more[i], more[i+1])
	}
	return p
}

func signed(method string, p url.Values) url.Values {
	p.Set("Signature", acs.SignatureV1(method, p, secret))
	return p
}

func get(p url.Values) *http.Request {
	return httptest.NewRequest(http.MethodGet, "http://localhost/?"+p.Encode(), nil)
}

func post(query, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/?"+query.Encode(), strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// headers returns a call with a V3 signature.
func headers(query, form url.Values, more ...string) *http.Request {
	r := post(query, form)
	body := form.Encode()
	for name, text := range map[string]string{
		"x-acs-action": "GetStack", "x-acs-version": "2019-09-10", "x-acs-date": "2026-11-22T05:00:00Z",
		"x-acs-signature-nonce": "n-1", "x-acs-content-sha256": acs.Hash([]byte(body)),
	} {
		r.Header.Set(name, text)
	}
	for i := 0; i < len(more); i += 2 {
		if r.Header.Set(more[i], more[i+1]); more[i+1] == "" {
			r.Header.Del(more[i])
		}
	}
	return authorize(r)
}

func authorize(r *http.Request) *http.Request {
	return authorizeOver(r, acs.SignedV3(r.Header))
}

// authorizeOver signs a request over the named headers only.
func authorizeOver(r *http.Request, names []string) *http.Request {
	signature := acs.SignatureV3(r, names, r.Header.Get("x-acs-content-sha256"), secret)
	r.Header.Set("Authorization", acs.Algorithm+" Credential=AKID,SignedHeaders="+strings.Join(names, ";")+",Signature="+signature)
	return r
}

// python returns a call in the form of the SDK for Python, which signs all headers that it sets.
func python() *http.Request {
	r := headers(nil, url.Values{"TemplateBody": {"{}"}}, "Accept", "application/json", "User-Agent", "AlibabaCloud (Linux) Python/3.11")
	names := append(acs.SignedV3(r.Header), "accept", "user-agent")
	slices.Sort(names)
	return authorizeOver(r, names)
}

// unsigned returns a call whose signature covers all headers except one.
func unsigned(name string) *http.Request {
	r := python()
	signed := slices.DeleteFunc(append(acs.SignedV3(r.Header), "accept", "user-agent"), func(other string) bool { return other == name })
	slices.Sort(signed)
	return authorizeOver(r, signed)
}

func reversed(names []string) []string {
	slices.Reverse(names)
	return names
}

// with changes a signed request.
func with(r *http.Request, change func(*http.Request)) *http.Request {
	change(r)
	return r
}

func find(call *rpc.Call) (rpc.Secret, *rpc.Error) {
	if call.AccessKeyID != "AKID" {
		return rpc.Secret{}, &rpc.Error{Code: "InvalidAccessKeyId.NotFound"}
	}
	return rpc.Secret{Text: secret}, nil
}

func TestAdmit(t *testing.T) {
	form := url.Values{"TemplateBody": {`{"a": "b+c"}`}}
	query := url.Values{"RegionId": {"cn-hangzhou"}}
	for _, c := range []struct {
		name string
		r    *http.Request
		want string // the code; "" if the call is accepted
	}{
		{"v1 get", get(signed("GET", common())), ""},
		{"v1 with an empty type, as the CLI sends it", get(signed("GET", common("SignatureType", ""))), ""},
		{"v1 all in the form, as pop-core has it", post(nil, signed("POST", common())), ""},
		{"v1 in the query and in the form, as the CLI has it", func() *http.Request {
			all := common()
			all.Set("TemplateBody", "x")
			q := signed("POST", all)
			q.Del("TemplateBody")
			return post(q, url.Values{"TemplateBody": {"x"}})
		}(), ""},
		{"v1 the same value twice", func() *http.Request {
			q := signed("POST", common())
			return post(q, url.Values{"StackId": q["StackId"]})
		}(), ""},
		{"v1 two values", post(signed("POST", common()), url.Values{"StackId": {"other"}}), "InvalidParameter"},
		{"v1 a value twice", with(get(signed("GET", common())), func(r *http.Request) { r.URL.RawQuery += "&Action=GetStack" }), "InvalidParameter"},
		{"v1 broken escape", with(get(signed("GET", common())), func(r *http.Request) { r.URL.RawQuery += "&a=%zz" }), "InvalidParameter"},
		{"v1 not UTF-8", with(get(signed("GET", common())), func(r *http.Request) { r.URL.RawQuery += "&a=%ff" }), "InvalidParameter"},
		{"v1 for another method", get(signed("POST", common())), "SignatureDoesNotMatch"},
		{"v1 other parameter", get(func() url.Values { p := signed("GET", common()); p.Set("StackId", "x"); return p }()), "SignatureDoesNotMatch"},
		{"v1 one more parameter", get(func() url.Values { p := signed("GET", common()); p.Set("More", "x"); return p }()), "SignatureDoesNotMatch"},
		{"v1 wrong secret", get(func() url.Values {
			p := common()
			p.Set("Signature", acs.SignatureV1("GET", p, "another"))
			return p
		}()), "SignatureDoesNotMatch"},
		{"v1 unknown key", get(signed("GET", common("AccessKeyId", "OTHER"))), "InvalidAccessKeyId.NotFound"},
		{"v1 other method of signing", get(signed("GET", common("SignatureMethod", "HMAC-SHA256"))), "InvalidParameter"},
		{"v1 other version of signing", get(signed("GET", common("SignatureVersion", "2.0"))), "InvalidParameter"},
		{"v1 bearer", get(signed("GET", common("SignatureType", "BEARERTOKEN"))), "InvalidParameter"},
		{"v1 no action", get(signed("GET", common("Action", ""))), "MissingParameter"},
		{"v1 no nonce", get(signed("GET", common("SignatureNonce", ""))), "MissingParameter"},
		{"v1 no signature", get(common()), "MissingParameter"},
		{"v1 no time", get(signed("GET", common("Timestamp", ""))), "IllegalTimestamp"},
		{"v1 no real time", get(signed("GET", common("Timestamp", "yesterday"))), "IllegalTimestamp"},
		{"v1 nearly too late", get(signed("GET", common("Timestamp", "2026-11-22T04:45:00Z"))), ""},
		{"v1 too late", get(signed("GET", common("Timestamp", "2026-11-22T04:44:59Z"))), "IllegalTimestamp"},
		{"v1 too early", get(signed("GET", common("Timestamp", "2026-11-22T05:15:01Z"))), "IllegalTimestamp"},
		{"v1 of another path", with(get(signed("GET", common())), func(r *http.Request) { r.URL.Path = "/x" }), "InvalidAction.NotFound"},
		{"v1 by PUT", with(get(signed("PUT", common())), func(r *http.Request) { r.Method = "PUT" }), "UnsupportedHTTPMethod"},
		{"v1 with JSON", with(post(signed("POST", common()), url.Values{"a": {"b"}}), func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json")
		}), "UnsupportedMediaType"},

		{"v3", headers(query, form), ""},
		{"v3 without a body", headers(query, nil), ""},
		{"v3 without a body and with a type that is not signed", with(headers(query, nil, "Content-Type", ""), func(r *http.Request) {
			r.Header.Set("Content-Type", "application/octet-stream") // after signing
		}), ""},
		{"v3 with a token", headers(query, nil, "x-acs-security-token", "t"), ""},
		{"v3 other query", with(headers(query, form), func(r *http.Request) { r.URL.RawQuery = "RegionId=cn-beijing" }), "SignatureDoesNotMatch"},
		{"v3 other host", with(headers(query, form), func(r *http.Request) { r.Host = "else" }), "SignatureDoesNotMatch"},
		{"v3 other body", with(headers(query, form), func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader("TemplateBody=x"))
		}), "SignatureDoesNotMatch"},
		{"v3 other action", with(headers(query, form), func(r *http.Request) { r.Header.Set("x-acs-action", "DeleteStack") }), "SignatureDoesNotMatch"},
		{"v3 unsigned header", with(headers(query, form), func(r *http.Request) { r.Header.Set("x-acs-more", "x") }), "IncompleteSignature"},
		{"v3 signs every header, as the SDK for Python does", python(), ""},
		{"v3 a signed header was changed", with(python(), func(r *http.Request) { r.Header.Set("User-Agent", "another") }), "SignatureDoesNotMatch"},
		{"v3 a signed header was given twice", with(python(), func(r *http.Request) { r.Header.Add("Accept", "text/html") }), "SignatureDoesNotMatch"},
		{"v3 a signed header was removed", with(python(), func(r *http.Request) { r.Header.Del("User-Agent") }), "IncompleteSignature"},
		{"v3 host is not signed", unsigned("host"), "IncompleteSignature"},
		{"v3 content-type is not signed", unsigned("content-type"), "IncompleteSignature"},
		{"v3 action is not signed", unsigned("x-acs-action"), "IncompleteSignature"},
		{"v3 version is not signed", unsigned("x-acs-version"), "IncompleteSignature"},
		{"v3 date is not signed", unsigned("x-acs-date"), "IncompleteSignature"},
		{"v3 nonce is not signed", unsigned("x-acs-signature-nonce"), "IncompleteSignature"},
		{"v3 hash is not signed", unsigned("x-acs-content-sha256"), "IncompleteSignature"},
		{"v3 a header is signed twice", authorizeOver(headers(query, form), append([]string{"content-type"}, acs.SignedV3(headers(query, form).Header)...)),
			"IncompleteSignature"},
		{"v3 signed headers are not sorted", authorizeOver(headers(query, form), reversed(acs.SignedV3(headers(query, form).Header))), "IncompleteSignature"},
		{"v3 no hash", headers(query, form, "x-acs-content-sha256", ""), "MissingParameter"},
		{"v3 no nonce", headers(query, form, "x-acs-signature-nonce", ""), "MissingParameter"},
		{"v3 no date", headers(query, form, "x-acs-date", ""), "IllegalTimestamp"},
		{"v3 too late", headers(query, form, "x-acs-date", "2026-11-22T04:00:00Z"), "IllegalTimestamp"},
		{"v3 other algorithm", with(headers(query, form), func(r *http.Request) {
			r.Header.Set("Authorization", "ACS3-RSA-SHA256 Credential=AKID,SignedHeaders=host,Signature=x")
		}), "IncompleteSignature"},
		{"v3 cut short", with(headers(query, form), func(r *http.Request) { r.Header.Set("Authorization", acs.Algorithm+" Credential=AKID") }),
			"IncompleteSignature"},
		{"v3 unknown key", with(headers(query, form), func(r *http.Request) {
			r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), "AKID", "OTHER", 1))
		}), "InvalidAccessKeyId.NotFound"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := rpc.NewVerifier(rpc.VerifierConfig{Now: func() time.Time { return now }})
			call, err := v.Admit(c.r, find)
			got := ""
			if err != nil {
				got = err.Code
			}
			if got != c.want || (call != nil) != (c.want == "") {
				t.Fatalf("%+v, %v; want %q", call, err, c.want)
			}
			if call != nil && (call.Action != "GetStack" || call.Version != "2019-09-10") {
				t.Errorf("%+v", call)
			}
		})
	}
}

// TestAdmitMismatchV1 checks that the message contains a colon, because the first SDK for Python reads the text after
// it and fails without one. The message must not contain parameter values.
func TestAdmitMismatchV1(t *testing.T) {
	v := rpc.NewVerifier(rpc.VerifierConfig{Now: func() time.Time { return now }})
	p := common("Parameters.1.ParameterValue", "NoEchoValue", "SecurityToken", "SecretToken", "Signature", "x")
	_, refused := v.Admit(post(nil, p), find)
	if refused == nil || refused.Code != "SignatureDoesNotMatch" {
		t.Fatal(refused)
	}
	if _, after, ok := strings.Cut(refused.Message, ":"); !ok || after != acs.Hash([]byte(acs.StringToSignV1("POST", p))) {
		t.Errorf("message %q", refused.Message)
	}
	for _, value := range []string{"NoEchoValue", "SecretToken"} {
		if strings.Contains(refused.Message+refused.Recommend, value) {
			t.Errorf("%s is in %q", value, refused.Message)
		}
	}
}

// TestAdmitPythonSDK checks requests of the Python SDKs, with the signatures that they computed. They also sign accept
// and user-agent. Source: alibabacloud-ros20190910 3.7.0 with alibabacloud-tea-openapi 0.4.6, and 3.6.0 with 0.3.16,
// from PyPI.
func TestAdmitPythonSDK(t *testing.T) {
	at := time.Date(2026, 11, 24, 10, 40, 50, 0, time.UTC)
	v := rpc.NewVerifier(rpc.VerifierConfig{Now: func() time.Time { return at }})
	for _, c := range []struct{ host, query, body, agent, date, nonce, hash, action, signature string }{
		{
			"127.0.0.1:41097", "RegionId=cn-hangzhou", "", "TeaDSL/2", "2026-11-24T10:40:50Z", "64f0d3b7ee0eccba5a109565c59dbb15",
			"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "ListStacks",
			"73efcb9f0b2483add42fe815aa0221ebf79397e7ae82d605aef57430a12f7487",
		},
		{
			"127.0.0.1:41097", "Parameters.1.ParameterKey=A&Parameters.1.ParameterValue=b+c%2F%C3%A9%2A~&RegionId=cn-hangzhou&StackName=a+b",
			"TemplateBody=%7B%22ROSTemplateFormatVersion%22%3A%222015-09-01%22%7D", "TeaDSL/2", "2026-11-24T10:40:50Z",
			"63397ab069b3b67726f387e8aea7f811", "3d6fab3a7af9f5e06fe1a308182f9bc6c910a0f5e6e6d4f3e2a87036e582a159", "CreateStack",
			"582f61aeb3a66c4cb67eb3f8d3837324b25bc9d2482642824865b809bbc8aa02",
		},
		{
			"127.0.0.1:46417", "Parameters.1.ParameterKey=A&Parameters.1.ParameterValue=b+c%2F%C3%A9%2A~&RegionId=cn-hangzhou&StackName=a+b",
			"TemplateBody=%7B%22ROSTemplateFormatVersion%22%3A%222015-09-01%22%7D", "TeaDSL/1", "2026-11-24T10:40:51Z",
			"25066960a88c8c7819bd8db356a79e2a", "3d6fab3a7af9f5e06fe1a308182f9bc6c910a0f5e6e6d4f3e2a87036e582a159", "CreateStack",
			"f4992d9845fb92e062b7f18649af469b6ac2cd8ede9b9fbd5c67b88ab651c0de",
		},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://"+c.host+"/?"+c.query, strings.NewReader(c.body))
		names := "accept;host;user-agent;x-acs-action;x-acs-content-sha256;x-acs-credentials-provider;x-acs-date;x-acs-signature-nonce;x-acs-version"
		if c.body != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			names = strings.Replace(names, "host;", "content-type;host;", 1)
		}
		for name, text := range map[string]string{
			"Accept": "application/json", "User-Agent": "AlibabaCloud (Linux; x86_64) Python/3.11.7 Core/0.4.3 " + c.agent,
			"X-Acs-Version": "2019-09-10", "X-Acs-Action": c.action, "X-Acs-Date": c.date, "X-Acs-Signature-Nonce": c.nonce,
			"X-Acs-Content-Sha256": c.hash, "X-Acs-Credentials-Provider": "static_ak",
			"Authorization": acs.Algorithm + " Credential=test,SignedHeaders=" + names + ",Signature=" + c.signature,
		} {
			r.Header.Set(name, text)
		}
		call, refused := v.Admit(r, func(*rpc.Call) (rpc.Secret, *rpc.Error) { return rpc.Secret{Text: "test"}, nil })
		if refused != nil || call.Action != c.action {
			t.Errorf("%s: %+v, %v", c.action, call, refused)
		}
	}
}

func TestAdmitParameters(t *testing.T) {
	v := rpc.NewVerifier(rpc.VerifierConfig{Now: func() time.Time { return now }})
	call, refused := v.Admit(headers(url.Values{"RegionId": {"cn-hangzhou"}}, url.Values{"TemplateBody": {"{}"}}), find)
	if refused != nil {
		t.Fatal(refused)
	}
	if diff := cmp.Diff(url.Values{"RegionId": {"cn-hangzhou"}, "TemplateBody": {"{}"}}, call.Parameters); diff != "" {
		t.Error(diff)
	}
	call, refused = v.Admit(get(signed("GET", common("SignatureNonce", "n-2"))), find)
	if refused != nil {
		t.Fatal(refused)
	}
	if diff := cmp.Diff(url.Values{"StackId": {"a b*c~/é"}}, call.Parameters); diff != "" {
		t.Error(diff)
	}
}

// TestAdmitOnce checks that an accepted call is not accepted again with any signature.
func TestAdmitOnce(t *testing.T) {
	at := now
	v := rpc.NewVerifier(rpc.VerifierConfig{Now: func() time.Time { return at }})
	if _, refused := v.Admit(get(signed("GET", common("AccessKeyId", "AKID"))), find); refused != nil {
		t.Fatal(refused)
	}
	for range 2 {
		if _, refused := v.Admit(get(signed("GET", common("More", "x"))), find); refused == nil || refused.Code != "SignatureNonceUsed" {
			t.Fatal(refused)
		}
	}
	if _, refused := v.Admit(headers(nil, nil), find); refused == nil || refused.Code != "SignatureNonceUsed" {
		t.Fatal(refused)
	}
	at = at.Add(40 * time.Minute)
	later := at.Format(time.RFC3339)
	if _, refused := v.Admit(get(signed("GET", common("SignatureNonce", "n-2", "Timestamp", later))), find); refused != nil {
		t.Fatal(refused)
	}
	if _, refused := v.Admit(get(signed("GET", common("SignatureNonce", "n-2", "Timestamp", later))), find); refused == nil {
		t.Fatal("used twice")
	}
}

// TestAdmitOthers checks that Admit leaves the body of another protocol's request readable.
func TestAdmitOthers(t *testing.T) {
	v := rpc.NewVerifier(rpc.VerifierConfig{})
	for name, r := range map[string]*http.Request{
		"a form":       post(nil, url.Values{"Action": {"CreateStack"}, "Version": {"2010-05-15"}}),
		"AWS's old":    post(nil, url.Values{"AWSAccessKeyId": {"x"}, "SignatureMethod": {"HmacSHA256"}, "Action": {"a"}}),
		"a broken one": with(post(nil, nil), func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("%zz")) }),
		"AWS's":        with(post(nil, common()), func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 x") }),
	} {
		want, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		r.Body = io.NopCloser(strings.NewReader(string(want)))
		call, refused := v.Admit(r, find)
		got, err := io.ReadAll(r.Body)
		if call != nil || refused != nil || err != nil || string(got) != string(want) {
			t.Errorf("%s: %v, %v, %v, %q", name, call, refused, err, got)
		}
	}
}

// TestAdmitBrowser checks that requests from a web page are rejected where any signature is valid.
func TestAdmitBrowser(t *testing.T) {
	v := rpc.NewVerifier(rpc.VerifierConfig{})
	anyKey := func(*rpc.Call) (rpc.Secret, *rpc.Error) { return rpc.Secret{Any: true}, nil }
	forged := common("Signature", "x")
	for _, header := range []http.Header{
		{"Origin": {"https://example.com"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"User-Agent": {"Mozilla/5.0"}}, {},
	} {
		for _, r := range []*http.Request{get(forged), post(nil, forged)} {
			maps.Copy(r.Header, header)
			call, refused := v.Admit(r, anyKey)
			if fine := len(header) == 0; (call != nil) != fine || (refused == nil) != fine {
				t.Errorf("%v: %v, %v", header, call, refused)
			}
		}
	}
	r := headers(nil, nil)
	r.Header.Set("User-Agent", "Mozilla/5.0") // a page cannot send the Authorization header
	if call, refused := v.Admit(r, anyKey); call == nil {
		t.Error(refused)
	}
}

func TestAdmitBounds(t *testing.T) {
	v := rpc.NewVerifier(rpc.VerifierConfig{MaxBody: 100})
	_, refused := v.Admit(headers(nil, url.Values{"a": {strings.Repeat("x", 200)}}), find)
	if refused == nil || refused.Status != http.StatusRequestEntityTooLarge {
		t.Error(refused)
	}
	v = rpc.NewVerifier(rpc.VerifierConfig{Intake: intake.New(intake.Config{Total: 1 << 20, Dir: t.TempDir()})})
	_, refused = v.Admit(headers(nil, url.Values{"a": {strings.Repeat("x", 2<<20)}}), find)
	if refused == nil || refused.Code != "ServiceUnavailable" {
		t.Error(refused)
	}
}

// FuzzAdmit reads arbitrary requests, which must not cause a panic.
func FuzzAdmit(f *testing.F) {
	f.Add("GET", signed("GET", common()).Encode(), "", "")
	f.Add("POST", "", signed("POST", common()).Encode(), "")
	f.Add("POST", "RegionId=x", "a=b", headers(nil, nil).Header.Get("Authorization"))
	f.Fuzz(func(t *testing.T, method, query, body, authorization string) {
		r := &http.Request{
			Method: method, URL: &url.URL{Path: "/", RawQuery: query}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
			Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Authorization": {authorization}},
		}
		if authorization == "" {
			r.Header.Del("Authorization")
		}
		v := rpc.NewVerifier(rpc.VerifierConfig{Now: func() time.Time { return now }})
		call, refused := v.Admit(r, find)
		if call != nil && refused != nil {
			t.Error("both")
		}
	})
}
