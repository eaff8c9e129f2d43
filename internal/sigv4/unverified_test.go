package sigv4_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/pintle-dev/pintle/internal/sigv4"
)

// stuck is a body that comes to a stop behind its first part.
type stuck struct {
	text   string
	behind chan struct{} // closed when the part was read
	goOn   chan struct{}
}

func (s *stuck) Read(p []byte) (int, error) {
	if s.text == "" {
		close(s.behind)
		<-s.goOn
		return 0, io.EOF
	}
	n := copy(p, s.text)
	s.text = s.text[n:]
	return n, nil
}

// TestUnverifiedBodies: whoever knows the id of a key cannot have the server hold any number of large bodies.
func TestUnverifiedBodies(t *testing.T) {
	v, err := sigv4.New(sigv4.Config{
		Lookup: func(id string) (sigv4.Key, bool) {
			return sigv4.Key{ID: id, Secret: "other", Account: "000000000000"}, true
		},
		Now:     func() time.Time { return noon },
		MaxBody: 100, Bodies: map[string]int64{"lambda": 1000}, MaxUnverified: 500,
	})
	if err != nil {
		t.Fatal(err)
	}
	verify := func(body io.Reader) string {
		r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/", body)
		if err != nil {
			t.Error(err)
			return ""
		}
		credentials := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: "guessed"}
		if err := v4.NewSigner().SignHTTP(context.Background(), credentials, r, hashOf(""), "lambda", "eu-west-1", noon); err != nil {
			t.Error(err)
		}
		_, err = v.Verify(r)
		var told *sigv4.Error
		if !errors.As(err, &told) {
			t.Errorf("%v", err)
			return ""
		}
		return told.Code
	}
	const forged, busy = "SignatureDoesNotMatch", "ServiceUnavailable"
	large := strings.Repeat("x", 500) // of which 400 count
	held := &stuck{text: large, behind: make(chan struct{}), goOn: make(chan struct{})}
	done := make(chan string)
	go func() { done <- verify(held) }()
	<-held.behind
	if got := verify(strings.NewReader(large)); got != busy {
		t.Errorf("one more is told %s", got)
	}
	if got := verify(strings.NewReader(large[:200])); got != forged {
		t.Errorf("a small one is told %s", got)
	}
	close(held.goOn)
	if got := <-done; got != forged {
		t.Errorf("the first is told %s", got)
	}
	for range 3 {
		if got := verify(strings.NewReader(large)); got != forged {
			t.Errorf("a later one is told %s", got)
		}
	}
}
