package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// TestROSStackOutput checks that outputs of other ROS stacks are found by name and by ID, and that missing ones have
// no value.
func TestROSStackOutput(t *testing.T) {
	w := newROS(t, engine.Config{})
	net, err := w.engine.Create(w.ctx, engine.CreateStack{
		Name: store.StackName{Account: rosAccount, Region: rosRegion, Name: "Net"}, Dialect: engine.ROS,
		Template: rosBody(map[string]string{"N": rosResource("", "")}, `"Outputs": {"Vpc": {"Value": "vpc-1"}, "List": {"Value": [1, 2]}}`),
	})
	w.must(err)
	asking := rosBody(map[string]string{"C": rosResource(
		`"Name": {"Fn::GetStackOutput": ["Net", "Vpc"]}, "ID": {"Fn::GetStackOutput": ["`+string(net.StackID)+`", "List", "cn-hangzhou"]}, `+
			`"Missing": {"Fn::GetStackOutput": ["Net", "None"]}, "Elsewhere": {"Fn::GetStackOutput": ["Net", "Vpc", "cn-beijing"]}`, "")})
	w.must(w.begin(engine.CreateStack{Template: asking}))
	asked := w.take("C")
	if got, want := string(asked.Body.Properties.JSON()), `{}`; got != want { // Net's create is in progress
		t.Errorf("asked while it is at work: %s, want %s", got, want)
	}
	w.answer(asked, `"Status": "SUCCESS", "PhysicalResourceId": "c"`)
	w.succeed("N", "n")
	w.must(w.change(engine.UpdateStack{Template: asking}))
	if got, want := string(w.take("C").Body.Properties.JSON()), `{"Name":"vpc-1","ID":[1,2]}`; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

// TestROSFormatTime checks that Fn::FormatTime uses the time at which the operation started.
func TestROSFormatTime(t *testing.T) {
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: oneROS(`"At": {"Fn::FormatTime": "%Y-%m-%dT%H:%M:%SZ"}`)}))
	began := w.row().Created
	at := string(w.take("C").Body.Properties.JSON())
	if want := `{"At":"` + began.UTC().Format(time.RFC3339)[:16]; !strings.HasPrefix(at, want) {
		t.Errorf("at %s, want %s", at, want)
	}
}
