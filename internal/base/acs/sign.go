package acs

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// SignV3 signs a ROA or RPC call and its body: it sets the x-acs-* and Authorization headers. Each call needs another
// nonce.
func SignV3(r *http.Request, c Credentials, action, version string, body []byte, nonce string, at time.Time) {
	hash := Hash(body)
	for name, text := range map[string]string{
		"x-acs-action": action, "x-acs-version": version, "x-acs-date": at.UTC().Format("2006-01-02T15:04:05Z"),
		"x-acs-signature-nonce": nonce, "x-acs-content-sha256": hash,
	} {
		r.Header.Set(name, text)
	}
	if c.Token != "" {
		r.Header.Set("x-acs-security-token", c.Token)
		r.Header.Set("x-acs-accesskey-id", c.ID)
	}
	signed := SignedV3(r.Header)
	r.Header.Set("Authorization", Algorithm+" Credential="+c.ID+",SignedHeaders="+strings.Join(signed, ";")+
		",Signature="+SignatureV3(r, signed, hash, c.Secret))
}

// SignFC signs a call of Function Compute 2.0, API 2016-08-15, and its body: it sets Date, Content-MD5 and
// Authorization. The query is not signed.
func SignFC(r *http.Request, c Credentials, body []byte, at time.Time) {
	sum := md5.Sum(body)
	r.Header.Set("Content-MD5", hex.EncodeToString(sum[:]))
	r.Header.Set("Date", at.UTC().Format(http.TimeFormat))
	if c.Token != "" {
		r.Header.Set("X-Fc-Security-Token", c.Token)
	}
	r.Header.Set("Authorization", "FC "+c.ID+":"+SignatureFC(r.Method, r.Header, r.URL.Path, c.Secret))
}

// SignatureFC returns the signature of a call of Function Compute 2.0. resource is the unescaped path, or the result
// of [ResourceFC] if the query is signed too. Source: Function Compute 2.0, signature authentication. The test uses
// an example of its Go SDK.
func SignatureFC(method string, header http.Header, resource, secret string) string {
	return base64.StdEncoding.EncodeToString(mac(sha256.New, secret, StringToSignFC(method, header, resource)))
}

// StringToSignFC returns the text that [SignatureFC] signs. An expiry time in the query of the resource replaces the
// date.
func StringToSignFC(method string, header http.Header, resource string) string {
	date := header.Get("Date")
	for _, line := range strings.Split(resource, "\n")[1:] {
		if expires, ok := strings.CutPrefix(line, "x-fc-expires="); ok {
			date = expires
		}
	}
	return method + "\n" + header.Get("Content-MD5") + "\n" + header.Get("Content-Type") + "\n" + date + "\n" +
		prefixed(header, "x-fc-", false) + resource
}

// ResourceFC returns the resource of a call whose query is signed.
func ResourceFC(path string, query url.Values) string {
	var lines []string
	for name, values := range query {
		if len(values) == 0 {
			lines = append(lines, name)
		}
		for _, v := range values {
			lines = append(lines, name+"="+v)
		}
	}
	slices.Sort(lines)
	return path + "\n" + strings.Join(lines, "\n")
}

// MNSVersion is the API version of Simple Message Queue, which was called MNS.
const MNSVersion = "2015-06-06"

// SignMNS signs a call of Simple Message Queue and its body: it sets Date, Content-MD5, x-mns-version and
// Authorization.
func SignMNS(r *http.Request, c Credentials, body []byte, at time.Time) {
	if len(body) > 0 { // like the official clients, encode the hexadecimal digits of the sum
		sum := md5.Sum(body)
		r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(sum[:]))))
	}
	r.Header.Set("Date", at.UTC().Format(http.TimeFormat))
	r.Header.Set("X-Mns-Version", MNSVersion)
	if c.Token != "" {
		r.Header.Set("Security-Token", c.Token)
	}
	r.Header.Set("Authorization", "MNS "+c.ID+":"+SignatureMNS(r, c.Secret))
}

// SignatureMNS returns the signature of a call of Simple Message Queue. Source: Simple Message Queue, sign requests.
// The test uses the example of its page about the string to sign.
func SignatureMNS(r *http.Request, secret string) string {
	text := r.Method + "\n" + r.Header.Get("Content-MD5") + "\n" + r.Header.Get("Content-Type") + "\n" + r.Header.Get("Date") + "\n" +
		prefixed(r.Header, "x-mns-", true) + r.URL.RequestURI()
	return base64.StdEncoding.EncodeToString(mac(sha1.New, secret, text))
}

// prefixed returns a line for each header with the prefix, sorted by name.
func prefixed(header http.Header, prefix string, trim bool) string {
	var lines []string
	for name := range header {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, prefix) {
			text := header.Get(name)
			if trim {
				text = strings.TrimSpace(text)
			}
			lines = append(lines, lower+":"+text+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
