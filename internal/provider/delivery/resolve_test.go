package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// book resolves references.
type book struct {
	mu      sync.Mutex
	texts   map[string]string
	secrets bool
	fail    int // number of failures before it succeeds
	asked   []string
	known   map[wire.RequestID][]string
}

func (b *book) Wants(r dynamic.Reference, native bool) bool {
	return b.secrets || native || !r.Service.Secret()
}

func (b *book) Resolve(_ context.Context, account, region string, references []dynamic.Reference) (
	map[string]value.Value, map[string]string, error,
) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail > 0 {
		b.fail--
		return nil, nil, errors.New("the store does not answer")
	}
	found, missing := map[string]value.Value{}, map[string]string{}
	for _, r := range references {
		b.asked = append(b.asked, account+" "+region+" "+r.Text)
		text, ok := b.texts[r.Name]
		switch {
		case !ok:
			missing[r.Text] = "there is no parameter " + r.Name
		case r.Service.Secret():
			found[r.Text] = value.SecretStr(text)
		default:
			found[r.Text] = value.Str(text)
		}
	}
	return found, missing, nil
}

func (b *book) Remember(id wire.RequestID, secrets []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[id] = secrets
}

// reader is a provider behind a URL that reports the requests it receives.
func reader(t *testing.T, status int) (url string, got chan map[string]any) {
	got = make(chan map[string]any, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var event map[string]any
		if err := json.Unmarshal(body, &event); err != nil {
			t.Error(err)
		}
		got <- event
		w.WriteHeader(status)
		fmt.Fprint(w, "no hunter2 here")
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func TestReferencesAreResolved(t *testing.T) {
	url, got := reader(t, 400)
	b := &book{texts: map[string]string{"/a": "A", "/s": "hunter2", "/url": url}, secrets: true, fail: 2, known: map[wire.RequestID][]string{}}
	w := start(t, func(c *delivery.Config, _ *world) { c.References = b })
	r := request("1", 1, "{{resolve:ssm:/url}}")
	r.Type = wire.Update
	r.Body.PhysicalID = "p"
	literal := value.Object(
		value.Member{Key: "ServiceToken", Value: value.Str("{{resolve:ssm:/url}}")},
		value.Member{Key: "Text", Value: value.Str("<{{resolve:ssm:/a}}|{{resolve:ssm:/a:1}}>")},
		value.Member{Key: "Deep", Value: value.Items(value.Object(value.Member{Key: "S", Value: value.Str("x{{resolve:ssm-secure:/s}}")}))},
	)
	r.Body.Properties = literal
	r.Body.OldProperties = literal.With("Gone", value.Str("{{resolve:ssm:/gone}}"))
	w.Dispatch([]store.Request{r})
	outcome := w.next(t)
	event := <-got
	want := map[string]any{"ServiceToken": url, "Text": "<A|A>", "Deep": []any{map[string]any{"S": "xhunter2"}}}
	if diff := cmp.Diff(want, event["ResourceProperties"]); diff != "" {
		t.Error(diff)
	}
	// A missing reference among the old properties does not fail the request.
	want["Gone"] = "{{resolve:ssm:/gone}}"
	if diff := cmp.Diff(want, event["OldResourceProperties"]); diff != "" {
		t.Error(diff)
	}
	if text := outcome.Outcome.(delivery.Refused).Text; !strings.Contains(text, "400 Bad Request: no *****") {
		t.Errorf("refused with %s", text)
	}
	if !strings.Contains(r.Body.Properties.String(), "ssm-secure") {
		t.Errorf("the row is now %s", r.Body.Properties)
	}
	if diff := cmp.Diff([]string{"hunter2", "xhunter2", "xhunter2"}, b.known["1"]); diff != "" {
		t.Errorf("remembered: %s", diff)
	}
	if len(b.asked) != 5 || b.asked[0] != "000000000000 us-east-1 {{resolve:ssm:/url}}" {
		t.Errorf("asked %q", b.asked)
	}
}

func TestReferencesThatStayAsTheyAre(t *testing.T) {
	url, got := reader(t, 200)
	b := &book{texts: map[string]string{"/s": "hunter2"}, known: map[wire.RequestID][]string{}}
	w := start(t, func(c *delivery.Config, _ *world) { c.References = b })
	const literal = "{{resolve:secretsmanager:/s}}{{resolve:ssm-secure:/s}}{{resolve:other:/s}}"
	r := request("1", 1, url)
	r.Body.Properties = value.Object(value.Member{Key: "K", Value: value.Str(literal)})
	w.Dispatch([]store.Request{r})
	w.next(t)
	if diff := cmp.Diff(map[string]any{"K": literal}, (<-got)["ResourceProperties"]); diff != "" || len(b.asked) > 0 {
		t.Errorf("asked %q, %s", b.asked, diff)
	}
	// A missing reference does not fail a Delete.
	r = request("2", 1, url)
	r.Type, r.Body.PhysicalID = wire.Delete, "p"
	r.Body.Properties = value.Object(value.Member{Key: "K", Value: value.Str("{{resolve:ssm:/gone}}")})
	w.Dispatch([]store.Request{r})
	w.next(t)
	if diff := cmp.Diff(map[string]any{"K": "{{resolve:ssm:/gone}}"}, (<-got)["ResourceProperties"]); diff != "" {
		t.Error(diff)
	}
}

func TestReferencesThatCannotBeResolved(t *testing.T) {
	many := ""
	for i := range 61 {
		many += fmt.Sprintf("{{resolve:ssm:/a%d}}", i)
	}
	for name, c := range map[string]struct {
		text, want string
		fail       int
	}{
		"not there": {"a {{resolve:ssm:/gone:3}}", "Could not resolve the dynamic reference {{resolve:ssm:/gone:3}}: there is no parameter /gone", 0},
		"malformed": {"{{resolve:ssm:/a:b}}", "Incorrect format is used in the following SSM reference: [{{resolve:ssm:/a:b}}]", 0},
		"too many":  {many, "the properties of Thing have 61 dynamic references, 60 are allowed", 0},
		"no answer": {"{{resolve:ssm:/a}}", "Could not resolve the store does not answer", 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			b := &book{texts: map[string]string{"/a": "A"}, fail: c.fail, known: map[wire.RequestID][]string{}}
			w := start(t, func(config *delivery.Config, _ *world) { config.References, config.RetryFor = b, 1 })
			r := request("1", 1, "http://127.0.0.1:1/")
			r.Body.Properties = value.Object(value.Member{Key: "K", Value: value.Str(c.text)})
			w.Dispatch([]store.Request{r})
			refused, ok := w.next(t).Outcome.(delivery.Refused)
			if !ok || !strings.HasPrefix(refused.Text, c.want) || refused.Delivered {
				t.Errorf("%+v, want %s", refused, c.want)
			}
		})
	}
}

// TestReferencesMadeOfSecrets checks references that contain a secret. Errors quote only the reference.
func TestReferencesMadeOfSecrets(t *testing.T) {
	for _, text := range []string{
		"a {{resolve:ssm:/hunter2:3}} b", "a {{resolve:ssm:/x:hunter2}} b", "a {{resolve:ssm:/hunter2/x}} b",
		"a {{resolve:secretsmanager:arn:hunter2}} b", "a {{resolve:secretsmanager:x:SecretString:hunter2}} b",
	} {
		b := &book{secrets: true, known: map[wire.RequestID][]string{}}
		w := start(t, func(config *delivery.Config, _ *world) { config.References = b })
		r := request("1", 1, "http://127.0.0.1:1/")
		r.Body.Properties = value.Object(value.Member{Key: "K", Value: value.SecretStr(text)})
		w.Dispatch([]store.Request{r})
		refused, ok := w.next(t).Outcome.(delivery.Refused)
		if !ok || strings.Contains(refused.Text, "hunter2") || !strings.Contains(refused.Text, "*****") {
			t.Errorf("%s: %+v", text, refused)
		}
	}
}
