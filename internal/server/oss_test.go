package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/audit"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/acs"
	"github.com/pintle-dev/pintle/internal/server"
)

// TestOSS checks how OSS calls reach their API on a development server with one key.
func TestOSS(t *testing.T) {
	var entries []audit.Entry
	w := newWorld(t, func(_ *world, c *server.Config) {
		c.Keys = func(id string) (sigv4.Key, bool) {
			return sigv4.Key{ID: id, Secret: "s3cret", Account: "123456789012", Token: "tok"}, id == "KNOWN"
		}
		c.Audit = func(e audit.Entry) { entries = append(entries, e) }
		c.Services = map[string]server.Service{"oss": server.OSSService(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, _ := sigv4.FromContext(r.Context())
			_, _ = io.WriteString(w, id.Account+" "+id.Region+" "+id.Service)
		}))}
	})
	const host = "bucket.oss-cn-shanghai.aliyuncs.com"
	any := func(r *http.Request) { r.Header.Set("Authorization", "OSS any:c2ln"); r.Header.Set("Date", httpDate()) }
	signed := func(secret string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Date", httpDate())
			r.Header.Set("X-Oss-Security-Token", "tok")
			r.Header.Set("Authorization", "OSS KNOWN:"+
				acs.SignatureOSS(r, acs.OSSObject{Bucket: "bucket", Key: "k"}, r.Header.Get("Date"), secret))
		}
	}
	for name, test := range map[string]struct {
		method, host, path string
		sign               func(*http.Request)
		status             int
		want               string
	}{
		"any key":            {http.MethodGet, "", "/bucket/k", any, 200, "0000000000000000 cn-hangzhou oss"},
		"a host of OSS":      {http.MethodPut, host, "/k", any, 200, "0000000000000000 cn-shanghai oss"},
		"another host":       {http.MethodGet, "oss.example.com", "/bucket/k", any, 403, "<Code>AccessDenied</Code>"},
		"a known key":        {http.MethodPut, "", "/bucket/k", signed("s3cret"), 200, "0000123456789012 cn-hangzhou oss"},
		"a wrong secret":     {http.MethodPut, "", "/bucket/k", signed("other"), 403, "<Code>SignatureDoesNotMatch</Code>"},
		"a URL":              {http.MethodGet, "", "/bucket/k?OSSAccessKeyId=any&Expires=9999999999&Signature=x", nil, 403, "<Code>InvalidAccessKeyId</Code>"},
		"no signature":       {http.MethodGet, host, "/k", nil, 403, "Anonymous access is forbidden"},
		"a page's preflight": {http.MethodOptions, "", "/bucket/k", any, 403, "<Code>AccessDenied</Code>"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequest(test.method, w.url+test.path, nil)
			w.must(err)
			r.Host = test.host
			if test.sign != nil {
				test.sign(r)
			}
			answer, err := http.DefaultClient.Do(r)
			w.must(err)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			w.must(err)
			if answer.StatusCode != test.status || !strings.Contains(string(text), test.want) {
				t.Errorf("%d %s\nwant %d %s", answer.StatusCode, text, test.status, test.want)
			}
			if test.status != 200 && answer.Header.Get("X-Oss-Request-Id") == "" {
				t.Errorf("headers %v", answer.Header)
			}
		})
	}
	w.must(w.end())
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Service+" "+e.Action)
	}
	if diff := cmp.Diff([]string{"oss PUT /bucket/k", "oss PUT /bucket/k"}, actions); diff != "" {
		t.Errorf("audited (-want +got):\n%s", diff)
	}
}

func httpDate() string { return time.Now().UTC().Format(http.TimeFormat) }
