package console

import (
	"context"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/console/picture"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// maxDeadlines is the maximum number of unsettled requests that are searched for those of a page.
const maxDeadlines = 1000

// operationView is the content of an operation's page.
type operationView struct {
	Stack  *store.Stack
	Row    operationRow
	Newest bool // it is the stack's newest operation
	Counts tally
	// Census counts resources. It is set for the newest operation only.
	Census census
	Phases []eventLine
	Bars   []barRow
	// Timeline is the picture for wide windows, and Narrow for narrow ones.
	Timeline, Narrow template.HTML
	// Show is the filter of the bars: empty for all, running or failed.
	Show     string
	From, To int // range of the bars shown, counted from 1
	Total    int
	// Previous and Next are the paths of other pages of bars. Empty means none.
	Previous, Next string
	Cut            bool
}

// Path returns the path of the page without options.
func (v operationView) Path() string {
	return stackURL(v.Stack.ID, "operations", strconv.Itoa(v.Row.Number))
}

// barRow is a bar in the text version of the timeline.
type barRow struct {
	bar
	Status  status
	Request *store.Request // the pending request, nil if unknown
	// Deadline is when the request fails. Zero means that it is not with its provider.
	Deadline time.Time
}

// operationPages shows operations of stacks, with live timelines.
type operationPages struct {
	*site

	history *tracker
	updates *streams
}

// operationPage shows an operation with its timeline.
func (o *operationPages) operationPage(v *visit) error {
	stack, err := o.stack(v)
	if err != nil {
		return err
	}
	op, err := o.operation(v, &stack)
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	view := operationView{
		Stack: &stack, Row: operationRow{&op, statusOf(stack.Dialect, op.Shown(), op.Phase)}, Newest: op.Number == stack.Operation,
	}
	if show := q.Get("show"); show == "running" || show == "failed" {
		view.Show = show
	}
	offset := -1 // the last page, where progress is visible
	if q.Has("from") || op.Phase.Final() {
		if offset, err = count(q, "from"); err != nil {
			return err
		}
	}
	bars, err := o.history.bars(v.r.Context(), &view, &op, offset)
	if err != nil {
		return err
	}
	if view.Newest {
		if view.Census, err = o.history.countOf(v.r.Context(), &stack, &op); err != nil {
			return err
		}
	}
	if err := o.draw(v, &view, &op, bars); err != nil {
		return err
	}
	p := page{Title: "Operation " + strconv.Itoa(op.Number) + " of " + stack.Name, Here: "stacks", Content: view}
	if !op.Phase.Final() {
		p.Stream, p.Refresh = stackURL(stack.ID, "operations", strconv.Itoa(op.Number), "live"), 10
	}
	o.show(v, 200, "operation.html", p)
	return nil
}

// operation returns the operation in the path.
func (o *operationPages) operation(v *visit, stack *store.Stack) (store.Operation, error) {
	number, err := strconv.Atoi(v.r.PathValue("number"))
	if err != nil {
		return store.Operation{}, store.ErrNotFound
	}
	return o.Rows.Operation(v.r.Context(), stack.Key, number)
}

// draw draws the timeline, with the deadlines of pending requests.
func (o *operationPages) draw(v *visit, view *operationView, op *store.Operation, bars []bar) error {
	waiting, deadlines := map[wire.LogicalID]*store.Request{}, map[wire.RequestID]time.Time{}
	if !op.Phase.Final() {
		rows, err := o.Rows.OpenRequests(v.r.Context(), view.Stack.Key, maxDeadlines)
		if err != nil {
			return err
		}
		deadlines = engine.Deadlines(rows)
		tries := map[wire.RequestID]int{}
		for i := range rows {
			if rows[i].Wait != nil {
				tries[rows[i].Wait.For] = rows[i].Wait.Try
			}
		}
		for i := range rows {
			if r := &rows[i]; r.Asks() && !r.Cancelled {
				if r.Wait == nil && tries[r.ID] > 0 {
					r.Wait = &store.Wait{For: r.ID, Try: tries[r.ID]}
				}
				waiting[r.Logical] = r
			}
		}
	}
	drawn := make([]picture.Bar, len(bars))
	for i, b := range bars {
		row := barRow{bar: b, Status: resourceStatus(view.Stack.Dialect, b.Verb, b.Progress)}
		d := picture.Bar{Name: string(b.Logical), Status: row.Status.Text, State: row.Status.Class, Start: b.Start, End: b.End}
		if r := waiting[b.Logical]; r != nil && b.End.IsZero() {
			row.Request, row.Deadline = r, deadlines[r.ID]
			d.Link, d.Deadline = requestURL(r.ID), row.Deadline
			if r.Wait != nil {
				d.Status += ", try " + strconv.Itoa(r.Wait.Try)
			}
		} else if path := b.Failure(); path != "" {
			d.Link = path
		}
		drawn[i] = d
		view.Bars = append(view.Bars, row)
	}
	options := picture.Options{
		Title: "Timeline of operation " + strconv.Itoa(op.Number), Width: 1120, Rows: pageSize,
		Offset: max(view.From-1, 0), Total: view.Total,
	}
	if op.Phase.Final() {
		options.Start = op.Started
	} else {
		options.Now = v.now
	}
	for _, out := range []*template.HTML{&view.Timeline, &view.Narrow} { // the style sheet shows one of them
		var svg strings.Builder
		if err := picture.Timeline(&svg, drawn, options); err != nil {
			return err
		}
		*out = template.HTML(svg.String()) // picture escapes its input
		options.Narrow = true
	}
	return nil
}

// live notifies a page when its operation has changed, until the operation has finished.
func (o *operationPages) live(v *visit) error {
	stack, err := o.stack(v)
	if err != nil {
		return err
	}
	op, err := o.operation(v, &stack)
	if err != nil {
		return err
	}
	return o.updates.stream(v, stateOf(&stack, &op), topic{
		key: fmt.Sprintf("operation %d %d", stack.Key, op.Number), ages: true,
		look: func(ctx context.Context) (state, error) {
			op, err := o.Rows.Operation(ctx, stack.Key, op.Number)
			return stateOf(&stack, &op), err
		},
	})
}
