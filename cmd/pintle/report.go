package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/author/catalogue"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/protocol/statusreason"
)

// result is the result of a deploy or a delete: the document of -o json.
type result struct {
	Stack   string `json:"stack"`
	StackID string `json:"stackId,omitempty"`
	// Action is create, update, delete, cancel, continue, rollback, or none if there was nothing to do.
	Action  string            `json:"action"`
	Status  string            `json:"status,omitempty"`
	Outputs map[string]string `json:"outputs,omitempty"`
	Events  []eventDocument   `json:"events,omitempty"`
	// Audit has the audit entries about the requests of the operation, oldest first.
	Audit   []auditDocument  `json:"audit,omitempty"`
	Failure *failureDocument `json:"failure,omitempty"`
}

// eventDocument is an event in a JSON document.
type eventDocument struct {
	Time       time.Time `json:"time"`
	LogicalID  string    `json:"logicalId"`
	PhysicalID string    `json:"physicalId,omitempty"`
	Type       string    `json:"type"`
	Status     string    `json:"status"`
	Reason     string    `json:"reason,omitempty"`
	// Code is the argument for "pintle explain"; only for a resource that failed by itself.
	Code string `json:"code,omitempty"`
}

// auditDocument is an entry of the audit list with its code, if it is about something that is wrong.
type auditDocument struct {
	operator.Audit
	Code string `json:"code,omitempty"`
}

// failureDocument describes the failure of an operation: cause, responsible side and remedy.
type failureDocument struct {
	Resource   string `json:"resource,omitempty"`
	Type       string `json:"type,omitempty"`
	PhysicalID string `json:"physicalId,omitempty"`
	Status     string `json:"status,omitempty"`
	Reason     string `json:"reason"`
	Fault      string `json:"fault,omitempty"`
	// Code is the argument for "pintle explain".
	Code string   `json:"code,omitempty"`
	Log  []string `json:"log,omitempty"`
	// Others are further resources that failed, and were not merely cancelled.
	Others []string `json:"others,omitempty"`
	// Problems are those of a template, each with its place.
	Problems []problemDocument `json:"problems,omitempty"`
	Next     string            `json:"next,omitempty"`
	// side names the side that has to act, for people.
	side string
}

// blame sets the fault.
func (f *failureDocument) blame(fault catalogue.Fault) {
	f.Fault, f.Code, f.side = fault.Stable, fault.Code, fault.Who
}

// codeOf returns the code of a resource's failure, by its status and its reason; "" if it did not fail by itself.
func codeOf(resourceType, status, reason string) string {
	if !strings.HasSuffix(status, "_FAILED") || reason == "" || cancelled(reason) {
		return ""
	}
	return catalogue.Of(resourceType, reason).Code
}

func eventDocuments(events []stacks.Event) []eventDocument {
	list := make([]eventDocument, len(events))
	for i, e := range events {
		list[i] = eventDocument{
			Time: e.Time, LogicalID: e.Logical, PhysicalID: e.Physical, Type: e.Type, Status: e.Status, Reason: e.Reason,
		}
		if !e.Own {
			list[i].Code = codeOf(e.Type, e.Status, e.Reason)
		}
	}
	return list
}

// take fills a result from a stack.
func (r *result) take(stack stacks.Stack) {
	r.StackID, r.Status = stack.ID, stack.Status
	r.Outputs = map[string]string{}
	for _, o := range stack.Outputs {
		r.Outputs[o.Name] = o.Text
	}
}

// printOutputs lists the outputs of a stack.
func (t *terminal) printOutputs(stack stacks.Stack) {
	if len(stack.Outputs) == 0 {
		return
	}
	fmt.Fprintln(t.stdout, "\noutputs")
	var rows [][]string
	for _, o := range stack.Outputs {
		rows = append(rows, []string{o.Name, o.Text})
	}
	fmt.Fprint(t.stdout, indented(rows))
}

// indented renders rows with two blanks in front.
func indented(rows [][]string) string {
	text := display.Columns(rows)
	return "  " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
}

// logHead is the line in a reason after which the engine puts the end of a provider's log.
const logHead = "Last lines of its log:"

func firstLineOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// cancelled reports whether a resource failed only because another one did.
func cancelled(reason string) bool {
	return strings.HasPrefix(reason, "Cancelled: resources.") || strings.HasPrefix(reason, statusreason.CreationCancelled) || strings.HasPrefix(reason, statusreason.UpdateCancelled)
}

// failures returns the events of resources that failed by themselves.
func failures(events []stacks.Event) (list []stacks.Event) {
	for _, e := range events {
		if !e.Own && strings.HasSuffix(e.Status, "_FAILED") && !cancelled(e.Reason) {
			list = append(list, e)
		}
	}
	return list
}

// explain says why an operation failed.
func (s *session) explain(ctx context.Context, c course) *failureDocument {
	list := failures(c.events)
	if len(list) == 0 { // it was the stack's own, e.g. an output
		f := &failureDocument{Reason: c.stack.Reason}
		for _, e := range c.events {
			if e.Own && e.Reason != "" && !e.Begins {
				f.Reason = e.Reason
				break
			}
		}
		f.blame(catalogue.InTemplate(&template.Error{Message: f.Reason}))
		return f
	}
	first := list[0]
	text, log, _ := strings.Cut(first.Reason, logHead)
	f := &failureDocument{
		Resource: first.Logical, Type: first.Type, PhysicalID: first.Physical, Status: first.Status,
		Reason: strings.TrimSpace(text),
	}
	f.blame(catalogue.Of(first.Type, first.Reason))
	if log = strings.TrimSpace(log); log != "" {
		f.Log = strings.Split(log, "\n")
	} else if id := requestIn(first.Reason); id != "" {
		// Without the log the explanation is still one.
		f.Log, _ = s.operator.logs(ctx, c.stack.ID, id)
	}
	for _, e := range list[1:] {
		f.Others = append(f.Others, e.Logical+" "+e.Status+": "+firstLineOf(e.Reason))
	}
	return f
}

var requestID = regexp.MustCompile(`(?:\(RequestId: |requestId \[)([0-9A-Za-z._-]{1,128})[)\]]`)

// requestIn returns the id of the request that a reason is about, empty if it does not say.
func requestIn(reason string) string {
	// The last one counts, because the text of the provider precedes it and may contain anything.
	found := requestID.FindAllStringSubmatch(reason, -1)
	if found == nil {
		return ""
	}
	return found[len(found)-1][1]
}

// maxOthers is the maximum number of further failures in a report.
const maxOthers = 5

// print writes the explanation, below the error's own line.
func (f *failureDocument) print(w io.Writer) {
	line := func(label, text string) {
		text = strings.ReplaceAll(strings.TrimSpace(display.CleanLines(text)), "\n", "\n            ")
		fmt.Fprintf(w, "  %-8s  %s\n", label, text)
	}
	if f.Resource != "" {
		line("resource", f.Resource+"  "+f.Type+"  "+f.Status)
	}
	line("reason", f.Reason)
	if f.Fault != "" {
		line("fault", f.side)
		line("explain", explainLine(f.Code))
	}
	if len(f.Log) > 0 {
		line("log", strings.Join(f.Log, "\n"))
	}
	for i, other := range f.Others {
		if i == maxOthers {
			line("", fmt.Sprintf("and %d more", len(f.Others)-maxOthers))
			break
		}
		line("also", other)
	}
}

// conclude reports the result of an operation, and returns the error that the command exits with.
func (t *terminal) conclude(r *result, asJSON bool, err error) error {
	f, isFailure := errors.AsType[*failure](err)
	wrong, inTemplate := errors.AsType[*problems](err)
	if !asJSON || isFailure && f.code == exitUsage && !inTemplate {
		return err
	}
	if err != nil && r.Failure == nil {
		r.Failure = &failureDocument{Reason: readable(err).Error()}
		if inTemplate {
			r.Failure.blame(catalogue.InTemplate(wrong.found[0]))
			r.Failure.Problems = wrong.documents()
		}
		if isFailure && len(f.hints) > 0 {
			r.Failure.Next = f.hints[0]
		}
	}
	return errors.Join(t.document(r), err)
}
