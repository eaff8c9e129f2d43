package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// result is what came of a deploy or a delete: the document of -o json.
type result struct {
	Stack   string `json:"stack"`
	StackID string `json:"stackId,omitempty"`
	// Action is create, update, delete, cancel, continue, rollback, or none if there was nothing to do.
	Action  string            `json:"action"`
	Status  string            `json:"status,omitempty"`
	Outputs map[string]string `json:"outputs,omitempty"`
	Events  []eventDocument   `json:"events,omitempty"`
	// Audit is what the operation put on the audit list about its requests, oldest first.
	Audit   []operator.Audit `json:"audit,omitempty"`
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
}

// failureDocument says why an operation failed, whose fault it is and what to do.
type failureDocument struct {
	Resource   string   `json:"resource,omitempty"`
	Type       string   `json:"type,omitempty"`
	PhysicalID string   `json:"physicalId,omitempty"`
	Status     string   `json:"status,omitempty"`
	Reason     string   `json:"reason"`
	Fault      string   `json:"fault,omitempty"`
	Log        []string `json:"log,omitempty"`
	// Others are further resources that failed, and were not merely cancelled.
	Others []string `json:"others,omitempty"`
	// Problems are those of a template, each with its place.
	Problems []problemDocument `json:"problems,omitempty"`
	Next     string            `json:"next,omitempty"`
}

func eventDocuments(events []stacks.Event) []eventDocument {
	list := make([]eventDocument, len(events))
	for i, e := range events {
		list[i] = eventDocument{
			Time: e.Time, LogicalID: e.Logical, PhysicalID: e.Physical, Type: e.Type, Status: e.Status, Reason: e.Reason,
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
func (a *app) printOutputs(stack stacks.Stack) {
	if len(stack.Outputs) == 0 {
		return
	}
	fmt.Fprintln(a.stdout, "\noutputs")
	var rows [][]string
	for _, o := range stack.Outputs {
		rows = append(rows, []string{o.Name, o.Text})
	}
	fmt.Fprint(a.stdout, indented(rows))
}

// indented renders rows with two blanks in front.
func indented(rows [][]string) string {
	text := display.Columns(rows)
	return "  " + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n  "), "  ")
}

// Faults, as they are told to people.
const (
	faultAnswered  = "the provider's, or that of what the template gave it: it answered FAILED"
	faultInvalid   = "the provider's: it answered, but not as the protocol has it"
	faultErrored   = "the provider's: its handler failed before it answered"
	faultDied      = "the provider's: its process ended before it answered"
	faultKilled    = "the provider's: its handler was still running at its timeout"
	faultUnstarted = "the provider's: it could not be started"
	faultSilent    = "the provider's: it took the request and did not answer in time"
	faultReturned  = "the provider's: its handler returned and never answered"
	faultSignals   = "of those who signal it: they told of a failure, or of too few successes in time"
	faultTemplate  = "the template's"
	faultNative    = "of what the template asks for, or of what is there already: the type is this machine's own"
	faultNested    = "of something in the nested stack: its own events say more"
	faultDelivery  = "delivery: the request did not get to a provider"
)

// fault tells by the reason of a resource's failure whose fault it is. The texts are those of packages wire and native, and
// of what delivery reports.
func fault(reason string) string {
	switch first := firstLineOf(reason); {
	case strings.HasPrefix(first, "Received response status [FAILED]"):
		return faultAnswered
	case strings.HasPrefix(first, wire.TextReturned):
		return faultReturned
	case strings.HasPrefix(first, "CloudFormation did not receive a response"):
		return faultSilent
	case strings.HasPrefix(first, wire.TextTooLong), strings.HasPrefix(first, wire.TextInvalidPhysicalID),
		strings.HasPrefix(first, "Invalid Response object"):
		return faultInvalid
	case strings.HasPrefix(first, "provider "):
		_, what, _ := strings.Cut(first, ": ")
		if strings.HasPrefix(what, "it could not be started") || strings.HasPrefix(what, "target ") {
			return faultUnstarted
		}
		if strings.HasPrefix(what, "the handler reported an error") {
			return faultErrored
		}
		if strings.HasPrefix(what, "the handler was still running") {
			return faultKilled
		}
		return faultDied
	case rosReason.MatchString(first):
		return rosFault(rosReason.FindStringSubmatch(first)[1])
	case strings.HasPrefix(first, "Embedded stack "):
		return faultNested
	case hasPrefix(first, "WaitCondition ", "Received FAILURE signal", "Failed to receive "):
		return faultSignals
	case hasPrefix(first, "CustomResource attribute error", wire.TextTokenChanged, "Value of property", "Template ", "Unable to",
		"Encountered unsupported property", "Property validation failure", "CreationPolicy", "A WaitCondition with",
		"Update to resource type", "Updates are not allowed for property", "Resource type ", "[Error] "):
		return faultTemplate
	}
	return faultDelivery
}

// rosReason is the form of the reasons of failures in ROS.
var rosReason = regexp.MustCompile(`^([A-Z][A-Za-z]+): resources\.[A-Za-z0-9_\[\]]+: `)

// rosFault is [fault] for the class of a failure in ROS. The classes are those of package engine.
func rosFault(class string) string {
	switch class {
	case "CustomResourceFailed":
		return faultAnswered
	case "InvalidResponse", "PhysicalResourceIdChanged":
		return faultInvalid
	case "Timeout":
		return faultSilent
	case "NoResponse":
		return faultReturned
	case "DeliveryFailed":
		return faultDelivery
	case "ResourceFailed":
		return faultNative
	}
	return faultTemplate
}

func hasPrefix(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// logHead is the line in a reason after which the engine puts the end of a provider's log.
const logHead = "Last lines of its log:"

func firstLineOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// cancelled reports whether a resource failed only because another one did.
func cancelled(reason string) bool {
	return strings.HasPrefix(reason, "Cancelled: resources.") || strings.HasPrefix(reason, wire.TextCreationCancelled) || strings.HasPrefix(reason, wire.TextUpdateCancelled)
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
		f := &failureDocument{Reason: c.stack.Reason, Fault: faultTemplate}
		for _, e := range c.events {
			if e.Own && e.Reason != "" && !e.Begins {
				f.Reason = e.Reason
				break
			}
		}
		return f
	}
	first := list[0]
	text, log, _ := strings.Cut(first.Reason, logHead)
	f := &failureDocument{
		Resource: first.Logical, Type: first.Type, PhysicalID: first.Physical, Status: first.Status,
		Reason: strings.TrimSpace(text), Fault: fault(first.Reason),
	}
	if f.Fault == faultDelivery && native.InCloud(f.Type) {
		f.Fault = faultNative
	}
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
	// The last one: what a provider says comes before it, and may hold anything.
	found := requestID.FindAllStringSubmatch(reason, -1)
	if found == nil {
		return ""
	}
	return found[len(found)-1][1]
}

// maxOthers is how many further failures are told.
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
		line("fault", f.Fault)
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

// conclude reports what came of an operation, and returns the error that the command ends with.
func (a *app) conclude(r *result, asJSON bool, err error) error {
	f, isFailure := errors.AsType[*failure](err)
	wrong, inTemplate := errors.AsType[*problems](err)
	if !asJSON || isFailure && f.code == exitUsage && !inTemplate {
		return err
	}
	if err != nil && r.Failure == nil {
		r.Failure = &failureDocument{Reason: readable(err).Error()}
		if inTemplate {
			r.Failure.Fault, r.Failure.Problems = faultTemplate, wrong.documents()
		}
		if isFailure && len(f.hints) > 0 {
			r.Failure.Next = f.hints[0]
		}
	}
	return errors.Join(a.document(r), err)
}
