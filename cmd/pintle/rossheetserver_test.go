package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/wire"
)

// rosSigner returns the signer of a server's response URLs, from the key in its data directory.
func (s *served) rosSigner() *responseurl.ROSSigner {
	s.t.Helper()
	keys, err := store.OpenKeys(node.KeyFile(s.dir))
	if err != nil {
		s.t.Fatal(err)
	}
	kept, err := sqlite.Open(s.t.Context(), sqlite.Config{Path: filepath.Join(s.dir, "pintle.db"), Codec: store.NewCodec(keys)})
	if err != nil {
		s.t.Fatal(err)
	}
	defer kept.Close()
	signer, err := responseurl.NewROSSigner(kept.Root().Derive("ROS response URL"))
	if err != nil {
		s.t.Fatal(err)
	}
	return signer
}

// TestROSSheetURLs compares the response URLs with their documentation: each kind of request, and the response.
func TestROSSheetURLs(t *testing.T) {
	s := newROSSheet(t)
	signer := s.rosSigner()
	r := s.row(t, says(``))
	if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", r.template(``)); code != "" {
		t.Fatal(code, message)
	}
	s.until("the provider was asked", func() bool { return len(r.requests()) == 1 })
	a := r.requests()[0]
	base, err := url.Parse(s.url + "/ros/response")
	if err != nil {
		t.Fatal(err)
	}
	sign := func(request string, now time.Time) string {
		t.Helper()
		signed, err := signer.Sign(base, responseurl.ResponseKey{StackID: wire.StackID(r.id), LogicalID: "R", RequestID: wire.RequestID(request)}, r.name, now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	to, now := a.text("ResponseURL"), time.Now()
	full := http.Header{"Content-Type": {"application/json"}, "Date": {now.UTC().Format(http.TimeFormat)}}
	rows := []struct {
		name, method, to string
		header           http.Header
		status           int
		text             string
	}{
		{"PUT", "PUT", to, full, 405, "POST"},
		{"GET", "GET", to, full, 405, "POST"},
		{"forged", "POST", regexp.MustCompile(`signature=[0-9a-f]{8}`).ReplaceAllString(to, "signature=00000000"), full, 403, "SignatureDoesNotMatch"},
		{"of another resource", "POST", strings.Replace(to, "resource=R&", "resource=S&", 1), full, 403, "SignatureDoesNotMatch"},
		{"of another stack", "POST", strings.Replace(to, r.id, "8acc3dcd-cf48-4fa1-863e-7c767b61fe42", 1), full, 403, "SignatureDoesNotMatch"},
		{"prolonged", "POST", regexp.MustCompile(`expire=[0-9]+`).ReplaceAllString(to, "expire=9999999999"), full, 403, "SignatureDoesNotMatch"},
		{"expired", "POST", sign(a.text("RequestId"), now.Add(-2*time.Hour)), full, 403, "AccessDenied"},
		{"without a signature", "POST", regexp.MustCompile(`&signature=.*`).ReplaceAllString(to, ""), full, 400, "InvalidQueryParameter"},
		{"with more", "POST", to + "&more=1", full, 403, "SignatureDoesNotMatch"},
		{"of no request", "POST", sign("B288A0BE-D927-4888-B0F7-B35EF84B6E6F", now), full, 404, "NotFound"},
		{"signed anew, without the headers", "POST", sign(a.text("RequestId"), now), http.Header{}, 200, a.text("RequestId")},
		{"twice", "POST", to, full, 200, a.text("RequestId")},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			code, text := s.send(row.method, row.to, s.document(a, goesWell), row.header)
			if code != row.status || !strings.Contains(text, row.text) {
				t.Errorf("%d %s, want %d with %s", code, text, row.status, row.text)
			}
			if signature := regexp.MustCompile(`[0-9a-f]{40}`).FindString(text); signature != "" {
				t.Errorf("the reply shows the signature: %s", text)
			}
		})
	}
	r.rests("CREATE_COMPLETE")
	if _, signature, _ := strings.Cut(to, "signature="); strings.Contains(s.output(), signature) {
		t.Error("the log has the signature")
	}
}

// TestROSSheetOptions does the same for a server's options about answers.
func TestROSSheetOptions(t *testing.T) {
	newROSSheet(t, "--ros-response-limit", "8192", "--ros-take-put", "--ros-id-change", "ignore", "--fidelity", "aws").run(t, []rosSubject{
		{"the limit", sized(8192), accepted},
		{"more than the limit", sized(8193), refused("InvalidResponse")},
		{"PUT", func(int, rosAsked) rosAnswer { return rosAnswer{members: goesWell, method: http.MethodPut} }, accepted},
		{"another id", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{members: `"Status": "SUCCESS", "PhysicalResourceId": "two"`}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Parameters": {"N": 1}`))
			r.update("UPDATE_COMPLETE", r.template(`"Parameters": {"N": 2}`))
			r.done("DELETE_COMPLETE", "DeleteStack")
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Delete "one" {"N":2}`)
		}},
		{"headers", says(``), func(r *rosRow) {
			if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", r.template(``)); code != "" {
				r.Fatal(code, message)
			}
			r.sheet.until("the provider was asked", func() bool { return len(r.requests()) == 1 })
			a := r.requests()[0]
			to, good := a.text("ResponseURL"), r.sheet.document(a, goesWell)
			for lacks, header := range map[string]http.Header{
				"Date": {"Content-Type": {"application/json"}}, "Content-Type": {"Date": {time.Now().UTC().Format(http.TimeFormat)}},
			} {
				if code, text := r.sheet.send(http.MethodPost, to, good, header); code != http.StatusBadRequest || !strings.Contains(text, lacks) {
					r.Errorf("without %s: %d %s", lacks, code, text)
				}
			}
			if code, text := r.sheet.answer(http.MethodPost, to, good); code != http.StatusOK {
				r.Errorf("%d %s", code, text)
			}
			r.rests("CREATE_COMPLETE")
		}},
	})
}

// rosHandler is a function as in public templates: it posts its answer, and its return value is ignored. It reports its
// arguments.
const rosHandler = `
import json
import time
import urllib.request

def handler(event, context):
    e = json.loads(event)
    if "data" in e:
        asked, told = json.loads(e["data"]["messageBody"]), [e["specversion"], e["type"], e["subject"]]
    elif "Message" in e:
        asked, told = json.loads(e["Message"]), [e["TopicOwner"], e["TopicName"]]
    else:
        asked, told = e, [context.service.name or "", context.function.name, context.region]
    if asked["ResourceProperties"].get("Raise"):
        raise ValueError("no such disk")
    answer = {name: asked[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer.update(Status="SUCCESS", PhysicalResourceId="local", Data={"Told": told})
    headers = {"Content-Type": "application/json", "Date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())}
    urllib.request.urlopen(urllib.request.Request(asked["ResponseURL"], json.dumps(answer).encode(), headers)).read()
    return {"Status": "FAILED", "Reason": "nobody reads this"}
`

// TestROSSheetLocal checks that a local handler answers for tokens of Function Compute and Simple Message Queue in every region, and gets the
// same event as a function of the service.
func TestROSSheetLocal(t *testing.T) {
	require.Tool(t, "python3")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thing.py"), []byte(rosHandler), 0o600); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, name := range []string{"site", "plain", "orders", "news"} {
		args = append(args, "--provider", name+"="+filepath.Join(dir, "thing.py"))
	}
	reported := func(token, want string) func(r *rosRow) {
		return func(r *rosRow) {
			properties := `"ServiceToken": "` + token + `"`
			r.output(r.create("CREATE_COMPLETE", r.template(properties, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["R", "Told"]}}}`)), want)
			r.update("UPDATE_COMPLETE", r.template(properties+`, "Parameters": {"N": 1}`))
			r.done("DELETE_COMPLETE", "DeleteStack")
		}
	}
	newROSSheet(t, args...).run(t, []rosSubject{
		{"FC 2.0", nil, reported("acs:fc:cn-shanghai:1234567890123456:services/shop/functions/site", `["shop","site","cn-shanghai"]`)},
		{"FC 3.0", nil, reported("acs:fc:cn-hangzhou:1234567890123456:functions/plain", `["","plain","cn-hangzhou"]`)},
		{"queue", nil, reported("acs:mns:cn-hangzhou:1234567890123456:queues/orders",
			`["1.0","mns:Queue:SendMessage","acs:mns:cn-hangzhou:1234567890123456:queues/orders"]`)},
		{"queue with a slash", nil, reported("acs:mns:cn-hangzhou:1234567890123456:/queues/orders",
			`["1.0","mns:Queue:SendMessage","acs:mns:cn-hangzhou:1234567890123456:queues/orders"]`)},
		{"topic", nil, reported("acs:mns:cn-hangzhou:1234567890123456:topics/news", `["1234567890123456","news"]`)},
		{"topic with a slash", nil, reported("acs:mns:cn-hangzhou:1234567890123456:/topics/news", `["1234567890123456","news"]`)},
		{"a function that fails", nil, func(r *rosRow) { // which is known at once, and not after an hour
			r.create("CREATE_FAILED", r.template(`"ServiceToken": "acs:fc:cn-hangzhou:1:functions/plain", "Timeout": 3600, "Parameters": {"Raise": true}`),
				"DisableRollback", "true")
			if why := r.failure(); !strings.Contains(why, "no such disk") {
				r.Error(why)
			}
		}},
		{"no provider of that name", nil, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"ServiceToken": "acs:fc:cn-hangzhou:1:functions/nobody"`), "DisableRollback", "true")
			if why := r.failure(); !strings.Contains(why, "nobody") {
				r.Error(why)
			}
		}},
	})
}
