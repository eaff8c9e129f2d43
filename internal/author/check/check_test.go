package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// Handlers as authors write them by hand, following the documentation.
const python = `
import json, os, urllib.request

FOLDER = os.environ["NOTES"]

def handler(event, context):
    body = {"Status": "SUCCESS", "StackId": event["StackId"], "RequestId": event["RequestId"], "LogicalResourceId": event["LogicalResourceId"]}
    try:
        body.update(handle(event))
    except Exception as e:
        body.update(Status="FAILED", Reason=str(e)[:500], PhysicalResourceId=event.get("PhysicalResourceId") or "failed-" + event["RequestId"])
    send(event["ResponseURL"], json.dumps(body).encode("utf-8"))

def handle(event):
    properties = event["ResourceProperties"]
    if event["RequestType"] == "Delete":
        path = os.path.join(FOLDER, os.path.basename(event["PhysicalResourceId"]))
        if os.path.exists(path):
            os.remove(path)
        return {"PhysicalResourceId": event["PhysicalResourceId"]}
    if event["RequestType"] not in ("Create", "Update"):
        raise ValueError("RequestType is not known")
    name = properties["Name"]
    if not isinstance(name, str) or not name.isalnum() or len(name) > 60:
        raise ValueError("Name: want up to 60 letters and digits")
    size = int(properties.get("Size", "1"))
    on = str(properties.get("On", "false")).lower() == "true"
    with open(os.path.join(FOLDER, name), "w") as f:
        f.write(str(size))
    return {"PhysicalResourceId": name, "Data": {"Size": size, "On": on}}

def send(url, body):
    request = urllib.request.Request(url, data=body, method="PUT", headers={"Content-Type": ""})
    urllib.request.urlopen(request)
`

const node = `
const fs = require('fs'), path = require('path');
const folder = process.env.NOTES;

exports.handler = async (event) => {
  const body = {Status: 'SUCCESS', StackId: event.StackId, RequestId: event.RequestId, LogicalResourceId: event.LogicalResourceId};
  try {
    Object.assign(body, handle(event));
  } catch (e) {
    Object.assign(body, {Status: 'FAILED', Reason: String(e.message).slice(0, 500), PhysicalResourceId: event.PhysicalResourceId || 'failed-' + event.RequestId});
  }
  for (let n = 0; ; n++) {
    const answer = await fetch(event.ResponseURL, {method: 'PUT', body: Buffer.from(JSON.stringify(body)), headers: {'content-type': ''}});
    if (answer.ok) return;
    if (n > 4) throw new Error('the answer was refused: ' + answer.status);
  }
};

function handle(event) {
  const {RequestType: type, ResourceProperties: properties, PhysicalResourceId: id} = event;
  if (type === 'Delete') {
    fs.rmSync(path.join(folder, path.basename(id)), {force: true});
    return {PhysicalResourceId: id};
  }
  if (type !== 'Create' && type !== 'Update') throw new Error('RequestType is not known');
  const name = properties.Name;
  if (typeof name !== 'string' || !/^[a-z0-9]{1,60}$/i.test(name)) throw new Error('Name: want letters and digits');
  fs.writeFileSync(path.join(folder, name), String(properties.Size));
  return {PhysicalResourceId: name, Data: {Size: String(properties.Size), On: String(properties.On) === 'true'}};
}
`

func script(t *testing.T, file, code string) check.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	c := target(t, path, map[string]string{"NOTES": t.TempDir()})
	c.Properties, c.Replace = json.RawMessage(`{"Name": "a", "Size": 5, "On": false}`), json.RawMessage(`{"Name": "b", "Size": 5, "On": false}`)
	c.Update, c.Bad = json.RawMessage(`{"Name": "a", "Size": 6, "On": true}`), json.RawMessage(`{"Name": "", "Size": 6}`)
	return c
}

// What keeps the rules is clean, in every language and on every way, and all scenarios are run.
func TestClean(t *testing.T) {
	for name, test := range map[string]struct {
		tool, file, code string
		sns              bool
	}{
		"python": {"python3", "index.py", python, false},
		"node":   {"node", "index.js", node, false},
		"sns": {"python3", "index.py", strings.Replace(python, "    body = {", `    event = json.loads(event["Records"][0]["Sns"]["Message"])
    body = {`, 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Tool(t, test.tool)
			c := script(t, test.file, test.code)
			c.SNS = test.sns
			report := run(t, c)
			wantClean(t, report)
			for _, o := range report.Outcomes {
				if o.Result != check.Passed {
					t.Errorf("%s: %s: %s", o.ID, o.Result, o.Reason)
				}
			}
			if want := len(check.Scenarios()) - 2; len(report.Outcomes) != want { // it has neither a Read nor a Plan
				t.Errorf("%d of %d scenarios", len(report.Outcomes), want)
			}
		})
	}
}

// A provider of ROS answers by POST and keeps types.
func TestROS(t *testing.T) {
	require.Tool(t, "python3")
	code := strings.Replace(python, "    body = {", `    event = json.loads(event)
    body = {`, 1)
	code = strings.ReplaceAll(code, `event["PhysicalResourceId"]`, `event.get("PhysicalResourceId", "none-made")`)
	const headers = `headers={"Content-Type": "application/json", "Date": "Sat, 28 Nov 2026 15:00:00 GMT"}`
	code = strings.Replace(code, `method="PUT", headers={"Content-Type": ""}`, `method="POST", `+headers, 1)
	code = strings.Replace(code, `"PhysicalResourceId": name,`, `"PhysicalResourceId": event.get("PhysicalResourceId") or name,`, 1)
	c := script(t, "index.py", code)
	c.Dialect = wire.ROS
	wantClean(t, run(t, c))
	c = script(t, "index.py", strings.Replace(code, `method="POST"`, `method="PUT"`, 1))
	c.Dialect, c.Only = wire.ROS, []string{"life"}
	if report := run(t, c); !has(report, "answer-verb") {
		t.Errorf("an answer by PUT is not found: %+v", report.Findings)
	}
	for sent, want := range map[string]string{
		`headers={"Content-Type": "application/json"}`:                                    "the answer has no Date",
		`headers={"Content-Type": "text/plain"}`:                                          "the answer has the Content-Type \"text/plain\", and no Date",
		`headers={"Content-Type": "text/plain", "Date": "Sat, 28 Nov 2026 15:00:00 GMT"}`: "the answer has the Content-Type \"text/plain\"",
	} {
		c = script(t, "index.py", strings.Replace(code, headers, sent, 1))
		c.Dialect, c.Only = wire.ROS, []string{"life"}
		report := run(t, c)
		if len(report.Findings) != 1 || report.Findings[0].ID != "answer-content-type" || report.Findings[0].Detail != want {
			t.Errorf("%s: want %s, got %+v", sent, want, report.Findings)
		}
	}
}

func has(report check.Report, rule string) bool {
	return slices.ContainsFunc(report.Findings, func(f check.Finding) bool { return f.ID == rule })
}

// web is a provider behind a URL, which spoils its answers.
type web struct {
	t *testing.T
	// reply spoils the answer to a request, one at a time, and answer sends it. Nil means the correct behaviour.
	reply  func(r wire.Request, a *wire.Response)
	answer func(t *testing.T, r wire.Request, body []byte)
	// harmful deletes all notes by the Delete of one.
	harmful bool

	mu    sync.Mutex
	notes map[wire.PhysicalID]bool
}

func (p *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxRequest))
	if err != nil {
		p.t.Error(err)
	}
	request, err := wire.ParseRequest(body)
	if err != nil && request.PhysicalResourceID == "" {
		request.PhysicalResourceID = "unknown"
	}
	text, err := p.handle(request).Encode()
	if err != nil {
		p.t.Error(err)
	}
	if p.answer != nil {
		p.answer(p.t, request, text)
		return
	}
	for range 3 {
		if send(p.t, http.MethodPut, request.ResponseURL, text) == http.StatusOK {
			break
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

func (p *web) handle(r wire.Request) wire.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := wire.ResponseTo(r, wire.Success)
	var properties struct{ Name json.RawMessage }
	_ = json.Unmarshal(r.ResourceProperties, &properties)
	var name string
	switch err := json.Unmarshal(properties.Name, &name); {
	case !r.RequestType.Valid(), r.RequestType != wire.Delete && (err != nil || name == "" || len(name) > 60):
		a.Status, a.Reason = wire.Failed, "Name: want a short text"
		if a.PhysicalResourceID == "" {
			a.PhysicalResourceID = "failed"
		}
	case r.RequestType == wire.Delete:
		if delete(p.notes, r.PhysicalResourceID); p.harmful {
			clear(p.notes)
		}
	case p.harmful && r.RequestType == wire.Update && !p.notes[r.PhysicalResourceID]:
		a.Status, a.Reason = wire.Failed, "there is no such note"
	default:
		a.PhysicalResourceID = wire.PhysicalID("note-" + name)
		p.notes[a.PhysicalResourceID] = true
		a.Data = json.RawMessage(`{"Name":"x","Size":"5"}`)
	}
	if p.reply != nil {
		p.reply(r, &a)
	}
	return a
}

func send(t *testing.T, method, to string, body []byte) int {
	r, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(string(body)))
	if err != nil {
		t.Error(err)
		return 0
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

func (p *web) config(t *testing.T) check.Config {
	t.Helper()
	p.t, p.notes = t, map[wire.PhysicalID]bool{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	c := target(t, server.URL+"/hook?key=hunter22", nil)
	state := func(members string) json.RawMessage {
		return json.RawMessage(`{"Size": 5, "Password": "hunter2-hunter2", ` + members + `}`)
	}
	c.Properties, c.Update, c.Replace = state(`"Name": "a"`), state(`"Name": "a", "More": "1"`), state(`"Name": "b"`)
	c.Timeout, c.Settle = 5*time.Second, 50*time.Millisecond
	return c
}

func TestURL(t *testing.T) {
	report := run(t, (&web{}).config(t))
	wantClean(t, report)
	if text, err := json.Marshal(report); err != nil || strings.Contains(string(text), "hunter22") {
		t.Errorf("the password of the URL is shown: %v", err)
	}
	for _, o := range report.Outcomes {
		if (o.Result == check.NotRun) != (o.ID == "new-process") {
			t.Errorf("%s: %s: %s", o.ID, o.Result, o.Reason)
		}
	}
}

// Each mistake is found by the rule that is about it.
func TestFinds(t *testing.T) {
	on := func(kind wire.RequestType, change func(r wire.Request, a *wire.Response)) *web {
		return &web{reply: func(r wire.Request, a *wire.Response) {
			if r.RequestType == kind {
				change(r, a)
			}
		}}
	}
	fail := func(_ wire.Request, a *wire.Response) { a.Status, a.Reason = wire.Failed, "no" }
	replaced := func(old, now string) *web {
		return &web{answer: func(t *testing.T, r wire.Request, body []byte) {
			send(t, http.MethodPut, r.ResponseURL, []byte(strings.Replace(string(body), old, now, 1)))
		}}
	}
	given := func(r wire.Request, text string) bool { return strings.Contains(string(r.ResourceProperties), text) }
	seen, made := map[wire.RequestID]bool{}, map[wire.PhysicalID]wire.LogicalID{}
	for rule, p := range map[string]*web{
		"answer-near-limit": on(wire.Create, func(_ wire.Request, a *wire.Response) { a.Reason = strings.Repeat("x", 3600) }),
		"answer-grows": on(wire.Create, func(r wire.Request, a *wire.Response) {
			if given(r, "PintleCheckLong") {
				a.Data = r.ResourceProperties
			}
		}),
		"strings-refused": on(wire.Create, func(r wire.Request, a *wire.Response) {
			if !given(r, `"Size":5`) {
				fail(r, a)
			}
		}),
		"strings-misread": on(wire.Create, func(r wire.Request, a *wire.Response) {
			if a.Data = json.RawMessage(`{"Name":"x","Size":"51"}`); given(r, `"Size":5`) {
				a.Data = json.RawMessage(`{"Name":"x","Size":6}`)
			}
		}),
		"delete-harms-other": {harmful: true},
		"failed-with-other-id": {reply: func(r wire.Request, a *wire.Response) {
			switch other := made[a.PhysicalResourceID]; {
			case r.RequestType == wire.Delete:
				delete(made, r.PhysicalResourceID)
			case r.RequestType == wire.Create && other != "" && other != r.LogicalResourceID:
				fail(r, a)
			default:
				made[a.PhysicalResourceID] = r.LogicalResourceID
			}
		}},
		"old-format-refused": on(wire.Update, func(r wire.Request, a *wire.Response) {
			if !strings.Contains(string(r.OldResourceProperties), "Name") {
				fail(r, a)
			}
		}),
		"old-values-refused": on(wire.Delete, func(r wire.Request, a *wire.Response) {
			if given(r, "PintleCheckLegacy") {
				fail(r, a)
			}
		}),
		"redelivery-refused": on(wire.Create, func(r wire.Request, a *wire.Response) {
			if seen[r.RequestID] {
				fail(r, a)
			}
			seen[r.RequestID] = true
		}),
		"unknown-request-type": on("Upgrade", func(_ wire.Request, a *wire.Response) { a.Status = wire.Success }),
		"missing-id-unanswered": {answer: func(t *testing.T, r wire.Request, body []byte) {
			if r.PhysicalResourceID != "unknown" {
				send(t, http.MethodPut, r.ResponseURL, body)
			}
		}},
		"secret-in-id":   on(wire.Create, func(_ wire.Request, a *wire.Response) { a.PhysicalResourceID = "note-hunter2-hunter2" }),
		"secret-in-data": on(wire.Create, func(_ wire.Request, a *wire.Response) { a.Data = json.RawMessage(`{"Login":"hunter2-hunter2"}`) }),
		"answered-late": {answer: func(t *testing.T, r wire.Request, body []byte) {
			send(t, http.MethodPut, r.ResponseURL, body)
			time.AfterFunc(5*time.Millisecond, func() { // possibly after the check, when no error must be reported
				late, err := http.NewRequestWithContext(context.Background(), http.MethodPut, r.ResponseURL, strings.NewReader(string(body)))
				if err != nil {
					return
				}
				if response, err := http.DefaultClient.Do(late); err == nil {
					response.Body.Close()
				}
			})
		}},
		"silence":     {answer: func(*testing.T, wire.Request, []byte) {}},
		"answer-verb": {answer: func(t *testing.T, r wire.Request, body []byte) { send(t, http.MethodPost, r.ResponseURL, body) }},
		"answer-url":  {answer: func(t *testing.T, r wire.Request, body []byte) { send(t, http.MethodPut, r.ResponseURL+"1", body) }},
		"answered-twice": {answer: func(t *testing.T, r wire.Request, body []byte) {
			send(t, http.MethodPut, r.ResponseURL, body)
			send(t, http.MethodPut, r.ResponseURL, body)
		}},
		"answers-disagree": {answer: func(t *testing.T, r wire.Request, body []byte) {
			send(t, http.MethodPut, r.ResponseURL, body)
			send(t, http.MethodPut, r.ResponseURL, []byte(strings.Replace(string(body), "SUCCESS", "FAILED", 1)))
		}},
		"answer-length": {answer: func(t *testing.T, r wire.Request, body []byte) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, r.ResponseURL, io.MultiReader(strings.NewReader(string(body))))
			if err != nil {
				t.Error(err)
				return
			}
			if response, err := http.DefaultClient.Do(request); err == nil {
				response.Body.Close()
			}
		}},
		"gives-up":        {answer: func(t *testing.T, r wire.Request, body []byte) { send(t, http.MethodPut, r.ResponseURL, body) }},
		"answer-json":     {answer: lengthInCharacters},
		"answer-status":   replaced("SUCCESS", "OK"),
		"answer-types":    replaced(`"Data":{`, `"Reason":5,"Data":{`),
		"answer-encoding": replaced("note-", "note-\xff"),
		"answer-copies":   on(wire.Update, func(_ wire.Request, a *wire.Response) { a.RequestID = "other" }),
		"answer-too-long": on(wire.Create, func(_ wire.Request, a *wire.Response) { a.Reason = strings.Repeat("x", 5000) }),
		"answer-reason":   on(wire.Create, func(_ wire.Request, a *wire.Response) { a.Reason = "" }),
		"id-missing":      on(wire.Create, func(_ wire.Request, a *wire.Response) { a.PhysicalResourceID = "" }),
		"id-too-long": on(wire.Create, func(_ wire.Request, a *wire.Response) {
			a.PhysicalResourceID = wire.PhysicalID(strings.Repeat("x", 1025))
		}),
		"id-placeholder":        on(wire.Create, func(_ wire.Request, a *wire.Response) { a.PhysicalResourceID = "undefined" }),
		"id-changed":            on(wire.Update, func(r wire.Request, a *wire.Response) { a.PhysicalResourceID = wire.PhysicalID(r.RequestID) }),
		"id-changed-on-failure": on(wire.Update, func(r wire.Request, a *wire.Response) { fail(r, a); a.PhysicalResourceID = "failed" }),
		"id-changed-on-delete":  on(wire.Delete, func(_ wire.Request, a *wire.Response) { a.PhysicalResourceID = "gone" }),
		"not-replaced":          on(wire.Update, func(r wire.Request, a *wire.Response) { a.PhysicalResourceID = r.PhysicalResourceID }),
		"create-refused":        on(wire.Create, fail),
		"update-refused":        on(wire.Update, fail),
		"delete-refused":        on(wire.Delete, fail),
		"rollback-refused": on(wire.Update, func(r wire.Request, a *wire.Response) {
			if strings.Contains(string(r.OldResourceProperties), "More") {
				fail(r, a)
			}
		}),
		"delete-unknown-refused": on(wire.Delete, func(r wire.Request, a *wire.Response) {
			if !strings.HasPrefix(string(r.PhysicalResourceID), "note-") {
				fail(r, a)
			}
		}),
		"delete-after-failure-refused": on(wire.Delete, func(r wire.Request, a *wire.Response) {
			if r.PhysicalResourceID == "failed" {
				fail(r, a)
			}
		}),
		"attributes-lost": on(wire.Update, func(_ wire.Request, a *wire.Response) { a.Data = nil }),
		"created-twice": on(wire.Create, func(_ wire.Request, a *wire.Response) {
			a.PhysicalResourceID += wire.PhysicalID(fmt.Sprint(time.Now().UnixNano()))
		}),
		"unknown-field-refused": on(wire.Create, func(r wire.Request, a *wire.Response) {
			if len(r.Extra) > 0 {
				fail(r, a)
			}
		}),
		"service-timeout-refused": on(wire.Create, func(r wire.Request, a *wire.Response) {
			if strings.Contains(string(r.ResourceProperties), "ServiceTimeout") {
				fail(r, a)
			}
		}),
		"id-shared": on(wire.Create, func(_ wire.Request, a *wire.Response) { a.PhysicalResourceID = "the-only-one" }),
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := p.config(t)
			c.Log = nil
			report := run(t, c)
			if !has(report, rule) {
				t.Errorf("not found; found %s", found(report))
			}
		})
	}
}

// lengthInCharacters is how AWS's own module for Node counts.
func lengthInCharacters(t *testing.T, r wire.Request, body []byte) {
	if r.RequestType != wire.Delete {
		var properties struct{ Name string }
		_ = json.Unmarshal(r.ResourceProperties, &properties) // or it has none
		body = []byte(strings.Replace(string(body), `"x"`, `"`+properties.Name+`"`, 1))
	}
	send(t, http.MethodPut, r.ResponseURL, body[:utf8.RuneCount(body)])
}

func found(report check.Report) (rules []string) {
	for _, f := range report.Findings {
		if !slices.Contains(rules, f.ID) {
			rules = append(rules, f.ID)
		}
	}
	slices.Sort(rules)
	return rules
}

// What a careless handler does wrong is found all at once, and none of its secrets is in the report.
func TestCarelessHandler(t *testing.T) {
	require.Tool(t, "python3")
	c := script(t, "index.py", `
import json, urllib.request, uuid
made = {}
def handler(event, context):
    print(json.dumps(event))
    properties = event["ResourceProperties"]
    status, data, id = "SUCCESS", {}, event.get("PhysicalResourceId") or str(uuid.uuid4())
    reason = "done with " + properties.get("Password", "")
    if event["RequestType"] == "Create":
        made[id] = properties
        data = {"On": "yes" if properties.get("On") else "no", "Password": properties.get("Password", "")}
    elif id not in made:
        status, reason = "FAILED", "\x1b[31mno such thing"
    if event["RequestType"] == "Update" and status == "SUCCESS":
        id = context.log_stream_name
    body = json.dumps({"Status": status, "Reason": reason, "PhysicalResourceId": id, "StackId": event["StackId"], "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"], "Data": data})
    try:
        urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], data=body.encode(), method="PUT"))
    except Exception as e:
        print(e)
`)
	const secret = "correct horse battery"
	c.Properties, c.Update, c.Replace = json.RawMessage(`{"Name": "abc", "On": false, "Password": "`+secret+`"}`), nil, nil
	var log strings.Builder
	c.Log = func(line string) { log.WriteString(line + "\n") }
	report := run(t, c)
	want := []string{
		"answer-content-type", "answer-control-characters", "attributes-lost", "created-twice", "delete-unknown-refused", "gives-up", "id-changed",
		"properties-in-log", "secret-in-data", "secret-in-log", "secret-in-reason", "state-in-memory",
		"strings-misread", "url-in-log",
	}
	got := slices.DeleteFunc(found(report), func(rule string) bool { return !slices.Contains(want, rule) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(text), log.String()} {
		if strings.Contains(shown, secret) || regexp.MustCompile(`X-Amz-Signature=[0-9a-f]{8}`).MatchString(shown) {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
	if report.Clean() || report.Count(check.Error) == 0 {
		t.Error("the report is clean")
	}
}

// TestRejectedAfterDelete checks that a Create that is rejected after a Delete shows that the Delete did nothing, if the Reason says so.
func TestRejectedAfterDelete(t *testing.T) {
	require.Tool(t, "python3")
	for reason, rule := range map[string]string{
		"An error occurred (ParameterAlreadyExists): the parameter already exists": "not-deleted",
		"The limit of one note is reached":                                         "create-refused",
	} {
		t.Run(rule, func(t *testing.T) {
			c := script(t, "index.py", `
import json, os, urllib.request
def handler(event, context):
    answer = {"Status": "SUCCESS", "PhysicalResourceId": event.get("PhysicalResourceId", "note")}
    path = os.path.join(os.environ["NOTES"], "note")
    if event["RequestType"] == "Create":
        if os.path.exists(path):
            answer = {"Status": "FAILED", "Reason": "`+reason+`", "PhysicalResourceId": "not-created"}
        else:
            open(path, "w").close()
    answer.update({k: event[k] for k in ("StackId", "RequestId", "LogicalResourceId")})
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), {"Content-Type": ""}, method="PUT"))
`)
			c.Only = []string{"life", "unchanged", "new-process"}
			if got := found(run(t, c)); !slices.Equal(got, []string{rule}) {
				t.Errorf("found %q", got)
			}
		})
	}
}

// TestRejectedAfterLeftover checks that a Create that finds a resource whose Delete failed is not taken for a Delete that did nothing.
func TestRejectedAfterLeftover(t *testing.T) {
	require.Tool(t, "python3")
	c := script(t, "index.py", `
import json, os, urllib.request
def handler(event, context):
    answer = {"Status": "SUCCESS", "PhysicalResourceId": event.get("PhysicalResourceId", "note")}
    path, once = (os.path.join(os.environ["NOTES"], name) for name in ("note", "once"))
    if event["RequestType"] == "Create":
        if os.path.exists(path):
            answer = {"Status": "FAILED", "Reason": "the note exists", "PhysicalResourceId": "not-created"}
        open(path, "w").close()
    elif event["RequestType"] == "Delete" and event["PhysicalResourceId"] == "note":
        if os.path.exists(once):
            answer.update(Status="FAILED", Reason="the note is in use")
        else:
            os.remove(path)
        open(once, "w").close()
    answer.update({k: event[k] for k in ("StackId", "RequestId", "LogicalResourceId")})
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), {"Content-Type": ""}, method="PUT"))
`)
	c.Only = []string{"life", "unchanged", "new-process"}
	if got, want := found(run(t, c)), []string{"create-refused", "delete-refused"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestNamedResource checks a provider whose resources have unique names, and which ignores a Delete with invalid properties. No scenario
// may find the resource of another one.
func TestNamedResource(t *testing.T) {
	require.Tool(t, "python3")
	c := script(t, "index.py", `
import json, os, re, urllib.request
def handle(kind, id, name):
    path = os.path.join(os.environ["NOTES"], name)
    if kind == "Delete":
        old = os.path.join(os.environ["NOTES"], id)
        if name and os.path.isfile(old):
            os.remove(old)
        return id or "nothing"
    if not re.fullmatch("[a-z]+", name):
        raise ValueError("invalid Name")
    if name != id:
        if os.path.exists(path):
            raise ValueError(f"{name} already exists")
        open(path, "w").close()
    return name
def handler(event, context):
    name = event["ResourceProperties"].get("Name", "")
    answer = {k: event[k] for k in ("StackId", "RequestId", "LogicalResourceId")}
    try:
        answer["PhysicalResourceId"] = handle(event["RequestType"], event.get("PhysicalResourceId", ""), name if str(name).isalpha() else "")
        answer["Status"] = "SUCCESS"
    except ValueError as error:
        answer.update(Status="FAILED", Reason=str(error), PhysicalResourceId=event.get("PhysicalResourceId") or "not-created")
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), {"Content-Type": ""}, method="PUT"))
`)
	c.Properties, c.Update, c.Replace, c.Bad = json.RawMessage(`{"Name": "abc"}`), nil, nil, nil
	report := run(t, c)
	want := []string{"redelivery-refused", "rollback-refused", "unknown-request-type"}
	if diff := cmp.Diff(want, found(report)); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(c.Session.Provider.Env["NOTES"])
	if err != nil || len(entries) > 0 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// Those whose process ends, in one way or another.
func TestEnds(t *testing.T) {
	require.Tool(t, "python3")
	for rule, code := range map[string]string{
		"crash": "import os\ndef handler(event, context):\n    os._exit(3)\n",
		"hang":  "import time\ndef handler(event, context):\n    time.sleep(60)\n",
		"answer-after-return": strings.Replace(python, `    send(event["ResponseURL"], json.dumps(body).encode("utf-8"))`,
			`    import threading; threading.Timer(0.3, send, (event["ResponseURL"], json.dumps(body).encode("utf-8"))).start()`, 1),
		"state-leaks": strings.Replace(strings.Replace(python, "def send", "data = {}\ndef send", 1), `"Data": {"Size": size, "On": on}}`,
			`"Data": data} if data.update({event["RequestType"]: 1}) is None else None`, 1),
		"crash-after-answer": python + "    raise ValueError('after all')\n",
	} {
		t.Run(rule, func(t *testing.T) {
			c := script(t, "index.py", code)
			if c.Only = []string{"life", "new-process"}; rule == "hang" {
				c.Timeout = 2 * time.Second
			}
			if report := run(t, c); !has(report, rule) {
				t.Errorf("not found; found %s", found(report))
			}
		})
	}
	if _, err := check.Run(t.Context(), script(t, "index.py", "def handler(:")); err == nil || !strings.Contains(err.Error(), "did not start") {
		t.Errorf("got %v, want that it did not start", err)
	}
}

// TestProgramThatDoesNotStart checks that the error for a program that exits at once has its last lines, unless the log
// has them, and no secrets.
func TestProgramThatDoesNotStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no #! lines")
	}
	path := filepath.Join(t.TempDir(), "provider")
	code := "#!/bin/sh\necho no database for hunter2-hunter2\nexit 1\n"
	if err := os.WriteFile(path, []byte(code), 0o700); err != nil {
		t.Fatal(err)
	}
	c := target(t, path, nil)
	c.Log, c.Properties = nil, json.RawMessage(`{"Password": "hunter2-hunter2"}`)
	_, err := check.Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "did not start") || !strings.HasSuffix(err.Error(), "\nno database for *****") {
		t.Errorf("got %v, want that it did not start, and its output", err)
	}
	var lines []string
	c.Log = func(line string) { lines = append(lines, line) }
	_, err = check.Run(t.Context(), c)
	if err == nil || strings.Contains(err.Error(), "no database") || len(lines) != 1 || !strings.Contains(lines[0], "no database") {
		t.Errorf("with a log: got %v and the lines %q", err, lines)
	}
}

// The shorter time of a request whose predecessors went unanswered does not end the start of a process: neither a process that
// crashed nor one that hung says how long the next takes to be ready.
func TestSlowStart(t *testing.T) {
	require.Tool(t, "python3")
	for rule, end := range map[string]string{"crash": "os._exit(3)", "hang": "time.sleep(60)"} {
		t.Run(rule, func(t *testing.T) {
			c := script(t, "index.py", "import os, time\ntime.sleep(1.5)\n"+
				strings.Replace(python, "as e:\n", "as e:\n        "+end+"\n", 1))
			c.Only = []string{"life", "failed-create", "no-properties", "letters", "oversize", "two-at-once"}
			if rule == "hang" {
				c.Timeout = 5 * time.Second
			}
			report := run(t, c)
			if !has(report, rule) {
				t.Errorf("found %v", found(report))
			}
			for _, f := range report.Findings {
				if strings.Contains(f.Detail, "before a process was ready") {
					t.Errorf("in %s: %s", f.Scenario, f.Detail)
				}
			}
		})
	}
}

// A URL that is busy gets its request again, as from an engine; any other error is a refusal.
func TestBusy(t *testing.T) {
	for status, want := range map[int]bool{http.StatusTooManyRequests: false, http.StatusServiceUnavailable: false, http.StatusBadGateway: true} {
		p := &web{}
		c := p.config(t)
		reported := map[wire.RequestID]bool{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxRequest))
			if err != nil {
				t.Error(err)
			}
			request, err := wire.ParseRequest(body)
			if err != nil {
				t.Error(err)
			}
			if !reported[request.RequestID] {
				reported[request.RequestID] = true
				w.WriteHeader(status)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			p.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		parsed, err := local.ParseTarget("", server.URL)
		if err != nil {
			t.Fatal(err)
		}
		c.Session.Provider.Target, c.Only = parsed, []string{"life"}
		if report := run(t, c); has(report, "delivery-refused") != want || report.Clean() == want {
			t.Errorf("%d: found %v", status, found(report))
		}
	}
}

// TestProcessKeepsRunningAfterAnswer checks that a process which keeps running after its answer is found at the end, without using up the whole timeout.
func TestProcessKeepsRunningAfterAnswer(t *testing.T) {
	require.Tool(t, "python3")
	c := script(t, "index.py", python+"    import time; time.sleep(3600)\n")
	c.Timeout, c.Only = 4*time.Second, []string{"life", "unchanged", "update", "letters"}
	report := run(t, c)
	if found := found(report); !slices.Equal(found, []string{"hang"}) || report.Outcomes[0].Result != check.Broken {
		t.Errorf("found %v, want that it hangs: %+v", found, report.Outcomes[0])
	}
}

// A scenario that the user asked for, by its name or with a state of its own, is not passed if it did not run.
func TestIncomplete(t *testing.T) {
	mild := &web{}
	c := mild.config(t)
	c.Replace, c.Bad = nil, nil
	for name, test := range map[string]struct {
		change func(*check.Config)
		want   []string
	}{
		"states that are derived": {func(*check.Config) {}, nil},
		"a scenario by name":      {func(c *check.Config) { c.Only = []string{"replacement", "life"} }, []string{"replacement"}},
		"a rule by name":          {func(c *check.Config) { c.Only = []string{"not-replaced"} }, nil},
		"a state that does not fit": {func(c *check.Config) {
			*c = (&web{answer: func(t *testing.T, r wire.Request, body []byte) {
				send(t, http.MethodPost, r.ResponseURL, body)
			}}).config(t)
			c.Dialect, c.Only, c.Skip = wire.ROS, []string{"not-replaced"}, []string{"failed-create", "failed-update"}
		}, []string{"replacement", "replacement-rollback"}},
		"no resource at all": {func(c *check.Config) {
			c.Properties, c.Update = json.RawMessage(`{"Name": ""}`), nil
			c.Only, c.Skip = []string{"create-refused"}, []string{"create-refused"}
		}, []string{
			"life", "unchanged", "update", "replacement", "replacement-rollback", "rollback", "failed-update", "new-process", "taken",
			"redelivery", "old-properties", "strings", "unknown-members", "two-at-once", "second-stack",
			"regions", "unavailable",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			changed := c
			test.change(&changed)
			var got []string
			for _, o := range run(t, changed).Incomplete() {
				got = append(got, o.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSeverities checks that an answer which is too long only because of its ID is a warning, that a rule broken in several scenarios
// counts once, and that no answer to a Delete without an ID is an error.
func TestSeverities(t *testing.T) {
	i := slices.IndexFunc(webBugs, func(b bug) bool { return b.name == "failed-by-name" })
	c := webConfig(t, webBugs[i].mistake)
	c.Skip = []string{"answer-grows"}
	if r := run(t, c); r.Count(check.Error) != 0 || r.Count(check.Warning) != 1 {
		t.Errorf("found %+v", r.Findings)
	}
	c = webConfig(t, without("PhysicalResourceId"))
	if r := run(t, c); r.Count(check.Error) != 1 || len(r.Findings) < 2 {
		t.Errorf("%d errors of %d findings, want 1 of several", r.Count(check.Error), len(r.Findings))
	}
	c = webConfig(t, mistake{answer: func(_ *shelf, r wire.Request, a answer) {
		if r.PhysicalResourceID == "" && r.RequestType == wire.Delete {
			a["PhysicalResourceId"], a["Status"] = nil, "OK"
		}
	}})
	if r := run(t, c); len(r.Findings) != 0 {
		t.Errorf("found %+v", r.Findings)
	}
}

func TestChoice(t *testing.T) {
	p := &web{reply: func(_ wire.Request, a *wire.Response) { a.RequestID = "other" }}
	c := p.config(t)
	c.Only, c.Skip = []string{"life", "update"}, []string{"update"}
	report := run(t, c)
	if len(report.Outcomes) != 1 || report.Outcomes[0].ID != "life" || !has(report, "answer-copies") {
		t.Errorf("got %+v", report)
	}
	c.Skip = []string{"answer-copies"}
	if report := run(t, c); !report.Clean() {
		t.Errorf("got %+v", report.Findings)
	}
	c.Only, c.Skip = []string{"silence"}, nil
	const optional = 2 // Read and Plan, which this target does not declare
	if report := run(t, c); !report.Clean() || len(report.Outcomes) != len(check.Scenarios())-optional {
		t.Errorf("got %+v", report.Findings)
	}
	for _, change := range []func(*check.Config){
		func(c *check.Config) { c.Secrets = []string{"Pasword"} },
		func(c *check.Config) { c.Only = []string{"lif"} },
		func(c *check.Config) { c.Bad = json.RawMessage(`5`) },
		func(c *check.Config) { c.Only, c.Skip = []string{"life"}, []string{"life"} },
	} {
		wrong := c
		change(&wrong)
		if _, err := check.Run(t.Context(), wrong); !errors.Is(err, check.ErrUsage) {
			t.Errorf("got %v", err)
		}
	}
}

// Each rule exists under its ID and has all of its texts.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range check.Rules() {
		if seen[r.ID] || r.Statement == "" || r.Why == "" || !slices.Contains([]check.Severity{check.Error, check.Warning, check.Note}, r.Severity) {
			t.Errorf("%+v", r)
		}
		seen[r.ID] = true
	}
	for _, s := range check.Scenarios() {
		if seen[s.ID] || s.Title == "" {
			t.Errorf("%+v", s)
		}
	}
}

// A function that runs elsewhere is handed its requests by an endpoint, and answers when it likes.
func TestDoor(t *testing.T) {
	p := &web{t: t, notes: map[wire.PhysicalID]bool{}}
	c := (&web{}).config(t)
	c.Session.Provider = local.Provider{Name: "arn:aws:lambda:eu-west-1:123456789012:function:F"}
	c.ServiceToken, c.Region, c.Timeout, c.Settle = wire.ServiceToken(c.Session.Provider.Name), "eu-west-1", 20*time.Second, 0
	var running sync.WaitGroup
	c.Session.Send = func(_ context.Context, r wire.Request, _ []byte) error {
		if string(r.ServiceToken) != c.Session.Provider.Name {
			return fmt.Errorf("there is no function %s", r.ServiceToken)
		}
		running.Go(func() {
			a := p.handle(r)
			if text, err := a.Encode(); err == nil {
				send(t, http.MethodPut, r.ResponseURL, text)
			}
		})
		return nil
	}
	report := run(t, c)
	running.Wait()
	wantClean(t, report)
	c.Session.Send = func(context.Context, wire.Request, []byte) error { return errors.New("Function not found") }
	c.Only = []string{"life"}
	if report := run(t, c); !has(report, "delivery-refused") {
		t.Errorf("got %v", found(report))
	}
}
