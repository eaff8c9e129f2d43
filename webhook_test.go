package pintle

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// This signature is the test vector of the Standard Webhooks libraries.
func TestWebhookVector(t *testing.T) {
	at := time.Unix(1614265330, 0)
	body := []byte(`{"test": 2432232314}`)
	header := http.Header{
		"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}
	keys, err := parseWebhookSecrets([]string{"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.verify(header, body, at); err != nil {
		t.Error(err)
	}
	for name, refused := range map[string]error{
		"another body": keys.verify(header, []byte(`{"test": 2432232315}`), at),
		"later":        keys.verify(header, body, at.Add(webhookAge+time.Second)),
		"earlier":      keys.verify(header, body, at.Add(-webhookAge-time.Second)),
		"other secret": keys[:1].verify(header, body, at),
		"no secret":    keys[:0].verify(header, body, at),
	} {
		if refused == nil {
			t.Errorf("%s: taken", name)
		}
	}
	header.Set("Webhook-Id", "msg_2")
	if keys.verify(header, body, at) == nil {
		t.Error("another id: taken")
	}
}

func FuzzSNSMessage(f *testing.F) {
	const arn = "arn:aws:sns:us-east-1:123456789012:T"
	f.Add(`{"Type":"Notification","TopicArn":"` + arn + `","Timestamp":"2026-01-02T03:04:05Z","SignatureVersion":"1","Signature":"AA==","SigningCertURL":"https://sns.us-east-1.amazonaws.com/a.pem","Message":"{}"}`)
	f.Add(`{"TopicArn":"` + arn + `"}`)
	f.Fuzz(func(t *testing.T, body string) {
		dialled := &http.Client{Transport: away{}}
		s, err := NewServer(ServerConfig{
			Handlers:    []Handler{HandlerFunc(nil)},
			Topics:      []string{arn},
			Client:      dialled,
			Idempotency: newClockStore(),
			Logger:      newLog(io.Discard),
		})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader([]byte(body)))
		r.Header.Set("x-amz-sns-message-type", "Notification")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code < 400 {
			t.Errorf("%s: %d", body, w.Code)
		}
	})
}

// away is a network without connections; only SNS may be called.
type away struct{}

func (away) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "sns.us-east-1.amazonaws.com" {
		panic(r.URL.Host + " was dialled")
	}
	return nil, io.ErrUnexpectedEOF
}

func newLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
