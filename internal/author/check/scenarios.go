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
	// optional reports whether the provider declares the request that the scenario is about; nil for those that every provider gets.
	// Without it the scenario runs only if the user asks for it.
	optional func(*run) bool
}

func declaresRead(r *run) bool { return r.reads }
func declaresPlan(r *run) bool { return r.plans }

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
	{Scenario{"life", "Create, Update with the same properties, Delete"}, true, life, nil, nil},
	{Scenario{"unchanged", "Update with the same properties: the attributes of the Create are still there"}, true, unchanged, nil, nil},
	{Scenario{"update", "Update to other properties in place, Delete"}, true, inPlace, useUpdate, nil},
	{Scenario{"replacement", "Update to a new physical ID, Delete of the old one"}, true, replacement, useReplace, nil},
	{Scenario{"replacement-rollback", "Update to a new physical ID, Update back, Delete of the new one"}, true, replacementBack, useReplace, nil},
	{Scenario{"rollback", "Update to other properties, Update back with old and new swapped"}, true, rollback, useUpdate, nil},
	{Scenario{"failed-create", "failing Create, Delete with its physical ID"}, false, failedCreate, useBad, nil},
	{Scenario{"failed-update", "failing Update, Update back with old and new swapped"}, true, failedUpdate, useBad, nil},
	{Scenario{"no-properties", "Create without properties"}, false, bare, nil, nil},
	{Scenario{"new-process", "Create in one process, Update and Delete in others"}, true, newProcess, nil, nil},
	{Scenario{"delete-unknown", "Delete of resources that were never created, with IDs that engines generate"}, false, deleteUnknown, nil, nil},
	{Scenario{"taken", "Create and Delete of a resource that another stack already has"}, true, nameTaken, nil, nil},
	{Scenario{"missing-id", "Delete without a physical ID"}, false, missingID, nil, nil},
	{Scenario{"redelivery", "Create, Update and Delete, each delivered twice"}, true, redelivery, nil, nil},
	{Scenario{"old-properties", "Update from old properties, Delete with old properties"}, true, oldFormat, nil, nil},
	{Scenario{"strings", "Create with values as strings, and as numbers and booleans"}, true, typedValues, nil, nil},
	{Scenario{"unknown-members", "Create with unknown members and properties"}, true, extras, nil, nil},
	{Scenario{"letters", "Create with non-ASCII letters"}, false, letters, nil, nil},
	{Scenario{"quotes", "Create with quotes, backslashes and newlines"}, false, quotes, nil, nil},
	{Scenario{"oversize", "Create with long values"}, false, oversize, nil, nil},
	{Scenario{"two-at-once", "Create and Update of two resources at once"}, true, together, nil, nil},
	{Scenario{"second-stack", "Create, Update and Delete in two stacks with the same logical ID"}, true, secondStack, nil, nil},
	{Scenario{"regions", "Create and Delete in aws-cn and aws-us-gov"}, true, regions, nil, nil},
	{Scenario{"unavailable", "Create whose first answer gets status 503"}, true, unavailable, nil, nil},
	{Scenario{"read", "Read after a Create, an Update and a Delete, if the schema declares it"}, true, readBack, nil, declaresRead},
	{Scenario{"plan", "Plan of a Create and of Updates, and the Updates, if the schema declares it"}, true, planAndUpdate, nil, declaresPlan},
	{Scenario{"unknown-type", "request with an unknown RequestType"}, false, unknownType, nil, nil},
}
