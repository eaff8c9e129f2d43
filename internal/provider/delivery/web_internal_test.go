package delivery

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// TestSign checks a signature from the Standard Webhooks libraries.
func TestSign(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	SignWebhook(header, secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got, want := header.Get("webhook-signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "-1": 0, "99999999999": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0,
	} {
		if got := retryAfter(&http.Response{Header: http.Header{"Retry-After": {text}}}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func FuzzIsAnswer(f *testing.F) {
	f.Add([]byte(`{"Status":"SUCCESS"}`))
	f.Add([]byte("\uFEFF {\"Status\":1}"))
	f.Add([]byte(`{"Status":`))
	f.Add([]byte(`[]`))
	f.Add(append([]byte("{"), bytes.Repeat([]byte(" "), MaxAnswer)...))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := IsAnswer(body, MaxAnswer-1)
		if len(body) >= MaxAnswer {
			return
		}
		var fields map[string]any
		err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\uFEFF")), &fields)
		if _, want := fields["Status"]; got != (err == nil && want) {
			t.Errorf("%q: %t", body, got)
		}
	})
}

func FuzzScrub(f *testing.F) {
	f.Add("the password is ", "hunter2", " indeed", uint8(10))
	f.Add("X-Amz-Signature=", "a\"b\\c\nd", "&x", uint8(200))
	f.Fuzz(func(t *testing.T, before, secret, after string, limit uint8) {
		if !utf8.ValidString(secret) || strings.ContainsAny(secret, value.Mask+"REDACTED…") || len(strings.TrimSpace(secret)) < 4 {
			t.Skip("it may come about by masking")
		}
		s := newRedactor(store.Request{Body: &store.RequestBody{Properties: value.Items(value.SecretStr(secret))}})
		for _, spelling := range redact.Spellings(secret) {
			if got := s.text(before + spelling + after); strings.Contains(got, secret) {
				t.Errorf("%q is in %q", secret, got)
			}
			if got := s.excerpt(before+spelling+after, int(limit)); len(got) > int(limit)+len("…") {
				t.Errorf("the excerpt has %d bytes, want at most %d", len(got), limit)
			}
		}
	})
}
