package pintle

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

// basic returns credentials of Basic authentication.
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// TestEncodedSecretsInAnswers: attributes and IDs that hold a secret property, in whatever form, make an answer NoEcho, and ROS gets none.
func TestEncodedSecretsInAnswers(t *testing.T) {
	const secret = "hunter2/and <more>"
	for _, tt := range []struct {
		name   string
		answer Answer
		hidden bool
	}{
		{"raw", Answer{ID: "a", Attributes: map[string]any{"URL": "postgres://u:" + secret + "@h"}}, true},
		{"Basic credentials", Answer{ID: "a", Attributes: map[string]any{"Header": basic("user", secret)}}, true},
		{"base64url", Answer{ID: "a", Attributes: map[string]any{"T": base64.RawURLEncoding.EncodeToString([]byte("x" + secret))}}, true},
		{"percent-encoded", Answer{ID: "a", Attributes: map[string]any{"L": []any{strings.ToLower(url.PathEscape(secret))}}}, true},
		{"in JSON", Answer{ID: "a", Attributes: map[string]any{"D": `{"p":"` + strings.ReplaceAll(secret, "/", `\/`) + `"}`}}, true},
		{"escaped", Answer{ID: "a", Attributes: map[string]any{"D": `hunter2/and \u003Cmore\u003E`}}, true},
		{"as the ID", Answer{ID: PhysicalID("id-" + base64.StdEncoding.EncodeToString([]byte(secret))), Attributes: map[string]any{"A": 1}}, true},
		{"another text", Answer{ID: "a", Attributes: map[string]any{"Header": basic("user", "public value")}}, false},
	} {
		handler := HandlerFunc(func(_ context.Context, r *Request) (Answer, error) {
			var p struct{ Password Secret }
			return tt.answer, r.Decode(&p)
		})
		properties, err := json.Marshal(map[string]string{"Password": secret})
		if err != nil {
			t.Fatal(err)
		}
		w := newROSWorld(t, ROSConfig{}, handler)
		a := w.deliver(t, w.ros(Create, "", string(properties), ""))
		if refused := a.Status == wire.Failed && (strings.Contains(a.Reason, "ROS has no NoEcho") || strings.Contains(a.Reason, "the physical ID holds")); refused != tt.hidden {
			t.Errorf("%s, in ROS: %s", tt.name, brief(a))
		}
		if text := w.log.String(); strings.Contains(text, secret) || strings.Contains(text, url.PathEscape(secret)) {
			t.Errorf("%s: the log shows the secret:\n%s", tt.name, text)
		}
		w = newROSWorld(t, ROSConfig{}, handler)
		r := w.event(Create, "", string(properties), "")
		if a = w.deliver(t, r); a.Status != wire.Success || a.NoEcho != tt.hidden {
			t.Errorf("%s: %s, NoEcho %t, want %t", tt.name, brief(a), a.NoEcho, tt.hidden)
		}
		if warned := strings.Contains(w.log.String(), "the physical ID holds a secret"); warned != (tt.name == "as the ID") {
			t.Errorf("%s: warned about the ID: %t", tt.name, warned)
		}
	}
}

// rawSpellings are those that were searched for before encoded ones were, for comparison.
func rawSpellings(secret string) []string {
	raw, _ := marshal(secret)
	html, _ := json.Marshal(secret)
	quoted := strconv.Quote(secret)
	return []string{
		secret, string(raw[1 : len(raw)-1]), string(html[1 : len(html)-1]), quoted[1 : len(quoted)-1],
		url.QueryEscape(secret), url.PathEscape(secret),
	}
}

// BenchmarkScrub masks a line of 1 MiB that holds no secret, with the raw spellings alone and with the encoded ones.
func BenchmarkScrub(b *testing.B) {
	var line strings.Builder
	for i := 0; line.Len() < 1<<20; i++ {
		fmt.Fprintf(&line, `{"n":%d,"at":"2026-01-02T03:04:05Z","msg":"request \"handled\"","token":"%s"},`, i,
			base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(i*7919)+" of many")))
	}
	text := line.String()
	for _, secrets := range [][]string{{"hunter2-and-more"}, {"p/ss+w&rd <1>"}, {"hunter2-and-more", "p/ss+w&rd <1>", "swordfish", "AKIA0123456789ABCDEF"}} {
		before, now := &scrubber{}, &scrubber{}
		for _, secret := range secrets {
			for _, spelling := range rawSpellings(secret) {
				if !strings.Contains(strings.Join(before.spellings, "\n"), spelling) {
					before.spellings = append(before.spellings, spelling)
				}
			}
		}
		now.add(secrets...)
		for _, c := range []struct {
			name string
			s    *scrubber
		}{{"raw", before}, {"encoded", now}} {
			b.Run(fmt.Sprintf("secrets=%d/%q/%s", len(secrets), secrets[0], c.name), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					c.s.text(text)
				}
				b.ReportMetric(float64(len(c.s.spellings)), "spellings")
			})
		}
	}
}
