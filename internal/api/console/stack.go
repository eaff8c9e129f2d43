package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// maxWaiting is the maximum number of requests on a stack's page.
	maxWaiting = 50
	// maxFetched limits how many instances a page of resources scans: deleted ones are not shown.
	maxFetched = 50 * pageSize
	// maxOperations is the maximum number of operations on a stack's page.
	maxOperations = 10
)

// stackView is the content of a stack's page.
type stackView struct {
	Stack      *store.Stack
	Status     status
	Census     census
	Parameters []field
	Outputs    []field
	Tags       []field
	Operations []operationRow
	Waiting    []requestRow
	// MoreWaiting means that more requests are pending than are listed.
	MoreWaiting bool
	Resources   []resourceRow
	// Logical is the selected logical ID, empty for all.
	Logical string
	// Next is the path of the next page of resources, or empty. First means that this is not the first page.
	Next  string
	First bool
	Left  []leftRow
	// MoreLeft means that more retained resources exist than are listed.
	MoreLeft bool
	Events   []eventLine
	Actions  []offer
	// Standing and Once are hidden fields of forms: the displayed state of the stack, and an idempotency token.
	Standing, Once string
	// requests are the first [maxDeadlines] unsettled requests, by the number of their instance.
	requests map[int]wire.RequestID
	// Log is the end of the provider's log for the request LogOf of the selected resource, nil if none is selected.
	// NoLog is the reason for an empty log.
	Log   []string
	LogOf *store.Request
	NoLog string
	// Tried is a rejected action, and Skip the input of its form. Both may be empty.
	Tried, Skip string
}

// operationRow is an operation in a list.
type operationRow struct {
	*store.Operation
	Status status
}

// requestRow is a request in a list.
type requestRow struct {
	*store.Request
	Status   status
	Progress string
	// Deadline is when the request fails. Zero means that it is not with its provider.
	Deadline time.Time
	// Answer is the command for answering instead of the provider, or empty if that is not needed.
	Answer string
}

// resourceRow is a resource in a list.
type resourceRow struct {
	store.Instance
	Status status
	// Standing describes the role of the instance, empty if it is the current instance of its logical ID.
	Standing string
	// Request is the request that the resource waits for, else the one that failed, else the last successful one. It is
	// empty if unknown.
	Request wire.RequestID
}

// Failure returns the path of the request that caused the failure, or "".
func (r resourceRow) Failure() string { return failureURL(r.FailedBy, r.Reason) }

// stackPages shows stacks, their events, graphs and templates, and executes their actions.
type stackPages struct {
	*site

	history *tracker
}

// stackPage shows a stack.
func (sp *stackPages) stackPage(v *visit) error {
	stack, err := sp.stack(v)
	if err != nil {
		return err
	}
	return sp.showStack(v, 200, &stack, "")
}

// showStack shows a stack and, if an action was rejected, the reason.
func (sp *stackPages) showStack(v *visit, code int, stack *store.Stack, problem string) error {
	ctx := v.r.Context()
	view := stackView{
		Stack: stack, Status: stackStatus(stack), Logical: strings.TrimSpace(v.r.URL.Query().Get("logical")), Actions: offers(stack),
		Standing: standing(stack), Once: rand.Text(),
	}
	if problem != "" {
		view.Tried, view.Skip = v.r.PathValue("action"), v.r.PostForm.Get("skip")
	}
	for _, fill := range []func(context.Context, *visit, *stackView) error{
		sp.fillInputs, sp.fillOperations, sp.fillWaiting, sp.fillResources, sp.fillLog, sp.fillLeft, sp.fillEvents,
	} {
		if err := fill(ctx, v, &view); err != nil {
			return err
		}
	}
	p := page{Title: "Stack " + stack.Name, Here: "stacks", Problem: problem, Content: view}
	if v.r.Method == http.MethodPost {
		p.Path = stackURL(stack.ID)
	}
	if !stack.Phase.Final() {
		p.Stream, p.Refresh = stackURL(stack.ID, "operations", strconv.Itoa(stack.Operation), "live"), 10
		if view.LogOf != nil && view.LogOf.State != store.RequestSettled {
			p.Stream = requestStream(view.LogOf) // its heartbeat updates the rest of the page
		}
	}
	sp.show(v, code, "stack.html", p)
	return nil
}

// fillInputs adds the stack's parameters, tags and outputs.
func (sp *stackPages) fillInputs(ctx context.Context, _ *visit, view *stackView) error {
	revision, err := sp.Engine.Revision(ctx, *view.Stack)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // a stack in review has none
		return err
	}
	stored := engine.StoredValues(&revision)
	for _, p := range revision.Parameters.Members() {
		f := field{Name: p.Key, Value: plainText(p.Value)}
		if resolved, ok := stored.Get(p.Key); ok {
			f.Note = "of the parameter store: " + plainText(resolved)
		}
		view.Parameters = append(view.Parameters, f)
	}
	for _, t := range revision.Tags {
		view.Tags = append(view.Tags, field{Name: t.Key, Value: t.Value})
	}
	hidden := secretsOf(&revision)
	for _, o := range view.Stack.Outputs {
		result, _ := view.Stack.OutputValues.Get(o.Key)
		f := field{Name: o.Key, Value: plainText(result.TaintedWith(hidden)), Note: o.Description}
		if o.ExportName != "" {
			f.Note = strings.TrimSpace(f.Note + " exported as " + o.ExportName)
		}
		view.Outputs = append(view.Outputs, f)
	}
	return nil
}

// secretsOf returns the secrets of a stack's inputs. A provider may return a secret that it was sent as part of an
// attribute, so every page masks these values wherever they appear.
func secretsOf(revision *store.Revision) []string {
	return slices.Concat(revision.Parameters.Secrets(), engine.StoredValues(revision).Secrets())
}

func (sp *stackPages) fillOperations(ctx context.Context, _ *visit, view *stackView) (err error) {
	for number := view.Stack.Operation; number > 0 && len(view.Operations) < maxOperations; number-- {
		op, err := sp.Rows.Operation(ctx, view.Stack.Key, number)
		if errors.Is(err, store.ErrNotFound) {
			return nil // it has been deleted, and so have earlier ones
		}
		if err != nil {
			return err
		}
		if number == view.Stack.Operation {
			if view.Census, err = sp.history.countOf(ctx, view.Stack, &op); err != nil {
				return err
			}
		}
		view.Operations = append(view.Operations, operationRow{&op, statusOf(view.Stack.Dialect, op.Shown(), op.Phase)})
	}
	return nil
}

// fillWaiting adds the unsettled requests.
func (sp *stackPages) fillWaiting(ctx context.Context, v *visit, view *stackView) error {
	rows, err := sp.Rows.OpenRequests(ctx, view.Stack.Key, maxDeadlines)
	if err != nil {
		return err
	}
	view.MoreWaiting = len(rows) == maxDeadlines
	view.requests = map[int]wire.RequestID{}
	deadlines := engine.Deadlines(rows)
	for i := range rows {
		if rows[i].Asks() {
			view.requests[rows[i].Instance] = rows[i].ID
		}
	}
	for i := range rows {
		if !rows[i].Asks() {
			continue
		}
		if len(view.Waiting) == maxWaiting {
			view.MoreWaiting = true
			break
		}
		view.Waiting = append(view.Waiting, requestRow{
			Request: &rows[i], Status: requestStatus(&rows[i], v.now), Progress: sp.progress(&rows[i]),
			Deadline: deadlines[rows[i].ID], Answer: answer(view.Stack, &rows[i]),
		})
	}
	return nil
}

// fillResources adds a page of resources in the order of their creation, or all resources of the selected logical ID.
func (sp *stackPages) fillResources(ctx context.Context, v *visit, view *stackView) error {
	if view.Logical != "" {
		rows, err := sp.Rows.InstancesOf(ctx, view.Stack.Key, []wire.LogicalID{wire.LogicalID(view.Logical)})
		for _, row := range rows {
			view.addResource(row)
		}
		return err
	}
	after, err := count(v.r.URL.Query(), "after")
	if err != nil {
		return err
	}
	view.First = after > 0
	for fetched := 0; fetched < maxFetched; {
		rows, err := sp.Rows.InstancesAfter(ctx, view.Stack.Key, after, pageSize+1)
		if err != nil {
			return err
		}
		for _, row := range rows[:min(len(rows), pageSize)] {
			if len(view.Resources) == pageSize {
				view.Next = stackURL(view.Stack.ID) + "?" + url.Values{"after": {strconv.Itoa(after)}}.Encode() + "#resources"
				return nil
			}
			after = row.Number
			if row.Role != store.RoleGone || row.Shown {
				view.addResource(row)
			}
		}
		if len(rows) <= pageSize {
			return nil
		}
		fetched += len(rows)
	}
	view.Next = stackURL(view.Stack.ID) + "?" + url.Values{"after": {strconv.Itoa(after)}}.Encode() + "#resources"
	return nil
}

// fillLog adds the log of the selected resource: of its pending request, or else of its last one.
func (sp *stackPages) fillLog(ctx context.Context, _ *visit, view *stackView) error {
	var id wire.RequestID
	for _, row := range view.Resources {
		if view.Logical != "" && row.Request != "" && (id == "" || row.Role == store.RoleCurrent) {
			id = row.Request
		}
	}
	if id == "" {
		return nil
	}
	r, err := sp.Rows.Request(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it has been deleted
	} else if err != nil {
		return err
	}
	view.LogOf = &r
	if sp.Logs != nil {
		if view.Log, err = sp.Logs(ctx, id); err != nil {
			return err
		}
	}
	if len(view.Log) == 0 {
		view.NoLog = noLines(&r)
	}
	return nil
}

// addResource adds a resource to the list.
func (view *stackView) addResource(i store.Instance) {
	row := resourceOf(view.Stack, i)
	if open := view.requests[i.Number]; open != "" {
		row.Request = open
	}
	view.Resources = append(view.Resources, row)
}

func resourceOf(stack *store.Stack, i store.Instance) resourceRow {
	row := resourceRow{
		Instance: i, Status: resourceStatus(stack.Dialect, i.Verb, i.Progress), Request: cmp.Or(i.FailedBy, i.Body.AnsweredBy),
	}
	switch i.Role {
	case store.RoleCondemned:
		row.Standing = "to be deleted"
	case store.RoleOrphan:
		row.Standing = "orphan"
	case store.RoleRetained:
		row.Standing = "retained"
	case store.RoleGone:
		row.Standing = "deleted"
	case store.RoleCurrent:
	}
	return row
}

// fillLeft adds the retained resources of the stack.
func (sp *stackPages) fillLeft(ctx context.Context, _ *visit, view *stackView) error {
	const most = 20
	rows, err := sp.Rows.LeftBehind(ctx, []string{view.Stack.Account}, store.InstancePlace{Stack: view.Stack.Key}, most+1)
	if err != nil {
		return err
	}
	for _, row := range rows {
		switch {
		case row.Stack != view.Stack.Key:
			return nil
		case len(view.Left) == most:
			view.MoreLeft = true
			return nil
		}
		view.Left = append(view.Left, leftOf(view.Stack, row))
	}
	return nil
}

// fillEvents adds the newest events.
func (sp *stackPages) fillEvents(ctx context.Context, _ *visit, view *stackView) (err error) {
	view.Events, _, err = sp.events(ctx, view.Stack, eventPlace{}, 15)
	return err
}

// eventLine is an event as displayed.
type eventLine struct {
	store.Event
	Status status
	// OfStack means that it is the stack's own event.
	OfStack bool
}

// Failure returns the path of the request that caused the failure, or "".
func (l eventLine) Failure() string { return failureURL(l.Request, l.Reason) }

// eventPlace is the position of an event: its row in the stack's history, and its index in that row, newest first.
type eventPlace struct {
	store.EventCursor
	Skip int
}

func (p eventPlace) String() string { return fmt.Sprintf("%d.%d.%d", p.Operation, p.Number, p.Skip) }

// events returns up to limit events from a position on, newest first, and the position of the next one, or zero. One
// row may contain thousands of events, because all initial resources of a stack start together.
func (sp *stackPages) events(
	ctx context.Context, stack *store.Stack, from eventPlace, limit int,
) (list []eventLine, next eventPlace, err error) {
	before := store.EventCursor{}
	if from.Number > 0 {
		before = store.EventCursor{Operation: from.Operation, Number: from.Number + 1}
	}
	rows, err := sp.Rows.Events(ctx, stack.Key, before, limit+1)
	if err != nil {
		return nil, next, err
	}
	for n, row := range rows {
		skip := 0
		if n == 0 && row.Place == from.EventCursor {
			skip = from.Skip
		}
		for i := len(row.Events) - 1 - skip; i >= 0; i-- {
			if len(list) == limit {
				return list, eventPlace{row.Place, len(row.Events) - 1 - i}, nil
			}
			list = append(list, eventOf(stack, row.Events[i]))
		}
	}
	return list, eventPlace{}, nil
}

func eventOf(stack *store.Stack, e store.Event) eventLine {
	if e.Verb == "" {
		return eventLine{e, statusOf(stack.Dialect, e.Kind, e.Phase), true}
	}
	return eventLine{e, resourceStatus(stack.Dialect, e.Verb, e.Progress), false}
}

// eventsView is the content of the events page.
type eventsView struct {
	Stack  *store.Stack
	Events []eventLine
	Next   string
	Later  bool // this is not the first page
}

// eventsPage lists a stack's events, newest first.
func (sp *stackPages) eventsPage(v *visit) error {
	stack, err := sp.stack(v)
	if err != nil {
		return err
	}
	var from eventPlace
	if text := v.r.URL.Query().Get("from"); text != "" {
		if n, err := fmt.Sscanf(text, "%d.%d.%d", &from.Operation, &from.Number, &from.Skip); err != nil || n != 3 ||
			from.Operation < 1 || from.Number < 1 || from.Number > math.MaxInt32 || from.Skip < 0 {
			return &failure{400, "The address of this page is not right: begin at the first page."}
		}
	}
	view := eventsView{Stack: &stack, Later: from.Number > 0}
	var next eventPlace
	if view.Events, next, err = sp.events(v.r.Context(), &stack, from, pageSize); err != nil {
		return err
	}
	if next.Number > 0 {
		view.Next = stackURL(stack.ID, "events") + "?from=" + next.String()
	}
	sp.show(v, 200, "events.html", page{Title: "Events of " + stack.Name, Here: "stacks", Content: view})
	return nil
}

// Elapsed returns the duration of an operation, or the time since its start.
func (o operationRow) Elapsed(now time.Time) string {
	if !o.Ended.IsZero() {
		return short(o.Ended.Sub(o.Started))
	}
	return short(now.Sub(o.Started))
}
