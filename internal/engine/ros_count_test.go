package engine_test

import (
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
)

// TestROSCount checks that resources exist as often as a parameter says, even if only the parameter changes.
func TestROSCount(t *testing.T) {
	counted := rosBody(map[string]string{
		"A": rosResource(`"I": {"Ref": "ALIYUN::Index"}`, "", `"Count": {"Ref": "N"}`),
		"B": rosResource(`"A": {"Ref": "A"}`, ""),
	}, `"Parameters": {"N": {"Type": "Number"}}`)
	number := func(n string) engine.Options {
		return engine.Options{Parameters: []engine.Parameter{{Key: "N", Value: n}}}
	}
	w := newROS(t, engine.Config{})
	w.must(w.begin(engine.CreateStack{Template: counted, Options: number("2")}))
	w.succeed("A[0]", "a0")
	w.succeed("A[1]", "a1")
	w.succeed("B", "b")
	w.happened([]string{
		`S CREATE_IN_PROGRESS "Stack CREATE started"`,
		`A[0] CREATE_IN_PROGRESS id=`,
		`A[1] CREATE_IN_PROGRESS id=`,
		`A[0] CREATE_COMPLETE id=a0`,
		`A[1] CREATE_COMPLETE id=a1`,
		`B CREATE_IN_PROGRESS id=`,
		`B CREATE_COMPLETE id=b`,
		`S CREATE_COMPLETE "Stack CREATE completed successfully"`,
	}, `-> Create A[0] id= {"I":0}`, `-> Create A[1] id= {"I":1}`, `-> Create B id= {"A":["a0","a1"]}`)

	w.must(w.change(engine.UpdateStack{UsePrevious: true, Options: number("1")}))
	w.succeed("B", "b")
	w.succeed("A[1]", "a1")
	w.happened([]string{
		`S UPDATE_IN_PROGRESS "Stack UPDATE started"`,
		`B UPDATE_IN_PROGRESS id=b`,
		`B UPDATE_COMPLETE id=b`,
		`A[1] DELETE_IN_PROGRESS id=a1`,
		`A[1] DELETE_COMPLETE id=a1`,
		`S UPDATE_COMPLETE "Stack UPDATE completed successfully"`,
	}, `-> Update B id=b {"A":["a0"]} was {"A":["a0","a1"]}`, `-> Delete A[1] id=a1 {"I":1}`)

	if err := w.change(engine.UpdateStack{UsePrevious: true, Options: number("1")}); err == nil {
		t.Error("an update that changes nothing was begun")
	}
	if err := w.change(engine.UpdateStack{UsePrevious: true, Options: number("500")}); err == nil {
		t.Error("an update to more resources than there may be was begun")
	}
}
