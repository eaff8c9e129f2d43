package delivery_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestMisspelled checks that a token with a typo of a declared provider's name never reaches AWS.
func TestMisspelled(t *testing.T) {
	near := strings.Replace(function, "thing", "thinng", 1)
	tests := map[string]struct {
		token string
		names []string
		kind  wire.RequestType
		sent  bool
		want  string
	}{
		"a function": {near, []string{"other", "thing"}, wire.Create, false, `no local provider named "thinng", did you mean "thing"? ` +
			"Nothing was sent to the cloud: fix the service token, or if you mean the function in AWS, use " + near + ":$LATEST"},
		"a topic": {strings.Replace(topic, "thing", "Thing", 1), []string{"thing"}, wire.Create, false, `no local provider named "Thing", ` +
			`did you mean "thing"? Nothing was sent to the cloud: fix the service token, or to send it to the cloud all the same, start with --fidelity aws`},
		"a declared token":      {near, []string{function}, wire.Create, false, `did you mean "` + function + `"?`},
		"a macro":               {near, []string{"thing"}, store.TypeMacro, false, `no local provider named "thinng", did you mean "thing"? Nothing was sent`},
		"a version":             {near + ":$LATEST", []string{"thing"}, wire.Create, true, ""},
		"another name":          {near, []string{"orders"}, wire.Create, true, ""},
		"Delete with this name": {near, []string{"thing"}, wire.Delete, true, ""},
		"only a number differs": {function + "2", []string{"thing1"}, wire.Create, true, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			calls := make(chan string, 100)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls <- r.URL.Path
				w.WriteHeader(http.StatusForbidden)
			}))
			defer server.Close()
			configureAWS(t, server.URL, "AKIDEXAMPLE")
			w := start(t, func(c *delivery.Config, _ *world) { c.Declared = func() []string { return test.names } })
			r := request("a", 1, "x")
			r.Type, r.Body.Token = test.kind, value.Str(test.token)
			w.Dispatch([]store.Request{r})
			got, ok := w.next(t).Outcome.(delivery.Refused)
			if !ok || !strings.Contains(got.Text, test.want) {
				t.Errorf("%+v, want %q", got, test.want)
			}
			if sent := len(calls) > 0; sent != test.sent {
				t.Errorf("sent to AWS: %t, want %t (%s)", sent, test.sent, got.Text)
			}
		})
	}
}

// TestNearestProvider checks that every error about an unknown provider suggests the most similar declared one.
func TestNearestProvider(t *testing.T) {
	for token, dialect := range map[string]wire.Dialect{
		"orderz": wire.CloudFormation, "ordesr": wire.ROS,
		"acs:fc:cn-hangzhou:1:functions/ordersz":               wire.CloudFormation,
		"acs:mns:cn-hangzhou:1:queues/ordxxs":                  wire.ROS,
		"arn:aws:lambda:us-east-1:000000000000:function:odxrs": wire.CloudFormation,
	} {
		t.Setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", "")
		configureAWS(t, "http://127.0.0.1:1", "")
		w := start(t, func(c *delivery.Config, _ *world) {
			c.Declared = func() []string { return []string{"other", "orders"} }
		})
		r := request("a", 1, "x")
		r.Body.Dialect, r.Body.Token = dialect.String(), value.Str(token)
		w.Dispatch([]store.Request{r})
		got, _ := w.next(t).Outcome.(delivery.Refused)
		if !strings.Contains(got.Text, `no local provider named "`) || !strings.Contains(got.Text, `did you mean "orders"?`) {
			t.Errorf("%s: %s", token, got.Text)
		}
	}
	t.Run("secret", func(t *testing.T) {
		w := start(t, func(c *delivery.Config, _ *world) { c.Declared = func() []string { return []string{"orders-service"} } })
		r := request("a", 1, "x")
		r.Body.Token = value.SecretStr("ordxrs-servicx")
		w.Dispatch([]store.Request{r})
		if got, _ := w.next(t).Outcome.(delivery.Refused); got.Text == "" || strings.Contains(got.Text, "service\"") || strings.Contains(got.Text, "did you mean") {
			t.Error(got.Text)
		}
	})
}
