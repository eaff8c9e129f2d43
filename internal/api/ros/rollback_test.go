package ros_test

import (
	"strings"
	"testing"
)

// TestRollbackFails updates a stack with a provider that fails the update and also the rollback.
func TestRollbackFails(t *testing.T) {
	w := newWorld(t)
	id := w.create("s", `"N": 1`)
	w.call("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 2`))
	w.fail("no disk")
	w.fail("no network")
	got := w.call("GetStack", "StackId", id)
	reason, _ := got["StatusReason"].(string)
	root, _ := got["RollbackFailedRootReason"].(string)
	if got["Status"] != "ROLLBACK_FAILED" || !strings.Contains(reason, "no network") || strings.Contains(reason, "no disk") {
		t.Errorf("%v: %s", got["Status"], reason)
	}
	if !strings.HasPrefix(root, "Resource UPDATE failed: CustomResourceFailed: resources.A: no disk") {
		t.Errorf("RollbackFailedRootReason %q", root)
	}
	w.call("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 3`))
	w.succeed("a")
	got = w.call("GetStack", "StackId", id)
	if got["Status"] != "UPDATE_COMPLETE" || got["RollbackFailedRootReason"] != nil {
		t.Error(got)
	}
}

// TestCreateRollbackFails creates a stack with a provider that fails the create and also the delete.
func TestCreateRollbackFails(t *testing.T) {
	w := newWorld(t)
	id := w.call("CreateStack", "StackName", "s", "TemplateBody", plain(""))["StackId"].(string)
	for range 10 {
		if !strings.HasSuffix(w.status(id), "_IN_PROGRESS") {
			break
		}
		w.fail("no disk")
	}
	got := w.call("GetStack", "StackId", id)
	root, _ := got["RollbackFailedRootReason"].(string)
	if got["Status"] != "CREATE_ROLLBACK_FAILED" || !strings.HasPrefix(root, "Resource CREATE failed: CustomResourceFailed: resources.A: no disk") {
		t.Errorf("%v: %q", got["Status"], root)
	}
}
