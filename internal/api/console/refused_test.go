package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// hidden returns the value of a hidden field.
func hidden(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no field %s:\n%s", name, page)
	}
	return found[1]
}

// TestRefusedPageIsAskedForByItsOwnAddress checks that a reload of the page after a rejected form requests the page by
// its own URL. It must not send the form again, because the stack may have changed so that the form is now accepted.
func TestRefusedPageIsAskedForByItsOwnAddress(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource("")), engine.Options{})
	r := w.take("A")
	b := w.as(console.Operator)
	for path, form := range map[string][]string{
		pathOf(stack):                       {"actions/rollback"},
		"/console/requests/" + string(r.ID): {"respond", "status", "DONE"},
	} {
		code, page := b.act(path+"/"+form[0], form[1:]...)
		if code != 400 {
			t.Errorf("%s: %d", path, code)
		}
		wants(t, form[0], page, `<body data-page="`+path+`"`, `<a href="`+path+`">Reload</a>`)
		for _, again := range regexp.MustCompile(`http-equiv="refresh" content="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if again[1] != "10; url="+path {
				t.Errorf("%s: without a script the browser asks for %q", form[0], again[1])
			}
		}
	}
	w.answer(r, `"Status": "SUCCESS", "PhysicalResourceId": "a"`)
	code, page := b.act(pathOf(stack, "actions", "delete"), "confirm", "other")
	if code != 400 {
		t.Errorf("a delete of another: %d", code)
	}
	wants(t, "delete", page, `<body data-page="`+pathOf(stack)+`"`)
	code, page = b.act(pathOf(stack, "actions", "explode"))
	if code != 404 {
		t.Errorf("an action that there is not: %d", code)
	}
	wants(t, "explode", page, `<body data-page="`+pathOf(stack)+`"`, `<a href="`+pathOf(stack)+`">Back</a>`)
}

// TestNoticeIsGivenOnce checks that the notice about an action appears once, and not on later loads of the page.
func TestNoticeIsGivenOnce(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource("")), engine.Options{DisableRollback: true})
	w.fail("A", "a", "broken")
	b := w.as(console.Operator)
	page := b.done(pathOf(stack, "actions", "retry"))
	wants(t, "the page", page, "The operation is retried.", `<body data-page="`+pathOf(stack)+`"`, `content="10; url=`+pathOf(stack)+`"`)
	lacks(t, "the page without the notice", b.page(pathOf(stack)+"?after=0"), "data-page", "The operation is retried.")
}

// TestFormsAreNotReloaded checks that a page with a form is not reloaded automatically, and that a rejected form keeps its input
// except secrets.
func TestFormsAreNotReloaded(t *testing.T) {
	w := newWorld(t, nil)
	w.create("s", resources("A", resource("")), engine.Options{})
	r := w.take("A")
	b := w.as(console.Operator)
	path := "/console/requests/" + string(r.ID)
	lacks(t, "a page with a form", b.page(path), `http-equiv="refresh"`)
	wants(t, "a page without one", w.as(console.Viewer).page(path), `<noscript><meta http-equiv="refresh" content="10; url=`+path+`">`)
	_, page := b.act(path+"/respond", "status", "FAILED", "physicalId", "typed-id", "reason", `typed "reason"`, "data", `{"typed": 1`)
	wants(t, "what was refused", page, `<details class="action" open>`, `value="FAILED" checked`, `value="typed-id"`,
		`value="typed &#34;reason&#34;"`, `>{&#34;typed&#34;: 1</textarea>`)
	lacks(t, "what was refused", page, `value="SUCCESS" required checked`)
	_, page = b.act(path+"/respond", "status", "SUCCESS", "data", `{"typed-secret": 1`, "noEcho", "1")
	wants(t, "what was refused", page, `name="noEcho" value="1" checked`)
	lacks(t, "what was refused", page, "typed-secret")
}

// TestFormContainsAttributes checks that the answer form contains the resource's attributes and lists those that
// others read. Secret attributes are omitted.
func TestFormContainsAttributes(t *testing.T) {
	w := newWorld(t, nil)
	two := func(size, of string) string {
		return resources("A", resource(`"Size": "`+size+`"`), "B", resource(`"Of": {"Fn::GetAtt": ["A", "`+of+`"]}`))
	}
	b := w.as(console.Operator)
	respond := func(form ...string) (before, page string) {
		path := "/console/requests/" + string(w.take("A").ID)
		before = b.page(path)
		return before, b.done(path+"/respond", form...)
	}
	w.create("s", two("1", "Name"), engine.Options{})
	page, _ := respond("status", "SUCCESS", "physicalId", "a-1", "data", `{"Name": "n", "Size": "1"}`)
	wants(t, "a create", page, `name="physicalId" spellcheck="false" autocomplete="off" value=""`, "empty for none", `autocomplete="off"></textarea>`,
		"The rest of the stack reads the attribute Name, read by resource B.", "Answer without them")
	w.succeed("B", "b")

	w.update("s", two("2", "Name"), engine.Options{})
	page, _ = respond("status", "SUCCESS")
	wants(t, "an update", page, `value="a-1"`, "empty to keep those that it has", ">{\n  &#34;Name&#34;: &#34;n&#34;,\n  &#34;Size&#34;: &#34;1&#34;\n}</textarea>")
	if got := w.status("s"); got != "UPDATE_COMPLETE" {
		t.Fatalf("the stack is in %s", got)
	}

	w.update("s", two("3", "Other"), engine.Options{})
	path := "/console/requests/" + string(w.take("A").ID)
	code, refused := b.act(path+"/respond", "status", "SUCCESS", "data", `{"Name": "n"}`)
	wants(t, "an answer that lacks what is read", refused, "The answer lacks the attribute Other, read by resource B.",
		`<details class="action" open>`, ">{&#34;Name&#34;: &#34;n&#34;}</textarea>")
	if code != 400 {
		t.Errorf("it gets %d", code)
	}
	b.done(path+"/respond", "status", "SUCCESS", "data", `{"Other": "planted-secret"}`, "noEcho", "1")
	w.succeed("B", "b")

	w.update("s", two("4", "Other"), engine.Options{})
	page, _ = respond("status", "SUCCESS")
	wants(t, "an update of secrets", page, "empty to keep those that it has, which are secret", `autocomplete="off"></textarea>`,
		`name="noEcho" value="1" checked`)
	lacks(t, "an update of secrets", page, "planted-secret")
	if got := w.status("s"); got != "UPDATE_COMPLETE" {
		t.Errorf("the stack is in %s", got)
	}
}

// TestStaleAndRepeated checks that an action is rejected if the stack has changed since the page was shown. A form that
// is sent twice acts once, and the page says so.
func TestStaleAndRepeated(t *testing.T) {
	w := newWorld(t, nil)
	one := func(size string) string { return resources("A", resource(`"Size": "`+size+`"`)) }
	stack := w.create("s", one("1"), engine.Options{})
	w.succeed("A", "a")
	w.update("s", one("2"), engine.Options{DisableRollback: true})
	w.fail("A", "a", "broken")
	b := w.as(console.Operator)
	old := b.page(pathOf(stack))
	standing, once := hidden(t, old, "standing"), hidden(t, old, "once")
	for n := range 2 {
		body := b.done(pathOf(stack, "actions", "retry"), "standing", standing, "once", once)
		wants(t, "retry", body, "The operation is retried.", "UPDATE_IN_PROGRESS")
		if op := w.stack("s").Operation; op != 3 {
			t.Fatalf("try %d: the newest operation is %d, want 3", n+1, op)
		}
	}
	if got := w.audit(stack); strings.Count(got, "retry asked for") != 1 {
		t.Errorf("the audit list has %q; there was one retry", got)
	}
	w.succeed("A", "a")
	if got := w.status("s"); got != "UPDATE_COMPLETE" {
		t.Fatal(got)
	}
	code, body := b.act(pathOf(stack, "actions", "delete"), "standing", standing, "once", once, "confirm", "s")
	if code != 409 {
		t.Errorf("a delete of a stack that had failed and stands now: %d", code)
	}
	wants(t, "the refusal", body, "your page showed UPDATE_FAILED, and now it is in UPDATE_COMPLETE. Nothing was changed")
	if got := w.status("s"); got != "UPDATE_COMPLETE" {
		t.Errorf("the stack is in %s", got)
	}
	page := b.page(pathOf(stack))
	b.done(pathOf(stack, "actions", "delete"), "standing", hidden(t, page, "standing"), "once", hidden(t, page, "once"), "confirm", "s")
	w.succeed("A", "a")
	wants(t, "the events", b.page(pathOf(stack, "events")), "DELETE_COMPLETE")
}

// TestActionsOnMissingObjectsAreRecorded checks that every action is recorded, even if its object does not exist.
func TestActionsOnMissingObjectsAreRecorded(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource("")), engine.Options{})
	r := w.take("A")
	other := w.with("AKIAOTHER", "others-own-secret")
	for _, path := range []string{
		pathOf(stack, "actions", "cancel"), pathOf(stack, "changesets", "none", "execute"), "/console/requests/" + string(r.ID) + "/respond",
	} {
		if code, _ := other.act(path, "status", "SUCCESS"); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
	if want := "sign-in !cancel !execute !respond"; w.recorded() != want {
		t.Errorf("recorded %q, want %q", w.recorded(), want)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := w.actions[1]; got.Stack != stack.ID || got.KeyID != "AKIAOTHER" || got.Status != 404 {
		t.Errorf("recorded %+v", got)
	}
}

// TestSessionOver checks that after the session has expired, the page says that nothing was changed.
func TestSessionOver(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource("")), engine.Options{})
	code, body := w.browser().post(pathOf(stack, "actions", "cancel"), url.Values{"token": {"x"}})
	if code != 403 {
		t.Errorf("an action without a session: %d", code)
	}
	wants(t, "the page", body, "Your session has expired, and nothing was changed.", `data-page="/console/sign-in"`)
}

// TestFailureLinksToRequest checks that a failure links to its request and its log.
func TestFailureLinksToRequest(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource("")), engine.Options{DisableRollback: true})
	r := w.take("A")
	w.answer(r, `"Status": "FAILED", "PhysicalResourceId": "a", "Reason": "StatusCode: 400 (RequestId: of-another-service)"`)
	b := w.as(console.Viewer)
	link := `<a href="/console/requests/` + string(r.ID) + `">`
	for _, path := range []string{pathOf(stack), pathOf(stack, "events"), pathOf(stack, "operations", "1")} {
		wants(t, path, b.page(path), link+"The request of A</a>")
	}
	wants(t, "the timeline", b.page(pathOf(stack, "operations", "1")), link+"<title>A")
	wants(t, "the request", b.page("/console/requests/"+string(r.ID)), "a line that it &lt;printed&gt;")
}

// TestFarPages checks that a page number beyond the last page is an error.
func TestFarPages(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource(`"Size": "1"`)), engine.Options{})
	w.succeed("A", "a")
	_, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Stack: refOf("s"), Name: "set", Kind: store.KindUpdate, Template: resources("A", resource(`"Size": "2"`)),
	})
	w.must(err)
	b := w.as(console.Viewer)
	const far = "9223372036854775807"
	for _, path := range []string{
		pathOf(stack, "changesets", "set") + "?from=" + far, pathOf(stack) + "?after=" + far,
		pathOf(stack, "operations", "1") + "?from=" + far, pathOf(stack, "events") + "?from=1." + far + ".0",
	} {
		if code, _ := b.get(path); code != 400 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// TestTooSlow checks that a page that exceeds its time limit says so, and is not empty.
func TestTooSlow(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, func(c *console.Config, _ *server.Config) {
		c.Logs = func(ctx context.Context, _ wire.RequestID) ([]string, error) {
			cancel()
			return nil, ctx.Err()
		}
	})
	w.create("s", resources("A", resource("")), engine.Options{})
	r := w.take("A")
	link, err := w.console.Link(w.ctx, console.Identity{Name: "somebody", Role: console.Viewer})
	w.must(err)
	begun := httptest.NewRecorder()
	w.console.ServeHTTP(begun, httptest.NewRequestWithContext(ctx, http.MethodGet, link, nil))
	ask := httptest.NewRequestWithContext(ctx, http.MethodGet, "/console/requests/"+string(r.ID), nil)
	ask.Header.Set("Cookie", begun.Header().Get("Set-Cookie"))
	reply := httptest.NewRecorder()
	w.console.ServeHTTP(reply, ask)
	if reply.Code != 503 {
		t.Errorf("a page that takes too long: %d", reply.Code)
	}
	wants(t, "the page", reply.Body.String(), "The server did not finish in time")
}

// TestNestedAndDelayed checks that a request for a nested stack has no deadline and links to that stack, as does the
// resource. A delayed request does not time out either.
func TestNestedAndDelayed(t *testing.T) {
	w := newWorld(t, nil)
	child := w.create("child", resources("A", resource("")), engine.Options{})
	w.take("A")
	stack := w.create("s", resources("N", resource("")), engine.Options{})
	r := w.take("N")
	// The rows are like the engine's for a nested stack.
	w.must(w.store.Apply(w.ctx, store.Target{Request: r.ID}, func(v *store.View) (store.Delta, error) {
		row, instance := v.Requests[r.ID], v.Instances[r.Instance]
		body, of := *row.Body, *instance.Body
		row.Due, body.Aim, of.Type = row.Due.AddDate(100, 0, 0), store.AimReach, "AWS::CloudFormation::Stack"
		row.Body, instance.Body, instance.PhysicalID = &body, &of, wire.PhysicalID(child.ID)
		return store.Delta{Requests: []store.Request{row}, Instances: []store.Instance{instance}}, nil
	}))
	b := w.as(console.Operator)
	path := "/console/requests/" + string(r.ID)
	wants(t, "the request", b.page(path), "with its nested stack", `<a href="`+pathOf(child)+`">child</a>`)
	lacks(t, "the request", b.page(path), "Time left", "Answer instead")
	wants(t, "the stack", b.page(pathOf(stack)), `<td data-label="Physical ID"><a href="`+pathOf(child)+`"><code>`, "with its nested stack", `<td data-label="Times out in">–</td>`)
	lacks(t, "the timeline", b.page(pathOf(stack, "operations", "1")), " left</text>", "ghost")

	w.must(w.store.Apply(w.ctx, store.Target{Request: r.ID}, func(v *store.View) (store.Delta, error) {
		row := v.Requests[r.ID]
		row.State, row.Due = store.RequestDelayed, w.clock().Add(65*time.Second)
		return store.Delta{Requests: []store.Request{row}}, nil
	}))
	wants(t, "one to be sent again", b.page(path), "to be sent again in 1 min 5 s")
	lacks(t, "one to be sent again", b.page(path), "Time left")
}
