package cdk_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGreeting tests onEvent with two resources of one provider, whose logs are kept for a day.
func TestGreeting(t *testing.T) {
	a := newApp(t, "greeting")
	const names = "type of id old"

	got := a.deploys(nil)
	a.same(got, outputs{"Greetings": {"FirstText": "Hello Ada, Hello Ada (calm)", "SecondText": "Hello Blaise, Hello Blaise (calm)", "SecondId": "greeting-Blaise"}})
	entries := a.entries()
	if len(entries) != 2 || entries[0]["type"] != "Create" || entries[0]["of"] != "First" || entries[1]["of"] != "Second" {
		t.Fatalf("the handler saw %v", entries)
	}
	want := map[string]any{"Name": "Ada", "Mood": "calm", "Times": "2", "Loud": "false", "Languages": []any{"en", "eo"}}
	if diff := cmp.Diff(want, entries[0]["properties"]); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	groups, err := a.cloud.call("CloudWatchLogs", "describeLogGroups", map[string]any{"logGroupNamePrefix": "/aws/lambda/Greetings-Provider"})
	if err != nil || groups["logGroups.0.retentionInDays"] != "1" {
		t.Errorf("log groups of the framework: %v %v, want one that is kept for a day", groups, err)
	}

	if out := a.does(nil, "deploy", "--require-approval", "never"); !strings.Contains(out, "(no changes)") {
		t.Errorf("a deploy of what is there prints\n%s", out)
	}
	a.saw(names)

	change := []string{"mood=glad", "second=Carl"}
	a.differs(change, "[~] Custom::Greeting", "Mood", "calm", "glad", "Blaise", "Carl")
	a.saw(names)
	got = a.deploys(change)
	a.same(got, outputs{"Greetings": {"FirstText": "Hello Ada, Hello Ada (glad)", "SecondText": "Hello Carl, Hello Carl (calm)", "SecondId": "greeting-Carl"}})
	a.saw(names, "Update First greeting-Ada calm", "Update Second greeting-Blaise calm", "Delete Second greeting-Blaise -")

	a.fails("there is nobody to greet", []string{"mood=sad", "second=Nobody"})
	a.cloud.stands("Greetings", "UPDATE_ROLLBACK_COMPLETE")
	a.saw(names, "Update First greeting-Ada glad", "Update Second greeting-Carl calm", "Update First greeting-Ada sad", "Update Second greeting-Carl calm")

	a.destroys()
	a.cloud.gone("Greetings")
	a.saw(names, "Delete Second greeting-Carl -", "Delete First greeting-Ada -")
}

// TestOrder tests isComplete: a resource that never completes, one that completes at the third check, and one that
// fails.
func TestOrder(t *testing.T) {
	a := newApp(t, "order")
	const names = "function type id item"

	a.fails("Operation timed out", []string{"item=fog"})
	a.cloud.stands("Orders", "ROLLBACK_COMPLETE")
	a.saw(names, "on_event Create - fog",
		"is_complete Create order-Order fog", "is_complete Create order-Order fog", "is_complete Create order-Order fog",
		"on_event Delete order-Order fog", "is_complete Delete order-Order fog")

	a.same(a.deploys(nil), outputs{"Orders": {"Number": "order-Order", "Receipt": "12 x cake, 3 eggs"}}) // the other one is deleted first
	a.saw(names, "on_event Create - cake",
		"is_complete Create order-Order cake", "is_complete Create order-Order cake", "is_complete Create order-Order cake")

	a.fails("the glass broke", []string{"item=glass"})
	a.cloud.stands("Orders", "UPDATE_ROLLBACK_COMPLETE")
	a.saw(names, "on_event Update order-Order glass", "is_complete Update order-Order glass", "on_event Update order-Order cake",
		"is_complete Update order-Order cake", "is_complete Update order-Order cake", "is_complete Update order-Order cake")

	a.differs([]string{"item=pie"}, "[~] AWS::CloudFormation::CustomResource", "cake", "pie")
	a.same(a.deploys([]string{"item=pie"}), outputs{"Orders": {"Number": "order-Order", "Receipt": "12 x pie, 3 eggs"}})
	a.saw(names, "on_event Update order-Order pie",
		"is_complete Update order-Order pie", "is_complete Update order-Order pie", "is_complete Update order-Order pie")

	a.destroys()
	a.cloud.gone("Orders")
	a.saw(names, "on_event Delete order-Order pie", "is_complete Delete order-Order pie")
}

// TestKilled kills the server while it creates a resource. The operation continues after the restart, and the command
// succeeds, although its requests failed in between.
func TestKilled(t *testing.T) {
	a := newApp(t, "order")
	context := []string{"item=bread", "patience=240"}
	cmd := a.command(context, "deploy", "--require-approval", "never", "--progress", "events")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	looks := 0
	looked := func(n int) func() bool {
		return func() bool {
			for _, entry := range a.entries() {
				if entry["function"] == "is_complete" {
					looks++
				}
			}
			return looks >= n
		}
	}
	a.cloud.until("the order is looked at", looked(2))
	a.cloud.kill()
	a.entries() // a check that was in progress
	looks = 0
	a.cloud.start()
	a.cloud.until("it is looked at again", looked(1))
	if err := os.WriteFile(a.ledger()+".baked", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("cdk deploy: %v\n%s", err, out.String())
	}
	a.cloud.stands("Orders", "CREATE_COMPLETE")
	events := 0
	text, err := os.ReadFile(a.ledger())
	if err != nil {
		t.Fatal(err)
	}
	if events = strings.Count(string(text), `"on_event"`); events != 1 {
		t.Errorf("on_event was called %d times, want once", events)
	}
	a.destroys()
}

// TestShared tests a named provider that resources of two stacks share.
func TestShared(t *testing.T) {
	a := newApp(t, "shared")
	const names = "type stack name"

	a.same(a.deploys(nil), outputs{"House": {"Key": "key of Olga in House"}, "Party": {"Key": "key of Gil in Party"}})
	a.saw(names, "Create House Olga", "Create Party Gil")

	a.differs([]string{"guest=Gus"}, "There were no differences", "Gil", "Gus")
	a.same(a.deploys([]string{"guest=Gus"}), outputs{"House": {"Key": "key of Olga in House"}, "Party": {"Key": "key of Gus in Party"}})
	a.saw(names, "Update Party Gus")

	a.fails("the house is full", []string{"guest=Crowd"})
	a.cloud.stands("House", "CREATE_COMPLETE")
	a.cloud.stands("Party", "UPDATE_ROLLBACK_COMPLETE")
	a.saw(names, "Update Party Crowd", "Update Party Gus")

	a.destroys()
	a.cloud.gone("House")
	a.cloud.gone("Party")
	a.saw(names, "Delete Party Gus", "Delete House Olga")
}
