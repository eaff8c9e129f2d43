// Package acs signs calls of Alibaba Cloud's services, in each of the signature versions in use.
//
// RPC calls are signed in their parameters (V1, HMAC-SHA1) or in their headers (V3, ACS3-HMAC-SHA256). The package
// computes the string to sign for both sides: a client signs it, and a server computes it again to verify a
// signature.
//
// Sources: Alibaba Cloud, "Request syntax and signature method V2 of RPC style" and "V3"; the vectors of its pages are the tests.
package acs

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Algorithm is the name of the V3 signature, with which the Authorization of a call begins.
const Algorithm = "ACS3-HMAC-SHA256"

// SignatureV1 returns the signature of an RPC call by its parameters, wherever in the call they are: all but Signature count,
// and of a name that is there several times the first value does.
func SignatureV1(method string, parameters url.Values, secret string) string {
	return base64.StdEncoding.EncodeToString(mac(sha1.New, secret+"&", StringToSignV1(method, parameters)))
}

// StringToSignV1 returns what [SignatureV1] signs.
func StringToSignV1(method string, parameters url.Values) string {
	return method + "&" + Escape("/") + "&" + Escape(canonicalQuery(parameters, "Signature"))
}

// SignatureV3 returns the signature of a call in hexadecimal digits, over the headers that are named, in lower case and sorted,
// and the hash of the body in hexadecimal digits. Host counts as a header.
func SignatureV3(r *http.Request, signed []string, bodyHash, secret string) string {
	return hex.EncodeToString(mac(sha256.New, secret, StringToSignV3(r, signed, bodyHash)))
}

// StringToSignV3 returns what [SignatureV3] signs.
func StringToSignV3(r *http.Request, signed []string, bodyHash string) string {
	return Algorithm + "\n" + Hash([]byte(CanonicalV3(r, signed, bodyHash)))
}

// CanonicalV3 returns a call in the form in which it is signed.
func CanonicalV3(r *http.Request, signed []string, bodyHash string) string {
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	var headers strings.Builder
	for _, name := range signed {
		text := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			text = r.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(text) + "\n")
	}
	return strings.Join([]string{
		r.Method, path, canonicalQuery(r.URL.Query()), headers.String(), strings.Join(signed, ";"), bodyHash,
	}, "\n")
}

// SignedV3 returns the names of the headers that the signature of a call must cover: host, content-type, and all that begin with
// x-acs-, in lower case and sorted. A client may sign others too.
func SignedV3(h http.Header) []string {
	names := []string{"host"}
	for name := range h {
		if lower := strings.ToLower(name); lower == "content-type" || strings.HasPrefix(lower, "x-acs-") {
			names = append(names, lower)
		}
	}
	slices.Sort(names)
	return names
}

// Hash returns the SHA-256 of a text in hexadecimal digits.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Escape encodes a text as the signatures have it: everything but letters, digits and -_.~ as %XY.
func Escape(text string) string {
	return strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(text))
}

// canonicalQuery joins parameters sorted by their names, of each the first value.
func canonicalQuery(parameters url.Values, without ...string) string {
	names := make([]string, 0, len(parameters))
	for name := range parameters {
		if !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = Escape(name) + "=" + Escape(parameters.Get(name))
	}
	return strings.Join(names, "&")
}

func mac(of func() hash.Hash, key, text string) []byte {
	m := hmac.New(of, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}
