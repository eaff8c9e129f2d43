package acs_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/acs"
)

// TestSignatureFC uses the examples of the Go SDK of Function Compute 2.0.
func TestSignatureFC(t *testing.T) {
	query := url.Values{"xyz": {}, "foo": {"bar"}, "key2": {"123"}, "key1": {"xyz", "abc"}, "key3/~x-y_z.a#b": {"value/~x-y_z.a#b"}}
	want := "/path/action with space\nfoo=bar\nkey1=abc\nkey1=xyz\nkey2=123\nkey3/~x-y_z.a#b=value/~x-y_z.a#b\nxyz"
	if got := acs.ResourceFC("/path/action with space", query); got != want {
		t.Errorf("resource %q, want %q", got, want)
	}

	resource := acs.ResourceFC("/2016-08-15/proxy/service.LATEST/func/abc 123", url.Values{
		"x": {"xyz", "456"}, "a": {"123 45"}, "x-fc-expires": {"1583221068"}, "x-fc-access-key-id": {"akID"}, "x-fc-security-token": {"stsToken"},
	})
	header := http.Header{
		"X-Fc-Trace-Id": {"trace-id"}, "Content-Type": {"text/json"}, "Content-Md5": {"ef5b43a0fe1d5b401b62c3ba33a7a3d6"}, "Date": {"of no account"},
	}
	want = "GET\nef5b43a0fe1d5b401b62c3ba33a7a3d6\ntext/json\n1583221068\nx-fc-trace-id:trace-id\n" +
		"/2016-08-15/proxy/service.LATEST/func/abc 123\na=123 45\nx-fc-access-key-id=akID\nx-fc-expires=1583221068\n" +
		"x-fc-security-token=stsToken\nx=456\nx=xyz"
	if diff := cmp.Diff(want, acs.StringToSignFC("GET", header, resource)); diff != "" {
		t.Error(diff)
	}
	if got := acs.SignatureFC("GET", header, resource, "S9MWOBG0AOWHSO9HPASP216QOPHT5YR4NLH3A"); got != "QFdNhz0Dl+onUM/MvpX940WFH3H8OHayZHbby1c01aI=" {
		t.Errorf("signature %s", got)
	}
}

// TestSignatureMNS uses the example of the page about the string to sign. It masks the last four characters of the
// signature.
func TestSignatureMNS(t *testing.T) {
	r := httptest.NewRequest("GET", "https://1.mns.cn-hangzhou.aliyuncs.com/MyQueue", nil)
	r.Header.Set("Date", "Thu, 09 Jul 2015 03:01:34 GMT")
	r.Header.Set("X-Mns-Version", "2015-06-06")
	if got := acs.SignatureMNS(r, "TestAccessSecret"); !strings.HasPrefix(got, "uwx3yeWoILzgmvesW0BQSgfM") || len(got) != 28 {
		t.Errorf("signature %s", got)
	}
}

// TestSign checks the parameters and headers that signing adds to a call. Other tests cover the signatures
// themselves.
func TestSign(t *testing.T) {
	at := time.Date(2026, 11, 22, 4, 5, 6, 0, time.FixedZone("", 3600))
	call := func() *http.Request {
		r := httptest.NewRequest("POST", "https://x.aliyuncs.com/p?q=1", nil)
		r.Header.Set("Content-Type", "application/xml")
		return r
	}
	lasting, temporary := acs.Credentials{ID: "AK", Secret: "S"}, acs.Credentials{ID: "AK", Secret: "S", Token: "T"}
	tests := map[string]struct {
		sign func(*http.Request)
		want map[string]string
	}{
		"V3": {
			func(r *http.Request) { acs.SignV3(r, lasting, "InvokeFunction", "2023-03-30", []byte("b"), "n", at) },
			map[string]string{
				"X-Acs-Action": "InvokeFunction", "X-Acs-Version": "2023-03-30", "X-Acs-Date": "2026-11-22T03:05:06Z", "X-Acs-Signature-Nonce": "n",
				"X-Acs-Content-Sha256": acs.Hash([]byte("b")), "Content-Type": "application/xml",
			},
		},
		"V3 with a token": {
			func(r *http.Request) {
				acs.SignV3(r, temporary, "InvokeFunction", "2023-03-30", []byte("b"), "n", at)
				if !strings.Contains(r.Header.Get("Authorization"), "x-acs-security-token") {
					t.Error("the token is not signed")
				}
			},
			map[string]string{
				"X-Acs-Action": "InvokeFunction", "X-Acs-Version": "2023-03-30", "X-Acs-Date": "2026-11-22T03:05:06Z", "X-Acs-Signature-Nonce": "n",
				"X-Acs-Content-Sha256": acs.Hash([]byte("b")), "Content-Type": "application/xml",
				"X-Acs-Security-Token": "T", "X-Acs-Accesskey-Id": "AK",
			},
		},
		"FC with a token": {
			func(r *http.Request) { acs.SignFC(r, temporary, []byte("b"), at) },
			map[string]string{
				"Content-Md5": "92eb5ffee6ae2fec3ad71c777531578f", "Date": "Sun, 22 Nov 2026 03:05:06 GMT", "Content-Type": "application/xml",
				"X-Fc-Security-Token": "T",
			},
		},
		"MNS": {
			func(r *http.Request) { acs.SignMNS(r, lasting, []byte("b"), at) },
			map[string]string{
				"Content-Md5": "OTJlYjVmZmVlNmFlMmZlYzNhZDcxYzc3NzUzMTU3OGY=", "Date": "Sun, 22 Nov 2026 03:05:06 GMT",
				"Content-Type": "application/xml", "X-Mns-Version": "2015-06-06",
			},
		},
		"MNS without a body": {
			func(r *http.Request) { acs.SignMNS(r, temporary, nil, at) },
			map[string]string{
				"Date": "Sun, 22 Nov 2026 03:05:06 GMT", "Content-Type": "application/xml", "X-Mns-Version": "2015-06-06", "Security-Token": "T",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := call()
			test.sign(r)
			got := map[string]string{}
			for name := range r.Header {
				got[name] = r.Header.Get(name)
			}
			if !strings.Contains(got["Authorization"], "AK") {
				t.Errorf("Authorization %q", got["Authorization"])
			}
			delete(got, "Authorization")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
