package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
)

// description is a stack with all that is in it: the document of describe -o json.
type description struct {
	stackDocument
	Parameters map[string]string `json:"parameters,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	Outputs    map[string]string `json:"outputs,omitempty"`
	// Exports are the names under which other stacks import outputs, with the keys of these.
	Exports   map[string]string  `json:"exports,omitempty"`
	Resources []resourceDocument `json:"resources"`
	// Requests are those that providers have not answered.
	Requests []operator.Request `json:"requests,omitempty"`
	// Audit is the newest of the audit list that is about requests, newest first.
	Audit []auditDocument `json:"audit,omitempty"`
	// Left lists resources that the stack has orphaned or retained. More is the number of further ones.
	Left []operator.Left `json:"left,omitempty"`
	More int             `json:"leftBesides,omitempty"`
}

type resourceDocument struct {
	LogicalID  string `json:"logicalId"`
	PhysicalID string `json:"physicalId,omitempty"`
	Type       string `json:"type"`
	Status     string `json:"status"`
	Reason     string `json:"reason,omitempty"`
	// Code is the argument for "pintle explain"; only for a resource that failed by itself.
	Code    string    `json:"code,omitempty"`
	Changed time.Time `json:"changed,omitzero"` // zero for a resource that is not started
}

func (a *showCommands) describeCommand() *cobra.Command {
	var o readOptions
	cmd := &cobra.Command{
		Use:   "describe [STACK | DIR]",
		Short: "Show a stack's outputs, resources and pending requests",
		Long: `Show a stack's outputs and resources, the requests that providers have not answered
yet, and the resources that it could not delete or was asked to keep. The default is
the stack in pintle.yaml. For a deleted stack, use the id that "pintle list --all" shows.
If an operation is in progress, "engine" says where it runs, or how to resume it.`,
		Args: cobra.MaximumNArgs(1),
		RunE: runE(func(ctx context.Context, args []string) error { return a.showStack(ctx, &o, first(args)) }),
	}
	o.flags(cmd)
	cmd.ValidArgsFunction = a.complete.stack
	return cmd
}

func (a *showCommands) showStack(ctx context.Context, o *readOptions, given string) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	s, p, name, err := a.readStack(ctx, o, given)
	if err != nil {
		return err
	}
	d, err := s.description(ctx, name)
	engine := s.engineOf(ctx, p, name, d.Status)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	if asJSON {
		return a.document(d)
	}
	a.printDescription(p, d, engine)
	return nil
}

// engineOf says which engine carries out the operation of a stack, or how to resume it; empty if no operation is in progress.
func (s *session) engineOf(ctx context.Context, p place, name, status string) string {
	switch {
	case !strings.HasSuffix(status, "_IN_PROGRESS"):
		return ""
	case s.here == nil:
		return "running at " + s.url
	}
	if next := s.goOn(ctx, p, name); next != "" {
		return "not running; resume with: " + next
	}
	return ""
}

func (s *session) description(ctx context.Context, name string) (d description, err error) {
	stack, err := s.stacks.Stack(ctx, name)
	if errors.Is(err, stacks.ErrNone) {
		return d, noStack(name)
	} else if err != nil {
		return d, err
	}
	d.stackDocument = documentOf(stack)
	d.Parameters, d.Tags, d.Outputs, d.Exports = map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	for _, p := range stack.Parameters {
		d.Parameters[p.Name] = p.Text
	}
	for _, t := range stack.Tags {
		d.Tags[t.Name] = t.Text
	}
	for _, o := range stack.Outputs {
		d.Outputs[o.Name] = o.Text
		if o.Export != "" {
			d.Exports[o.Export] = o.Name
		}
	}
	if d.Resources, err = s.resources(ctx, d.ID); err != nil {
		return d, err
	}
	if d.Requests, err = s.operator.requests(ctx, d.ID); err == nil {
		var left operator.LeftBehind
		left, err = s.operator.left(ctx, d.ID)
		d.Left, d.More = left.Left, left.More
	}
	if err == nil {
		var list []auditDocument
		list, err = s.operator.audit(ctx, d.ID)
		list = slices.DeleteFunc(list, func(entry auditDocument) bool { return entry.Request == "" })
		d.Audit = list[:min(len(list), maxRemarks)]
	}
	if errors.Is(err, errNoOperator) {
		err = nil
	}
	return d, err
}

func (s *session) resources(ctx context.Context, stack string) ([]resourceDocument, error) {
	there, err := s.stacks.Resources(ctx, stack)
	list := make([]resourceDocument, len(there))
	for i, r := range there {
		list[i] = resourceDocument{LogicalID: r.Logical, PhysicalID: r.Physical, Type: r.Type, Status: r.Status, Reason: r.Reason, Changed: r.Changed}
		list[i].Code = codeOf(r.Type, r.Status, r.Reason)
	}
	return list, err
}

func (a *showCommands) printDescription(p place, d description, engine string) {
	head := [][]string{{"stack", d.Name}, {"status", d.Status}}
	add := func(label, text string) {
		if text != "" {
			head = append(head, []string{label, text})
		}
	}
	add("engine", engine)
	if d.Reason != stacks.UserInitiated {
		add("reason", d.Reason)
	}
	add("description", d.Description)
	add("created", stamp(d.Created))
	add("updated", stamp(aws.ToTime(d.Updated)))
	if d.Status == "DELETE_COMPLETE" { // else it is when that was tried
		add("deleted", stamp(aws.ToTime(d.Deleted)))
	}
	add("id", d.ID)
	fmt.Fprint(a.stdout, display.Columns(head))

	a.printMap("parameters", d.Parameters)
	a.printMap("tags", d.Tags)
	a.printMap("outputs", d.Outputs)
	a.printMap("exports", d.Exports)
	if len(d.Resources) > 0 {
		var rows [][]string
		var codes []string
		for _, r := range d.Resources {
			codes = append(codes, r.Code)
			rows = append(rows, []string{r.LogicalID, r.Type, r.Status, r.PhysicalID, firstLineOf(r.Reason)})
		}
		fmt.Fprint(a.stdout, "\nresources\n"+indented(rows))
		a.printExplains(codes)
	}
	if len(d.Requests) > 0 {
		var rows [][]string
		for _, r := range d.Requests {
			left := ""
			if r.RemainingSeconds != nil {
				left = "fails in " + display.Span(seconds(*r.RemainingSeconds))
				if r.State != "waiting" {
					left = "sent in " + display.Span(seconds(*r.RemainingSeconds))
				}
			}
			rows = append(rows, []string{string(r.Logical), r.Type, r.State, "since " + stamp(r.Since), left, r.Progress})
		}
		fmt.Fprint(a.stdout, "\npending requests\n"+indented(rows))
		for _, r := range d.Requests {
			if r.Silent != nil {
				fmt.Fprintf(a.stdout, "  answer %s by hand: %s\n", r.Logical, p.answer(d.Name, string(r.Logical)))
			}
		}
	}
	if len(d.Audit) > 0 {
		var rows [][]string
		for _, entry := range d.Audit {
			rows = append(rows, []string{stamp(entry.Time), string(entry.Logical), entry.Text})
		}
		fmt.Fprint(a.stdout, "\naudit list (newest entries; all: "+p.look("events", d.Name)+" --audit)\n"+indented(rows))
	}
	a.printLeft("abandoned", d.Left, true)
	a.printLeft("retained", d.Left, false)
	if d.More > 0 {
		fmt.Fprintf(a.stdout, "  and %d more\n", d.More)
	}
}

// printLeft lists resources that a stack has left behind: its orphans or its retained resources.
func (a *showCommands) printLeft(label string, left []operator.Left, orphans bool) {
	var rows [][]string
	advice := ""
	for _, l := range left {
		if l.Orphan == orphans {
			rows = append(rows, []string{string(l.Logical), l.Resource, string(l.PhysicalID), "since " + stamp(l.Since), firstLineOf(l.Reason)})
			advice = l.Advice
		}
	}
	if len(rows) > 0 {
		fmt.Fprint(a.stdout, "\n"+label+": "+advice+"\n"+indented(rows))
	}
}

func (t *terminal) printMap(label string, texts map[string]string) {
	if len(texts) == 0 {
		return
	}
	var rows [][]string
	for _, name := range sortedKeys(texts) {
		rows = append(rows, []string{name, texts[name]})
	}
	fmt.Fprint(t.stdout, "\n"+label+"\n"+indented(rows))
}
