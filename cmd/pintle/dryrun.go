package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/author/schema"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/plan"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/memory"
)

// previewDocument describes the changes of a deploy: the document of deploy --dry-run -o json.
type previewDocument struct {
	Stack string `json:"stack"`
	// Action is create, update, or none if there is nothing to do.
	Action  string        `json:"action"`
	Changes []plan.Change `json:"changes"`
	// Notes lists further effects.
	Notes []string `json:"notes,omitempty"`
}

// dryRun shows what a deploy would do. Providers are asked for their schemas and plans only, and nothing is kept.
func (a *changeCommands) dryRun(ctx context.Context, o *deployOptions, p place, want desired, asJSON bool) (err error) {
	v, err := newValidator(a.connector, &validateOptions{functions: o.functions.run})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	want.plan = !want.noSchema && o.fidelity != string(engine.FidelityAWS)
	one := &validation{want: want, place: p}
	plans, err := v.plans(one, want.plan)
	if err != nil {
		return err
	}
	s, ok, err := a.readerWith(ctx, o.connection, p.data, keyOptions{}, want.references, plans, want.forwards)
	if err != nil {
		return err
	}
	document := previewDocument{Stack: want.stack}
	var drawn engine.Preview
	if ok {
		drawn, err = (&rollout{s, want}).preview(ctx, p, &document)
		err = errors.Join(err, s.close())
	} else {
		drawn, err = a.previewNew(ctx, o.connection.region, want, plans)
		if inputErr, ok := engine.InputError(err); ok {
			err = want.refused(a.shell, inputErr.Message, true)
		}
	}
	if err != nil {
		return err
	}
	if err := v.markReplaced(ctx, one, drawn.Changes); err != nil {
		return err
	}
	document.Action, document.Changes = string(drawn.Kind), drawn.Changes
	if drawn.Unchanged {
		document.Action = "none"
	}
	if asJSON {
		return errors.Join(a.document(document), document.refused())
	}
	for _, note := range document.Notes {
		a.say("%s", note)
	}
	a.printPreview(document, len(want.again) > 0)
	return document.refused()
}

// refusedChanges is the error of a dry run whose changes providers refuse. They are printed already.
type refusedChanges struct {
	stack string
	names []string
}

// Error names the resources.
func (e *refusedChanges) Error() string {
	return fmt.Sprintf("stack %s: providers refuse the change of %s", e.stack, strings.Join(e.names, ", "))
}

// refused returns the error of a dry run; nil if no provider refuses a change.
func (d *previewDocument) refused() error {
	e := &refusedChanges{stack: d.Stack}
	for i := range d.Changes {
		if d.Changes[i].Refused != "" {
			e.names = append(e.names, d.Changes[i].LogicalID)
		}
	}
	if e.names == nil {
		return nil
	}
	return failed(e, "change the properties as the reasons say, then repeat the dry run")
}

// markReplaced marks the custom resources that must be replaced, by the schemas of their providers: an immutable property of them
// changes. Other changes stay as they are, also those of providers without a schema.
func (v *validator) markReplaced(ctx context.Context, one *validation, changes []plan.Change) error {
	want := one.want
	possible := func(c plan.Change) bool {
		return c.Action == plan.Modify && c.Replacement == plan.ReplacementConditional
	}
	if want.noSchema || len(want.providers) == 0 || !slices.ContainsFunc(changes, possible) {
		return nil
	}
	all, err := v.publish(one)
	if err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		if !possible(*c) {
			continue
		}
		properties, _ := c.After.Get(plan.Properties)
		token, _ := properties.Get("ServiceToken")
		document := all.find(ctx, token.Text())
		if document == nil || document.Type(c.Type).Properties == nil {
			continue
		}
		markImmutable(c, document.Type(c.Type).Properties, want.language)
	}
	return ctx.Err()
}

// markImmutable marks a change as a replacement if it changes properties that the schema says are immutable.
func markImmutable(c *plan.Change, properties *schema.Schema, language template.Language) {
	for _, d := range c.Details {
		place := strings.TrimPrefix(d.Path, "/"+plan.Properties)
		if language == template.ROS {
			place = strings.TrimPrefix(place, "/Parameters")
		}
		if name := properties.Immutable(place); name != "" && !d.Dynamic && !slices.Contains(c.Immutable, name) {
			c.Immutable = append(c.Immutable, name)
		}
	}
	if len(c.Immutable) == 0 {
		return
	}
	c.Replacement, c.PolicyAction = plan.ReplacementTrue, "ReplaceAndDelete"
	if c.KeepsReplaced {
		c.PolicyAction = "ReplaceAndRetain"
	}
}

// preview asks the engine for the changes of a deploy.
func (o *rollout) preview(ctx context.Context, p place, document *previewDocument) (drawn engine.Preview, err error) {
	var kept []string
	if err := o.checkForwards(ctx); err != nil {
		return drawn, err
	}
	o.speak(o.want.language)
	stack, err := o.stacks.Stack(ctx, o.want.stack)
	switch {
	case errors.Is(err, stacks.ErrNone):
	case err != nil:
		return drawn, err
	case stack.State == stacks.Working:
		return drawn, failed(fmt.Errorf("stack %s has an operation in progress (%s): wait for it before a dry run", o.want.stack, stack.Status),
			"watch it with: "+p.look("events", o.want.stack)+" --follow")
	case stack.State == stacks.InReview:
		document.Notes = append(document.Notes, fmt.Sprintf(holdsOnlyChangeSets+": it would be deleted first", o.want.stack))
	case stack.State == stacks.CreateRolledBack:
		document.Notes = append(document.Notes, fmt.Sprintf("the create of stack %s was rolled back: a deploy would delete it first", o.want.stack))
	case !updatable(o.want.language, stack.State, o.want.disableRollback):
		return drawn, notUpdatable(o.want, stack, p)
	default:
		if kept, err = o.kept(ctx, stack); err != nil {
			return drawn, o.refused(ctx, err, false)
		}
	}
	drawn, err = o.operator.preview(ctx, o.want.stack, o.want.previewRequest(kept))
	switch rejection, ok := errors.AsType[*refusedPreview](err); {
	case ok:
		return drawn, o.want.refusedAgain(o.shell, rejection.message, stack.ID == "")
	case errors.Is(err, errNoOperator):
		return drawn, failed(fmt.Errorf("the server at %s does not support dry runs: it is not Pintle, or an older version", o.url))
	case err == nil && len(o.want.again) > 0 && drawn.Kind == store.KindUpdate && len(drawn.Again) == 0:
		return drawn, o.lacksAgain()
	}
	return drawn, err
}

// previewNew returns the changes of the first deploy into a data directory, without creating the directory. Problems
// that the engine finds are errors of type [engine.InputError].
func (a *changeCommands) previewNew(ctx context.Context, region string, want desired, plans *node.Plans) (drawn engine.Preview, err error) {
	none, err := newIdleEngine(ctx, want, template.Limits{}, plans)
	if err != nil {
		return drawn, err
	}
	defer func() { err = errors.Join(err, none.close()) }()
	return none.preview(ctx, a.region(want.language, region), want)
}

// idleEngine is an engine without stacks, which only previews changes.
type idleEngine struct {
	*engine.Engine
	close func() error
}

// newIdleEngine opens such an engine. plans asks providers about previews; nil asks none.
func newIdleEngine(ctx context.Context, want desired, limits template.Limits, plans *node.Plans) (idleEngine, error) {
	none, err := memory.New(memory.Config{})
	if err != nil {
		return idleEngine{}, err
	}
	types, err := nativeTypes(want.functions, want.forwards)
	if err != nil {
		return idleEngine{}, errors.Join(err, none.Close())
	}
	source, err := want.references.source()
	if err != nil {
		return idleEngine{}, errors.Join(err, none.Close())
	}
	reader, err := node.NewReader(none, nil, source, false, nil, nil)
	if err != nil {
		return idleEngine{}, errors.Join(err, none.Close())
	}
	var ask engine.ProviderPlans // nil, not a nil pointer in it
	if plans != nil {
		ask = plans.With(reader)
	}
	e, err := engine.Open(ctx, engine.Config{
		Plans: ask, PlanWithin: planWithin,
		Store: none, Alone: true, Native: types, Stored: reader.Stored, UnknownTypes: want.unknown, Limits: limits,
	})
	if err != nil {
		return idleEngine{}, errors.Join(err, none.Close())
	}
	return idleEngine{e, none.Close}, nil
}

// preview returns the changes of the first deploy of the desired stack. Problems that the engine finds are errors of
// type [engine.InputError].
func (e idleEngine) preview(ctx context.Context, region string, want desired) (engine.Preview, error) {
	request := want.previewRequest(nil)
	asked := engine.PreviewStack{
		Options: request.Options(), Template: request.Template, Replace: request.Replace, Ask: true,
		Stack: engine.Ref{Account: sigv4.DefaultAccount, Region: region, Stack: want.stack},
	}
	if want.language == template.ROS {
		asked.Dialect, asked.Stack.Account = engine.ROS, engine.ROSAccount(sigv4.DefaultAccount)
	}
	return e.Preview(ctx, asked)
}

// previewRequest returns the desired stack in the form of the operator API. The parameters in kept keep their values.
func (w desired) previewRequest(kept []string) operator.PreviewRequest {
	request := operator.PreviewRequest{Template: w.template, DisableRollback: w.disableRollback, Replace: w.replace, Plan: w.plan, Again: w.againIDs()}
	for _, p := range w.given(kept) {
		request.Parameters = append(request.Parameters, operator.PreviewParameter{Key: p.Name, Value: p.Text, UsePrevious: p.Previous})
	}
	for _, t := range w.tags {
		request.Tags = append(request.Tags, store.Tag{Key: t.Name, Value: t.Text})
	}
	return request
}

// refusedPreview is the engine's rejection of the desired stack.
type refusedPreview struct{ message string }

// Error returns the engine's words.
func (e *refusedPreview) Error() string { return e.message }

func (c *operatorClient) preview(ctx context.Context, stack string, request operator.PreviewRequest) (out engine.Preview, err error) {
	body, err := json.Marshal(request)
	if err != nil {
		return out, err
	}
	err = c.do(ctx, http.MethodPost, "stacks/"+url.PathEscape(stack)+"/preview", body, &out)
	if apiErr, ok := errors.AsType[*operator.Error](err); ok && apiErr.Status == http.StatusBadRequest {
		err = &refusedPreview{apiErr.Message}
	}
	return out, err
}

// printPreview shows the changes to people. again says that Updates were requested of resources that have not changed.
func (a *changeCommands) printPreview(document previewDocument, again bool) {
	switch {
	case document.Action == "none":
		fmt.Fprintf(a.stdout, "stack %s: no changes\n", document.Stack)
		return
	case len(document.Changes) == 0:
		fmt.Fprintf(a.stdout, "stack %s would be updated: outputs, tags or parameters change, but no resources\n", document.Stack)
		return
	}
	fmt.Fprintf(a.stdout, "stack %s would be %sd\n\n", document.Stack, document.Action)
	shown := display.NewDifference(a.stdout, a.screen)
	counts := map[plan.ChangeAction]int{}
	for _, c := range document.Changes {
		counts[c.Action]++
		printChange(shown, &c, again)
	}
	fmt.Fprintf(a.stdout, "\n%d to add, %d to change, %d to remove; nothing was changed\n", counts[plan.Add], counts[plan.Modify], counts[plan.Remove])
}

func printChange(shown *display.Difference, c *plan.Change, again bool) {
	switch c.Action {
	case plan.Add:
		shown.Resource(display.Added, c.LogicalID, c.Type)
		properties, _ := c.After.Get(plan.Properties)
		for _, p := range properties.Members() {
			if p.Key != "ServiceToken" { // it is long, and says nothing of the resource
				shown.Value(display.Added, p.Key, "", valueText(p.Value), "")
			}
		}
	case plan.Remove:
		word := ""
		if c.PolicyAction == "Retain" {
			word = "is removed from the stack and kept (DeletionPolicy)"
		}
		shown.Resource(display.Removed, c.LogicalID, c.Type, c.PhysicalID, word)
	case plan.Import: // only change sets import
	case plan.Modify:
		word := ""
		switch {
		case c.May():
			word = "may follow"
		case c.Again && again:
			word = "gets an Update even if nothing changed"
		case c.Again:
			word = "is updated again, because its last update failed"
		}
		shown.Resource(display.Changed, c.LogicalID, c.Type, c.PhysicalID, word)
		printDetails(shown, c)
	}
	if c.Problem != "" {
		shown.Warn(c.Problem)
	}
	if c.Refused != "" {
		shown.Warn("refused: " + c.Refused)
	}
	if c.Unplanned != "" {
		shown.Note("not planned: " + c.Unplanned)
	}
}

func printDetails(shown *display.Difference, c *plan.Change) {
	for i := 0; i < len(c.Details); {
		d := c.Details[i]
		if d.Source == plan.Automatic {
			shown.Note("its template may have changed: the update will show it")
			i++
			continue
		}
		var causes []string
		for ; i < len(c.Details) && c.Details[i].Path == d.Path; i++ {
			if cause := causeText(&c.Details[i]); cause != "" {
				causes = append(causes, cause)
			}
		}
		sign, before, after := display.Changed, "", ""
		if d.Before != nil {
			before = known(*d.Before)
		} else {
			sign = display.Added
		}
		if d.After != nil {
			after = known(*d.After)
		} else {
			sign = display.Removed
		}
		place := strings.TrimPrefix(strings.TrimPrefix(d.Path, "/"), plan.Properties+"/")
		shown.Value(sign, place, before, after, strings.Join(causes, ", "))
	}
	note := ""
	switch c.Replacement {
	case plan.ReplacementTrue:
		note = "is replaced"
		if c.Reason != "" {
			note = "must be replaced (" + c.Reason + ")"
		} else if len(c.Immutable) > 0 {
			note = "must be replaced (" + strings.Join(c.Immutable, ", ") + " is immutable)"
			if len(c.Immutable) > 1 {
				note = strings.Replace(note, " is immutable", " are immutable", 1)
			}
		}
	case plan.ReplacementConditional:
		note = "is replaced if the provider answers with a new id"
	case plan.ReplacementFalse:
		return
	}
	if c.KeepsReplaced {
		note += "; the old resource is kept (UpdateReplacePolicy)"
	}
	shown.Note(note)
}

func causeText(d *plan.Detail) string {
	switch d.Source {
	case plan.ParameterReference:
		return "parameter " + d.Cause
	case plan.ResourceReference:
		return "id of " + d.Cause
	case plan.ResourceAttribute:
		return d.Cause
	case plan.DirectModification, plan.Automatic:
	}
	return ""
}

// valueText shows a value: a scalar as it is, anything else as JSON.
func valueText(v value.Value) string {
	if v.IsScalar() {
		return known(v.Masked().Text())
	}
	return known(v.String())
}

func known(text string) string {
	const afterwards = "<known after deploy>"
	return strings.NewReplacer(plan.Unknown, afterwards, plan.UnknownUUID, afterwards).Replace(text)
}
