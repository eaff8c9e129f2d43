package engine_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var simMutations = flag.Bool("sim.mutations", false, "run TestMutations, which takes minutes")

// mutation is a way to break the engine: it replaces one snippet that occurs exactly once in a file.
type mutation struct {
	name, file string
	from, to   string
	// found are invariants; the simulation must find at least one of them violated.
	found []invariant
	// nested is set if the simulation of nested stacks has to find it, and ros if that of ROS stacks has to.
	nested, ros bool
}

var mutations = []mutation{
	{
		name: "a resource is read twice at the same time", file: "read.go",
		from:  "if r == nil || r.Body.PhysicalID != i.PhysicalID",
		to:    "if true || r.Body.PhysicalID != i.PhysicalID",
		found: []invariant{oneInFlight},
	},
	{
		name: "resources are read while they change", file: "read.go",
		from:  "if !d.op.Phase.Final() {",
		to:    "if !d.op.Phase.Final() && d.op.Phase != store.PhaseApply {",
		found: []invariant{readNothing},
	},
	{
		name: "a replaced instance is forgotten", file: "replacement.go",
		from:  "role := loser.Role\n	loser.Role, loser.Replaced = store.RoleCondemned, true",
		to:    "role := loser.Role\n	loser.Role, loser.Replaced = store.RoleGone, true",
		found: []invariant{accounted},
	},
	{
		name: "removed resources are not deleted", file: "phase.go",
		from:  "d.op.Phase == store.PhaseCleanup && s.Plan.New == nil ||",
		to:    "d.op.Phase == store.PhaseCleanup && s.Plan.New == nil && s.Plan.Old == nil ||",
		found: []invariant{agreed},
	},
	{
		name: "a rollback keeps the attributes of a forced Update", file: "again.go",
		from:  "	if !d.restorable(i) {",
		to:    "	if true {",
		found: []invariant{agreed},
	},
	{
		name: "the rollback skips the failed resource", file: "result.go",
		from: `		if i.Body.Back {
			i.Body.Attempted`,
		to: `		i.Body.Attempted = value.Value{}
		if i.Body.Back {
			i.Body.Attempted`,
		found: []invariant{agreed, truthful},
	},
	{
		name: "a late answer counts", file: "report.go",
		from: `		d.recordLate(d.view.Request, outcome)
		return false, nil
	case`,
		to: `		d.recordLate(d.view.Request, outcome)
		if outcome.Kind != Answered {
			return false, nil
		}
		request = d.view.Request
		d.requests[request.ID] = request
	case`,
		found: []invariant{nothingNew, accounted},
	},
	{
		name: "a delete does not wait for dependents", file: "phase.go",
		from:  "			return s.Plan.OldFeeds, s.Plan.OldNeeds, true\n		}\n		return s.Plan.NewNeeds",
		to:    "			return nil, nil, true\n		}\n		return s.Plan.NewNeeds",
		found: []invariant{inOrder},
	},
	{
		name: "a create does not wait for its dependencies", file: "phase.go",
		from:  "		return s.Plan.NewNeeds, s.Plan.NewFeeds, s.Plan.New != nil",
		to:    "		return nil, nil, s.Plan.New != nil",
		found: []invariant{inOrder},
	},
	{
		name: "the id of a Create that failed is dropped", file: "result.go",
		from:  "		if v.id != \"\" {\n			i.PhysicalID = v.id",
		to:    "		if v.id != \"\" && v.success {\n			i.PhysicalID = v.id",
		found: []invariant{accounted},
	},
	{
		name: "a cancelled Create keeps its generated id", file: "result.go",
		from:  "		if v.id != \"\" {\n			i.PhysicalID = v.id",
		to:    "		if v.id != \"\" && !r.Cancelled {\n			i.PhysicalID = v.id",
		found: []invariant{accounted},
	},
	{
		name: "a takeover skips ready requests", file: "../store/memory/nodes.go",
		from:  "if r.row.State == store.RequestReady && !s.lives(r.row.Owner) ||\n				r.row.State",
		to:    "if r.row.State",
		found: []invariant{itEnds},
	},
	{
		name: "a takeover skips requests that a dead node executes", file: "../store/memory/nodes.go",
		from:  "r.row.State == store.RequestWaiting && r.row.Executor != 0 && !s.lives(r.row.Executor) {",
		to:    "false {",
		found: []invariant{itEnds},
	},
	{
		name: "an operation ends before its cancelled requests", file: "phase.go",
		from:  "			waits = true\n		}",
		to:    "		}",
		found: []invariant{settledOnce, oneInFlight, accounted},
	},
	{
		name: "an undelivered request of a takeover counts as never sent", file: "answer.go",
		from:  "outcome.Delivered || holder(r) != r.First",
		to:    "outcome.Delivered",
		found: []invariant{agreed, accounted, truthful},
	},
	{
		name: "secrets are not redacted", file: "redact.go",
		from:  "return hide.Mask(wire.Redact(wire.CleanText(wire.Redact(hide.Mask(text)))))",
		to:    "_ = hide\n\treturn wire.Redact(wire.CleanText(text))",
		found: []invariant{noSecret},
	},
	{
		name: "events have the time of the clock", file: "event.go",
		from:  "	return maxTime(maxTime(d.now, d.op.Earliest), d.op.Latest.Add(time.Millisecond))",
		to:    "	return d.now",
		found: []invariant{wellTold},
	},
	{
		name: "events share a time", file: "event.go",
		from:  "d.op.Latest.Add(time.Millisecond))",
		to:    "d.op.Latest)",
		found: []invariant{wellTold},
	},
	{
		name: "a poll survives the answer", file: "request.go",
		from:  "	d.changeRequest(request)\n	pollRequests(d).stop(request)",
		to:    "	d.changeRequest(request)",
		found: []invariant{askedRightly, settledOnce},
	},
	{
		name: "a silent return does not shorten the wait", file: "silence.go",
		from:  "		r.Due = minTime(r.Due, d.now.Add(min(max(outcome.After, 0), mostSettle)))",
		to:    "		_ = mostSettle",
		found: []invariant{heardOut},
	},
	{
		name: "remaining work is not awaited", file: "silence.go",
		from:  `if silence.Awaits == "" {` + "\n		r.Due",
		to:    "if true {\n		r.Due",
		found: []invariant{heardOut},
	},
	{
		name: "a repeated request keeps its silence", file: "request.go",
		from:  "r.Due, r.Silence = store.RequestWaiting, d.now, d.now.Add(left), nil",
		to:    "r.Due = store.RequestWaiting, d.now, d.now.Add(left)",
		found: []invariant{heardOut},
	},
	{
		name: "a report of one try counts for another", file: "report.go",
		from:  "d.void = d.void || r.Type == store.TypeIsComplete && outcome.Try != r.Wait.Try",
		to:    "_ = r",
		found: []invariant{askedRightly},
	},
	{
		name: "a process that was polled still counts as the executor", file: "polling.go",
		from:  "	r.Executor = 0 // should this node die, nothing dies with it\n	d.changeRequest(r)\n	body",
		to:    "	d.changeRequest(r)\n	body",
		found: []invariant{askedRightly, oneInFlight},
	},
	{
		name: "polls have no deadline", file: "polling.go",
		from:  "	if last := !row.Delivered.Before(end); last ||",
		to:    "	if",
		found: []invariant{askedRightly},
	},
	{
		name: "a policy retains nothing", file: "removal.go",
		from:  "			(policy == policyRetain || (policy == policyRetainExceptOnCreate && d.op.Phase == store.PhaseCleanup)) {",
		to:    "			(policy == policyRetainExceptOnCreate && d.op.Phase == store.PhaseCleanup) {",
		found: []invariant{inPolicy},
	},
	{
		name: "an export changes while it is in use", file: "crossstack.go",
		from:  "		case !v.Equal(e.Value):\n			return",
		to:    "		case !v.Equal(e.Value) && len(e.Importers) == 0:\n			return",
		found: []invariant{traded},
	},
	{
		name: "an update releases imports that a rollback needs", file: "crossstack.go",
		from:  "	names := d.importsOf(tried(op)...)",
		to:    "	names := d.importsOf(op.To)",
		found: []invariant{traded},
	},
	{
		name: "a rollback holds imports of its target too early", file: "crossstack.go",
		from:  "			names = d.importsOf(d.op.From)",
		to:    "			names = d.importsOf(d.op.From, d.op.To)",
		found: []invariant{traded},
	},
	{
		name: "a stack that is being deleted still exports", file: "crossstack.go",
		from:  "	d.delta.Exports = &[]store.Export{}\n",
		to:    "",
		found: []invariant{traded},
	},
	{
		name: "a report of one try of a task counts for another", file: "execution.go",
		from:  "	if d.void = d.void || outcome.Try != r.Execution.Try; d.void {",
		to:    "	if d.void {",
		found: []invariant{byDefinition},
	},
	{
		name: "executions outlive their stack", file: "phase.go",
		from:  "		executions(d).abortAll()\n",
		to:    "",
		found: []invariant{runsEnd, settledOnce},
	},
	{
		name: "the retriers of a state have one count", file: "asl/asl.go",
		from:  "		tries[n]++",
		to:    "		tries[0]++",
		found: []invariant{byDefinition, runsEnd},
	},
	{
		name: "a repeated start starts another execution", file: "execution.go",
		from:  "	if r := d.view.Request; r != nil {\n		if r.Stack",
		to:    "	if r := d.view.Request; r != nil && r.State == store.RequestSettled {\n		if r.Stack",
		found: []invariant{byDefinition},
	},
	{
		name: "a task that timed out is repeated", file: "execution.go",
		from:  "	case r.State == store.RequestDelayed:\n		d.retry(r)",
		to:    "	case r.State != store.RequestSettled:\n		r.Executor = 0\n		d.retry(r)",
		found: []invariant{byDefinition, oneInFlight},
	},
	{
		name: "a wait starts again at its end", file: "execution.go",
		from:  "return states.Waited(at) })",
		to:    "return asl.Move{Position: at, Waits: true} })",
		found: []invariant{byDefinition, runsEnd},
	},
	{
		name: "a wait ends immediately", file: "execution.go",
		from:  "	due := d.now.Add(move.After)\n",
		to:    "	due := d.now\n",
		found: []invariant{byDefinition},
	},
	{
		name: "a nested stack does not wait for its root", file: "phase.go", nested: true,
		from: "	if d.op.Parent != nil {\n		d.hold()", to: "	if false {\n		d.hold()",
		found: []invariant{notTooEarly, rootEnds, allEnd, stands},
	},
	{
		name: "the end of a nested stack is reported at most once", file: "nestattend.go", nested: true,
		from: "over, err := s.attend(ctx, tie.Body.StackID, tie.Operation)", to: "over, err := false, error(nil)",
		found: []invariant{rootEnds, allEnd},
	},
	{
		name: "a root does not release held stacks", file: "request.go", nested: true,
		from: "step.Held = v.held", to: "_ = v.held",
		found: []invariant{allEnd},
	},
	{
		name: "nested stacks are not rolled back", file: "resource.go", nested: true,
		from: "if d.isNested(instance.Body.Type) && (s.Touched || phases(d).revisitsAll()) {", to: "if false {",
		found: []invariant{allEnd, sameText, stands, rootEnds, noneLeft, accounted, notTooEarly},
	},
	{
		name: "the rollback of a nested stack is not awaited", file: "nestedstack.go", nested: true,
		from: "	case store.PhaseRevert, store.PhaseRevertCleanup:\n		d.adopt(n)\n		return true, nil", to: "	case store.PhaseRevert, store.PhaseRevertCleanup:\n		return false, nil",
		found: []invariant{allEnd, sameText, stands},
	},
	{
		name: "a repeated request needs its template again", file: "nest.go", nested: true,
		from:  "if made, err := s.store.LiveStack(ctx, in.Name); err == nil && made.Parent == parent.ID && made.Kind != store.KindReview {",
		to:    "if made, err := s.store.LiveStack(ctx, in.Name); err == nil && made.Parent == \"\" && made.Kind != store.KindReview {",
		found: []invariant{allEnd, noneLeft, accounted},
	},
	{
		name: "an answer with another id counts as a replacement", file: "answer.go", ros: true,
		from: "	if !d.dialect.rules().idsStay || r.Type != wire.Update", to: "	if words := d.dialect; words != nil || r.Type != wire.Update",
		found: []invariant{agreed, truthful, accounted},
	},
	{
		name: "replaced resources are deleted last", file: "replacement.go", ros: true,
		from: "	d.startedOver.add(i.Number)\n	removal(d).sendDelete(s, i, false)\n	return nil", to: "	i.Replaced = true\n	d.changeInstance(i)\n	return scheduler(d).start(s)",
		found: []invariant{oldFirst},
	},
	{
		name: "resources that cannot be updated are always replaced", file: "replacement.go", ros: true,
		from: "(d.op.Replace || d.op.Phase == store.PhaseRevert)", to: "true",
		found: []invariant{asWanted},
	},
	{
		name: "a rollback skips deleted resources", file: "resource.go", ros: true,
		from: "if d.dialect.rules().idsStay && (s.Touched || phases(d).revisitsAll()) &&", to: "if d.dialect.rules().idsStay && instance != nil && s.Touched &&",
		found: []invariant{agreed},
	},
	{
		name: "a rollback keeps resources of another provider", file: "resource.go", ros: true,
		from: "	if problem == \"\" && d.dialect.rules().idsStay && !ask.token.Equal(instance.Body.Token) && instance.Number > d.op.Stood {", to: "	if false {",
		found: []invariant{agreed, truthful},
	},
	{
		name: "resources without a Delete are forgotten", file: "scheduler.go", ros: true,
		from: "if request.Type == wire.Delete && d.dialect.rules().idsStay {", to: "if false {",
		found: []invariant{oldFirst, agreed, accounted},
	},
	{
		name: "the parallelism limit applies only at the beginning", file: "scheduler.go", ros: true,
		from: "d.op.Parallelism == 0 || d.op.Running < d.op.Parallelism", to: "d.op.Parallelism == 0 || d.op.Running < d.op.Parallelism || d.view.Request != nil",
		found: []invariant{withinBounds},
	},
	{
		name: "a rollback creates ignored resources", file: "replacement.go", ros: true,
		from: "	if stood != nil && stood.Body.AnsweredBy == \"\" {", to: "	if false {",
		found: []invariant{agreed},
	},
	{
		name: "undeclared resources are ignored too", file: "continuecreate.go", ros: true,
		from: "	phases(d).beginCleanup()\n	if len(d.todo) == 0 {", to: "	if true {",
		found: []invariant{accounted},
	},
	{
		name: "requests above the parallelism limit are forgotten", file: "scheduler.go", ros: true,
		from: "s.State == store.StepPending && s.Waiting == 0 &&", to: "s.State == store.StepPending && s.Waiting < 0 &&",
		found: []invariant{agreed},
	},
}

// TestMutations breaks the engine in one place at a time, and expects the simulation to find and name the violated
// invariant.
func TestMutations(t *testing.T) {
	switch {
	case !*simMutations:
		t.Skip("it takes minutes: run make mutations, or give -sim.mutations")
	case testing.Short():
		t.Skip("it takes minutes")
	}
	binary := buildMutants(t)
	for number, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.mustBeFound(t, binary, number)
		})
	}
	t.Run("none", func(t *testing.T) {
		run := exec.CommandContext(t.Context(), binary, "-test.run", "^(TestSimulation|TestNestedSimulation|TestROSSimulation)$", "-sim.seeds=100", "-sim.nested=20", "-sim.ros=50")
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("the simulation fails without a mutation: %v\n%.2000s", err, out)
		}
	})
}

// TestMutationSnippets checks that the code still contains the snippet of every mutation, within a function.
func TestMutationSnippets(t *testing.T) {
	mutants(t)
}

// mostSeeds is the number of seeds within which a mutation must be found.
const mostSeeds = 4000

// mostNestedSeeds is the same for nested stacks, whose runs are longer.
const mostNestedSeeds = 1000

// mostROSSeeds is the same for ROS stacks.
const mostROSSeeds = 3000

// mutantVariable is the environment variable that selects a mutation, by its index, in the binary that buildMutants builds.
const mutantVariable = "PINTLE_ENGINE_MUTANT"

func (m mutation) mustBeFound(t *testing.T, binary string, number int) {
	name, seeds := "^TestSimulation$", fmt.Sprint("-sim.seeds=", mostSeeds)
	if m.nested {
		name, seeds = "^TestNestedSimulation$", fmt.Sprint("-sim.nested=", mostNestedSeeds)
	}
	if m.ros {
		name, seeds = "^TestROSSimulation$", fmt.Sprint("-sim.ros=", mostROSSeeds)
	}
	run := exec.CommandContext(t.Context(), binary, "-test.run", name, "-test.v", seeds)
	run.Env = append(os.Environ(), fmt.Sprint(mutantVariable, "=", number))
	out, err := run.CombinedOutput()
	if err == nil {
		t.Fatalf("the simulation finds nothing in %s", seeds)
	}
	for _, i := range m.found {
		if strings.Contains(string(out), fmt.Sprintf("breaks the invariant %q", i)) {
			return
		}
	}
	t.Errorf("the simulation finds something else than %q: %v\n%.2000s", m.found, err, out)
}

// buildMutants builds this package's test binary with all mutations. Each is inactive until mutantVariable selects it, so one
// build serves all of them.
func buildMutants(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replaced := map[string]string{}
	for path, text := range mutants(t) {
		written := filepath.Join(dir, fmt.Sprint(len(replaced), ".go"))
		if err := os.WriteFile(written, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[path] = written
	}
	plan, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	overlay, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "engine.test")
	if err := os.WriteFile(overlay, plan, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// mutants returns the mutated files, by path, and a file that says which mutation is selected for each of their packages. A function
// that contains the snippet of a mutation begins with a call of a copy of its body, which has the replacement instead of the snippet
// and runs if the mutation is selected.
func mutants(t *testing.T) map[string]string {
	t.Helper()
	type insertion struct {
		at   int
		text string
	}
	sources, insertions := map[string]string{}, map[string][]insertion{}
	for number, m := range mutations {
		path, err := filepath.Abs(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if sources[path] == "" {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources[path] = string(content)
		}
		source := sources[path]
		if n := strings.Count(source, m.from); n != 1 {
			t.Errorf("mutation %q: %s has the snippet %d times, want 1: the mutation has to follow the code\n%s", m.name, m.file, n, m.from)
			continue
		}
		at := strings.Index(source, m.from)
		function, err := functionAround(source, at, at+len(m.from))
		if err != nil {
			t.Errorf("mutation %q: %s: %v", m.name, m.file, err)
			continue
		}
		call := fmt.Sprintf("func() %s {%s%s%s}()", function.results, source[function.start:at], m.to, source[at+len(m.from):function.end])
		if function.results == "" {
			call += "; return"
		} else {
			call = "return " + call
		}
		insertions[path] = append(insertions[path], insertion{function.start, fmt.Sprintf("if selectedMutant == \"%d\" { %s };", number, call)})
	}
	files := map[string]string{}
	for path, all := range insertions {
		slices.SortStableFunc(all, func(a, b insertion) int { return b.at - a.at }) // from the end, so that offsets stay true
		text := sources[path]
		for _, i := range all {
			text = text[:i.at] + i.text + text[i.at:]
		}
		files[path] = text
		dir := filepath.Dir(path)
		files[filepath.Join(dir, "selectedmutant.go")] = fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar selectedMutant = os.Getenv(%q)\n",
			filepath.Base(dir), mutantVariable)
	}
	return files
}

// functionBody is where the body of a function is in a file, without its braces, as byte offsets.
type functionBody struct {
	start, end int
	results    string // as in its declaration
}

// functionAround returns the function that contains a snippet.
func functionAround(source string, from, to int) (functionBody, error) {
	files := gotoken.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return functionBody{}, err
	}
	offset := func(p gotoken.Pos) int { return files.Position(p).Offset }
	for _, d := range file.Decls {
		function, ok := d.(*ast.FuncDecl)
		if !ok || function.Body == nil || from <= offset(function.Body.Lbrace) || to > offset(function.Body.Rbrace) {
			continue
		}
		body := functionBody{start: offset(function.Body.Lbrace) + 1, end: offset(function.Body.Rbrace)}
		if results := function.Type.Results; results != nil {
			body.results = source[offset(results.Pos()):offset(results.End())]
		}
		return body, nil
	}
	return functionBody{}, errors.New("the snippet is not within a function")
}
