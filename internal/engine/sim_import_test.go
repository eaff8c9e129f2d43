package engine_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
	"github.com/pintle-dev/pintle/wire"
)

var simImports = flag.Int("sim.imports", 150, "how many seeds TestImportSimulation runs")

const (
	importTemplate = `{"Resources": {"New": {"Type": "Custom::Thing", "DeletionPolicy": "Retain",
		"Properties": {"ServiceToken": "` + token + `", "ServiceTimeout": 600, "V": "1"}}}}`
	importedID wire.PhysicalID = "thing-before"
)

// TestImportSimulation imports a custom resource into a new stack, while nodes die, commits are lost and the provider
// answers late, twice, or not at all. The stack keeps the resource if the answer confirms that it exists, and
// releases it otherwise. No provider gets another request.
func TestImportSimulation(t *testing.T) {
	covered := coverage{}
	for seed := range uint64(*simImports) {
		s := simulateImport(seed + 1)
		covered.add(s.covered)
		for _, b := range s.broken {
			t.Errorf("seed %d breaks the invariant %q: %s\n%s", s.seed, b.invariant, b.text, strings.Join(s.log, "\n"))
		}
		if t.Failed() {
			return
		}
	}
	t.Log(covered)
	for _, what := range []string{"import: IMPORT_COMPLETE", "import: IMPORT_ROLLBACK_COMPLETE", "node killed"} {
		if covered[what] == 0 {
			t.Errorf("%q never occurred", what)
		}
	}
}

func simulateImport(seed uint64) (s *sim) {
	s = &sim{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 3)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), tick: 1,
		things: map[wire.PhysicalID]*thing{importedID: {logical: "New", exists: true}}, ledger: newLedger(), watch: newWatch(),
		covered: coverage{}, recording: true, importing: true, fidelity: engine.FidelityPintle, readings: newReadings(seed),
	}
	defer func() {
		if p := recover(); p != nil {
			s.breaks(noPanic, "%v\n%s", p, debug.Stack())
		}
	}()
	s.readings.on = true
	s.faults, s.killAt = []int{0, 10, 40}[s.rng.IntN(3)], 1+s.rng.IntN(12)
	s.alone, s.local = s.chance(50), s.chance(50)
	var err error
	s.rows, err = memory.New(memory.Config{Now: func() time.Time { return s.now }})
	s.must(err)
	s.start()
	if !s.alone {
		s.start()
	}
	set := engine.ChangeSetRef{Ref: s.ref(), Name: "import"}
	planned := s.call(simCall{note: "create change set", call: func(e *engine.Engine) error {
		_, err := e.CreateChangeSet(context.Background(), engine.CreateChangeSet{
			Options: engine.Options{Token: "plan"}, Stack: s.ref(), Name: "import", Template: importTemplate, Import: true,
			Resources: []engine.ImportResource{{
				Type: "Custom::Thing", Logical: "New", Identifier: map[string]string{"PhysicalResourceId": string(importedID)},
			}},
		})
		return err
	}})
	begun := planned && s.call(simCall{note: "execute change set", call: func(e *engine.Engine) error {
		_, err := e.ExecuteChangeSet(context.Background(), engine.ExecuteChangeSet{ChangeSet: set, Token: "import"})
		if s.row().Kind != store.KindReview && s.row().Key != 0 {
			return nil // a call whose answer was lost has started it
		}
		return err
	}})
	if !begun {
		s.breaks(itEnds, "the import is refused")
		return s
	}
	for steps := 0; !s.row().Phase.Final() && !s.failed(); steps++ {
		if steps > mostSteps {
			s.breaks(itEnds, "it is still %s", s.status())
		}
		s.perhapsKill()
		s.perhapsPause()
		s.proceed()
	}
	s.checkImported()
	return s
}

// checkImported compares the result of an import with the provider's answer.
func (s *sim) checkImported() {
	s.count("import: " + s.status())
	says := drift.Unknown // until an answer arrives in time
	for id, result := range s.readings.results {
		if s.request(id).Type == store.TypeImport {
			says = result
		}
	}
	i := s.current("New")
	switch exists := says == drift.InSync || says == drift.Modified; {
	case s.status() == "IMPORT_COMPLETE" && (!exists || i == nil || i.PhysicalID != importedID):
		s.breaks(accounted, "it is imported as %+v, and its provider said %s", i, says)
	case s.status() == "IMPORT_ROLLBACK_COMPLETE" && (exists || i != nil):
		s.breaks(accounted, "it is not imported, the stack has %+v, and its provider said %s", i, says)
	case s.status() != "IMPORT_COMPLETE" && s.status() != "IMPORT_ROLLBACK_COMPLETE":
		s.breaks(settledOnce, "the import ends as %s", s.status())
	}
}
