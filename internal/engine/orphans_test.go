package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// left returns the resources that the stack has left behind, one line each.
func (w *world) left() []string {
	w.t.Helper()
	list, err := w.engine.Left(w.ctx, w.stack())
	w.must(err)
	var lines []string
	for _, i := range list {
		lines = append(lines, string(i.Role)+" "+string(i.Logical)+" "+string(i.PhysicalID)+": "+i.Left)
	}
	return lines
}

func (w *world) wantLeft(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.left()); diff != "" {
		w.t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

// TestOrphansAreListed checks that orphans are listed in both modes, although the stack's resources do not show them.
func TestOrphansAreListed(t *testing.T) {
	for _, fidelity := range fidelities {
		t.Run(string(fidelity), func(t *testing.T) {
			w := newWorld(t, fidelity)
			w.must(w.create(one(`"K": "v"`)))
			w.succeed("C", "a")
			w.must(w.update(one(`"K": "w"`)))
			w.succeed("C", "b")
			w.wantLeft()
			last := ""
			for range 3 {
				r := w.take("C")
				last = string(r.ID)
				w.answer(r, `"Status": "FAILED", "PhysicalResourceId": "a", "Reason": "in use"`)
				w.pass(time.Minute)
			}
			w.wantLeft("orphan C a: Received response status [FAILED] from custom resource. Message returned: in use (RequestId: " + last + ")")
			resources, err := w.engine.Resources(w.ctx, w.stack())
			w.must(err)
			if len(resources) != 1 || resources[0].PhysicalID != "b" {
				t.Errorf("resources %+v", resources)
			}
			// The provider makes it the current resource again, so a person must not delete it as an orphan.
			w.must(w.update(one(`"K": "v"`)))
			w.succeed("C", "a")
			w.wantLeft()
			w.succeed("C", "b")
			w.delete()
			w.succeed("C", "a")
			w.wantLeft()
		})
	}
}

// TestRetainedIsListed checks that retained resources are listed with the reason.
func TestRetainedIsListed(t *testing.T) {
	kept := func(k string, more ...string) string {
		return resource(`"K": "`+k+`"`, append(more, `"UpdateReplacePolicy": "Retain"`)...)
	}
	w := created(t, body(map[string]string{
		"C": kept("v"), "R": resource("", `"DeletionPolicy": "Retain"`), "D": resource(""), "E": resource(""),
	}), "C=a", "R=r", "D=d", "E=e")
	w.must(w.update(body(map[string]string{"C": kept("w"), "D": resource(""), "E": resource("")})))
	w.succeed("C", "b")
	w.delete()
	w.succeed("C", "b")
	w.fail("D", "d", "no")
	w.fail("E", "e", "no")
	w.must(w.deleteStack(engine.DeleteStack{Retain: []wire.LogicalID{"D"}, Force: true}))
	e := w.take("E")
	w.answer(e, `"Status": "FAILED", "PhysicalResourceId": "e", "Reason": "never"`)
	if w.status() != "DELETE_COMPLETE" {
		t.Fatal(w.history())
	}
	w.wantLeft(
		"retained C a: its UpdateReplacePolicy keeps it",
		"retained R r: its DeletionPolicy keeps it",
		"retained D d: the delete of the stack retained it on request",
		"orphan E e: Received response status [FAILED] from custom resource. Message returned: never (RequestId: "+string(e.ID)+")",
	)
}
