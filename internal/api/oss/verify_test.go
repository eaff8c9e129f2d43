package oss_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/oss"
	"github.com/pintle-dev/pintle/internal/base/acs"
)

// A permanent key, and a temporary one with a token.
const (
	keyID, secret  = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	tokenID, token = "STS.EXAMPLE", "token/of+this=key"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

const host = "http://bucket.oss-cn-beijing-internal.aliyuncs.com"

// find knows the keys of the tests. If dev is true, unknown keys are valid in a header.
func find(dev bool) oss.Find {
	return func(id, given, _ string) (oss.Key, *oss.Error) {
		switch {
		case id == keyID && given == "", id == tokenID && given == token:
			return oss.Key{Secret: secret, Known: true}, nil
		case dev && id != keyID && id != tokenID:
			return oss.Key{}, nil
		}
		return oss.Key{}, oss.UnknownKey()
	}
}

// v1 signs a request in its header.
func v1(r *http.Request, at time.Time, id, token string) {
	r.Header.Set("Date", at.Format(http.TimeFormat))
	if token != "" {
		r.Header.Set("X-Oss-Security-Token", token)
	}
	r.Header.Set("Authorization", "OSS "+id+":"+acs.SignatureOSS(r, acs.OSSObject{Bucket: "bucket", Key: "k"}, r.Header.Get("Date"), secret))
}

// v4 signs a request in its header.
func v4(r *http.Request, at time.Time, additional ...string) {
	scope := acs.OSSScope{Time: at.Format("20060102T150405Z"), Region: "cn-beijing", Product: "oss", Additional: additional}
	r.Header.Set("X-Oss-Date", scope.Time)
	r.Header.Set("X-Oss-Content-Sha256", acs.OSSUnsigned)
	sign := acs.SignatureOSS4(r, acs.OSSObject{Bucket: "bucket", Key: "k"}, scope, false, secret)
	list := ""
	if len(additional) > 0 {
		list = "AdditionalHeaders=" + strings.Join(additional, ";") + ", "
	}
	r.Header.Set("Authorization", acs.OSSAlgorithm+" Credential="+keyID+"/"+scope.Scope()+", "+list+"Signature="+sign)
}

// url4 returns the query of a URL with a V4 signature.
func url4(at time.Time, expires int, id string) string {
	scope := acs.OSSScope{Time: at.Format("20060102T150405Z"), Region: "cn-beijing", Product: "oss"}
	query := "?x-oss-signature-version=" + acs.OSSAlgorithm + "&x-oss-date=" + scope.Time + "&x-oss-expires=" + strconv.Itoa(expires) +
		"&x-oss-credential=" + acs.Escape(id+"/"+scope.Scope())
	r, err := http.NewRequest(http.MethodGet, host+"/k"+query, nil)
	if err != nil {
		panic(err)
	}
	return query + "&x-oss-signature=" + acs.SignatureOSS4(r, acs.OSSObject{Bucket: "bucket", Key: "k"}, scope, false, secret)
}

// url1 returns the query of a URL with a V1 signature.
func url1(until time.Time, id string) string {
	r, err := http.NewRequest(http.MethodGet, host+"/k", nil)
	if err != nil {
		panic(err)
	}
	expires := strconv.FormatInt(until.Unix(), 10)
	return "?OSSAccessKeyId=" + id + "&Expires=" + expires + "&Signature=" +
		acs.Escape(acs.SignatureOSS(r, acs.OSSObject{Bucket: "bucket", Key: "k"}, expires, secret))
}

func TestVerify(t *testing.T) {
	header := func(sign func(*http.Request)) func(*http.Request) { return sign }
	for name, test := range map[string]struct {
		query string
		sign  func(*http.Request)
		dev   bool
		code  string
	}{
		"V1":                      {sign: header(func(r *http.Request) { v1(r, noon, keyID, "") })},
		"V1 with a token":         {sign: header(func(r *http.Request) { v1(r, noon, tokenID, token) })},
		"V1 without its token":    {sign: header(func(r *http.Request) { v1(r, noon, tokenID, "") }), code: "InvalidAccessKeyId"},
		"V1 expired":              {sign: header(func(r *http.Request) { v1(r, noon.Add(-16*time.Minute), keyID, "") }), code: "RequestTimeTooSkewed"},
		"V1 without a date":       {sign: header(func(r *http.Request) { v1(r, noon, keyID, ""); r.Header.Del("Date") }), code: "AccessDenied"},
		"V1 with a header more":   {sign: header(func(r *http.Request) { v1(r, noon, keyID, ""); r.Header.Set("X-Oss-A", "1") }), code: "SignatureDoesNotMatch"},
		"V1 with another type":    {sign: header(func(r *http.Request) { v1(r, noon, keyID, ""); r.Header.Set("Content-Type", "a/b") }), code: "SignatureDoesNotMatch"},
		"V1, not well-formed":     {sign: header(func(r *http.Request) { r.Header.Set("Authorization", "OSS x") }), code: "InvalidArgument"},
		"V2":                      {sign: header(func(r *http.Request) { r.Header.Set("Authorization", "OSS2 AccessKeyId:a,Signature:b") }), code: "InvalidArgument"},
		"V4":                      {sign: header(func(r *http.Request) { v4(r, noon) })},
		"V4 with a header":        {sign: header(func(r *http.Request) { r.Header.Set("Zabc", "1"); v4(r, noon, "host", "zabc") })},
		"V4 with it changed":      {sign: header(func(r *http.Request) { v4(r, noon, "host"); r.Host = "c" + r.Host[1:] }), code: "SignatureDoesNotMatch"},
		"V4, headers unsorted":    {sign: header(func(r *http.Request) { v4(r, noon, "zabc", "host") }), code: "InvalidArgument"},
		"V4 expired":              {sign: header(func(r *http.Request) { v4(r, noon.Add(16*time.Minute)) }), code: "RequestTimeTooSkewed"},
		"V4 with a hash":          {sign: header(func(r *http.Request) { v4(r, noon); r.Header.Set("X-Oss-Content-Sha256", "00") }), code: "InvalidArgument"},
		"V4 with a query":         {query: "?a=b", sign: header(func(r *http.Request) { v4(r, noon); r.URL.RawQuery = "a=c" }), code: "SignatureDoesNotMatch"},
		"two":                     {sign: header(func(r *http.Request) { r.Header["Authorization"] = []string{"OSS a:b", "OSS c:d"} }), code: "InvalidArgument"},
		"none":                    {code: "AccessDenied"},
		"an unknown key":          {sign: header(func(r *http.Request) { v1(r, noon, "other", "") }), code: "InvalidAccessKeyId"},
		"an unknown key, dev":     {sign: header(func(r *http.Request) { v1(r, noon, "other", "") }), dev: true},
		"URL V1":                  {query: url1(noon.Add(time.Second), keyID)},
		"URL V1, expired":         {query: url1(noon.Add(-time.Second), keyID), code: "AccessDenied"},
		"URL V1, unknown, dev":    {query: url1(noon.Add(time.Second), "other"), dev: true, code: "InvalidAccessKeyId"},
		"URL V1 with a parameter": {query: url1(noon.Add(time.Second), keyID) + "&acl", code: "SignatureDoesNotMatch"},
		"URL V1, twice":           {query: url1(noon.Add(time.Second), keyID) + "&Expires=1", code: "AuthorizationQueryParametersError"},
		"URL V4":                  {query: url4(noon.Add(-time.Hour), 3601, keyID)},
		"URL V4, expired":         {query: url4(noon.Add(-time.Hour), 3599, keyID), code: "AccessDenied"},
		"URL V4, not yet":         {query: url4(noon.Add(time.Hour), 60, keyID), code: "RequestTimeTooSkewed"},
		"URL V4, for long":        {query: url4(noon, 604801, keyID), code: "AuthorizationQueryParametersError"},
		"URL V4, unknown, dev":    {query: url4(noon, 60, "other"), dev: true, code: "InvalidAccessKeyId"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequest(http.MethodGet, host+"/k"+test.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.sign != nil {
				test.sign(r)
			}
			code := ""
			if refused := oss.Verify(r, noon, find(test.dev)); refused != nil {
				code = refused.Code
			}
			if code != test.code {
				t.Errorf("code %q, want %q", code, test.code)
			}
			if !oss.Claimed(r) {
				t.Error("it is not taken for a call of OSS")
			}
		})
	}
}

// TestClaimed checks that requests for other services are not treated as OSS requests.
func TestClaimed(t *testing.T) {
	for _, request := range []struct{ url, authorization string }{
		{"http://127.0.0.1:4600/", ""},
		{"http://127.0.0.1:4600/?AWSAccessKeyId=a&Signature=b&Expires=1", ""},
		{"http://127.0.0.1:4600/bucket/k", "AWS4-HMAC-SHA256 Credential=a/20261126/eu-west-1/s3/aws4_request"},
		{"http://ros.aliyuncs.com/?Action=ListStacks&AccessKeyId=a&Signature=b", ""},
		{"http://ros.aliyuncs.com/", "ACS3-HMAC-SHA256 Credential=a"},
	} {
		r, err := http.NewRequest(http.MethodGet, request.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if request.authorization != "" {
			r.Header.Set("Authorization", request.authorization)
		}
		if oss.Claimed(r) {
			t.Errorf("%+v", request)
		}
	}
}

// FuzzVerify checks that no request makes Verify panic or succeed, and that errors do not quote the input.
func FuzzVerify(f *testing.F) {
	f.Add("OSS "+keyID+":c2lnbmF0dXJl", "Thu, 26 Nov 2026 12:00:00 GMT", "/bucket/k?acl")
	f.Add(acs.OSSAlgorithm+" Credential="+keyID+"/20261126/cn-beijing/oss/aliyun_v4_request,Signature=00", "20261126T120000Z", "/bucket/k")
	f.Add("", "", "/k"+url1(noon.Add(time.Hour), "other"))
	f.Add("", "", "/k"+url4(noon, 60, "other"))
	f.Fuzz(func(t *testing.T, header, date, target string) {
		r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := r.URL.Parse(target); err == nil {
			r.URL = u
		}
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		r.Header.Set("X-Oss-Date", date)
		r.Header.Set("X-Oss-Content-Sha256", acs.OSSUnsigned)
		refused := oss.Verify(r, noon, find(false))
		switch {
		case refused == nil:
			t.Fatal("it was let in")
		case refused.Code == "" || refused.Message == "" || refused.Status < 400:
			t.Errorf("half an error: %+v", refused)
		}
		if i := strings.Index(header, "Signature="); i >= 0 && len(header) > i+40 && strings.Contains(refused.Message, header[i:]) {
			t.Errorf("the message quotes the signature: %s", refused.Message)
		}
	})
}
