package delivery_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
)

// A trace in the formats of the W3C and of AWS.
const (
	parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	xray   = "Root=1-4bf92f35-77b34da6a3ce929d0e0e4736;Parent=00f067aa0ba902b7;Sampled=1"
)

const (
	function = "arn:aws:lambda:us-east-1:000000000000:function:thing"
	topic    = "arn:aws:sns:us-east-1:000000000000:thing"
)

// configureAWS makes the environment the SDK's only source. An empty endpoint means none, and an empty key no
// credentials.
func configureAWS(t *testing.T, endpoint, key string) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID":                      key,
		"AWS_SECRET_ACCESS_KEY":                  key,
		"AWS_SESSION_TOKEN":                      "",
		"AWS_PROFILE":                            "",
		"AWS_CONFIG_FILE":                        filepath.Join(t.TempDir(), "config"),
		"AWS_SHARED_CREDENTIALS_FILE":            filepath.Join(t.TempDir(), "credentials"),
		"AWS_ENDPOINT_URL":                       endpoint,
		"AWS_EC2_METADATA_DISABLED":              "",
		"AWS_WEB_IDENTITY_TOKEN_FILE":            "",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI":     "",
	} {
		t.Setenv(name, value)
	}
}

// call is a call that reached the service.
type call struct {
	path, query, kind string
	body              string
	trace             string
}

// fakeAWS answers each call with the next of the replies, and repeats the last one.
func fakeAWS(t *testing.T, replies ...func(http.ResponseWriter)) (*httptest.Server, chan call) {
	calls := make(chan call, 100)
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(r.Header.Get("Authorization"), "/us-east-1/") {
			t.Errorf("not signed for the region: %q", r.Header.Get("Authorization"))
		}
		calls <- call{r.URL.Path, r.URL.RawQuery, r.Header.Get("X-Amz-Invocation-Type"), string(body), r.Header.Get("X-Amzn-Trace-Id")}
		w.Header().Set("X-Amzn-RequestId", "req-1")
		replies[min(n, len(replies)-1)](w)
		n++
	}))
	t.Cleanup(server.Close)
	return server, calls
}

func lambdaAccepts(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) }

func lambdaFails(status int, code, message string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("X-Amzn-ErrorType", code)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"Type":"User","Message":%q}`, message)
	}
}

func snsAccepts(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml")
	fmt.Fprint(w, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m</MessageId>`+
		`</PublishResult><ResponseMetadata><RequestId>req-1</RequestId></ResponseMetadata></PublishResponse>`)
}

func snsFails(status int, code, message string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type>`+
			`<Code>%s</Code><Message>%s</Message></Error><RequestId>req-1</RequestId></ErrorResponse>`, code, message)
	}
}

func TestCloudOutcomes(t *testing.T) {
	denied := "User: arn:aws:sts::1:assumed-role/r/s is not authorized to perform: lambda:InvokeFunction on resource: " + function
	tests := map[string]struct {
		token    string
		replies  []func(http.ResponseWriter)
		fidelity bool
		want     delivery.Outcome
		tries    int
	}{
		"function": {function, []func(http.ResponseWriter){lambdaAccepts}, false, delivery.Accepted{}, 1},
		"throttled function": {
			function,
			[]func(http.ResponseWriter){lambdaFails(429, "TooManyRequestsException", "Rate Exceeded."), lambdaAccepts},
			false, delivery.Accepted{}, 2,
		},
		"ailing service": {
			function,
			[]func(http.ResponseWriter){lambdaFails(500, "ServiceException", "x"), lambdaFails(503, "ServiceException", "x"), lambdaAccepts},
			false, delivery.Accepted{}, 3,
		},
		"missing function": {
			function, []func(http.ResponseWriter){lambdaFails(404, "ResourceNotFoundException", "Function not found: "+function)}, false,
			delivery.Refused{Text: "Function not found: " + function + " (Service: Lambda, Status Code: 404, Request ID: req-1). " +
				"No local provider is named thing either"}, 1,
		},
		"missing function, as AWS has it": {
			function, []func(http.ResponseWriter){lambdaFails(404, "ResourceNotFoundException", "Function not found: "+function)}, true,
			delivery.Refused{Text: "Function not found: " + function + " (Service: Lambda, Status Code: 404, Request ID: req-1)"}, 1,
		},
		"denied": {
			function, []func(http.ResponseWriter){lambdaFails(403, "AccessDeniedException", denied)}, false,
			delivery.Refused{Text: denied + " (Service: Lambda, Status Code: 403, Request ID: req-1)"}, 1,
		},
		"topic": {topic, []func(http.ResponseWriter){snsAccepts}, false, delivery.Accepted{}, 1},
		"throttled topic": {
			topic, []func(http.ResponseWriter){snsFails(400, "Throttling", "Rate exceeded"), snsAccepts}, false, delivery.Accepted{}, 2,
		},
		"bad topic": {
			topic, []func(http.ResponseWriter){snsFails(400, "InvalidParameter", "Invalid parameter: TopicArn")}, false,
			delivery.Refused{Text: "Invalid parameter: TopicArn (Service: AmazonSNS; Status Code: 400; " +
				"Error Code: InvalidParameter; Request ID: req-1)"}, 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, calls := fakeAWS(t, test.replies...)
			configureAWS(t, server.URL, "AKIDEXAMPLE")
			w := start(t, func(c *delivery.Config, _ *world) { c.FidelityAWS = test.fidelity })
			w.Dispatch([]store.Request{request("a", 1, test.token)})
			if diff := cmp.Diff(reported{"a", test.want}, w.next(t)); diff != "" {
				t.Error(diff)
			}
			if len(calls) != test.tries {
				t.Errorf("%d calls, want %d", len(calls), test.tries)
			}
		})
	}
}

func TestLambdaCall(t *testing.T) {
	server, calls := fakeAWS(t, lambdaAccepts)
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	w := start(t, nil)
	r := request("a", 1, function+":live")
	r.Body.Trace = parent
	w.Dispatch([]store.Request{r})
	w.next(t)
	got := <-calls
	body := got.body
	got.body = ""
	if diff := cmp.Diff(call{
		path: "/2015-03-31/functions/" + function + "/invocations", query: "Qualifier=live", kind: "Event", trace: xray,
	}, got, cmp.AllowUnexported(call{})); diff != "" {
		t.Error(diff)
	}
	checkDocument(t, body)
}

// TestConfiguration checks that certificates of AWS_CA_BUNDLE are trusted, and that a bad endpoint of another service
// does not matter.
func TestConfiguration(t *testing.T) {
	server, calls := fakeAWS(t, lambdaAccepts)
	private := httptest.NewTLSServer(server.Config.Handler)
	t.Cleanup(private.Close)
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: private.Certificate().Raw})
	if err := os.WriteFile(bundle, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	configureAWS(t, private.URL, "AKIDEXAMPLE")
	t.Setenv("AWS_CA_BUNDLE", bundle)
	t.Setenv("AWS_ENDPOINT_URL_S3", "minio:9000")
	w := start(t, nil)
	w.Dispatch([]store.Request{request("a", 1, function)})
	if diff := cmp.Diff(delivery.Outcome(delivery.Accepted{}), w.next(t).Outcome); diff != "" {
		t.Error(diff)
	}
	checkDocument(t, (<-calls).body)
}

func TestSNSCall(t *testing.T) {
	server, calls := fakeAWS(t, snsAccepts)
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	w := start(t, nil)
	r := request("a", 1, topic)
	r.Body.Trace = parent
	w.Dispatch([]store.Request{r})
	w.next(t)
	got := <-calls
	if got.trace != xray {
		t.Errorf("the call is of the trace %q", got.trace)
	}
	form, err := url.ParseQuery(got.body)
	if err != nil {
		t.Fatal(err)
	}
	checkDocument(t, form.Get("Message"))
	form.Del("Message")
	if diff := cmp.Diff(url.Values{
		"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {topic},
		"Subject": {"AWS CloudFormation custom resource request"},
	}, form); diff != "" {
		t.Error(diff)
	}
}

// checkDocument checks that the text is the request "a", with secrets in clear text.
func checkDocument(t *testing.T, text string) {
	t.Helper()
	var document struct {
		RequestID          string `json:"RequestId"`
		ResourceProperties struct{ Password string }
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	if document.RequestID != "a" || document.ResourceProperties.Password != "hunter2&more" {
		t.Errorf("%+v", document)
	}
}

func TestCloudRefusals(t *testing.T) {
	abroad := func(token string) string { return strings.Replace(token, "us-east-1", "eu-west-1", 1) }
	tests := map[string]struct {
		token, key string
		fidelity   bool
		want       string
	}{
		"no credentials": {
			function, "", false,
			`no local provider named "thing" and no AWS credentials: none are configured. Add it to pintle.yaml under ` +
				"providers, or use --provider thing=./path, or configure AWS credentials (those of an EC2 role are used if " +
				"AWS_EC2_METADATA_DISABLED=false is set)",
		},
		"loopback response URL": {
			topic, "AKIDEXAMPLE", false,
			topic + " runs in AWS and cannot reach the response URL, which is on loopback: start with --public-url, " +
				"or add a local provider thing to pintle.yaml under providers",
		},
		"topic of another region": {
			abroad(topic), "AKIDEXAMPLE", false,
			"Invalid parameter: TopicArn (Service: AmazonSNS; Status Code: 400; Error Code: InvalidParameter; Request ID: a): " +
				abroad(topic) + " is in eu-west-1, and a service token must be in the region of its stack, us-east-1",
		},
		"topic of another region, as AWS has it": {
			abroad(topic), "AKIDEXAMPLE", true,
			"Invalid parameter: TopicArn (Service: AmazonSNS; Status Code: 400; Error Code: InvalidParameter; Request ID: a)",
		},
		"function of another region": {
			abroad(function), "AKIDEXAMPLE", false,
			abroad(function) + " is in eu-west-1, and a service token must " +
				"be in the region of its stack, us-east-1",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			configureAWS(t, "", test.key)
			w := start(t, func(c *delivery.Config, _ *world) { c.FidelityAWS = test.fidelity })
			w.Dispatch([]store.Request{request("a", 1, test.token)})
			if diff := cmp.Diff(reported{"a", delivery.Refused{Text: test.want}}, w.next(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCloudUnreachable(t *testing.T) {
	server, _ := fakeAWS(t, lambdaAccepts)
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	server.Close() // no program listens there now
	w := start(t, func(c *delivery.Config, _ *world) { c.RetryFor = 500 * time.Millisecond })
	w.Dispatch([]store.Request{request("a", 1, function)})
	got, ok := w.next(t).Outcome.(delivery.Refused)
	if !ok || got.Delivered || !strings.HasPrefix(got.Text, "lambda: dial tcp 127.0.0.1:") ||
		!strings.Contains(got.Text, "connection refused (") {
		t.Errorf("%+v", got)
	}
}

// TestCredentialsFoundLater checks that a first failure is not cached.
func TestCredentialsFoundLater(t *testing.T) {
	server, _ := fakeAWS(t, lambdaAccepts)
	configureAWS(t, server.URL, "")
	w := start(t, nil)
	w.Dispatch([]store.Request{request("a", 1, function)})
	if got, ok := w.next(t).Outcome.(delivery.Refused); !ok {
		t.Fatalf("%+v", got)
	}
	configureAWS(t, server.URL, "AKIDEXAMPLE")
	w.Dispatch([]store.Request{request("b", 1, function)})
	if diff := cmp.Diff(reported{"b", delivery.Accepted{}}, w.next(t)); diff != "" {
		t.Error(diff)
	}
}
