package awscall_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/clock"
)

const (
	keyID  = "AKIDEXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// reply is a response of the fake service.
type reply struct {
	status int // 200 if zero
	header map[string]string
	body   string
}

// seen is a request to the fake service.
type seen struct {
	Method, Path, Query string
	Header              http.Header
	Body                string
	Service, Region     string // in the scope of the signature
}

// fake is a service that verifies signatures and sends prepared replies.
type fake struct {
	url string

	mu      sync.Mutex
	replies []reply
	seen    []seen
	refused []error
}

func newFake(t *testing.T, replies ...reply) *fake {
	t.Helper()
	f := &fake{replies: replies}
	v, err := sigv4.New(sigv4.Config{Now: func() time.Time { return noon }, Lookup: func(id string) (sigv4.Key, bool) {
		return sigv4.Key{ID: keyID, Secret: secret}, id == keyID
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var id sigv4.Identity
		var err error
		if r.Header.Get("Authorization") != "" {
			id, err = v.Verify(r)
		}
		body, readErr := io.ReadAll(r.Body)
		if err == nil {
			err = readErr
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if err != nil {
			f.refused = append(f.refused, err)
		}
		f.seen = append(f.seen, seen{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header, string(body), id.Service, id.Region})
		answer := reply{}
		if len(f.replies) > 0 {
			answer, f.replies = f.replies[0], f.replies[1:]
		}
		w.Header().Set("Date", noon.Format(http.TimeFormat))
		for name, value := range answer.header {
			w.Header().Set(name, value)
		}
		if answer.status == 0 {
			answer.status = http.StatusOK
		}
		w.WriteHeader(answer.status)
		_, _ = io.WriteString(w, answer.body) // a client may have disconnected
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		for _, err := range f.refused {
			t.Errorf("the signature is refused: %v", err)
		}
	})
	f.url = server.URL
	return f
}

// asked returns the requests so far.
func (f *fake) asked() []seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

// still is a clock that stays at noon and counts the sleeps.
type still struct {
	clock.System
	mu    sync.Mutex
	slept int
}

func (s *still) Now() time.Time { return noon }

func (s *still) Sleep(ctx context.Context, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slept++
	return ctx.Err()
}

func newClient(t *testing.T, config awscall.Config) *awscall.Client {
	t.Helper()
	if config.Region == "" {
		config.Region = "eu-west-1"
	}
	if config.Credentials == nil {
		config.Credentials = credentials.NewStaticCredentialsProvider(keyID, secret, "")
	}
	if !config.HasClock() {
		config = config.WithClock(&still{})
	}
	c, err := awscall.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// static has a session token.
type static struct{ token string }

func (s static) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret, SessionToken: s.token}, nil
}
