package cdk_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestCore tests the provider of the core library, and deployments without change sets.
func TestCore(t *testing.T) {
	a := newApp(t, "core")
	const names, direct = "type id seats window url", "--method=direct"

	a.same(a.deploys(nil, direct), outputs{"Tables": {"Name": "table-for-4", "Key": "*****"}})
	a.saw(names, "Create - 4 true ...")

	a.differs([]string{"seats=6"}, "[~] Custom::Table", "Seats")
	a.same(a.deploys([]string{"seats=6"}, direct), outputs{"Tables": {"Name": "table-for-6", "Key": "*****"}})
	a.saw(names, "Update table-for-4 6 true ...", "Delete table-for-4 4 true ...")

	a.fails("no table has thirteen seats", []string{"seats=13"}, direct)
	a.cloud.stands("Tables", "UPDATE_ROLLBACK_COMPLETE")
	a.saw(names, "Update table-for-6 13 true ...", "Update table-for-6 6 true ...")

	if out := a.does([]string{"seats=6"}, "deploy", "--require-approval", "never", direct); !strings.Contains(out, "(no changes)") {
		t.Errorf("a deploy of what is there prints\n%s", out)
	}
	a.destroys()
	a.cloud.gone("Tables")
	a.saw(names, "Delete table-for-6 6 true ...")
}

// TestInline tests inline code in both languages.
func TestInline(t *testing.T) {
	require.Tool(t, "python3")
	a := newApp(t, "inline")
	const names = "by type word"

	a.same(a.deploys(nil), outputs{"Words": {"TurnedByNode": "stressed", "TurnedByPython": "stressed"}})
	a.saw(names, "node Create desserts", "python Create desserts")

	a.differs([]string{"word=drawer"}, "desserts", "drawer")
	a.same(a.deploys([]string{"word=drawer"}), outputs{"Words": {"TurnedByNode": "reward", "TurnedByPython": "reward"}})
	a.saw(names, "node Update drawer", "python Update drawer")

	a.fails("this is no word", []string{"word=oops"})
	a.cloud.stands("Words", "UPDATE_ROLLBACK_COMPLETE")
	a.saw(names, "node Update oops", "python Update oops", "node Update drawer", "python Update drawer")

	a.destroys()
	a.cloud.gone("Words")
	a.saw(names, "python Delete drawer", "node Delete drawer")
}

// TestNotice tests requests that arrive as topic notifications, and the deployment mode that does not wait.
func TestNotice(t *testing.T) {
	require.Tool(t, "python3")
	a := newApp(t, "notice")
	const names, subject = "type pins subject text", "AWS CloudFormation custom resource request"

	got := a.deploys(nil)
	topic := got["Notices"]["Topic"]
	if !strings.HasPrefix(topic, "arn:aws:sns:"+region+":") {
		t.Errorf("the topic is %q", topic)
	}
	a.same(got, outputs{"Notices": {"Board": "on the board: mind the step", "Topic": topic}})
	a.saw(names, "Create 4 "+subject+" mind the step")

	a.differs([]string{"text=come in"}, "[~] Custom::Notice", "mind the step", "come in")
	a.same(a.deploys([]string{"text=come in"}, "--express"), outputs{"Notices": {"Board": "on the board: come in", "Topic": topic}})
	a.saw(names, "Update 4 "+subject+" come in")

	a.fails("a notice has to say something", []string{"text=nothing"})
	a.cloud.stands("Notices", "UPDATE_ROLLBACK_COMPLETE")
	a.saw(names, "Update 4 "+subject+" nothing", "Update 4 "+subject+" come in")

	a.destroys()
	a.cloud.gone("Notices")
	a.saw(names, "Delete 4 "+subject+" come in")
}
