package pintle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// accessKey is what calls of AWS are signed with.
type accessKey struct{ id, secret, session string }

// sign puts a signature into the header of a request to any service but S3: over its body, its host and every header that
// it has. The request must have no query. Source: AWS, Signature Version 4 for API requests.
func (k accessKey) sign(r *http.Request, body []byte, region, service string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	day := stamp[:8]
	r.Header.Set("X-Amz-Date", stamp)
	if k.session != "" {
		r.Header.Set("X-Amz-Security-Token", k.session)
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
	canonical := strings.Join([]string{r.Method, escapePath(path), "", lines.String(), signed, hexHash(body)}, "\n")
	scope := strings.Join([]string{day, region, service, "aws4_request"}, "/")
	key := []byte("AWS4" + k.secret)
	for _, part := range []string{day, region, service, "aws4_request", "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hexHash([]byte(canonical))} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+k.id+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(key))
}

func hexHash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// escapePath encodes a path that is encoded already once more, as the signature has it.
func escapePath(path string) string {
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
