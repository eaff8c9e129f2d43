// Package awssign signs AWS calls with Signature Version 4. It imports only the standard library, because programs
// that import the provider SDK depend on it.
package awssign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Key is an AWS access key. Session is empty for a permanent key.
type Key struct{ ID, Secret, Session string }

// Sign signs a request to any service except S3. The signature covers the body, the host and all headers of the
// request, which must have no query. Source: AWS, Signature Version 4 for API requests.
func (k Key) Sign(r *http.Request, body []byte, region, service string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	day := stamp[:8]
	r.Header.Set("X-Amz-Date", stamp)
	if k.Session != "" {
		r.Header.Set("X-Amz-Security-Token", k.Session)
	}
	headers := map[string]string{"host": r.URL.Host}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(strings.Fields(strings.Join(values, ",")), " ")
	}
	var names []string
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	var lines strings.Builder
	for _, name := range names {
		lines.WriteString(name + ":" + headers[name] + "\n")
	}
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	signed := strings.Join(names, ";")
	canonical := strings.Join([]string{r.Method, EscapePath(path), "", lines.String(), signed, hexHash(body)}, "\n")
	scope := strings.Join([]string{day, region, service, "aws4_request"}, "/")
	key := []byte("AWS4" + k.Secret)
	for _, part := range []string{day, region, service, "aws4_request", "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hexHash([]byte(canonical))} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+k.ID+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(key))
}

func hexHash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// EscapePath percent-encodes a path except slashes and unreserved characters. The signature covers the escaped form
// of the path, which is already encoded.
func EscapePath(path string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}
