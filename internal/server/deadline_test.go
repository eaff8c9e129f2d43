package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/server"
)

// timed is a response writer that records the deadlines of its connection.
type timed struct {
	*httptest.ResponseRecorder
	read []time.Duration // from now
}

func (w *timed) SetReadDeadline(at time.Time) error {
	w.read = append(w.read, time.Until(at))
	return nil
}

func (w *timed) SetWriteDeadline(time.Time) error { return nil }

// TestDeadlineOfUnauthenticatedRequests checks that an unauthenticated or refused request does not extend its connection for long.
func TestDeadlineOfUnauthenticatedRequests(t *testing.T) {
	for name, test := range map[string]struct {
		id       string
		min, max time.Duration // of the last deadline
	}{
		"authenticated": {"AKID", 59 * time.Minute, 2 * time.Hour},
		"refused":       {"", 0, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := &timed{ResponseRecorder: httptest.NewRecorder()}
			world := newWorld(t, func(_ *world, config *server.Config) {
				config.Services = map[string]server.Service{"lambda": {
					Handler: http.NotFoundHandler(), Timeout: time.Hour, Paths: true,
					Refuse: func(http.ResponseWriter, *http.Request, *query.Error) {},
				}}
			})
			r := httptest.NewRequest(http.MethodPost, world.url+"/x", strings.NewReader("{}"))
			r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+test.id+"/20261122/eu-west-1/lambda/aws4_request, SignedHeaders=host, Signature="+
				strings.Repeat("0", 64))
			world.server.Handler().ServeHTTP(w, r)
			if last := w.read[len(w.read)-1]; last < test.min || last > test.max || w.read[0] > 10*time.Minute {
				t.Errorf("the deadlines are %v", w.read)
			}
		})
	}
}
