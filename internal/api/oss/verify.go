// Package oss implements the request side of Alibaba Cloud's Object Storage Service: it verifies the signature of a
// call, finds the bucket and object, and writes errors. The contents of buckets are handled by package objects.
package oss

import (
	"cmp"
	"crypto/hmac"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/acs"
)

// DefaultSkew is the maximum difference between the time of a call and the server's, in either direction.
const DefaultSkew = 15 * time.Minute

// DefaultRegion is the region of a call that does not name one.
const DefaultRegion = "cn-hangzhou"

// Limits of the input from unknown callers.
const (
	maxAuthorization = 8 << 10            // bytes of the header, and of a signed query
	maxExpires       = 7 * 24 * time.Hour // of a URL with a V4 signature
	maxKeyID         = 128
	v4Time           = "20060102T150405Z"
)

// Claimed reports whether the header or URL of a request has an OSS signature. It does not verify the signature.
func Claimed(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Authorization"), "OSS") || presigned(r) || Host(r.Host) && !hasAuthorization(r)
}

// presigned reports whether the URL of a request has an OSS signature.
func presigned(r *http.Request) bool {
	query := r.URL.Query()
	return !hasAuthorization(r) && (query.Has("OSSAccessKeyId") || query.Has("x-oss-signature-version"))
}

func hasAuthorization(r *http.Request) bool { return len(r.Header.Values("Authorization")) > 0 }

// Key is the secret for verifying a call.
type Key struct {
	Secret string
	// Known is false for an unknown key. On a development server, any signature in a header is then valid.
	Known bool
}

// Find returns the key for an access key ID. The token is that of a temporary key, or "".
type Find func(keyID, token, region string) (Key, *Error)

// signature is the signature of a request.
type signature struct {
	keyID, token, value string
	url                 bool
	// date is the signed date of V1, and at its parsed time. For a URL, both are the expiry.
	date string
	at   time.Time
	// scope is the scope of V4, nil for V1. expires is the lifetime of a V4 URL.
	scope   *acs.OSSScope
	expires time.Duration
}

// Verify returns an error unless the request is signed with the key that find returns for it. now is the server's time.
func Verify(r *http.Request, now time.Time, find Find) *Error {
	s, refused := read(r)
	if refused != nil {
		return refused
	}
	key, refused := find(s.keyID, s.token, s.region(r))
	if refused != nil {
		return refused
	}
	if !key.Known {
		if s.url { // any web page could make a browser send such a URL
			return unknownKey(" A development server takes any key in a header, but URLs only of its own keys.")
		}
		return nil
	}
	if refused := s.checkTime(now); refused != nil {
		return refused
	}
	if !s.matches(r, key.Secret) {
		return &Error{
			"SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. " +
				"Check your key and signing method.", http.StatusForbidden,
		}
	}
	return nil
}

// UnknownKey returns the error for an unknown access key.
func UnknownKey() *Error { return unknownKey("") }

func unknownKey(more string) *Error {
	return &Error{
		"InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records." + more, http.StatusForbidden,
	}
}

func badAuthorization(what string) *Error {
	return &Error{"InvalidArgument", "The Authorization of the request is not valid: " + what + ".", http.StatusBadRequest}
}

func badURL(what string) *Error {
	return &Error{"AuthorizationQueryParametersError", "The signature in the URL is not valid: " + what + ".", http.StatusBadRequest}
}

// read reads the signature of a request. Its errors never quote it.
func read(r *http.Request) (*signature, *Error) {
	switch values := r.Header.Values("Authorization"); {
	case len(values) > 1 || len(values) == 1 && len(values[0]) > maxAuthorization || len(r.URL.RawQuery) > 4*maxAuthorization:
		return nil, badAuthorization("it is given more than once, or too long")
	case len(values) == 1:
		return readHeader(r, values[0])
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badURL("the query has a syntax error")
	}
	for _, values := range query {
		if len(values) > 1 {
			return nil, badURL("a parameter is there more than once")
		}
	}
	switch version := query.Get("x-oss-signature-version"); {
	case version == acs.OSSAlgorithm:
		return readURL4(query)
	case version != "":
		return nil, badURL("of the versions, V1 and V4 are supported")
	case query.Has("OSSAccessKeyId"):
		return readURL1(query)
	}
	return nil, &Error{
		"AccessDenied", "Anonymous access is forbidden for this operation: objects are private here, regardless of the access control list " +
			"of their bucket is.", http.StatusForbidden,
	}
}

// readHeader reads an Authorization header: OSS KEY:SIGNATURE, or OSS4-HMAC-SHA256 and parameters.
func readHeader(r *http.Request, text string) (*signature, *Error) {
	s := &signature{}
	tokens := append(r.Header.Values("X-Oss-Security-Token"), r.Header.Values("Security-Token")...)
	if len(tokens) > 1 {
		return nil, badAuthorization("there is more than one security token")
	}
	s.token = strings.Join(tokens, "")
	if rest, ok := strings.CutPrefix(text, "OSS "); ok {
		s.keyID, s.value, ok = strings.Cut(strings.TrimSpace(rest), ":")
		if !ok || s.keyID == "" || len(s.keyID) > maxKeyID {
			return nil, badAuthorization(`want "OSS", a space, an access key id, a colon and a signature`)
		}
		s.date = cmp.Or(r.Header.Get("X-Oss-Date"), r.Header.Get("Date"))
		at, err := http.ParseTime(s.date)
		if err != nil {
			return nil, &Error{"AccessDenied", "OSS authentication requires a valid Date.", http.StatusForbidden}
		}
		s.at = at
		return s, nil
	}
	rest, ok := strings.CutPrefix(text, acs.OSSAlgorithm+" ")
	if !ok {
		return nil, badAuthorization("of the versions, V1 and V4 are supported")
	}
	if hash := r.Header.Get("X-Oss-Content-Sha256"); hash != acs.OSSUnsigned {
		return nil, &Error{
			"InvalidArgument", "The x-oss-content-sha256 header must be " + acs.OSSUnsigned + ".", http.StatusBadRequest,
		}
	}
	parameters := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if _, twice := parameters[name]; twice || !slices.Contains([]string{"Credential", "AdditionalHeaders", "Signature"}, name) {
			return nil, badAuthorization("it takes Credential, AdditionalHeaders and Signature, once each")
		}
		parameters[name] = value
	}
	s.value = parameters["Signature"]
	refused := s.setScope(parameters["Credential"], r.Header.Get("X-Oss-Date"), parameters["AdditionalHeaders"])
	return s, refused
}

// setScope parses the V4 parameters that headers and URLs share.
func (s *signature) setScope(credential, date, additional string) *Error {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 || parts[0] == "" || len(credential) > 4*maxKeyID || parts[4] != acs.OSSTerminator {
		return badAuthorization("Credential must be an access key id, a date, a region, a product and " + acs.OSSTerminator)
	}
	at, err := time.Parse(v4Time, date)
	if err != nil || !strings.HasPrefix(date, parts[1]+"T") {
		return badAuthorization("x-oss-date must be a time as 20231203T121212Z, on the day of Credential")
	}
	s.keyID, s.at = parts[0], at
	s.scope = &acs.OSSScope{Time: date, Region: parts[2], Product: parts[3]}
	if additional != "" {
		s.scope.Additional = strings.Split(additional, ";")
	}
	for i, name := range s.scope.Additional {
		if name == "" || name != strings.ToLower(name) || i > 0 && s.scope.Additional[i-1] >= name {
			return badAuthorization("AdditionalHeaders must be names of headers in lower case, sorted, once each")
		}
	}
	return nil
}

// readURL1 reads the parameters of a URL with a V1 signature.
func readURL1(query url.Values) (*signature, *Error) {
	s := &signature{
		url: true, keyID: query.Get("OSSAccessKeyId"), token: query.Get("security-token"), value: query.Get("Signature"),
		date: query.Get("Expires"),
	}
	seconds, err := strconv.ParseInt(s.date, 10, 64)
	if err != nil || s.value == "" || len(s.keyID) > maxKeyID {
		return nil, badURL("it needs OSSAccessKeyId, Expires, a Unix time, and Signature")
	}
	s.at = time.Unix(seconds, 0)
	return s, nil
}

// readURL4 reads the parameters of a URL with a V4 signature.
func readURL4(query url.Values) (*signature, *Error) {
	seconds, err := strconv.Atoi(query.Get("x-oss-expires"))
	if err != nil || seconds < 1 || seconds > int(maxExpires/time.Second) {
		return nil, badURL("x-oss-expires must be from 1 to 604800 seconds")
	}
	s := &signature{
		url: true, token: query.Get("x-oss-security-token"), value: query.Get("x-oss-signature"),
		expires: time.Duration(seconds) * time.Second,
	}
	refused := s.setScope(query.Get("x-oss-credential"), query.Get("x-oss-date"), query.Get("x-oss-additional-headers"))
	return s, refused
}

// region returns the region of a call.
func (s *signature) region(r *http.Request) string {
	if s.scope != nil && s.scope.Region != "" {
		return s.scope.Region
	}
	return cmp.Or(regionOf(r.Host), DefaultRegion)
}

// checkTime returns an error for a signature that has expired or whose time is too far from now.
func (s *signature) checkTime(now time.Time) *Error {
	expired := &Error{"AccessDenied", "Request has expired.", http.StatusForbidden}
	switch {
	case s.url && s.scope == nil:
		if now.After(s.at) {
			return expired
		}
		return nil
	case s.url:
		if now.After(s.at.Add(s.expires)) {
			return expired
		}
		if s.at.Before(now) {
			return nil
		}
	}
	if s.at.Before(now.Add(-DefaultSkew)) || s.at.After(now.Add(DefaultSkew)) {
		return &Error{
			"RequestTimeTooSkewed", "The difference between the request time and the current time is too large: it is " +
				now.UTC().Format(time.RFC3339) + " here.", http.StatusForbidden,
		}
	}
	return nil
}

// matches reports whether the signature was made with the secret.
func (s *signature) matches(r *http.Request, secret string) bool {
	var place acs.OSSObject
	place.Bucket, place.Key = Object(r)
	if s.scope == nil {
		return hmac.Equal([]byte(s.value), []byte(acs.SignatureOSS(r, place, s.date, secret)))
	}
	for _, equals := range []bool{false, true} {
		if hmac.Equal([]byte(s.value), []byte(acs.SignatureOSS4(r, place, *s.scope, equals, secret))) {
			return true
		}
	}
	return false
}
