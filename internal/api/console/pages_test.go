package console_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/console"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/server"
	"github.com/pintle-dev/pintle/internal/store"
)

// TestSecrets checks that no page shows a secret, and that external texts are escaped.
func TestSecrets(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Operator)
	const hostile = `<script>alert(1)</script>`
	text := `{"Description": "` + hostile + `", "Parameters": {"Password": {"Type": "String", "NoEcho": true, "Default": "planted-default"},
		"Passwords": {"Type": "CommaDelimitedList", "NoEcho": true}, "Open": {"Type": "String"}},
		"Resources": {
			"A": ` + resource(`"Password": {"Ref": "Password"}, "Open": {"Ref": "Open"},
				"All": {"Fn::Join": ["-", ["x", {"Ref": "Password"}]]}`) + `,
			"B": ` + resource(`"From": {"Fn::GetAtt": ["A", "Key"]}, "List": {"Ref": "Passwords"}`) + `},
		"Outputs": {"P": {"Value": {"Ref": "Password"}}, "K": {"Value": {"Fn::GetAtt": ["A", "Key"]}},
			"O": {"Value": {"Ref": "Open"}}}}`
	stack := w.create("s", text, engine.Options{Parameters: []engine.Parameter{
		{Key: "Password", Value: "planted-password"}, {Key: "Passwords", Value: "planted-first,planted-second"},
		{Key: "Open", Value: hostile},
	}})
	first := w.take("A")
	w.answer(first, `"Status": "SUCCESS", "PhysicalResourceId": "<b>a", "NoEcho": true, "Data": {"Key": "planted-attribute"}`)
	second := w.take("B")
	_, err := w.engine.Respond(w.ctx, engine.Respond{
		Stack: refOf("s"), Logical: "B", Status: "FAILED", Reason: "it has planted-password and " + hostile, By: hostile,
	})
	w.must(err)
	w.succeed("B", "b") // the delete of the created resource
	w.succeed("A", "a")
	paths := []string{
		"/console/", pathOf(stack), pathOf(stack, "events"), pathOf(stack, "graph"), pathOf(stack, "operations", "1"),
		pathOf(stack, "changesets"), pathOf(stack, "template"), pathOf(stack) + "?logical=A", "/console/requests/" + string(first.ID),
		"/console/requests/" + string(second.ID), "/console/orphans", "/console/audit",
	}
	all := ""
	for _, path := range paths {
		page := b.page(path)
		lacks(t, path, page, "planted", "<script>", "<b>a", "X-Amz-Signature", "correct horse", " style=", " onclick=")
		all += page
	}
	wants(t, "the pages", all, "*****", "****", "&lt;script&gt;", "CREATE_FAILED", "ROLLBACK_COMPLETE",
		"answered by hand with FAILED", "<svg")
	lacks(t, "the log", w.log.String(), "planted")
}

// TestSecretsHandedOn checks a provider that returns a secret from its request. Other resources and outputs get it, but
// no page shows it.
func TestSecretsHandedOn(t *testing.T) {
	w := newWorld(t, nil)
	stack := w.create("s", `{"Parameters": {"Password": {"Type": "String", "NoEcho": true}}, "Resources": {
		"A": `+resource(`"Password": {"Ref": "Password"}`)+`, "B": `+resource(`"From": {"Fn::GetAtt": ["A", "URL"]}`)+`},
		"Outputs": {"URL": {"Value": {"Fn::GetAtt": ["A", "URL"]}}, "Port": {"Value": {"Fn::GetAtt": ["A", "Port"]}}}}`,
		engine.Options{Parameters: []engine.Parameter{{Key: "Password", Value: "planted-password"}}})
	first := w.take("A")
	w.answer(first, `"Status": "SUCCESS", "PhysicalResourceId": "a", "Data": {"URL": "db://me:planted-password@db", "Port": "5432"}`)
	second := w.take("B")
	w.answer(second, `"Status": "SUCCESS", "PhysicalResourceId": "b"`)
	_, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Stack: refOf("s"), Name: "set", Kind: store.KindUpdate, Template: resources("A", resource(""), "B", resource(`"From": "elsewhere"`)),
	})
	w.must(err)
	b := w.as(console.Viewer)
	for path, want := range map[string]string{
		pathOf(stack, "changesets", "set"): "elsewhere", pathOf(stack): "5432", "/console/requests/" + string(first.ID): "5432", "/console/requests/" + string(second.ID): "From",
	} {
		page := b.page(path)
		wants(t, path, page, want, "*****")
		lacks(t, path, page, "planted")
	}
}

// TestSignedURLs checks that a viewer cannot use a URL that someone else has signed.
func TestSignedURLs(t *testing.T) {
	w := newWorld(t, nil)
	const signed = "https://bucket.s3.amazonaws.com/key?X-Amz-Credential=AKIAPLANTED%2F20261123&X-Amz-Expires=900&X-Amz-Signature=0123456789abcdefplanted"
	stack := w.create("s", `{"Parameters": {"P": {"Type": "String"}}, "Resources": {"A": `+resource(`"Put": "`+signed+`"`)+`},
		"Outputs": {"Got": {"Value": {"Fn::GetAtt": ["A", "Get"]}}}}`,
		engine.Options{Parameters: []engine.Parameter{{Key: "P", Value: signed}}})
	r := w.take("A")
	w.answer(r, `"Status": "SUCCESS", "PhysicalResourceId": "a", "Data": {"Get": "`+signed+`"}`)
	_, err := w.engine.CreateChangeSet(w.ctx, engine.CreateChangeSet{
		Stack: refOf("s"), Name: "set", Kind: store.KindUpdate, Template: resources("A", resource(`"Put": "elsewhere"`)),
	})
	w.must(err)
	b := w.as(console.Viewer)
	for _, path := range []string{pathOf(stack), pathOf(stack, "changesets", "set"), "/console/requests/" + string(r.ID)} {
		page := b.page(path)
		wants(t, path, page, "bucket.s3.amazonaws.com", "X-Amz-Expires=900")
		lacks(t, path, page, "planted", "PLANTED")
	}
}

// TestProviderCredentialsAreHidden checks that no page of a request shows the credentials of a provider's endpoint, even if the
// template contains them in clear text.
func TestProviderCredentialsAreHidden(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Viewer)
	w.create("s", strings.ReplaceAll(resources("A", resource("")), token, "https://me:planted-word@provider.example/hook?access_key=planted-key"),
		engine.Options{})
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: engine.ROSAccount(account), Region: "cn-hangzhou", Name: "r"}, Dialect: engine.ROS,
		Template: `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"B": {"Type": "ALIYUN::ROS::CustomResource", "Properties": {
			"ServiceToken": "web:https://me:planted-word@provider.example/hook?access_key=planted-key", "Timeout": 60, "HttpConfig": {
				"SignKey": "pl!", "Headers": {"Authorization": "Bearer planted-bearer", "Accept": "text/plain"}}}}}}`,
	})
	w.must(err)
	for logical, want := range map[string]string{"A": "https://provider.example/hook", "B": "text/plain"} {
		page := b.page("/console/requests/" + string(w.take(logical).ID))
		wants(t, logical, page, want, "*****")
		lacks(t, logical, page, "planted", "pl!")
	}
}

// linked finds the link to the next page.
var linked = regexp.MustCompile(`rel="next" href="([^"]+)"`)

// pages follows a list to its end, and counts the matches of a pattern on each page.
func (b *browser) pages(path, pattern string) (counts []int, all []string) {
	b.t.Helper()
	rows := regexp.MustCompile(pattern)
	for len(counts) < 20 {
		page := b.page(path)
		found := rows.FindAllStringSubmatch(page, -1)
		counts = append(counts, len(found))
		for _, one := range found {
			all = append(all, one[1])
		}
		next := linked.FindStringSubmatch(page)
		if next == nil {
			break
		}
		path = strings.ReplaceAll(next[1], "&amp;", "&")
	}
	return counts, all
}

func (b *browser) paged(what, path, pattern string, distinct int, want ...int) {
	b.t.Helper()
	counts, all := b.pages(path, pattern)
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		b.t.Errorf("%s: pages of %v, want %v", what, counts, want)
	}
	seen := map[string]bool{}
	for _, one := range all {
		seen[one] = true
	}
	if len(seen) != distinct {
		b.t.Errorf("%s: %d different ones, want %d", what, len(seen), distinct)
	}
}

// TestPaging checks that every list of a large stack has pages, and that every item is on exactly one page.
func TestPaging(t *testing.T) {
	w := newWorld(t, nil)
	var pairs []string
	for n := range 250 {
		pairs = append(pairs, fmt.Sprintf("R%03d", n), resource(""))
	}
	stack := w.create("large", resources(pairs...), engine.Options{})
	b := w.as(console.Viewer)
	for n := range 250 {
		if n != 7 {
			w.succeed(fmt.Sprintf("R%03d", n), fmt.Sprint("p", n))
		}
	}
	b.paged("resources", pathOf(stack), `<th scope="row"><a href="/console/requests/[^"]+">(R\d+)</a></th>\n<td data-label="Type">Custom|`+
		`<th scope="row">(?:R007)()</th>`, 250, 100, 100, 50)
	wants(t, "the stack", b.page(pathOf(stack)), "Create of R007")
	wants(t, "one resource", b.page(pathOf(stack)+"?logical=R249"), "p249")
	b.paged("events", pathOf(stack, "events"), `<td data-label="Resource">(R\d+)</td>`, 250, 100, 100, 100, 100, 100, 100, 100, 48)

	operation := pathOf(stack, "operations", "1")
	b.paged("steps", operation+"?from=0", `<th scope="row">(?:<a href="[^"]+">)?(R\d+)`, 250, 100, 100, 50)
	newest := b.page(operation)
	wants(t, "the newest steps", newest, "Steps 201 to 250 of 250", "249 done", "1 running", `rel="prev"`)
	running := b.page(operation + "?show=running")
	wants(t, "what runs", running, "Steps 1 to 1 of 1", "R007", "<svg")
	lacks(t, "what runs", running, "R008")

	graph := b.page(pathOf(stack, "graph") + "?around=R200")
	wants(t, "the graph", graph, "The stack has 250 resources", "the 150 nearest to R200", "R200")
	if n := strings.Count(graph, `<g class="node`); n != 150 {
		t.Errorf("%d nodes are drawn", n)
	}
	wants(t, "the graph of none", b.page(pathOf(stack, "graph")+"?around=Nobody"), "has no resource Nobody")

	for n := range 230 {
		w.create(fmt.Sprintf("small-%03d", n), resources("A", resource("")), engine.Options{})
	}
	_, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name:     store.StackName{Account: account, Region: "us-west-2", Name: "elsewhere"},
		Template: resources("A", resource("")),
	})
	w.must(err)
	const row = `<th scope="row"><a href="/console/stacks/[^"]+">([^<]+)</a>`
	b.paged("stacks", "/console/", row, 232, 100, 100, 32)
	b.paged("stacks by name", "/console/stacks?name=SMALL-00", row, 10, 10)
	b.paged("stacks by region", "/console/stacks?region=us-west-2", row, 1, 1)
	b.paged("stacks by status", "/console/stacks?status=failed", row, 0, 0)
	for _, path := range []string{
		"/console/stacks?after=x", "/console/stacks?after=-1", pathOf(stack, "events") + "?from=1", pathOf(stack) + "?after=x",
		"/console/orphans?after=1", "/console/audit?before=z", operation + "?from=-3",
	} {
		if code, _ := b.get(path); code != 400 {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, _ := b.get("/console/stacks?after=12345"); code != 404 {
		t.Errorf("after a stack that is not there: %d", code)
	}
}

// TestLeftAndROS checks that retained resources are listed with their stack and the reason, and that ROS stacks have
// ROS's statuses.
func TestLeftAndROS(t *testing.T) {
	w := newWorld(t, nil)
	b := w.as(console.Viewer)
	stack := w.create("s", resources("A", resource("", `"DeletionPolicy": "Retain"`), "B", resource("")), engine.Options{})
	w.succeed("A", "kept-one")
	w.succeed("B", "b")
	_, err := w.engine.Delete(w.ctx, engine.DeleteStack{Stack: refOf("s")})
	w.must(err)
	w.succeed("B", "b")
	wants(t, "the list", b.page("/console/orphans"), "kept-one", "retained", ">s</a>")
	wants(t, "the stack", b.page(pathOf(stack)), "Left behind", "kept-one")

	_, err = w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: engine.ROSAccount(account), Region: "cn-hangzhou", Name: "ros-stack"}, Dialect: engine.ROS,
		Template: `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"A": {"Type": "ALIYUN::ROS::CustomResource", "Properties": {
			"ServiceToken": "acs:fc:cn-hangzhou:0000000000000000:functions/f", "Timeout": 60}}}}`,
	})
	w.must(err)
	list := b.page("/console/stacks?region=cn-hangzhou")
	wants(t, "the list", list, "ros-stack", "ROS", "CREATE_IN_PROGRESS")
	path := regexp.MustCompile(`href="(/console/stacks/[^"]+)">ros-stack`).FindStringSubmatch(list)
	if path == nil {
		t.Fatal("no link")
	}
	wants(t, "the stack", b.page(path[1]), "Stack ros-stack", "ALIYUN::ROS::CustomResource")
	w.succeed("A", "a")
	row, err := w.store.LiveStack(w.ctx, store.StackName{Account: engine.ROSAccount(account), Region: "cn-hangzhou", Name: "ros-stack"})
	w.must(err)
	w.as(console.Operator).done(path[1]+"/actions/delete", "confirm", "ros-stack")
	if r := w.take("A"); r.Body.Caller != row.Account {
		t.Errorf("the provider gets the caller %q, want the account %s", r.Body.Caller, row.Account)
	}
	wants(t, "what a key of the account sees", w.with("AKIAPLAIN", "plain-keys-own-secret").page("/console/"), "ros-stack")
}

// TestManyRegions checks that the page says so if not all regions are searched.
func TestManyRegions(t *testing.T) {
	w := newWorld(t, nil)
	for n := range 101 {
		_, err := w.engine.Create(w.ctx, engine.CreateStack{
			Name:     store.StackName{Account: fmt.Sprintf("%012d", n), Region: region, Name: "s"},
			Template: resources("A", resource("")),
		})
		w.must(err)
	}
	const note = "those of the first 100 are here"
	wants(t, "what the machine's user sees", w.as(console.Operator).page("/console/stacks?name=s"), note)
	lacks(t, "what an account sees", w.with("AKIAPLAIN", "plain-keys-own-secret").page("/console/"), note)
}

// TestRequestLinks checks that every failed or pending resource links to its request, whose page shows everything known
// about its answers.
func TestRequestLinks(t *testing.T) {
	w := newWorld(t, func(c *console.Config, _ *server.Config) { c.Logs = nil })
	stack := w.create("s", resources("A", resource(""), "B", resource("")), engine.Options{DisableRollback: true})
	failed := w.inbox[slices.IndexFunc(w.inbox, func(r store.Request) bool { return r.Logical == "A" })]
	waiting := w.take("B")
	b := w.as(console.Viewer)
	for _, r := range []store.Request{failed, waiting} {
		wants(t, "the stack while "+string(r.Logical)+" waits", b.page(pathOf(stack)),
			`<th scope="row"><a href="/console/requests/`+string(r.ID)+`">`+string(r.Logical)+`</a></th>`)
	}
	wants(t, "the request on its way", b.page("/console/requests/"+string(failed.ID)), "the provider has not received the request")
	w.must(w.engine.Report(w.ctx, failed.ID, engine.Outcome{
		Kind: engine.Refused, Delivered: true, Text: "its process exited", Log: []string{"Traceback:", "  File <b>", "KeyError"},
	}))
	link := `<a href="/console/requests/` + string(failed.ID) + `">`
	trace := "Last lines of its log:\nTraceback:\n  File &lt;b&gt;\nKeyError</pre>"
	for _, path := range []string{pathOf(stack), pathOf(stack, "events"), pathOf(stack, "operations", "1")} {
		wants(t, path, b.page(path), link, trace, `<pre class="reason"`)
	}
	wants(t, "the request", b.page("/console/requests/"+string(failed.ID)), trace, "The provider runs elsewhere and keeps its own log.")
	w.must(w.engine.Answer(w.ctx, waiting.ID, []byte(`{"Status": "SUCCESS", "PhysicalResourceId": "b", "StackId": "other"}`), 0))
	wants(t, "the request that was answered", b.page("/console/requests/"+string(waiting.ID)),
		`the answer has StackId &#34;other&#34; instead of`, `no LogicalResourceId`)
}
