package awssign_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/base/awssign"
)

// TestSign uses an example of the Signature Version 4 test suite that AWS publishes.
func TestSign(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.amazonaws.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	awssign.Key{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}.Sign(r, nil, "us-east-1", "service", at)
	want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, " +
		"Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
	if got := r.Header.Get("Authorization"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
