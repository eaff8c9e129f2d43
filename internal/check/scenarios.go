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
	{Scenario{"life", "Create, Update and Delete"}, true, life},
}
