package console_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestLiveList checks that a list of stacks reports the changes on its page, that streams of one page share their
// checks, and that an account sees no stacks of others.
func TestLiveList(t *testing.T) {
	w := newWorld(t, nil)
	w.create("first", resources("A", resource("")), engine.Options{})
	b := w.as(console.Viewer)
	page := b.page("/console/stacks?name=s&done=cancel")
	wants(t, "the list", page, `data-stream="/console/stacks/live?name=s"`, `data-live="list"`, "1 stack, 1 in progress")
	_, all := b.stream("/console/stacks/live")
	_, named := b.stream("/console/stacks/live?name=second")
	_, other := w.with("AKIAOTHER", "others-own-secret").stream("/console/stacks/live")
	for name, next := range map[string]func() (string, string){"1 stack, 1 in progress": all, "0 stacks": named, "0 stacks.": other} {
		if event, data := next(); event != "begin" || !strings.Contains(data, strings.TrimSuffix(name, ".")) {
			t.Errorf("%s: %s: %s", name, event, data)
		}
	}
	w.create("second", resources("B", resource("")), engine.Options{})
	for name, next := range map[string]func() (string, string){"2 stacks, 2 in progress": all, "1 stack, 1 in progress": named} {
		if event, data := next(); event != "change" || !strings.Contains(data, name) {
			t.Errorf("%s: %s: %s", name, event, data)
		}
	}
	w.fail("A", "a", "broken")
	if event, data := all(); event != "change" || !strings.Contains(data, "2 stacks, 2 in progress") {
		t.Errorf("the rollback of the first: %s: %s", event, data)
	}
	w.stop() // ends all streams
	for event, data := other(); event != ""; event, data = other() {
		if event != "ping" {
			t.Errorf("another account gets %s: %s", event, data)
		}
	}
}

// TestLiveLog checks that a request's page reports each line that its provider prints, and that the stream ends after
// the request.
func TestLiveLog(t *testing.T) {
	var lines atomic.Int32
	w := newWorld(t, func(c *console.Config, _ *server.Config) {
		c.Logs = func(context.Context, wire.RequestID) (list []string, err error) {
			for n := range lines.Load() {
				list = append(list, fmt.Sprintf("line <%d>", n+1))
			}
			return list, nil
		}
	})
	stack := w.create("s", resources("A", resource("")), engine.Options{})
	r := w.take("A")
	b := w.as(console.Viewer)
	path := "/console/requests/" + string(r.ID)
	wants(t, "the request", b.page(path), `data-stream="`+path+`/live"`)
	chosen := pathOf(stack) + "?logical=A"
	wants(t, "the stack with a chosen resource", b.page(chosen), `data-stream="`+path+`/live"`, "Log of A", "The provider runs elsewhere")
	_, next := b.stream(path + "/live")
	if event, data := next(); event != "begin" || !strings.Contains(data, "with its provider") {
		t.Fatalf("%s: %s", event, data)
	}
	for n := range int32(3) {
		lines.Store(n + 1)
		if event, data := next(); event != "change" {
			t.Fatalf("line %d: %s: %s", n+1, event, data)
		}
		wants(t, "the stack with a chosen resource", b.page(chosen), fmt.Sprintf("line &lt;%d&gt;", n+1))
	}
	w.answer(r, `"Status": "SUCCESS", "PhysicalResourceId": "a"`)
	event, _ := next()
	for event == "change" {
		event, _ = next()
	}
	if event != "end" {
		t.Errorf("after the answer: %s", event)
	}
	if code, _ := b.stream("/console/requests/none/live"); code != 404 {
		t.Errorf("of a request that there is not: %d", code)
	}
	if code, _ := w.with("AKIAOTHER", "others-own-secret").stream(path + "/live"); code != 404 {
		t.Errorf("of another account: %d", code)
	}
}

// TestTemplatePage checks that a long template has several parts, and is masked in each stage and dialect.
func TestTemplatePage(t *testing.T) {
	w := newWorld(t, nil)
	var text strings.Builder
	text.WriteString("# planted-value must not be used\nParameters:\n  P: {Type: String, NoEcho: true, Default: planted-default}\nResources:\n")
	for n := range 3000 {
		fmt.Fprintf(&text, "  # a comment %d\n", n)
	}
	text.WriteString("  A:\n    Type: Custom::Thing\n    Properties: {ServiceToken: '" + token + "', Of: 'https://h/?X-Amz-Signature=0123456789abcdef'} # <b>\n")
	stack := w.create("s", text.String(), engine.Options{Parameters: []engine.Parameter{{Key: "P", Value: "planted-value"}}})
	b := w.as(console.Viewer)
	first := b.page(pathOf(stack, "template"))
	wants(t, "the template", first, "Lines 1 to 2000 of 3007", "# **** must not be used", "Default: &#34;****&#34;", `rel="next"`, "a comment 1995")
	second := b.page(pathOf(stack, "template") + "?from=2000")
	wants(t, "its next part", second, "Lines 2001 to 3007 of 3007", `rel="prev"`, "&lt;b&gt;", "X-Amz-Signature=")
	lacks(t, "the template", first+second, "planted", "0123456789abcdef", "<b>")
	wants(t, "past the end", b.page(pathOf(stack, "template")+"?from=9999"), "Lines 3007 to 3007 of 3007")
	if code, _ := b.get(pathOf(stack, "template") + "?from=x"); code != 400 {
		t.Errorf("no number: %d", code)
	}
	if code, _ := w.with("AKIAOTHER", "others-own-secret").get(pathOf(stack, "template")); code != 404 {
		t.Errorf("another account: %d", code)
	}
	minified := w.create("json", `{"Description": "`+strings.Repeat("long ", 200)+`", "Resources": {"A": `+resource("")+`}}`, engine.Options{})
	wants(t, "JSON on one line", b.page(pathOf(minified, "template")), "&#34;Resources&#34;: {\n    &#34;A&#34;: {\n")
}

// TestStopCreate checks that a create in progress can be cancelled, and deleted.
func TestStopCreate(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Operator)
	for _, test := range []struct{ name, action, notice, status, audit string }{
		{"one", "cancel", "The operation is being cancelled.", "ROLLBACK_IN_PROGRESS", "create cancelled by somebody"},
		{"two", "delete", "The stack is being deleted.", "DELETE_IN_PROGRESS", "delete asked for by somebody"},
	} {
		stack := w.create(test.name, resources("A", resource(""), "B", resource("", `"DependsOn": "A"`)), engine.Options{})
		wants(t, test.name, b.page(pathOf(stack)), "1 running", "0 done", "1 not started", "Cancel the creation", "Delete while creating")
		lacks(t, "what a viewer sees", w.as(console.Viewer).page(pathOf(stack)), "Cancel the creation", "Delete while creating")
		wants(t, test.name, b.done(pathOf(stack, "actions", test.action), "confirm", test.name), test.notice, test.status)
		wants(t, "the audit list", w.audit(stack), test.audit)
	}
	for range 2 { // the providers answer
		w.succeed("A", "a")
	}
	for range 2 { // and delete the created resources
		w.succeed("A", "a")
	}
	wants(t, "a create that was cancelled", b.page(pathOf(w.stack("one"))), "ROLLBACK_COMPLETE", "0 done", "1 rolled back", "1 not started")
	deleted := w.create("three", resources("A", resource("")), engine.Options{})
	w.succeed("A", "a")
	wants(t, "a create that is done", b.page(pathOf(deleted)), "1 done", "0 not started")
	_, err := w.engine.Delete(w.ctx, engine.DeleteStack{Stack: refOf("three")})
	w.must(err)
	w.succeed("A", "a")
	wants(t, "a delete", b.page(pathOf(deleted)), "DELETE_COMPLETE", "1 deleted")
	w.create("two", resources("A", resource("")), engine.Options{})
	if code, page := b.act(pathOf(w.stack("two"), "actions", "delete"), "confirm", "other"); code != 400 {
		t.Errorf("a delete of another name: %d\n%s", code, page)
	}
}

// TestEmptyStates checks that an empty list says what to do.
func TestEmptyStates(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Viewer)
	wants(t, "no stacks", b.page("/console/"), "No stacks yet", "pintle deploy")
	wants(t, "no match", b.page("/console/stacks?"+url.Values{"name": {"shop"}}.Encode()), "No stacks match", "Show all stacks")
	wants(t, "nothing left", b.page("/console/orphans"), "No resources were left behind.")
	wants(t, "no audit", b.page("/console/audit"), "Nothing was recorded yet.")
}

// TestTemplateKeys checks that keys and passwords in a ROS template are masked, as on the page of a request.
func TestTemplateKeys(t *testing.T) {
	w := newWorld(t, nil)
	const text = `ROSTemplateFormatVersion: '2015-09-01'
Resources:
  A:
    Type: ALIYUN::ROS::CustomResource
    Properties:
      ServiceToken: https://user:planted-password@example.com/hook?access_token=planted-token
      Timeout: 60
      HttpConfig: {SignKey: planted-key, Headers: {Authorization: Bearer planted-bearer}}
`
	started, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: engine.ROSAccount(account), Region: "cn-hangzhou", Name: "ros"}, Template: text, Dialect: engine.ROS,
	})
	w.must(err)
	stack, err := w.store.Stack(w.ctx, started.StackID)
	w.must(err)
	page := w.as(console.Viewer).page(pathOf(stack, "template"))
	wants(t, "the template", page, "SignKey: ****", "example.com/hook")
	lacks(t, "the template", page, "planted")
}
