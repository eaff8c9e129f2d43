package ros_test

import (
	"testing"
	"time"
)

// TestResourceTimes checks that an updated resource keeps its creation time.
func TestResourceTimes(t *testing.T) {
	w := newWorld(t)
	id := w.create("s", `"N": 1`)
	times := func() (created, updated string) {
		t.Helper()
		resource := w.call("GetStackResource", "StackId", id, "LogicalResourceId", "A")
		listed := w.call("ListStackResources", "StackId", id)["Resources"].([]any)[0].(object)
		if listed["CreateTime"] != resource["CreateTime"] || listed["UpdateTime"] != resource["UpdateTime"] {
			t.Errorf("%v listed, %v alone", listed, resource)
		}
		created, _ = resource["CreateTime"].(string)
		updated, _ = resource["UpdateTime"].(string)
		return created, updated
	}
	created, _ := times()
	if !clock.MatchString(created) {
		t.Fatalf("CreateTime %q", created)
	}
	at, err := time.Parse("2006-01-02T15:04:05", created)
	w.must(err)
	w.clock.Add(int64(time.Hour))
	w.call("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 2`))
	w.succeed("a")
	if again, updated := times(); again != created || updated < at.Add(time.Hour).Format("2006-01-02T15:04:05") {
		t.Errorf("created %q, then %q, updated %q", created, again, updated)
	}
}
