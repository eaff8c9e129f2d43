package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// TestRefusals checks that a POST has no effect unless an operator sends it from a page of the same session.
func TestRefusals(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource("")), engine.Options{})
	request := w.take("A")
	operator, viewer, another := w.as(console.Operator), w.as(console.Viewer), w.as(console.Operator)
	mine, theirs, viewers := operator.token(), another.token(), viewer.token()
	if mine == theirs {
		t.Fatal("two sessions have one token")
	}
	own := http.Header{"Origin": {w.url}, "Sec-Fetch-Site": {"same-origin"}}
	for _, path := range []string{
		"/console/requests/" + string(request.ID) + "/respond", pathOf(stack, "actions", "delete"), pathOf(stack, "actions", "cancel"),
	} {
		for _, try := range []struct {
			what   string
			by     *browser
			token  string
			header http.Header
			want   int
		}{
			{"no token", operator, "", own, 403},
			{"another session's token", operator, theirs, own, 403},
			{"from another site", operator, mine, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
			{"from another port", operator, mine, http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
			{"from another origin", operator, mine, http.Header{"Origin": {"http://evil.example"}}, 403},
			{"from no origin", operator, mine, http.Header{"Origin": {"null"}}, 403},
			{"a viewer", viewer, viewers, own, 403},
		} {
			form := url.Values{"token": {try.token}, "status": {"SUCCESS"}, "confirm": {"s"}}
			code, _, body := try.by.send(http.MethodPost, path, form.Encode(), try.header)
			if code != try.want || !strings.Contains(body, "role=\"alert\"") {
				t.Errorf("%s, %s: %d, want %d", path, try.what, code, try.want)
			}
		}
		code, _, body := w.browser().send(http.MethodPost, path, "token="+mine, own)
		if code != 403 || !strings.Contains(body, "Sign in") {
			t.Errorf("%s without a session: %d", path, code)
		}
		if code, _ := operator.get(path); code != 404 && code != 405 {
			t.Errorf("GET %s: %d", path, code)
		}
	}
	long := url.Values{"token": {mine}, "status": {"SUCCESS"}, "data": {strings.Repeat("x", 70_000)}}
	if code, _ := operator.post("/console/requests/"+string(request.ID)+"/respond", long); code != 413 {
		t.Errorf("a long form: %d", code)
	}
	if got := w.status("s"); got != "CREATE_IN_PROGRESS" {
		t.Errorf("the stack is in %s", got)
	}
	if got := w.audit(stack); got != "" {
		t.Errorf("the audit list has %s", got)
	}
	page := viewer.page("/console/requests/" + string(request.ID))
	lacks(t, "what a viewer sees", page, "Answer instead of", `action="/console/requests`)
	lacks(t, "what was recorded", strings.ReplaceAll(w.recorded(), "sign-in", ""), " respond", " delete", " cancel")
}

// TestRespond checks that a manual answer has the same effect as a provider's, and is on the audit list.
func TestRespond(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", resources("A", resource(""), "B", resource(`"Of": {"Fn::GetAtt": ["A", "Name"]}`)), engine.Options{})
	r := w.take("A")
	b := w.as(console.Operator)
	path := "/console/requests/" + string(r.ID)
	wants(t, "the request", b.page(path), "Create of A", "with its provider", "its provider starts",
		"a line that it &lt;printed&gt;", "Answer instead of the provider", token)
	for what, form := range map[string][]string{
		"without a status": nil, "of data that is none": {"status", "SUCCESS", "data", "[1"},
		"that is too long": {"status", "SUCCESS", "data", `{"A": "` + strings.Repeat("x", 5000) + `"}`},
	} {
		if code, body := b.act(path+"/respond", form...); code != 400 || !strings.Contains(body, `role="alert"`) {
			t.Errorf("an answer %s: %d", what, code)
		}
	}
	body := b.done(path+"/respond", "status", "SUCCESS", "physicalId", "a-1", "data", `{"Name": "planted-attribute"}`, "noEcho", "1")
	wants(t, "the request", body, "The request was answered.", "answered by hand", "a-1", "*****")
	lacks(t, "the request", body, "planted-attribute", "Answer instead of")
	if sent := w.take("B").Body.Properties; !strings.Contains(string(sent.JSON()), "planted-attribute") {
		t.Errorf("B was asked for %s", sent)
	}
	wants(t, "the audit list", w.audit(stack), "answered by hand with SUCCESS", "by somebody in the console, from 127.0.0.1")
	wants(t, "the audit page", b.page("/console/audit"), "answered by hand with SUCCESS", ">s</a>", path)
	if code, body := b.act(path+"/respond", "status", "FAILED"); code != 400 || !strings.Contains(body, "role=\"alert\"") {
		t.Errorf("a second answer: %d", code)
	}
	wants(t, "what was recorded", w.recorded(), "!respond respond !respond")
}

// TestActions checks that a stack's actions use the same engine calls as the APIs, and that each has an entry on the
// audit list.
func TestActions(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Operator)
	two := func(size string) string {
		return resources("A", resource(`"Size": "`+size+`"`), "B", resource(`"Size": "`+size+`"`))
	}
	stack := w.create("s", two("1"), engine.Options{})
	wants(t, "a stack that is created", b.page(pathOf(stack)), "Cancel the creation", "Delete while creating", "2 running", "0 done")
	w.succeed("A", "a")
	w.succeed("B", "b")

	w.update("s", two("2"), engine.Options{})
	wants(t, "a stack that is updated", b.page(pathOf(stack)), "Cancel the update", `data-stream="`)
	wants(t, "after cancel", b.done(pathOf(stack, "actions", "cancel")), "UPDATE_ROLLBACK_IN_PROGRESS")
	w.succeed("A", "a")
	w.succeed("B", "b")
	w.fail("A", "a", "broken")
	w.succeed("B", "b")
	if got := w.status("s"); got != "UPDATE_ROLLBACK_FAILED" {
		t.Fatalf("the stack is in %s", got)
	}
	if code, _ := b.act(pathOf(stack, "actions", "continue"), "skip", "A", "force", "1"); code != 400 {
		t.Errorf("both ways to leave out: %d", code)
	}
	b.done(pathOf(stack, "actions", "continue"), "skip", "A")
	if got := w.status("s"); got != "UPDATE_ROLLBACK_COMPLETE" {
		t.Fatalf("the stack is in %s", got)
	}

	w.update("s", two("3"), engine.Options{DisableRollback: true})
	w.fail("A", "a", "broken")
	w.succeed("B", "b")
	wants(t, "a stack that failed", b.page(pathOf(stack)), "UPDATE_FAILED", "Retry", "Roll back")
	b.done(pathOf(stack, "actions", "retry"))
	w.fail("A", "a", "broken still")
	b.done(pathOf(stack, "actions", "rollback"))
	w.succeed("A", "a")
	w.succeed("B", "b")
	if got := w.status("s"); got != "UPDATE_ROLLBACK_COMPLETE" {
		t.Fatalf("the stack is in %s", got)
	}

	for _, name := range []string{"", "S", "another"} {
		if code, _ := b.act(pathOf(stack, "actions", "delete"), "confirm", name); code != 400 {
			t.Errorf("a delete of %q: %d", name, code)
		}
	}
	if code, body := b.act(pathOf(stack, "actions", "cancel")); code != 400 || !strings.Contains(body, "role=\"alert\"") {
		t.Errorf("a cancel of nothing: %d", code)
	}
	if code, _ := b.act(pathOf(stack, "actions", "explode")); code != 404 {
		t.Errorf("an action that there is not: %d", code)
	}
	b.done(pathOf(stack, "actions", "delete"), "confirm", "s")
	w.succeed("A", "a")
	w.succeed("B", "b")
	wants(t, "the stack", b.page(pathOf(stack)), "DELETE_COMPLETE")
	wants(t, "the audit list", w.audit(stack), strings.Join([]string{
		"delete asked for by somebody in the console, from 127.0.0.1", "rollback asked for by somebody in the console, from 127.0.0.1",
		"retry asked for by somebody in the console, from 127.0.0.1", "rollback continued by somebody in the console, from 127.0.0.1",
		"update cancelled by somebody in the console, from 127.0.0.1",
	}, "\n"))
	if want := "sign-in cancel !continue continue retry rollback !delete !delete !delete !cancel delete"; w.recorded() != want {
		t.Errorf("recorded %s, want %s", w.recorded(), want)
	}
}

// TestChangeSets checks that the page of a change set shows its changes, and that a change set can be executed and
// deleted.
func TestChangeSets(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Operator)
	stack := w.create("s", resources("A", resource(`"Size": "1"`)), engine.Options{})
	w.succeed("A", "a")
	for _, name := range []string{"one", "two"} {
		_, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
			Stack: refOf("s"), Name: name, Kind: store.KindUpdate,
			Template: resources("A", resource(`"Size": "planted <2>"`), "New", resource("")),
		})
		w.must(err)
	}
	wants(t, "the list", b.page(pathOf(stack, "changesets")), ">one</a>", ">two</a>", "AVAILABLE")
	page := b.page(pathOf(stack, "changesets", "one"))
	wants(t, "the change set", page, "2 of 2 changes", "Modify", "Add", "New", "planted &lt;2&gt;", "Execute the change set")
	lacks(t, "what a viewer sees", w.as(console.Viewer).page(pathOf(stack, "changesets", "one")), "Execute the change set",
		"Delete the change set")
	if code, _ := b.get(pathOf(stack, "changesets", "none")); code != 404 {
		t.Errorf("a change set that there is not: %d", code)
	}
	lacks(t, "the list", b.done(pathOf(stack, "changesets", "two", "delete")), ">two</a>")
	b.done(pathOf(stack, "changesets", "one", "execute"))
	w.succeed("A", "a")
	w.succeed("New", "n")
	if got := w.status("s"); got != "UPDATE_COMPLETE" {
		t.Errorf("the stack is in %s", got)
	}
	wants(t, "the audit list", w.audit(stack), "change set one executed by somebody in the console, from 127.0.0.1\n"+
		"change set two deleted by somebody in the console, from 127.0.0.1")
}
