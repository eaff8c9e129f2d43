package main

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

var consoleUpdate = flag.Bool("console.update", false, "let TestBrowser take the pictures of docs/console anew")

// TestBrowser uses the console as an operator does, in a real browser and by keyboard only. It visits every page, follows an operation
// in progress, and takes every action that the console offers, with its effect in the engine.
func TestBrowser(t *testing.T) {
	parts := requireBrowser(t)
	s := newScene(t)
	b := parts.start(t, s.url)
	for _, part := range []struct {
		name string
		run  func(*scene, *browser)
	}{
		{"SignIn", (*scene).signsIn},
		{"Pages", (*scene).pages},
		{"Elsewhere", (*scene).elsewhere},
		{"Live", (*scene).live},
		{"LiveList", (*scene).liveList},
		{"LiveLog", (*scene).liveLog},
		{"StopCreate", (*scene).stopsCreates},
		{"Narrow", (*scene).narrow},
		{"LocalTime", (*scene).localTime},
		{"Crowd", (*scene).crowd},
		{"Respond", (*scene).responds},
		{"Cancel", (*scene).cancels},
		{"Stale", (*scene).stale},
		{"Continue", (*scene).continues},
		{"ChangeSet", (*scene).executes},
		{"Foreign", (*scene).foreign},
		{"Delete", (*scene).deletes},
		{"Audit", (*scene).audit},
		{"WithoutScript", (*scene).withoutScript},
		{"SignOut", (*scene).signsOut},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			s.t, s.hall.t, b.t = t, t, t
			part.run(s, b)
			b.clean()
		})
		s.t, s.hall.t, b.t = t, t, t
		if !ok {
			break // the parts build on each other
		}
	}
	// Chromium itself may have asked for something. It has not got it.
	if outside := b.outside(); len(outside) > 0 {
		t.Logf("Chromium asked for, and was refused: %q", outside)
	}
}

// signInLink is the path of the link that pintle console prints.
func signInLink(t *testing.T, s *served) string {
	t.Helper()
	out, err := runIn(t, s.dir, "console", "--data", s.dir)
	path, ok := strings.CutPrefix(strings.TrimSpace(out), s.url)
	if err != nil || !ok {
		t.Fatalf("pintle console: %v\n%s", err, out)
	}
	return path
}

// page opens a page of the console, whose heading is to be this.
func (b *browser) page(path, heading string) {
	b.t.Helper()
	if status := b.open(path); status != 200 {
		b.t.Fatalf("%s: status %d\n%s", path, status, b.text())
	}
	b.part("h1", heading)
}

// pathOf is the page of a stack, or one below it.
func (s *scene) pathOf(name string, parts ...string) string {
	return strings.Join(append([]string{"/console/stacks/" + url.PathEscape(s.ids[name])}, parts...), "/")
}

func (s *scene) signsIn(b *browser) {
	b.page("/console/", "Sign in") // for visitors without a session
	b.accessible()
	link := signInLink(s.t, s.served)
	b.page(link, "Stacks")
	if strings.Contains(b.path(), "token") {
		s.t.Errorf("the link is still in the address: %s", b.path())
	}
	if status := b.open(link); status != 403 {
		s.t.Errorf("the link works twice: status %d", status)
	}
	b.page("/console/", "Stacks")
}

// pages goes through all pages by keyboard.
func (s *scene) pages(b *browser) {
	b.page("/console/", "Stacks")
	b.press("Tab")
	b.press("Enter") // the link to the content
	var focused string
	b.do("focused", nil, &focused)
	if !strings.HasPrefix(focused, "Stacks") {
		s.t.Errorf("the link that skips the navigation leads to %.60q", focused)
	}
	looked := map[string]bool{}
	look := func(heading string, texts ...string) {
		s.t.Helper()
		b.part("h1", heading)
		for _, text := range texts {
			b.says(text)
		}
		if strings.Contains(b.html(), plantedSecret) {
			s.t.Errorf("%s shows a secret", b.path())
		}
		b.accessible()
		looked[heading] = true
	}
	look("Stacks", "shop", "orders", "inventory", "billing", "ledger", "ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "CREATE_IN_PROGRESS")
	s.shoot(b, "stacks")

	b.follow("link", "shop")
	look("Stack shop", "CREATE_COMPLETE", "Password", "****", "shop-site", "Where it is")
	b.follow("link", "Timeline")
	look("Operation 1 of shop", "8 done", "0 not started")
	b.follow("link", "Dependencies")
	look("Dependencies of shop", "Database", "Service")
	s.shoot(b, "graph")
	b.follow("link", "Template")
	look("Template of shop", "Default: \"****\"", "!Ref Password", "Lines 1 to")
	s.shoot(b, "template")
	b.follow("link", "Events")
	look("Events of shop", "CREATE_IN_PROGRESS", "Resource creation Initiated")
	b.follow("link", "Change sets")
	look("Change sets of shop", "more", "AVAILABLE")
	b.follow("link", "more")
	look("Change set more", "A larger shop", "Cache", "Modify")
	b.follow("link", "Overview")
	b.follow("link", "Database")
	look("Create of Database", "Service token", "shop-database", "****")

	b.follow("link", "Stacks")
	b.follow("link", "billing")
	look("Stack billing", "ROLLBACK_COMPLETE", "I do not keep bad words")
	b.follow("link", "Timeline")
	look("Operation 1 of billing", "ROLLBACK_IN_PROGRESS")
	b.follow("link", "Left behind")
	look("Left behind", "Tape", "orphan", "the tape is being read")
	b.follow("link", "Audit")
	look("Audit", "entries")
	if want := 13; len(looked) != want {
		s.t.Errorf("%d pages were looked at, want %d", len(looked), want)
	}
}

// live watches an operation: its progress appears without reloading the page.
func (s *scene) live(b *browser) {
	b.page(s.pathOf("orders"), "Stack orders")
	b.follow("link", "Timeline")
	b.part("h1", "Operation 1 of orders")
	for _, count := range []string{"2 done", "2 running", "0 failed", "1 not started"} {
		b.part("#summary", count)
	}
	b.part("svg.timeline", "Worker")
	b.accessible()
	s.shoot(b, "operation")
	b.part("#live", "Kept up to date: CREATE_IN_PROGRESS")
	b.do("mark", nil, nil)
	s.hall.part("Worker")
	b.part("#summary", "3 done")
	b.part("svg.timeline .is-done .name", "Worker")
	var marked bool
	if b.do("marked", nil, &marked); !marked {
		s.t.Error("the page was loaded anew")
	}
}

// elsewhere comes to the console by links of another site, signed in or to be so, where browsers send no cookie of the session.
func (s *scene) elsewhere(b *browser) {
	for _, path := range []string{signInLink(s.t, s.served), "/console/stacks?status=failed"} {
		b.do("from", command{"url": b.home + path}, nil)
		b.part("h1", "Stacks")
	}
	if got, want := b.path(), "/console/stacks?status=failed"; got != want {
		s.t.Errorf("the browser is at %s, want %s", got, want)
	}
}

// crowd opens more pages of an operation that continues than a browser has connections to a server.
func (s *scene) crowd(b *browser) {
	const pages = 8
	var received int
	b.do("crowd", command{"url": b.home + s.pathOf("orders", "operations", "1"), "count": pages}, &received)
	if received != pages {
		s.t.Errorf("%d pages came, want %d", received, pages)
	}
}

// stale requests a delete on an outdated page: the stack is being updated by now. The response page says why nothing was done,
// follows the update, and does not submit the form again.
func (s *scene) stale(b *browser) {
	b.page(s.pathOf("inventory"), "Stack inventory")
	b.unfold("Delete the stack…")
	b.fill("Type the stack’s name, inventory", "inventory")
	s.update("inventory", keepers("inventory", "Stock: Text=much more, Wait=Update", "Count: Text=much more, needs=Stock"))
	s.meets("Stock")
	b.refused[s.pathOf("inventory", "actions", "delete")] = true
	b.follow("button", "Delete the stack")
	b.says("your page showed UPDATE_ROLLBACK_COMPLETE, and now it is in UPDATE_IN_PROGRESS. Nothing was changed")
	if got, want := b.path(), s.pathOf("inventory"); got != want {
		s.t.Errorf("the page is at %s, want %s", got, want)
	}
	b.part("#live", "Kept up to date: UPDATE_IN_PROGRESS")
	s.hall.part("Stock")
	s.wants("inventory", types.StackStatusUpdateComplete)
	b.part("#actions, h2", "Actions") // the page that offers them again
	b.part("#summary", "UPDATE_COMPLETE")
	if got := s.describe(s.ids["inventory"]).StackStatus; got != types.StackStatusUpdateComplete {
		s.t.Errorf("inventory is in %s", got)
	}
}

// responds answers instead of a provider that says nothing.
func (s *scene) responds(b *browser) {
	b.page(s.pathOf("orders"), "Stack orders")
	b.follow("link", "Create of Index")
	b.part("h1", "Create of Index")
	b.unfold("Answer…")
	b.accessible()
	s.shoot(b, "request")
	b.reach("radio", "It succeeded")
	b.press("Space")
	b.fill("Physical ID, empty to keep or generate one", "index-by-hand")
	b.fill("Reason", "made by hand")
	b.follow("button", "Answer")
	b.says("The request was answered.")
	s.wants("orders", types.StackStatusCreateComplete)
	b.page(s.pathOf("orders"), "Stack orders")
	b.says("CREATE_COMPLETE")
	out, err := s.client().DescribeStackResource(s.t.Context(), &cloudformation.DescribeStackResourceInput{
		StackName: aws.String("orders"), LogicalResourceId: aws.String("Index"),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if got, want := aws.ToString(out.StackResourceDetail.PhysicalResourceId), "index-by-hand"; got != want {
		s.t.Errorf("the physical id of Index is %s, want %s", got, want)
	}
	s.hall.part("Index") // its answer comes too late
}

func (s *scene) cancels(b *browser) {
	b.page(s.pathOf("inventory"), "Stack inventory")
	b.unfold("Cancel the update…")
	b.follow("button", "Cancel the update")
	b.says("The operation is being cancelled.")
	s.hall.part("Stock")
	s.wants("inventory", types.StackStatusUpdateRollbackComplete)
	b.part("#summary", "UPDATE_ROLLBACK_COMPLETE")
}

func (s *scene) continues(b *browser) {
	b.page(s.pathOf("ledger"), "Stack ledger")
	b.says("there is no way back")
	s.refuse("Update-Book", "")
	b.unfold("Continue the rollback…")
	b.accessible()
	b.follow("button", "Continue the rollback")
	b.says("The rollback continues.")
	s.wants("ledger", types.StackStatusUpdateRollbackComplete)
	b.part("#summary", "UPDATE_ROLLBACK_COMPLETE")
}

func (s *scene) executes(b *browser) {
	b.page(s.pathOf("shop", "changesets", "more"), "Change set more")
	b.unfold("Execute…")
	b.follow("button", "Execute the change set")
	b.says("The change set is being executed.")
	s.wants("shop", types.StackStatusUpdateComplete)
	kept, err := os.ReadFile(filepath.Join(s.shelf, "shop-cache"))
	if err != nil || string(kept) != "large\n" {
		s.t.Errorf("the provider keeps %q, %v; want large", kept, err)
	}
}

var formToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// foreign submits forms that no page of the console sent. The server rejects all of them.
func (s *scene) foreign(b *browser) {
	b.page(s.pathOf("billing"), "Stack billing")
	found := formToken.FindStringSubmatch(b.html())
	if found == nil {
		s.t.Fatal("the page has no form")
	}
	token, path := found[1], s.pathOf("billing", "actions", "delete")
	for name, test := range map[string]struct {
		origin string
		fields map[string]string
	}{
		"without a token":               {b.home, map[string]string{"confirm": "billing"}},
		"with another token":            {b.home, map[string]string{"confirm": "billing", "token": token[1:] + "A"}},
		"from a page of another origin": {"http://pages.example", map[string]string{"confirm": "billing", "token": token}},
		"from another port":             {"http://127.0.0.1:1", map[string]string{"confirm": "billing", "token": token}},
		"from a page without a name":    {"null", map[string]string{"confirm": "billing", "token": token}},
	} {
		if a := b.post(path, test.origin, test.fields); a.Status != 403 {
			s.t.Errorf("%s: status %d\n%s", name, a.Status, a.Text)
		}
	}
	if got, want := s.describe(s.ids["billing"]).StackStatus, types.StackStatusRollbackComplete; got != want {
		s.t.Errorf("billing is in %s, want %s", got, want)
	}
}

// deletes deletes a stack, which requires typing its name.
func (s *scene) deletes(b *browser) {
	b.page(s.pathOf("billing"), "Stack billing")
	b.unfold("Delete the stack…")
	b.fill("Type the stack’s name, billing", "shop")
	b.refused[s.pathOf("billing", "actions", "delete")] = true
	b.follow("button", "Delete the stack")
	b.says("Type the name of the stack to delete it. Nothing was changed.")
	b.page(s.pathOf("billing"), "Stack billing")
	b.unfold("Delete the stack…")
	b.fill("Type the stack’s name, billing", "billing")
	b.follow("button", "Delete the stack")
	b.says("The stack is being deleted.")
	s.wants(s.ids["billing"], types.StackStatusDeleteComplete)
}

// audit finds the actions in the audit list.
func (s *scene) audit(b *browser) {
	b.page("/console/audit", "Audit")
	for _, want := range []string{"update cancelled", "rollback continued", "change set more executed", "delete asked for", "Index"} {
		b.says(want)
	}
}

// withoutScript looks at pages in a browser that runs none.
func (s *scene) withoutScript(b *browser) {
	b.do("without", command{"width": browserWidth, "height": browserHeight}, nil)
	b.page("/console/", "Stacks")
	b.follow("link", "orders")
	b.part("h1", "Stack orders")
	b.follow("link", "Timeline")
	b.part("h1", "Operation 1 of orders")
	b.part("svg.timeline", "Dashboard")
	b.do("with", command{"width": browserWidth, "height": browserHeight}, nil)
}

func (s *scene) signsOut(b *browser) {
	b.page("/console/", "Stacks")
	b.follow("button", "Sign out")
	b.part("h1", "Sign in")
	b.page("/console/audit", "Sign in")
}

// shoot takes a picture of the page for its documentation, in light and dark, if asked to.
func (s *scene) shoot(b *browser, name string) {
	s.t.Helper()
	if !*consoleUpdate {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		file, err := filepath.Abs(filepath.Join("..", "..", "docs", "console", name+"-"+scheme+".png"))
		if err != nil {
			s.t.Fatal(err)
		}
		b.shot(file, scheme)
		if info, err := os.Stat(file); err != nil || info.Size() > 200<<10 {
			s.t.Errorf("%s: %v bytes, %v; want 200 KiB at most", file, info.Size(), err)
		}
	}
}
