package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/server"
)

// TestCalled checks that the server reports the caller of each call before it is served, whether the call may change
// something, and failures.
func TestCalled(t *testing.T) {
	var mu sync.Mutex
	var got []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, text)
	}
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Called = func(id sigv4.Identity, changes func() bool) func() {
			if !changes() {
				note("read by " + id.AccessKeyID)
				return nil
			}
			note(id.Service + " by " + id.AccessKeyID)
			return func() { note("failed") }
		}
		c.Services = map[string]server.Service{"events": server.JSONService(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			note("served")
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "Bad") {
				w.WriteHeader(http.StatusBadRequest)
			}
		}))}
	})
	for _, action := range []string{"PutRule", "DescribeRule", "PutBad"} {
		r, err := http.NewRequest(http.MethodPost, w.url, strings.NewReader("{}"))
		w.must(err)
		r.Header.Set("X-Amz-Target", "AWSEvents."+action)
		r.Header.Set("X-Amz-Date", time.Now().UTC().Format("20060102T150405Z"))
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=me/20260102/eu-west-1/events/aws4_request, "+
			"SignedHeaders=host;x-amz-date, Signature="+strings.Repeat("0", 64))
		answer, err := http.DefaultClient.Do(r)
		w.must(err)
		w.must(answer.Body.Close())
	}
	w.must(w.end()) // work after the reply is then done
	want := []string{"events by me", "served", "read by me", "served", "events by me", "served", "failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
