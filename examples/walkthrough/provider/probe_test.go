package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// realDial is the dialer of the provider.
func realDial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func TestProbe(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") })
	mux.HandleFunc("/down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://mysite.com/", http.StatusFound)
	})
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("a", 1<<20)) })
	mux.HandleFunc("/cut", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	site := httptest.NewServer(mux)
	defer site.Close()
	_, port, _ := net.SplitHostPort(site.Listener.Addr().String())

	closed := httptest.NewServer(mux)
	closed.Close()

	tests := map[string]struct {
		endpoint string
		verdict  verdict
		detail   string // a pattern
	}{
		"ok":        {site.URL, passed, `^200 OK, 7 bytes in \d+ ms$`},
		"localhost": {"http://LocalHost.:" + port, passed, `^200 OK, 7 bytes`},
		"mapped":    {"http://[::ffff:127.0.0.1]:" + port, passed, `^200 OK, 7 bytes`},
		"redirect":  {site.URL + "/moved", passed, `^302 Found`},
		"large":     {site.URL + "/huge", passed, `^200 OK, more than 65536 bytes`},
		"5xx":       {site.URL + "/down", failed, `^503 Service Unavailable, 0 bytes`},
		"hung up":   {site.URL + "/cut", failed, `^EOF$`},
		"refused":   {closed.URL, failed, `connection refused`},
		"bad port":  {"http://127.0.0.1:99999/", failed, `invalid port`},
	}
	p := newProber(realDial)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := p.probe(t.Context(), test.endpoint)
			if err != nil {
				t.Fatal(err)
			}
			if got.Verdict != test.verdict || !regexp.MustCompile(test.detail).MatchString(got.Detail) {
				t.Errorf("got %q %q, want %q %s", got.Verdict, got.Detail, test.verdict, test.detail)
			}
		})
	}
}

func TestProbeOnlyLoopback(t *testing.T) {
	p := newProber(func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("dialled %s", address)
		return nil, errors.New("dialled")
	})
	for _, endpoint := range []string{
		"http://mysite.com", "https://mysite.com/", "http://localhost.mysite.com/", "http://127.0.0.1.mysite.com/",
		"http://192.0.2.1/", "http://[2001:db8::1]/", "http://[::ffff:192.0.2.1]/", "http://0.0.0.0/", "http://[::]/",
		"http://10.0.0.1:8081/", "http://169.254.169.254/latest/meta-data/", "http://2130706433/", "http://127.1/",
	} {
		got, err := p.probe(t.Context(), endpoint)
		if err != nil {
			t.Errorf("%s: %v", endpoint, err)
			continue
		}
		if diff := cmp.Diff(result{notProbed, "not on this machine"}, got); diff != "" {
			t.Errorf("%s: %s", endpoint, diff)
		}
	}
}

func TestProbeIgnoresProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:3128")
	t.Setenv("http_proxy", "http://192.0.2.1:3128")
	var dialled []string
	p := newProber(func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, errors.New("refused " + address)
	})
	got, err := p.probe(t.Context(), "http://localhost:8081/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"127.0.0.1:8081", "[::1]:8081"}, dialled); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(result{failed, "refused 127.0.0.1:8081"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestProbeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer site.Close()
	if got, err := newProber(realDial).probe(ctx, site.URL); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v; want %v", got, err, context.Canceled)
	}
}

func TestProbeTimesOut(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer site.Close()
	p := newProber(realDial)
	p.timeout = time.Millisecond
	got, err := p.probe(t.Context(), site.URL)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result{failed, "no answer within 1ms"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestBrief(t *testing.T) {
	got := brief(errors.New(strings.Repeat("é", 150)))
	if want := strings.Repeat("é", 100) + "…"; got != want {
		t.Errorf("got %q", got)
	}
	if got := brief(errors.New("a\xffb")); got != "a?b" {
		t.Errorf("got %q", got)
	}
}

func FuzzLoopbackAddrs(f *testing.F) {
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "::1%lo", "::ffff:127.0.0.2", "8.8.8.8", "mysite.com", ""} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		for _, addr := range loopbackAddrs(host) {
			if !addr.IsLoopback() || addr.Zone() != "" || addr.Is4In6() {
				t.Errorf("%q gives %s", host, addr)
			}
		}
	})
}
