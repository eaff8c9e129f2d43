package check

import (
	"encoding/json"
	"slices"
)

// Scenario is a sequence of requests.
type Scenario struct {
	// ID names it, in kebab-case.
	ID string
	// Title names the requests that the scenario sends, in one line.
	Title string
}

// scenario is a [Scenario] with the function that plays it.
type scenario struct {
	Scenario
	// needs says that it needs a provider that can create.
	needs bool
	play  func(*scene)
	// uses returns the properties that a user can give for this scenario, or nil.
	uses func(Config) json.RawMessage
}

func useUpdate(c Config) json.RawMessage  { return c.Update }
func useReplace(c Config) json.RawMessage { return c.Replace }
func useBad(c Config) json.RawMessage     { return c.Bad }

// Scenarios returns all scenarios in the order in which they run.
func Scenarios() []Scenario {
	var all []Scenario
	for _, s := range scenarios {
		all = append(all, s.Scenario)
	}
	return slices.Clone(all)
}

var scenarios = []scenario{
	{Scenario{"life", "Create, Update with the same properties, Delete"}, true, life, nil},
	{Scenario{"unchanged", "Update with the same properties: the attributes of the Create are still there"}, true, unchanged, nil},
	{Scenario{"update", "Update to other properties in place, Delete"}, true, inPlace, useUpdate},
	{Scenario{"replacement", "Update to a new physical ID, Delete of the old one"}, true, replacement, useReplace},
	{Scenario{"replacement-rollback", "Update to a new physical ID, Update back, Delete of the new one"}, true, replacementBack, useReplace},
	{Scenario{"rollback", "Update to other properties, Update back with old and new swapped"}, true, rollback, useUpdate},
	{Scenario{"failed-create", "failing Create, Delete with its physical ID"}, false, failedCreate, useBad},
	{Scenario{"failed-update", "failing Update, Update back with old and new swapped"}, true, failedUpdate, useBad},
	{Scenario{"no-properties", "Create without properties"}, false, bare, nil},
	{Scenario{"new-process", "Create in one process, Update and Delete in others"}, true, newProcess, nil},
	{Scenario{"delete-unknown", "Delete of resources that were never created, with IDs that engines generate"}, false, deleteUnknown, nil},
	{Scenario{"taken", "Create and Delete of a resource that another stack already has"}, true, nameTaken, nil},
	{Scenario{"missing-id", "Delete without a physical ID"}, false, missingID, nil},
	{Scenario{"redelivery", "Create, Update and Delete, each delivered twice"}, true, redelivery, nil},
	{Scenario{"old-properties", "Update from old properties, Delete with old properties"}, true, oldFormat, nil},
	{Scenario{"strings", "Create with values as strings, and as numbers and booleans"}, true, typedValues, nil},
	{Scenario{"unknown-members", "Create with unknown members and properties"}, true, extras, nil},
	{Scenario{"letters", "Create with non-ASCII letters"}, false, letters, nil},
	{Scenario{"quotes", "Create with quotes, backslashes and newlines"}, false, quotes, nil},
	{Scenario{"oversize", "Create with long values"}, false, oversize, nil},
	{Scenario{"two-at-once", "Create and Update of two resources at once"}, true, together, nil},
	{Scenario{"second-stack", "Create, Update and Delete in two stacks with the same logical ID"}, true, secondStack, nil},
	{Scenario{"regions", "Create and Delete in aws-cn and aws-us-gov"}, true, regions, nil},
	{Scenario{"unavailable", "Create whose first answer gets status 503"}, true, unavailable, nil},
	{Scenario{"unknown-type", "request with an unknown RequestType"}, false, unknownType, nil},
}
