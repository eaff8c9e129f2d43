package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	loadNow   = "SELECT " + now
	loadMixed = "SELECT NOT (" + allTurn + ")"
	loadStack = fromStack + " WHERE s.key = ANY($1::bigint[])"
	loadNames = `SELECT s.key, s.account, s.region, s.name
		FROM unnest($1::text[], $2::text[], $3::text[]) n (account, region, name)
		JOIN stack s ON s.account = n.account AND s.region = n.region AND s.name = n.name AND s.live`
	loadOperation = "SELECT " + operationColumns + ` FROM unnest($1::bigint[]) k (stack)
		CROSS JOIN LATERAL (SELECT * FROM operation o WHERE o.stack = k.stack ORDER BY o.number DESC LIMIT 1) o`
	loadRequest  = fromRequest + " WHERE r.id = ANY($1::text[])"
	loadRevision = fromRev + " JOIN unnest($1::bigint[], $2::int[]) k (stack, number) ON k.stack = r.stack AND k.number = r.number"

	// near begins statements about the neighbourhood of the requests $1 and the steps ($2, $3): those steps and the
	// steps in their Next.
	near = `WITH center (stack, logical) AS (
			SELECT r.stack, r.logical FROM request r WHERE r.id = ANY($1::text[])
			UNION SELECT * FROM unnest($2::bigint[], $3::text[])),
		around (stack, logical) AS (
			SELECT stack, logical FROM center
			UNION SELECT c.stack, n.logical FROM center c
				JOIN step s ON s.stack = c.stack AND s.logical = c.logical CROSS JOIN unnest(s.next) n (logical)) `
	nearSteps = near + "SELECT " + stepColumns + ` FROM around a JOIN step s ON s.stack = a.stack AND s.logical = a.logical
		JOIN step_plan p ON p.stack = s.stack AND p.logical = s.logical`
	nearRequests = near + "SELECT " + requestColumns + ` FROM around a
		JOIN request r ON r.stack = a.stack AND r.logical = a.logical AND r.state <> 'settled' JOIN request_body b ON b.id = r.id`
	nearInstances = near + `, needed (stack, logical) AS (
			SELECT stack, logical FROM around
			UNION SELECT p.stack, n.logical FROM around a
				JOIN step_plan p ON p.stack = a.stack AND p.logical = a.logical CROSS JOIN unnest(p.needs) n (logical))
		SELECT ` + instanceColumns + ` FROM needed d JOIN instance i ON i.stack = d.stack AND i.logical = d.logical AND i.role <> 'gone'
		JOIN instance_body b ON b.stack = i.stack AND b.number = i.number`

	allSteps     = fromStep + " WHERE s.stack = ANY($1::bigint[])"
	allInstances = fromInst + " WHERE i.stack = ANY($1::bigint[])"
	allRequests  = fromRequest + " WHERE r.stack = ANY($1::bigint[]) AND r.state <> 'settled'"
)

// wanted is the set of rows of any number of stacks that one round trip loads.
type wanted struct {
	requests []string // requests without their steps
	around   []string // requests with their steps and the neighbourhood of these
	// steps to load with their neighbourhood
	stepStacks []int64
	steps      []string
	// stacks to load completely
	whole          []int64
	revisionStacks []int64
	revisions      []int32

	stored map[place]store.Step // steps as they are in the database, even if the images have newer ones
}

// first adds the rows that the first view of a member needs and its image lacks.
func (w *wanted) first(m *member, im *image) {
	request := string(m.target.Request)
	var lacks store.Need
	if im != nil {
		lacks = im.Lacks(m.target)
	}
	switch {
	case request != "" && m.target.Alone && (!clean(request) || len(lacks.Requests) == 0): // no such ID, or already loaded
	case request != "" && m.target.Alone:
		w.requests = append(w.requests, request)
	case request != "" && len(lacks.Requests)+len(lacks.Steps) > 0:
		w.around = append(w.around, request)
	case request == "" && m.key != 0 && lacks.All && !slices.Contains(w.whole, int64(m.key)):
		w.whole = append(w.whole, int64(m.key))
	}
}

// place identifies a step.
type place struct {
	stack   store.StackKey
	logical wire.LogicalID
}

// queue adds the queries to a round trip. The rows go to the images, which must exist when the trip is sent.
func (w *wanted) queue(b *batch, trip *pgx.Batch) {
	s := b.store
	onRequest := func(row store.Request) {
		if im := b.images[row.Stack]; im != nil {
			im.LoadRequest(row)
		} else {
			b.elsewhere[row.ID] = row
		}
	}
	onStep := func(row store.Step) {
		w.stored[place{row.Stack, row.Logical}] = row
		b.images[row.Stack].LoadStep(row)
	}
	w.stored = make(map[place]store.Step)
	onInstance := func(row store.Instance) { b.images[row.Stack].LoadInstance(row) }
	if len(w.requests)+len(w.around) > 0 {
		trip.Queue(loadRequest, append(append([]string{}, w.requests...), w.around...)).Query(func(rows pgx.Rows) error {
			return collect(rows, s.scanRequest, onRequest)
		})
	}
	if len(w.around)+len(w.steps) > 0 {
		args := []any{w.around, w.stepStacks, w.steps}
		trip.Queue(nearSteps, args...).Query(func(rows pgx.Rows) error { return collect(rows, s.scanStep, onStep) })
		trip.Queue(nearInstances, args...).Query(func(rows pgx.Rows) error { return collect(rows, s.scanInstance, onInstance) })
		trip.Queue(nearRequests, args...).Query(func(rows pgx.Rows) error { return collect(rows, s.scanRequest, onRequest) })
	}
	if len(w.whole) > 0 {
		trip.Queue(allSteps, w.whole).Query(func(rows pgx.Rows) error { return collect(rows, s.scanStep, onStep) })
		trip.Queue(allInstances, w.whole).Query(func(rows pgx.Rows) error { return collect(rows, s.scanInstance, onInstance) })
		trip.Queue(allRequests, w.whole).Query(func(rows pgx.Rows) error { return collect(rows, s.scanRequest, onRequest) })
		trip.Queue(allChangeSets, w.whole).Query(func(rows pgx.Rows) error {
			return collect(rows, s.scanChangeSet, func(row store.ChangeSet) { b.images[row.Stack].LoadChangeSet(row) })
		})
	}
	if len(w.revisions) > 0 {
		trip.Queue(loadRevision, w.revisionStacks, w.revisions).Query(func(rows pgx.Rows) error {
			return collect(rows, s.scanRevision, func(row store.Revision) {
				b.images[row.Stack].Revisions[row.Number] = &row
				b.writer.revisions.Put(row)
			})
		})
	}
}

// arrived records the result of a round trip: requested rows that did not arrive do not exist.
func (w *wanted) arrived(b *batch) {
	for i, stack := range w.revisionStacks {
		im, number := b.images[store.StackKey(stack)], int(w.revisions[i])
		if _, ok := im.Revisions[number]; !ok {
			im.Revisions[number] = nil
		}
	}
	for _, stack := range w.whole {
		if im := b.images[store.StackKey(stack)]; im != nil {
			im.All = true
		}
	}
	for i, stack := range w.stepStacks {
		key := store.StackKey(stack)
		w.arrivedAround(b.images[key], place{key, wire.LogicalID(w.steps[i])})
	}
	for _, id := range w.around {
		if im, own := b.owner(wire.RequestID(id)); im != nil {
			w.arrivedAround(im, place{own.Stack, own.Logical})
		}
	}
}

// arrivedAround records that a step of the database is loaded, with the steps in its Next. For their dependencies only
// the instances are loaded.
func (w *wanted) arrivedAround(im *image, center place) {
	for _, logical := range append([]wire.LogicalID{center.logical}, w.stored[center].Next...) {
		im.Near(logical)
		if plan := w.stored[place{center.stack, logical}].Plan; plan != nil {
			for _, needs := range [][]wire.LogicalID{plan.OldNeeds, plan.NewNeeds} {
				for _, need := range needs {
					im.Here(need)
				}
			}
		}
	}
}
