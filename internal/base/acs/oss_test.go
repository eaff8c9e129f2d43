package acs_test

import (
	"net/http"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/acs"
)

// TestSignatureOSS uses signatures that the OSS SDK for Python, alibabacloud_oss_v2 1.4.1, made on 2023-12-16 at
// 16:20:57 with the key ak and the secret sk.
func TestSignatureOSS(t *testing.T) {
	const base = "http://bucket.oss-cn-hangzhou.aliyuncs.com"
	put := http.Header{
		"X-Oss-Meta-A": {"1"}, "X-Oss-Meta-A-B": {"2"}, "Content-Type": {"text/plain"}, "Zabc": {"v"},
		"Content-Md5": {"eB5eJF1ptWaXm4bijSPyxw=="},
	}
	odd := acs.OSSObject{Bucket: "bucket", Key: "a b/c+ü.txt"}
	plain := acs.OSSObject{Bucket: "bucket", Key: "k"}
	scope := acs.OSSScope{Time: "20231216T162057Z", Region: "cn-hangzhou", Product: "oss"}
	call := func(method, url string, header http.Header, more ...string) *http.Request {
		r, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		for i := 0; i < len(more); i += 2 {
			r.Header.Set(more[i], more[i+1])
		}
		return r
	}
	additional := scope
	additional.Additional = []string{"zabc"}
	for name, test := range map[string]struct{ got, want string }{
		"V1 header": {
			acs.SignatureOSS(call("PUT", base+"/a%20b/c%2B%C3%BC.txt?acl&other=1", put), odd, "Sat, 16 Dec 2023 16:20:57 GMT", "sk"),
			"A+g0H3utRRbukLHM4X6ldQ1+lAc=",
		},
		"V1 URL": {
			acs.SignatureOSS(call("GET", base+"/k?response-content-type=text%2Fplain&OSSAccessKeyId=ak&Expires=1702747257"+
				"&Signature=uat%2FDd%2Bht4uSpx%2BOGtGVGkGMYho%3D", nil), plain, "1702747257", "sk"),
			"uat/Dd+ht4uSpx+OGtGVGkGMYho=",
		},
		"V4 header": {
			acs.SignatureOSS4(call("PUT", base+"/a%20b/c%2B%C3%BC.txt?acl&other=1%2F2&empty=", put, "X-Oss-Date", scope.Time,
				"X-Oss-Security-Token", "tok", "X-Oss-Content-Sha256", acs.OSSUnsigned), odd, additional, false, "sk"),
			"0bb20df3c5302007fb04e9b43828cd1d92b5cf16826e4844e2af285a12a53654",
		},
		"V4 URL": {
			acs.SignatureOSS4(call("GET", base+"/k?x-oss-process=p&x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-date=20231216T162057Z"+
				"&x-oss-expires=3600&x-oss-credential=ak%2F20231216%2Fcn-hangzhou%2Foss%2Faliyun_v4_request&x-oss-security-token=t%2Fk"+
				"&x-oss-signature=00", nil), plain, scope, false, "sk"),
			"9d033e0ba36e01fc6308eb51f4e236d004f95dd9233e7242f7ef46feddf25756",
		},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s, want %s", name, test.got, test.want)
		}
	}
}
