package check

import "slices"

// Scenario is a sequence of requests.
type Scenario struct {
	// ID names it, in kebab-case.
	ID string
	// Title says what is sent, in one line.
	Title string
}

// scenario is one with what plays it.
type scenario struct {
	Scenario
	// needs says that it needs a provider that can create.
	needs bool
	play  func(*scene)
}

// Scenarios returns all scenarios in the order in which they run.
func Scenarios() []Scenario {
	var all []Scenario
	for _, s := range scenarios {
		all = append(all, s.Scenario)
	}
	return slices.Clone(all)
}

var scenarios = []scenario{
	{Scenario{"life", "Create, Update with the same properties, Delete"}, true, life},
	{Scenario{"unchanged", "Update with the same properties: what the Create answered is still there"}, true, unchanged},
	{Scenario{"update", "Update to other properties in place, Delete"}, true, inPlace},
	{Scenario{"replacement", "Update to a new physical ID, Delete of the old one"}, true, replacement},
	{Scenario{"replacement-rollback", "Update to a new physical ID, Update back, Delete of what it was"}, true, replacementBack},
	{Scenario{"rollback", "Update to other properties, Update back with the two swapped"}, true, rollback},
	{Scenario{"failed-create", "Create that fails, Delete with its physical ID"}, false, failedCreate},
	{Scenario{"failed-update", "Update that fails, Update back with the two swapped"}, true, failedUpdate},
	{Scenario{"no-properties", "Create without any property"}, false, bare},
	{Scenario{"new-process", "Create by one process, Update and Delete by others"}, true, newProcess},
	{Scenario{"delete-unknown", "Delete of what was never made, with IDs that engines make up"}, false, deleteUnknown},
	{Scenario{"taken", "Create and Delete of what another stack has already"}, true, nameTaken},
	{Scenario{"missing-id", "Delete without a physical ID"}, false, missingID},
	{Scenario{"redelivery", "Create, Update and Delete, each delivered twice"}, true, redelivery},
	{Scenario{"old-properties", "Update from properties of an earlier time, Delete with such"}, true, oldFormat},
	{Scenario{"strings", "Create with values as strings, and as numbers and booleans"}, true, typedValues},
	{Scenario{"unknown-members", "Create with members and properties that are not known"}, true, extras},
	{Scenario{"letters", "Create with letters beyond ASCII"}, false, letters},
	{Scenario{"oversize", "Create with long values"}, false, oversize},
	{Scenario{"two-at-once", "Create and Update of two resources at once"}, true, together},
	{Scenario{"unavailable", "Create whose answer is told 503 at first"}, true, unavailable},
	{Scenario{"unknown-type", "request of a type that there is not"}, false, unknownType},
}
