package responseurl

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Bounds of the life of a response URL. Source: S3, query string authentication. The default is CloudFormation's.
const (
	DefaultURLLife = 2 * time.Hour
	MaxURLLife     = 7 * 24 * time.Hour
)

const (
	algorithm   = "AWS4-HMAC-SHA256"
	timeFormat  = "20060102T150405Z"
	dateFormat  = "20060102"
	maxSkew     = 15 * time.Minute // largest difference between the clocks of two nodes
	maxQuery    = 4096
	minSecret   = 16
	scopeSuffix = "/s3/aws4_request"
)

// SignerConfig configures a [Signer].
type SignerConfig struct {
	// KeyID is the access key ID in response URLs: letters and digits. Required.
	KeyID string
	// Secret is the signing key, at least 16 bytes. Required.
	Secret string
	// Bases are all URLs, with their paths, under which providers may reach the service: those that [Signer.Sign] gets
	// now, and those of URLs that are still valid. At least one is required. With them, [Signer.Verify] accepts requests
	// whose Host header or path prefix a proxy changed.
	Bases []*url.URL
}

// Signer makes response URLs and verifies requests to them. A URL is signed like a presigned S3 request: Signature
// Version 4 in the query, over the method, the path, the query and the host, not over the body. Source: S3,
// authenticating requests, using query parameters.
//
// The signed host is the host of the URL as it was made, and does not restrict access. [Signer.Verify] accepts a request
// with any Host header, since a proxy in front of the service may rewrite it.
type Signer struct {
	keyID, secret string
	bases         []endpoint
	last          atomic.Pointer[scopedKey]
}

// endpoint is the signed part of a base URL.
type endpoint struct{ host, path string }

// NewSigner returns a signer.
func NewSigner(c SignerConfig) (*Signer, error) {
	switch {
	case c.KeyID == "" || !isName(c.KeyID, ""):
		return nil, errors.New("response signer: the key ID must be letters and digits")
	case len(c.Secret) < minSecret:
		return nil, fmt.Errorf("response signer: the secret must be at least %d bytes long", minSecret)
	case len(c.Bases) == 0:
		return nil, errors.New("response signer: no base URL")
	}
	s := &Signer{keyID: c.KeyID, secret: c.Secret}
	for _, base := range c.Bases {
		e, err := newEndpoint(base)
		if err != nil {
			return nil, fmt.Errorf("response signer: %w", err)
		}
		s.bases = append(s.bases, e)
	}
	return s, nil
}

func newEndpoint(base *url.URL) (endpoint, error) {
	switch {
	case base == nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "":
		return endpoint{}, errors.New("base URL must be http or https and have a host")
	case base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		return endpoint{}, errors.New("base URL must have no query, fragment or user")
	case base.Path != "" && base.Path[0] != '/':
		return endpoint{}, errors.New("the path of a base URL must begin with a slash")
	}
	return endpoint{canonicalHost(base.Host), strings.TrimSuffix(base.Path, "/")}, nil
}

// SignOptions are the options of [Signer.Sign]. The zero value is valid.
type SignOptions struct {
	// Region is the region in the scope of the signature. Empty means the region in the stack's ARN, or else
	// us-east-1.
	Region string
	// Method is the only HTTP method for which the URL is valid. Empty means PUT.
	Method string
	// Expires is how long the URL is valid, in whole seconds from 1 s to [MaxURLLife]. Zero means [DefaultURLLife].
	Expires time.Duration
}

// Sign returns the URL for the answer to the request of key: base, a slash, and the key, percent-encoded as in S3. It
// fails if base is not an http URL or an ID in key is empty, contains a "|" or cannot be part of a path.
func (s *Signer) Sign(base *url.URL, key ResponseKey, now time.Time, o SignOptions) (string, error) {
	e, err := newEndpoint(base)
	if err != nil {
		return "", fmt.Errorf("sign response URL: %w", err)
	}
	if err := key.check(); err != nil {
		return "", fmt.Errorf("sign response URL: %w", err)
	}
	if o.Method == "" {
		o.Method = http.MethodPut
	}
	if o.Expires == 0 {
		o.Expires = DefaultURLLife
	}
	if o.Region == "" {
		o.Region = "us-east-1"
		if arn, err := wire.ParseStackARN(key.StackID); err == nil {
			o.Region = arn.Region
		}
	}
	if !isName(o.Region, "-") {
		return "", fmt.Errorf("sign response URL: bad region %q", o.Region)
	}
	if o.Expires < time.Second || o.Expires > MaxURLLife {
		return "", fmt.Errorf("sign response URL: it cannot live for %v, only for 1s to %v", o.Expires, MaxURLLife)
	}
	p := presigned{
		method: o.Method, host: e.host, path: e.path + "/" + key.String(), at: now.UTC(), region: o.Region,
		query: url.Values{
			"X-Amz-Algorithm":     {algorithm},
			"X-Amz-Credential":    {s.keyID + "/" + now.UTC().Format(dateFormat) + "/" + o.Region + scopeSuffix},
			"X-Amz-Date":          {now.UTC().Format(timeFormat)},
			"X-Amz-Expires":       {strconv.Itoa(int(o.Expires / time.Second))},
			"X-Amz-SignedHeaders": {"host"},
		},
	}
	path, query := escapePath(p.path), escapeQuery(p.query)
	return base.Scheme + "://" + base.Host + path + "?" + query + "&X-Amz-Signature=" + s.signature(p, path, query), nil
}

// Verify checks the signature and age of a request to a response URL and returns the key in the URL. It decodes and
// re-encodes the path and query, so a client may send "|" for "%7C". It accepts a signature for the host of the request
// or for any base: for a URL below a base it ignores the Host header. It also ignores other headers and the body. The
// method must be the signed one. The error is an [AccessError].
func (s *Signer) Verify(r *http.Request, now time.Time) (ResponseKey, error) {
	p, signature, life, err := s.readQuery(r.URL.RawQuery)
	if err != nil {
		return ResponseKey{}, err
	}
	p.method = r.Method
	tail, ok := s.tail(r.URL.Path)
	if !ok {
		return ResponseKey{}, errSignature
	}
	valid, query := false, escapeQuery(p.query)
	try := func(host, path string) {
		p.host, p.path = host, path
		valid = subtle.ConstantTimeCompare([]byte(s.signature(p, escapePath(path), query)), []byte(signature)) == 1 || valid
	}
	host := canonicalHost(r.Host)
	try(host, r.URL.Path)
	for _, base := range s.bases {
		if path := base.path + "/" + tail; base.host != host || path != r.URL.Path {
			try(base.host, path)
		}
	}
	if !valid {
		return ResponseKey{}, errSignature
	}
	if p.at.After(now.Add(maxSkew)) {
		return ResponseKey{}, &AccessError{Code: "AccessDenied", Message: "Request is not valid yet"}
	}
	if expires := p.at.Add(life); now.After(expires) {
		return ResponseKey{}, &AccessError{
			Code: "AccessDenied", Message: "Request has expired", Expires: expires, ServerTime: now.UTC(),
		}
	}
	key, err := ParseResponseKey(tail)
	if err != nil { // signed with our key, but for another purpose
		return ResponseKey{}, errSignature
	}
	return key, nil
}

// tail returns the key from a request's path: the part after the path of a base, or after the last segment of that path
// if a proxy stripped its own prefix.
func (s *Signer) tail(requestPath string) (string, bool) {
	for _, base := range s.bases {
		if tail, ok := strings.CutPrefix(requestPath, base.path+"/"); ok {
			return tail, true
		}
	}
	for _, base := range s.bases {
		if tail, ok := strings.CutPrefix(requestPath, "/"+path.Base(base.path)+"/"); ok && base.path != "" {
			return tail, true
		}
	}
	return "", false
}

// readQuery parses the query of a signed URL and checks its form.
func (s *Signer) readQuery(raw string) (p presigned, signature string, life time.Duration, err error) {
	malformed := func(message string) (presigned, string, time.Duration, error) {
		return presigned{}, "", 0, &AccessError{Code: "AuthorizationQueryParametersError", Message: message}
	}
	if len(raw) > maxQuery {
		return malformed("The query is too long")
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return malformed("The query cannot be decoded")
	}
	if !query.Has("X-Amz-Signature") && !query.Has("X-Amz-Algorithm") {
		return presigned{}, "", 0, &AccessError{Code: "AccessDenied", Message: "Access Denied"}
	}
	for _, name := range []string{
		"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature",
	} {
		if len(query[name]) != 1 {
			return malformed("Query-string authentication requires the X-Amz-Algorithm, X-Amz-Credential, " +
				"X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters, each once")
		}
	}
	if query.Get("X-Amz-Algorithm") != algorithm {
		return malformed("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"")
	}
	at, err := time.Parse(timeFormat, query.Get("X-Amz-Date"))
	if err != nil {
		return malformed("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
	}
	seconds, err := strconv.ParseUint(query.Get("X-Amz-Expires"), 10, 32)
	life = time.Duration(seconds) * time.Second
	if err != nil || life < time.Second || life > MaxURLLife {
		return malformed("X-Amz-Expires must be a number from 1 to 604800")
	}
	if query.Get("X-Amz-SignedHeaders") != "host" {
		return malformed("X-Amz-SignedHeaders must be \"host\"")
	}
	id, scope, _ := strings.Cut(query.Get("X-Amz-Credential"), "/")
	region, ok := strings.CutSuffix(strings.TrimPrefix(scope, at.Format(dateFormat)+"/"), scopeSuffix)
	if !ok || !strings.HasPrefix(scope, at.Format(dateFormat)+"/") || region == "" || !isName(region, "-") {
		return malformed("Error parsing the X-Amz-Credential parameter; want \"<YOUR-AKID>/YYYYMMDD/REGION/s3/aws4_request\"")
	}
	if id != s.keyID {
		return presigned{}, "", 0, &AccessError{
			Code: "InvalidAccessKeyId", Message: "The AWS Access Key Id you provided does not exist in our records.",
		}
	}
	signature = query.Get("X-Amz-Signature")
	query.Del("X-Amz-Signature")
	return presigned{at: at, region: region, query: query}, signature, life, nil
}

// String returns the key ID; it does not show the secret.
func (s *Signer) String() string { return "response signer " + s.keyID }

// GoString is [Signer.String].
func (s *Signer) GoString() string { return s.String() }

// presigned holds the parts of a presigned request that its signature covers.
type presigned struct {
	method string
	host   string
	path   string // decoded
	query  url.Values
	at     time.Time
	region string
}

// signature returns the hexadecimal Signature Version 4 of the request for the service s3. path and query are those of p,
// escaped.
func (s *Signer) signature(p presigned, path, query string) string {
	canonical := p.method + "\n" + path + "\n" + query + "\nhost:" + p.host +
		"\n\nhost\nUNSIGNED-PAYLOAD"
	hash := sha256.Sum256([]byte(canonical))
	date := p.at.Format(dateFormat)
	toSign := algorithm + "\n" + p.at.Format(timeFormat) + "\n" + date + "/" + p.region + scopeSuffix + "\n" + hex.EncodeToString(hash[:])
	return hex.EncodeToString(hmacSHA256(s.scopeKey(date, p.region), toSign))
}

// scopedKey is the signing key of a date and region.
type scopedKey struct {
	date, region string
	key          []byte
}

// scopeKey returns the signing key of a scope. It changes daily, so the last one is cached.
func (s *Signer) scopeKey(date, region string) []byte {
	if last := s.last.Load(); last != nil && last.date == date && last.region == region {
		return last.key
	}
	key := []byte("AWS4" + s.secret)
	for _, part := range []string{date, region, "s3", "aws4_request"} {
		key = hmacSHA256(key, part)
	}
	s.last.Store(&scopedKey{date, region, key})
	return key
}

func hmacSHA256(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// canonicalHost returns a host in lower case and without the port of its scheme, which some clients leave out.
func canonicalHost(host string) string {
	host = strings.ToLower(host)
	for _, port := range []string{":80", ":443"} {
		if bare, ok := strings.CutSuffix(host, port); ok {
			return bare
		}
	}
	return host
}

func escapePath(p string) string { return escape(p, '/') }

// escapeQuery returns the parameters as a canonical query: sorted by encoded name, then by encoded value.
func escapeQuery(query url.Values) string {
	pairs := make([]string, 0, len(query))
	for name, values := range query {
		for _, v := range values {
			pairs = append(pairs, escape(name, 0)+"="+escape(v, 0))
		}
	}
	slices.SortFunc(pairs, func(a, b string) int {
		// "=" sorts after some characters of a name, so names are compared without it.
		an, av, _ := strings.Cut(a, "=")
		bn, bv, _ := strings.Cut(b, "=")
		return slices.Compare([]string{an, av}, []string{bn, bv})
	})
	return strings.Join(pairs, "&")
}

// escape percent-encodes every byte that is not unreserved in RFC 3986 or the byte keep.
func escape(text string, keep byte) string {
	const upperHex = "0123456789ABCDEF"
	stays := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '~' ||
			keep != 0 && c == keep
	}
	more := 0
	for i := range len(text) {
		if !stays(text[i]) {
			more += len("%00") - 1
		}
	}
	if more == 0 {
		return text
	}
	b := make([]byte, 0, len(text)+more)
	for i := range len(text) {
		if c := text[i]; stays(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}
