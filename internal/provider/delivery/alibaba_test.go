package delivery_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	fc2   = "acs:fc:cn-beijing:1234567890123456:services/shop.LATEST/functions/thing"
	fc3   = "acs:fc:cn-beijing:1234567890123456:functions/thing"
	queue = "acs:mns:cn-beijing:1234567890123456:queues/thing"
	mns   = "acs:mns:cn-beijing:1234567890123456:/topics/thing"
)

// configureAlibaba makes the environment the only source of keys and endpoints. An empty key means none.
func configureAlibaba(t *testing.T, endpoint, key string) {
	t.Helper()
	token := ""
	if key != "" {
		token = "token-of-" + key
	}
	for name, value := range map[string]string{
		"ALIBABA_CLOUD_ACCESS_KEY_ID": key, "ALIBABA_CLOUD_ACCESS_KEY_SECRET": strings.Repeat(key, 2), "ALIBABA_CLOUD_SECURITY_TOKEN": token,
		"ALIBABA_CLOUD_PROFILE": "", "ALIBABA_CLOUD_CONFIG_FILE": "", "ALIBABA_CLOUD_CREDENTIALS_FILE": "",
		"HOME": t.TempDir(), "NO_PROXY": "*",
		"ALIBABA_CLOUD_FC_ENDPOINT": endpoint, "ALIBABA_CLOUD_FC3_ENDPOINT": endpoint, "ALIBABA_CLOUD_MNS_ENDPOINT": endpoint,
	} {
		t.Setenv(name, value)
	}
}

func macOf(of func() hash.Hash, key, text string) []byte {
	m := hmac.New(of, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// wantAuthorization computes the signature that the service expects. It follows the services' documentation and does
// not use the signing code.
func wantAuthorization(r *http.Request, body []byte, id, secret string) string {
	h := r.Header
	sum := md5.Sum(body)
	prefixed := func(prefix string) string {
		var lines []string
		for name := range h {
			if lower := strings.ToLower(name); strings.HasPrefix(lower, prefix) {
				lines = append(lines, lower+":"+h.Get(name)+"\n")
			}
		}
		slices.Sort(lines)
		return strings.Join(lines, "")
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/2016-08-15/"):
		text := "POST\n" + hex.EncodeToString(sum[:]) + "\n" + h.Get("Content-Type") + "\n" + h.Get("Date") + "\n" + prefixed("x-fc-") + r.URL.Path
		return "FC " + id + ":" + base64.StdEncoding.EncodeToString(macOf(sha256.New, secret, text))
	case strings.HasPrefix(r.URL.Path, "/2023-03-30/"):
		hashed := sha256.Sum256(body)
		names := []string{"content-type", "host"}
		for name := range h {
			if strings.HasPrefix(name, "X-Acs-") {
				names = append(names, strings.ToLower(name))
			}
		}
		slices.Sort(names)
		lines := ""
		for _, name := range names {
			text := h.Get(name)
			if name == "host" {
				text = r.Host
			}
			lines += name + ":" + text + "\n"
		}
		signed := strings.Join(names, ";")
		canonical := sha256.Sum256([]byte("POST\n" + r.URL.Path + "\n\n" + lines + "\n" + signed + "\n" + hex.EncodeToString(hashed[:])))
		if h.Get("X-Acs-Content-Sha256") != hex.EncodeToString(hashed[:]) {
			return "no hash of the body"
		}
		return "ACS3-HMAC-SHA256 Credential=" + id + ",SignedHeaders=" + signed + ",Signature=" +
			hex.EncodeToString(macOf(sha256.New, secret, "ACS3-HMAC-SHA256\n"+hex.EncodeToString(canonical[:])))
	}
	digest := base64.StdEncoding.EncodeToString([]byte(hex.EncodeToString(sum[:])))
	text := "POST\n" + digest + "\napplication/xml\n" + h.Get("Date") + "\n" + prefixed("x-mns-") + r.URL.Path
	return "MNS " + id + ":" + base64.StdEncoding.EncodeToString(macOf(sha1.New, secret, text))
}

// fakeAlibaba answers each correctly signed call with the next of the replies, and repeats the last one.
func fakeAlibaba(t *testing.T, id string, replies ...func(http.ResponseWriter)) (*httptest.Server, chan sent) {
	t.Helper()
	calls := make(chan sent, 100)
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if got, want := r.Header.Get("Authorization"), wantAuthorization(r, body, id, id+id); got != want {
			t.Errorf("signed %s\nwant %s", got, want)
		}
		header := r.Header.Clone()
		header.Set("Path", r.URL.RequestURI())
		calls <- sent{header, body}
		replies[min(n, len(replies)-1)](w)
		n++
	}))
	t.Cleanup(server.Close)
	return server, calls
}

func fcFails(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("X-Fc-Request-Id", "req-1")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func mnsFails(status int, code, message string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, `<?xml version="1.0"?><Error xmlns="http://mns.aliyuncs.com/doc/v1/"><Code>%s</Code><Message>%s</Message>`+
			`<RequestId>req-1</RequestId><HostId>http://x</HostId></Error>`, code, message)
	}
}

func replies(status int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(status) }
}

// TestAlibabaOutcomes checks the outcomes of the services' responses, and which of them are temporary.
func TestAlibabaOutcomes(t *testing.T) {
	type list = []func(http.ResponseWriter)
	notHere := ". No local provider is named thing either"
	tests := map[string]struct {
		token    string
		replies  list
		fidelity bool
		want     delivery.Outcome
		tries    int
	}{
		"function of 2.0":       {fc2, list{replies(202)}, false, delivery.Accepted{}, 1},
		"function of 3.0":       {fc3, list{replies(202)}, false, delivery.Accepted{}, 1},
		"queue":                 {queue, list{replies(201)}, false, delivery.Accepted{}, 1},
		"topic":                 {mns, list{replies(201)}, false, delivery.Accepted{}, 1},
		"throttled function":    {fc3, list{replies(429), replies(202)}, false, delivery.Accepted{}, 2},
		"throttled queue":       {queue, list{mnsFails(403, "QpsLimitExceeded", "slow"), replies(201)}, false, delivery.Accepted{}, 2},
		"throttled by its code": {fc3, list{fcFails(400, `{"Code":"Throttling.User","Message":"slow"}`), replies(202)}, false, delivery.Accepted{}, 2},
		"ailing services":       {fc2, list{replies(500), replies(503), replies(202)}, false, delivery.Accepted{}, 3},
		"ailing queue":          {queue, list{mnsFails(500, "InternalError", "x"), replies(201)}, false, delivery.Accepted{}, 2},
		"missing function of 2.0": {
			fc2, list{fcFails(404, `{"ErrorCode":"FunctionNotFound","ErrorMessage":"function 'thing' does not exist in service 'shop'"}`)}, false,
			delivery.Refused{Text: "Function Compute: function 'thing' does not exist in service 'shop' (Status Code: 404; Error Code: FunctionNotFound; " +
				"Request ID: req-1)" + notHere}, 1,
		},
		"missing function of 3.0": {
			fc3, list{fcFails(404, `{"RequestId":"req-2","Code":"FunctionNotFound","Message":"no function"}`)}, true,
			delivery.Refused{Text: "Function Compute: no function (Status Code: 404; Error Code: FunctionNotFound; Request ID: req-2)"}, 1,
		},
		"denied": {
			fc3, list{fcFails(403, `{"Code":"AccessDenied","Message":"the caller AKID with AKIDAKID and token-of-AKID may not &quot;hunter2&more&quot;"}`)}, false,
			delivery.Refused{Text: "Function Compute: the caller AKID with ***** and ***** may not &quot;*****&quot; (Status Code: 403; Error Code: AccessDenied; " +
				"Request ID: req-1)"}, 1,
		},
		"missing queue": {
			queue, list{mnsFails(404, "QueueNotExist", "The queue name you provided is not exist.")}, false,
			delivery.Refused{Text: "Simple Message Queue: The queue name you provided is not exist. (Status Code: 404; Error Code: QueueNotExist; " +
				"Request ID: req-1)" + notHere}, 1,
		},
		"too large for a topic": {
			mns, list{mnsFails(400, "InvalidArgument", "too large")}, false,
			delivery.Refused{Text: "Simple Message Queue: too large (Status Code: 400; Error Code: InvalidArgument; Request ID: req-1)"}, 1,
		},
		"a page instead": {
			queue, list{fcFails(400, "<html>not here\x1b[0m")}, false,
			delivery.Refused{Text: "Simple Message Queue: <html>not here[0m (Status Code: 400; Request ID: req-1)"}, 1,
		},
		"endless words": {
			fc3, list{fcFails(400, `{"Code":"`+strings.Repeat("c", 60000)+`","RequestId":"`+strings.Repeat("r", 3000)+`","Message":"no"}`)}, false,
			delivery.Refused{Text: "Function Compute: no (Status Code: 400; Error Code: " + strings.Repeat("c", 200) + "…; Request ID: " +
				strings.Repeat("r", 200) + "…)"}, 1,
		},
		"status without a body": {fc3, list{replies(418)}, false, delivery.Refused{Text: "Function Compute: I'm a teapot (Status Code: 418)"}, 1},
		"a redirect":            {fc3, list{replies(302)}, false, delivery.Refused{Text: "Function Compute: Found (Status Code: 302)"}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, calls := fakeAlibaba(t, "AKID", test.replies...)
			configureAlibaba(t, server.URL, "AKID")
			w := startROS(t, "", func(c *delivery.Config, _ *world) { c.FidelityAWS = test.fidelity })
			r := rosRequest(wire.Create, test.token)
			w.Dispatch([]store.Request{r})
			if diff := cmp.Diff(reported{r.ID, test.want}, w.next(t)); diff != "" {
				t.Error(diff)
			}
			if len(calls) != test.tries {
				t.Errorf("%d calls, want %d", len(calls), test.tries)
			}
		})
	}
}

// TestAlibabaCalls checks the targets and contents of calls.
func TestAlibabaCalls(t *testing.T) {
	server, calls := fakeAlibaba(t, "AKID", replies(202))
	configureAlibaba(t, server.URL, "AKID")
	tests := map[string]struct {
		token, path string
		header      map[string]string
		base64      bool // for queues and topics
	}{
		"2.0": {fc2, "/2016-08-15/services/shop.LATEST/functions/thing/invocations", map[string]string{
			"X-Fc-Invocation-Type": "Async", "X-Fc-Account-Id": "1234567890123456", "X-Fc-Security-Token": "token-of-AKID",
			"Content-Type": "application/octet-stream",
		}, false},
		"3.0": {fc3, "/2023-03-30/functions/thing/invocations", map[string]string{
			"X-Fc-Invocation-Type": "Async", "X-Acs-Action": "InvokeFunction", "X-Acs-Version": "2023-03-30", "X-Acs-Security-Token": "token-of-AKID",
		}, true}, // a function gets the unchanged event
		"queue":           {queue, "/queues/thing/messages", map[string]string{"X-Mns-Version": "2015-06-06", "Security-Token": "token-of-AKID"}, false},
		"slash queue":     {strings.Replace(queue, ":queues", ":/queues", 1), "/queues/thing/messages", nil, false},
		"topic":           {mns, "/topics/thing/messages", map[string]string{"X-Mns-Version": "2015-06-06", "Content-Type": "application/xml"}, false},
		"queue in base64": {queue, "/queues/thing/messages", nil, true},
		"topic in base64": {mns, "/topics/thing/messages", nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := startROS(t, "", func(c *delivery.Config, _ *world) { c.ROSBase64 = test.base64 })
			r := rosRequest(wire.Update, test.token)
			r.Body.Properties = r.Body.Properties.With("Odd", value.Str("a<b>&c]]>\uFFFE\uFFFF \U0001F600\x01é"))
			w.Dispatch([]store.Request{r})
			w.next(t)
			call := <-calls
			if got := call.header.Get("Path"); got != test.path {
				t.Errorf("called %s", got)
			}
			for name, want := range test.header {
				if got := call.header.Get(name); got != want {
					t.Errorf("%s %q, want %q", name, got, want)
				}
			}
			body := call.body
			if bytes.HasPrefix(body, []byte("<")) {
				var message struct {
					XMLName     xml.Name `xml:"http://mns.aliyuncs.com/doc/v1/ Message"`
					MessageBody string
				}
				if err := xml.Unmarshal(body, &message); err != nil {
					t.Fatalf("%v: %s", err, body)
				}
				body = []byte(message.MessageBody)
				if test.base64 {
					var err error
					if body, err = base64.StdEncoding.DecodeString(message.MessageBody); err != nil {
						t.Fatal(err)
					}
				}
			}
			request, err := wire.ParseRequest(body)
			if err != nil || request.Dialect != wire.ROS || request.PhysicalResourceID != "example-1" {
				t.Errorf("%v: %s", err, body)
			}
			sent, err := value.Parse(request.ResourceProperties)
			if diff := cmp.Diff(string(r.Body.Properties.JSON()), string(sent.JSON())); err != nil || diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}

func TestAlibabaRefusals(t *testing.T) {
	remote := func(token string) string {
		return token + " is in Alibaba Cloud, and its answers cannot reach the response URL, which is on loopback: start with " +
			"--public-url, or add a local provider thing to pintle.yaml under providers"
	}
	tests := map[string]struct {
		token, key, endpoint, want string
	}{
		"no credentials": {fc3, "", "", `no local provider named "thing" and no Alibaba Cloud credentials: ALIBABA_CLOUD_ACCESS_KEY_ID is not set, ` +
			"HOME/.aliyun/config.json is not there, HOME/.alibabacloud/credentials is not there. Add it to pintle.yaml under providers, or use " +
			"--provider thing=./path, or configure Alibaba Cloud credentials"},
		"2.0, loopback response URL":   {fc2, "AKID", "", remote(fc2)},
		"3.0, loopback response URL":   {fc3, "AKID", "", remote(fc3)},
		"queue, loopback response URL": {queue, "AKID", "", remote(queue)},
		"topic, loopback response URL": {mns, "AKID", "", remote(mns)},
		"no endpoint":                  {queue, "AKID", "http://u:p@x/", "ALIBABA_CLOUD_MNS_ENDPOINT is not an endpoint: give a host, or a URL without a path"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			configureAlibaba(t, test.endpoint, test.key)
			w := startROS(t, "", nil)
			r := rosRequest(wire.Create, test.token)
			w.Dispatch([]store.Request{r})
			want := strings.ReplaceAll(filepath.ToSlash(test.want), "HOME", os.Getenv("HOME"))
			if diff := cmp.Diff(reported{r.ID, delivery.Refused{Text: want}}, w.next(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAlibabaUnreachable(t *testing.T) {
	server, _ := fakeAlibaba(t, "AKID", replies(202))
	configureAlibaba(t, server.URL, "AKID")
	server.Close() // no program listens there now
	w := startROS(t, "https://pintle.example/ros/response", func(c *delivery.Config, _ *world) { c.RetryFor = 50 * time.Millisecond })
	w.Dispatch([]store.Request{rosRequest(wire.Create, fc3)})
	got, ok := w.next(t).Outcome.(delivery.Refused)
	if !ok || got.Delivered || !strings.HasPrefix(got.Text, "Function Compute: dial tcp 127.0.0.1:") || !strings.Contains(got.Text, " tries in ") {
		t.Errorf("%+v", got)
	}
}
