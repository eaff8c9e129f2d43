package sigv4

import (
	"crypto/hmac"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxExpires is the maximum lifetime of a presigned URL.
const maxExpires = 7 * 24 * time.Hour

// Presigned reports whether r has its signature in the query, like a presigned URL, and none in a header.
func Presigned(r *http.Request) bool {
	if len(r.Header.Values("Authorization")) > 0 {
		return false
	}
	query := r.URL.Query()
	return query.Has("X-Amz-Algorithm") || query.Has("X-Amz-Signature") || query.Has("AWSAccessKeyId")
}

// presigned holds the parameters of a presigned URL.
type presigned struct {
	authorization
	at      time.Time
	expires time.Duration
	payload string
	tokens  []string // session tokens
}

func badQuery(format string, args ...any) *Error {
	return refuse("AuthorizationQueryParametersError", http.StatusBadRequest, fmt.Sprintf(format, args...))
}

// parsePresigned parses the parameters of a presigned URL. Its errors never quote them.
func parsePresigned(r *http.Request) (presigned, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(r.URL.RawQuery) > maxAuthorization {
		return presigned{}, refuse("MalformedQueryString", http.StatusBadRequest, "The query string contains a syntax error.")
	}
	if query.Has("AWSAccessKeyId") {
		return presigned{}, refuse("InvalidRequest", http.StatusBadRequest,
			"The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256; boto3 does with the signature version s3v4.")
	}
	one := func(name string) (value string, err error) {
		if len(query[name]) != 1 {
			return "", badQuery("Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, " +
				"X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters, once each.")
		}
		return query[name][0], nil
	}
	var p presigned
	values := map[string]string{}
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Expires"} {
		if values[name], err = one(name); err != nil {
			return p, err
		}
	}
	if values["X-Amz-Algorithm"] != algorithm {
		return p, badQuery("X-Amz-Algorithm only supports %q", algorithm)
	}
	if err := p.setCredential(values["X-Amz-Credential"]); err != nil {
		return p, err
	}
	if err := p.setSignedHeaders(values["X-Amz-SignedHeaders"]); err != nil {
		return p, err
	}
	if p.signature, err = hex.DecodeString(values["X-Amz-Signature"]); err != nil || len(p.signature) != 32 {
		return p, badQuery("X-Amz-Signature must be 64 hexadecimal digits.")
	}
	if p.at, err = time.Parse(basicTime, values["X-Amz-Date"]); err != nil {
		return p, badQuery("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
	}
	seconds, err := strconv.Atoi(values["X-Amz-Expires"])
	if err != nil {
		return p, badQuery("X-Amz-Expires should be a number")
	}
	if seconds < 0 || seconds > int(maxExpires/time.Second) {
		return p, badQuery("X-Amz-Expires must be non-negative and less than a week (in seconds); that is, it must be no more than %d.", int(maxExpires/time.Second))
	}
	p.expires = time.Duration(seconds) * time.Second
	p.tokens = query["X-Amz-Security-Token"]
	p.payload = query.Get("X-Amz-Content-Sha256")
	return p, nil
}

// verifyPresigned is like [Verifier.Verify], for a signature in the query.
func (v *Verifier) verifyPresigned(r *http.Request) (Identity, error) {
	p, err := parsePresigned(r)
	if err != nil {
		return Identity{}, err
	}
	if p.service != s3 {
		return Identity{}, refuse("MissingAuthenticationToken", http.StatusForbidden,
			"Request is missing Authentication Token: presigned URLs are accepted only for S3.")
	}
	key, known := v.config.Lookup(p.keyID)
	var session *Session
	if !known && v.config.Sessions != nil && len(p.tokens) == 1 {
		if issued, of, ok := v.config.Sessions.open(p.keyID, p.tokens[0]); ok {
			key, session, known = issued, &of, true
		}
	}
	if !known {
		message := "The AWS Access Key Id you provided does not exist in our records."
		if v.config.Dev {
			// Any web page could make a browser send such a URL.
			message += " A development server takes any key in a header, but presigned URLs only of its own keys."
		}
		return Identity{}, refuse("InvalidAccessKeyId", http.StatusForbidden, message)
	}
	if session == nil && !key.goesWith(p.tokens) || len(r.Header.Values("X-Amz-Security-Token")) > 0 {
		return Identity{}, refuse("InvalidToken", http.StatusBadRequest,
			"The provided token is malformed or otherwise invalid. The key of this id has no session token: unset AWS_SESSION_TOKEN.")
	}
	if err := checkSigned(p.authorization, r.Header); err != nil {
		return Identity{}, err
	}
	if p.at.Format("20060102") != p.date {
		return Identity{}, badQuery("Invalid credential date. It must be the date of X-Amz-Date.")
	}
	now := v.config.Now().UTC()
	if p.at.After(now.Add(v.config.Skew)) {
		return Identity{}, refuse("AccessDenied", http.StatusForbidden, "Request is not valid yet")
	}
	if now.After(p.at.Add(p.expires)) {
		return Identity{}, refuse("AccessDenied", http.StatusForbidden, "Request has expired")
	}
	body, err := p.body(r)
	if err != nil {
		return Identity{}, err
	}
	query, err := canonicalQuery(withoutSignature(r.URL.RawQuery))
	if err != nil {
		return Identity{}, err
	}
	headers := canonicalHeaders(r, p.signedHeaders)
	signingKey := deriveKey(string(key.Secret), p.authorization)
	for _, path := range canonicalPaths(r.URL, p.service) {
		canonical := r.Method + "\n" + path + "\n" + query + "\n" + headers + "\n" + p.signedList + "\n" + body.hash
		if hmac.Equal(p.signature, sign(signingKey, p.authorization, p.at, canonical)) {
			body.guard(r)
			if session.over(now) {
				return Identity{}, refuse("ExpiredToken", http.StatusBadRequest, "The provided token has expired.")
			}
			return identify(key, session, p.authorization), nil
		}
	}
	return Identity{}, mismatch("The request signature we calculated does not match the signature you provided. Check your key and signing method.")
}

// body returns the payload that the URL or a signed header declares, usually none.
func (p presigned) body(r *http.Request) (payload, error) {
	declared := p.payload
	if declared == "" {
		declared = r.Header.Get("X-Amz-Content-Sha256")
	}
	if declared == "" {
		declared = literalPayloads[0]
	}
	return payloadOf(declared)
}

// withoutSignature returns a query without its signature, which the signature cannot cover.
func withoutSignature(raw string) string {
	var kept []string
	for part := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(part, "=")
		if name, err := url.QueryUnescape(name); err == nil && name == "X-Amz-Signature" {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "&")
}
