package aws_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// importSim makes two stacks import the same few buckets, fail, roll back and retain them. Requests are served in any
// order and some twice. Requests that return resources may be delayed past the next operations.
type importSim struct {
	*world
	rng *rand.Rand
	// in are the buckets that the current template of each stack declares.
	in      map[string][]string
	ops     int
	covered map[string]int
	history []string
}

func (s *importSim) chance(percent int) bool { return s.rng.IntN(100) < percent }

func (s *importSim) note(format string, args ...any) {
	s.history = append(s.history, fmt.Sprintf(format, args...))
}

// logical returns the logical ID of a bucket in every stack.
func logical(bucket string) wire.LogicalID {
	return wire.LogicalID(strings.ToUpper(bucket[:1]) + bucket[1:])
}

// text returns a template of buckets.
func (s *importSim) text(buckets []string) string {
	declared := map[string]string{}
	for _, bucket := range buckets {
		declared[string(logical(bucket))] = resource("AWS::S3::Bucket", `"BucketName": "`+bucket+`"`, `"DeletionPolicy": "Retain"`)
	}
	return template(declared)
}

// status returns the status of the live stack with a name, or "".
func (s *importSim) status(stack string) string {
	row, err := s.engine.Find(s.ctx, newRef(stack))
	if err != nil || !row.Live {
		return ""
	}
	return engine.CloudFormation.StackStatus(row.Kind, row.Phase)
}

// serve serves requests until the stack's operation ends. Requests that return resources may wait.
func (s *importSim) serve(stack string) {
	s.t.Helper()
	for range 1000 {
		var pending []int
		for i, r := range s.inbox {
			if r.Type != store.TypeDisown || s.chance(30) {
				pending = append(pending, i)
			}
		}
		if len(pending) == 0 {
			if !strings.HasSuffix(s.status(stack), "_IN_PROGRESS") {
				return
			}
			continue
		}
		at := pending[s.rng.IntN(len(pending))]
		r := s.inbox[at]
		result, err := s.types.Serve(s.ctx, &r)
		if s.chance(30) {
			continue // the node died before it reported
		}
		s.inbox = slices.Delete(s.inbox, at, at+1)
		outcome := engine.Outcome{Kind: engine.Provided, Result: result, Delivered: true}
		if err != nil {
			outcome.Text = err.Error()
		}
		s.note("%s of %s in %s: %v", r.Type, r.Logical, stackOf(r), err)
		s.must(s.engine.Report(s.ctx, r.ID, outcome))
	}
	s.t.Fatalf("the operation of %s does not end: %s", stack, s.status(stack))
}

func stackOf(r store.Request) string {
	arn, _ := wire.ParseStackARN(r.Body.StackID) // only for the history
	return arn.Name
}

// imports makes a stack import some of the buckets. One of them may be deleted before that.
func (s *importSim) imports(stack string, buckets []string) {
	s.t.Helper()
	var wanted []string
	for _, bucket := range buckets {
		if s.chance(50) && !slices.Contains(s.in[stack], bucket) {
			wanted = append(wanted, bucket)
		}
	}
	fails := s.chance(50)
	if fails {
		gone := fmt.Sprint("gone", s.ops)
		s.put(gone, "k", "text")
		wanted = append(wanted, gone)
	}
	all := slices.Concat(s.in[stack], wanted)
	in := engine.CreateChangeSet{
		Options: capabilities, Stack: newRef(stack), Name: fmt.Sprint("set", s.ops), Kind: store.KindUpdate, Template: s.text(all),
	}
	if status := s.status(stack); status == "" || status == "REVIEW_IN_PROGRESS" {
		in.Kind = store.KindCreate
	}
	if in.Import = s.chance(50); in.Import {
		for _, bucket := range wanted {
			in.Resources = append(in.Resources, engine.ImportResource{
				Type: "AWS::S3::Bucket", Logical: logical(bucket), Identifier: map[string]string{"BucketName": bucket},
			})
		}
	} else if in.ImportExisting = true; s.chance(60) {
		in.OnFailure = "DO_NOTHING"
	}
	planned, err := s.engine.CreateChangeSet(s.ctx, in)
	ref := engine.ChangeSetRef{Ref: newRef(stack), Name: string(planned.ID)}
	if err == nil {
		if fails {
			s.must(s.catalog.Buckets.Delete(s.ctx, registry.Global, wanted[len(wanted)-1], 0))
		}
		_, err = s.engine.ExecuteChangeSet(s.ctx, engine.ExecuteChangeSet{ChangeSet: ref})
	}
	s.note("%s imports %v, import %t: %v", stack, wanted, in.Import, err)
	if s.begun(stack, "import", err) && !strings.Contains(s.status(stack), "ROLLBACK") {
		s.in[stack] = all
	}
}

// begun finishes an accepted operation. It returns false if the operation was not accepted.
func (s *importSim) begun(stack, what string, err error) bool {
	s.t.Helper()
	if _, reported := engine.InputError(err); reported {
		s.covered[what+" refused"]++
		return false
	}
	s.must(err)
	s.serve(stack)
	s.note("%s is %s", stack, s.status(stack))
	s.covered[what+": "+s.status(stack)]++
	return true
}

// operate runs a random operation on one of the stacks.
func (s *importSim) operate(buckets []string) {
	s.t.Helper()
	s.ops++
	stack := []string{"A", "B"}[s.rng.IntN(2)]
	ref := newRef(stack)
	switch status := s.status(stack); {
	case status == "UPDATE_FAILED" && s.chance(50), status == "CREATE_FAILED" && s.chance(50):
		_, err := s.engine.Rollback(s.ctx, engine.RollbackStack{Stack: ref})
		s.note("%s is rolled back: %v", stack, err)
		if s.begun(stack, "rollback", err) {
			s.in[stack] = s.current(stack)
		}
	case status != "" && s.chance(20), strings.HasSuffix(status, "ROLLBACK_COMPLETE") && len(s.current(stack)) == 0:
		_, err := s.engine.Delete(s.ctx, engine.DeleteStack{Stack: ref})
		s.note("%s is deleted: %v", stack, err)
		if s.begun(stack, "delete", err) {
			s.in[stack] = nil
		}
	default:
		s.imports(stack, buckets)
	}
}

// instances returns the current and the retained instances of a live stack.
func (s *importSim) instances(stack string) (current, retained []store.Instance) {
	s.t.Helper()
	row, err := s.engine.Find(s.ctx, newRef(stack))
	if err != nil || !row.Live {
		return nil, nil
	}
	s.must(s.store.Apply(s.ctx, store.Target{Stack: row.Key}, func(v *store.View) (store.Delta, error) {
		current, retained = nil, nil
		for _, i := range v.Instances {
			switch i.Role {
			case store.RoleCurrent, store.RoleCondemned:
				current = append(current, i)
			case store.RoleRetained, store.RoleOrphan:
				retained = append(retained, i)
			case store.RoleGone:
			}
		}
		return store.Delta{}, nil
	}))
	return current, retained
}

// current returns the buckets that a stack has.
func (s *importSim) current(stack string) (buckets []string) {
	current, _ := s.instances(stack)
	for _, i := range current {
		buckets = append(buckets, string(i.PhysicalID))
	}
	return slices.Sorted(slices.Values(buckets))
}

// check compares the holders of the buckets with the stacks. Each stack exclusively has the buckets that it imported,
// and no bucket names a stack that does not have it.
func (s *importSim) check() {
	s.t.Helper()
	owners := map[string]string{} // by bucket
	named := map[string]bool{}    // stack, logical ID and bucket of current and past resources of live stacks
	for _, stack := range []string{"A", "B"} {
		row, err := s.engine.Find(s.ctx, newRef(stack))
		if err != nil || !row.Live {
			continue
		}
		current, retained := s.instances(stack)
		for _, i := range slices.Concat(current, retained) {
			named[registry.OwnerOf(row.ID, i.Logical, "")+string(i.PhysicalID)] = true
		}
		for _, i := range current {
			if i.Unborn() {
				continue
			}
			there, err := s.catalog.Buckets.Get(s.ctx, registry.Global, string(i.PhysicalID))
			if err != nil || !strings.HasPrefix(there.Owner, registry.OwnerOf(row.ID, i.Logical, "")) {
				s.t.Errorf("%s has %s, which is held by %q, %v", stack, i.PhysicalID, there.Owner, err)
			}
			if other := owners[there.Name]; other != "" {
				s.t.Errorf("%s is a resource of %s and of %s", there.Name, other, stack)
			}
			owners[there.Name] = stack
		}
	}
	list, err := s.catalog.Buckets.List(s.ctx, registry.Global, "", 1000)
	s.must(err)
	for _, there := range list {
		id, rest, _ := strings.Cut(there.Owner, "|")
		stack, err := s.store.Stack(s.ctx, wire.StackID(id))
		if there.Owner == "" || err != nil || !stack.Live {
			continue
		}
		name, _, _ := strings.Cut(rest, "|")
		if !named[registry.OwnerOf(stack.ID, wire.LogicalID(name), "")+there.Name] {
			s.t.Errorf("%s names %s as its holder, which does not have it: %s", there.Name, stack.Name, there.Owner)
		}
	}
}

// TestImportSimulation simulates two stacks that import the same buckets.
func TestImportSimulation(t *testing.T) {
	covered := map[string]int{}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := &importSim{world: newWorld(t), rng: rand.New(rand.NewPCG(seed, 7)), in: map[string][]string{}, covered: covered}
			buckets := []string{"one", "two", "three"}
			for _, bucket := range buckets {
				s.put(bucket, "k", "text")
			}
			for range 12 {
				s.operate(buckets)
				if t.Failed() {
					break
				}
			}
			for len(s.inbox) > 0 { // the remaining requests return resources
				r := s.inbox[0]
				s.inbox = s.inbox[1:]
				_, err := s.types.Serve(s.ctx, &r)
				s.note("%s of %s in %s at the end: %v", r.Type, r.Logical, stackOf(r), err)
				s.must(s.engine.Report(s.ctx, r.ID, engine.Outcome{Kind: engine.Provided, Delivered: true}))
			}
			s.check()
			if t.Failed() {
				t.Log(strings.Join(s.history, "\n"))
			}
		})
	}
	for _, what := range []string{"import: IMPORT_COMPLETE", "import: IMPORT_ROLLBACK_COMPLETE", "import: UPDATE_FAILED", "rollback: UPDATE_ROLLBACK_COMPLETE"} {
		if covered[what] == 0 {
			t.Errorf("no life had %q: %v", what, covered)
		}
	}
}
