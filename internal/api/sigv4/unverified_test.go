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

	"github.com/pintle-dev/pintle/internal/api/intake"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

// counted counts the bytes that are read of a body.
type counted struct {
	from io.Reader
	read int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += n
	return n, err
}

// TestUnverifiedBodies sends bodies with the ID of an existing key and a signature by another secret.
func TestUnverifiedBodies(t *testing.T) {
	v, err := sigv4.New(sigv4.Config{
		Lookup: func(id string) (sigv4.Key, bool) {
			return sigv4.Key{ID: id, Secret: "other", Account: "000000000000"}, true
		},
		Now: func() time.Time { return noon }, MaxBody: 100, Bodies: map[string]int64{"lambda": 1000},
		Intake: intake.New(intake.Config{Total: 600, Memory: 10, Dir: t.TempDir()}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		service, declared string
		size              int
		code              string
		read              bool
	}{
		"short":           {"cloudformation", "", 100, "SignatureDoesNotMatch", true},
		"too long":        {"cloudformation", "", 101, "RequestEntityTooLarge", true},
		"long":            {"lambda", "", 600, "SignatureDoesNotMatch", true},
		"beyond the rest": {"lambda", "", 601, "ServiceUnavailable", true},
		"declared hash":   {"lambda", strings.Repeat("ab", 32), 600, "SignatureDoesNotMatch", false},
	} {
		t.Run(name, func(t *testing.T) {
			body := &counted{from: strings.NewReader(strings.Repeat("x", c.size))}
			r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/", body)
			if err != nil {
				t.Fatal(err)
			}
			if c.declared != "" {
				r.Header.Set("X-Amz-Content-Sha256", c.declared)
			}
			credentials := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: "guessed"}
			if err := v4.NewSigner().SignHTTP(context.Background(), credentials, r, hashOf(""), c.service, "eu-west-1", noon); err != nil {
				t.Fatal(err)
			}
			_, err = v.Verify(r)
			if reported, ok := errors.AsType[*sigv4.Error](err); !ok || reported.Code != c.code || body.read > 0 != c.read {
				t.Errorf("%v after %d bytes, want %s", err, body.read, c.code)
			}
			if err := r.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
