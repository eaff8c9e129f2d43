// Package acs signs calls of Alibaba Cloud services with all signature versions in use.
//
// RPC calls are signed in their parameters (V1, HMAC-SHA1) or in their headers (V3, ACS3-HMAC-SHA256). The package
// computes the string to sign for both sides: a client signs it, and a server computes it again to verify a
// signature.
//
// Sources: Alibaba Cloud, "Request syntax and signature method V2 of RPC style" and "V3". The tests use the examples
// of those pages.
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

// Algorithm is the name of the V3 signature, with which the Authorization header begins.
const Algorithm = "ACS3-HMAC-SHA256"

// SignatureV1 returns the signature of an RPC call over all its parameters except Signature, whether they are in the
// URL or the body. Of a repeated parameter only the first value counts.
func SignatureV1(method string, parameters url.Values, secret string) string {
	return base64.StdEncoding.EncodeToString(mac(sha1.New, secret+"&", StringToSignV1(method, parameters)))
}

// StringToSignV1 returns the text that [SignatureV1] signs.
func StringToSignV1(method string, parameters url.Values) string {
	return method + "&" + Escape("/") + "&" + Escape(canonicalQuery(parameters, "Signature"))
}

// SignatureV3 returns the hexadecimal signature of a call over the signed headers and the body hash. The header names
// are in lower case and sorted, and include host. The hash is hexadecimal.
func SignatureV3(r *http.Request, signed []string, bodyHash, secret string) string {
	return hex.EncodeToString(mac(sha256.New, secret, StringToSignV3(r, signed, bodyHash)))
}

// StringToSignV3 returns the text that [SignatureV3] signs.
func StringToSignV3(r *http.Request, signed []string, bodyHash string) string {
	return Algorithm + "\n" + Hash([]byte(CanonicalV3(r, signed, bodyHash)))
}

// CanonicalV3 returns the canonical form of a call, which the signature covers.
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

// SignedV3 returns the names of the headers that the signature must cover: host, content-type and all that begin with
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

// Hash returns the SHA-256 of text in hexadecimal digits.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Escape percent-encodes text as the signatures require: everything except letters, digits and -_.~ as %XY.
func Escape(text string) string {
	return strings.NewReplacer("+", "%20", "*", "%2A", "%7E", "~").Replace(url.QueryEscape(text))
}

// canonicalQuery joins the first value of each parameter, sorted by name.
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
