package acs_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/acs"
)

// TestSignatureV1 uses the example of the V1 page: the signature is the same wherever the parameters are.
func TestSignatureV1(t *testing.T) {
	parameters, err := url.ParseQuery("AccessKeyId=testid&Action=DescribeRegions&Format=XML&SignatureMethod=HMAC-SHA1" +
		"&SignatureNonce=3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf&SignatureVersion=1.0&Timestamp=2016-02-23T12:46:24Z&Version=2014-05-26" +
		"&Signature=of-no-account")
	if err != nil {
		t.Fatal(err)
	}
	const want = "GET&%2F&AccessKeyId%3Dtestid%26Action%3DDescribeRegions%26Format%3DXML%26SignatureMethod%3DHMAC-SHA1" +
		"%26SignatureNonce%3D3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf%26SignatureVersion%3D1.0%26Timestamp%3D2016-02-23T12%253A46%253A24Z" +
		"%26Version%3D2014-05-26"
	if got := acs.StringToSignV1("GET", parameters); got != want {
		t.Errorf("string to sign\n%s, want\n%s", got, want)
	}
	if got := acs.SignatureV1("GET", parameters, "testsecret"); got != "OLeaidS1JvxuMvnyHOwuJ+uX5qY=" {
		t.Errorf("signature %s", got)
	}
	// The page about the ROS API shows this value for its own call too, although the parameters differ.
	parameters, err = url.ParseQuery("AccessKeyId=testid&Action=DescribeRegions&Format=XML&SignatureMethod=HMAC-SHA1" +
		"&SignatureNonce=3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf&SignatureVersion=1.0&Timestamp=2016-02-23T12:46:24Z&Version=2019-09-10")
	if err != nil {
		t.Fatal(err)
	}
	if got := acs.SignatureV1("GET", parameters, "testsecret"); got == "OLeaidS1JvxuMvnyHOwuJ+uX5qY=" {
		t.Error("the version is not signed")
	}
}

// TestSignatureV3 uses the example of the V3 page.
func TestSignatureV3(t *testing.T) {
	r := httptest.NewRequest("POST", "https://ecs.cn-shanghai.aliyuncs.com/?RegionId=cn-shanghai&ImageId="+
		"win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd", strings.NewReader(""))
	empty := acs.Hash(nil)
	for name, text := range map[string]string{
		"x-acs-action": "RunInstances", "x-acs-version": "2014-05-26", "x-acs-date": "2023-10-26T10:22:32Z",
		"x-acs-signature-nonce": "3156853299f313e23d1673dc12e1703d", "x-acs-content-sha256": empty,
	} {
		r.Header.Set(name, text)
	}
	signed := acs.SignedV3(r.Header)
	if got := acs.Hash([]byte(acs.CanonicalV3(r, signed, empty))); got != "7ea06492da5221eba5297e897ce16e55f964061054b7695beedaac1145b1e259" {
		t.Errorf("canonical form\n%s", acs.CanonicalV3(r, signed, empty))
	}
	if got := acs.SignatureV3(r, signed, empty, "YourAccessKeySecret"); got != "06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0" {
		t.Errorf("signature %s", got)
	}
}

func TestEscape(t *testing.T) {
	if got := acs.Escape("a b*c~d+e/é&="); got != "a%20b%2Ac~d%2Be%2F%C3%A9%26%3D" {
		t.Error(got)
	}
}
