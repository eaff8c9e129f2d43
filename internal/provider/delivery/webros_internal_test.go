package delivery

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// TestPatience checks that a provider with sync has ten seconds, regardless of Timeout.
func TestPatience(t *testing.T) {
	for token, want := range map[wire.ServiceToken]time.Duration{
		"web:http://x": time.Hour, "web[idempotent]:http://x": time.Hour, "web[sync]:http://x": 10 * time.Second, "web[idempotent,sync]:http://x": 10 * time.Second,
	} {
		parsed, err := wire.ParseToken(token)
		if err != nil {
			t.Fatal(err)
		}
		if got := patience(parsed, time.Hour); got != want {
			t.Errorf("%s: %v", token, got)
		}
	}
}

func TestEndpoint(t *testing.T) {
	for given, want := range map[string]string{
		"": "https://own", "mns.example": "https://mns.example", "http://127.0.0.1:8080": "http://127.0.0.1:8080", "https://x.example/": "https://x.example",
		"ftp://x": "", "https://": "", "https://x/path": "", "https://u:p@x": "", "https://x?q": "", "https://x#f": "", "http://[": "",
	} {
		got, err := endpoint(alibabaCall{variable: "V", endpoint: "https://own"}, func(string) string { return given })
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}
