package pintle

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

// basic returns credentials of Basic authentication.
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// TestEncodedSecretsInAnswers checks that attributes and IDs which contain a secret property in any encoding make an
// answer NoEcho. ROS rejects such an answer.
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
