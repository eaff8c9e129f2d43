package statemachine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// sign signs a POST to the root of a service with Signature Version 4. All headers that are there by then are signed.
// Source: IAM User Guide, "Create a signed AWS API request".
func sign(r *http.Request, body []byte, c Credentials, region, service string, now time.Time) {
	at := now.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", at)
	if c.Token != "" {
		r.Header.Set("X-Amz-Security-Token", c.Token)
	}
	names := []string{"host"}
	for name := range r.Header {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n/\n\n")
	for _, name := range names {
		value := r.URL.Host
		if name != "host" {
			value = strings.TrimSpace(r.Header.Get(textproto.CanonicalMIMEHeaderKey(name)))
		}
		canonical.WriteString(name + ":" + value + "\n")
	}
	signed := strings.Join(names, ";")
	canonical.WriteString("\n" + signed + "\n" + digest(body))
	scope := strings.Join([]string{at[:8], region, service, "aws4_request"}, "/")
	key := []byte("AWS4" + c.Secret)
	for _, part := range strings.Split(scope, "/") {
		key = mac(key, part)
	}
	signature := hex.EncodeToString(mac(key, strings.Join([]string{"AWS4-HMAC-SHA256", at, scope, digest([]byte(canonical.String()))}, "\n")))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.ID+"/"+scope+", SignedHeaders="+signed+", Signature="+signature)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
