package main

import (
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// stays runs a part in which the page must not be loaded again.
func (s *scene) stays(b *browser, part func()) {
	s.t.Helper()
	b.do("mark", nil, nil)
	part()
	var marked bool
	if b.do("marked", nil, &marked); !marked {
		s.t.Error("the page was loaded again")
	}
}

// liveList watches the list of stacks: a new one appears, and its status changes, without loading the page.
func (s *scene) liveList(b *browser) {
	b.page("/console/", "Stacks")
	b.part("#live", "Kept up to date: 5 stacks")
	s.stays(b, func() {
		s.create("draft", keepers("draft", "Page: Wait=Create"))
		b.part("#stacks", "draft")
		b.part("#live", "6 stacks, 3 in progress")
		s.meets("Page")
		s.hall.part("Page")
		s.wants("draft", types.StackStatusCreateComplete)
		b.part("#live", "6 stacks, 2 in progress")
	})
	b.accessible()
	b.page("/console/stacks?name=no-such-stack", "Stacks")
	b.says("No stacks match")
	b.accessible()
}

// liveLog follows the log of a resource on the page of its stack, and then on that of its request.
func (s *scene) liveLog(b *browser) {
	s.create("print", keepers("print", "Press: Text=aloud, Wait=Create"))
	s.meets("Press")
	s.ids["print"] = *s.describe("print").StackId
	b.page(s.pathOf("print"), "Stack print")
	b.follow("link", "Log of Press")
	b.part("#log", "Press is half done")
	b.accessible()
	s.stays(b, func() {
		s.hall.part("Press")
		b.part("#log", "Press is nearly done")
	})
	b.follow("link", "Create of Press")
	b.part("#log", "Press is nearly done")
	s.meets("Press")
	s.hall.part("Press")
	b.part("#live", "Ended")
	s.wants("print", types.StackStatusCreateComplete)
	b.part("#answer", "CREATE_COMPLETE")
}

// stopsCreates cancels a create that waits for its provider, and deletes a stack during another.
func (s *scene) stopsCreates(b *browser) {
	for _, name := range []string{"sketch", "outline"} {
		s.create(name, keepers(name, "Frame", "Canvas: Wait=Create, needs=Frame"))
		s.meets("Canvas")
		s.ids[name] = *s.describe(name).StackId
		b.page(s.pathOf(name), "Stack "+name)
		if name == "sketch" {
			b.unfold("Cancel the creation…")
			b.accessible()
			b.follow("button", "Cancel the creation")
			b.says("The operation is being cancelled.")
			b.part("#summary", "ROLLBACK_IN_PROGRESS")
		} else {
			b.unfold("Delete while creating…")
			b.fill("Type the stack’s name, outline", "outline")
			b.follow("button", "Delete while creating")
			b.says("The stack is being deleted.")
			b.part("#summary", "DELETE_IN_PROGRESS")
		}
		s.hall.part("Canvas")
	}
	s.wants("sketch", types.StackStatusRollbackComplete)
	s.wants(s.ids["outline"], types.StackStatusDeleteComplete)
}

// narrow looks at all kinds of pages in the window of a telephone: none is wider, and the timeline fits.
func (s *scene) narrow(b *browser) {
	b.do("with", command{"width": 390, "height": 844}, nil)
	for path, heading := range map[string]string{
		"/console/": "Stacks", s.pathOf("orders"): "Stack orders", s.pathOf("orders", "operations", "1"): "Operation 1 of orders",
		s.pathOf("shop", "graph"): "Dependencies of shop", s.pathOf("shop", "template"): "Template of shop",
		s.pathOf("shop", "events"): "Events of shop", s.pathOf("shop", "changesets", "more"): "Change set more",
		s.pathOf("billing"): "Stack billing", "/console/audit": "Audit", "/console/orphans": "Left behind",
		s.pathOf("ledger") + "?logical=Book": "Stack ledger",
	} {
		b.page(path, heading)
		var over string
		if b.do("overflow", nil, &over); over != "" {
			s.t.Errorf("%s is wider than the window by %s", path, over)
		}
		b.check("light", 10, nil)
		if strings.HasPrefix(heading, "Operation") {
			var inside bool
			if b.do("inside", command{"within": "svg.timeline"}, &inside); !inside {
				s.t.Error("the timeline is not within the window")
			}
			s.shoot(b, "operation-narrow")
		}
	}
	b.do("with", command{"width": browserWidth, "height": browserHeight}, nil)
}

var stampText = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// localTime looks at a page in another time zone, whose times are those of the window, with the UTC ones in their titles.
func (s *scene) localTime(b *browser) {
	const zone = "Australia/Brisbane"
	b.do("with", command{"width": browserWidth, "height": browserHeight, "zone": zone}, nil)
	b.page(s.pathOf("shop"), "Stack shop")
	b.part("#zone", zone)
	times := "#summary time"
	began, err := time.Parse(time.RFC3339, b.attribute(times, "datetime"))
	if err != nil {
		s.t.Fatal(err)
	}
	b.part(times, began.Add(10*time.Hour).Format("2006-01-02 15:04:05")) // a zone without summer time
	if got, want := b.attribute(times, "title"), began.UTC().Format("2006-01-02 15:04:05")+" UTC"; got != want {
		s.t.Errorf("the title of a time is %q, want %q", got, want)
	}
	b.page(s.pathOf("orders"), "Stack orders")
	began, err = time.Parse(time.RFC3339, b.attribute("footer time", "datetime"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.until("a heartbeat has updated the page", func() bool {
		again, err := time.Parse(time.RFC3339, b.attribute("footer time", "datetime"))
		return err == nil && again.After(began)
	})
	shown := stampText.FindString(b.attribute("footer time", "title"))
	if strings.Contains(b.text(), shown) {
		s.t.Errorf("after an update the page has a time in UTC, %s", shown)
	}
	b.do("with", command{"width": browserWidth, "height": browserHeight}, nil)
}
