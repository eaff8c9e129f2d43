package stacks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// CloudFormation is the [Service] of stacks of CloudFormation.
type CloudFormation struct{ client *awscall.Client }

// NewCloudFormation returns the service that a client calls.
func NewCloudFormation(client *awscall.Client) *CloudFormation { return &CloudFormation{client} }

// members are those of a structure of a request or an answer, by name.
type members map[string]any

func (c *CloudFormation) call(ctx context.Context, action string, in members) (members, error) {
	return c.client.Call(ctx, "cloudformation", action, in)
}

// pollPause is the time between two calls of poll.
const pollPause = 200 * time.Millisecond

// poll calls look until it is done or fails.
func poll(ctx context.Context, look func() (done bool, err error)) error {
	ticker := time.NewTicker(pollPause)
	defer ticker.Stop()
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// pages calls an action page by page and each for every structure of the list, until the last page or until each returns false.
func (c *CloudFormation) pages(ctx context.Context, action string, in members, list string, each func(members) bool) error {
	for {
		out, err := c.call(ctx, action, in)
		if err != nil {
			return err
		}
		for _, one := range out.list(list) {
			if !each(one) {
				return nil
			}
		}
		token := out.text("NextToken")
		if token == "" {
			return nil
		}
		in["NextToken"] = token
	}
}

// text returns a member that is text; empty if it is absent.
func (m members) text(name string) string {
	text, _ := m[name].(string)
	return text
}

// time returns a member that is a time; zero if it is absent.
func (m members) time(name string) time.Time {
	at, _ := m[name].(time.Time)
	return at
}

// optionalTime returns a member that is a time; nil if it is absent.
func (m members) optionalTime(name string) *time.Time {
	if at, ok := m[name].(time.Time); ok {
		return &at
	}
	return nil
}

// list returns a member that is a list of structures.
func (m members) list(name string) []members {
	all, _ := m[name].([]any)
	list := make([]members, 0, len(all))
	for _, one := range all {
		structure, _ := one.(map[string]any)
		list = append(list, structure)
	}
	return list
}

// cloudFormationType is the resource type of a stack's own events.
const cloudFormationType = "AWS::CloudFormation::Stack"

// importRollbackComplete is the status of a stack, and of a resource, after an import that was rolled back.
const importRollbackComplete = "IMPORT_ROLLBACK_COMPLETE"

// cloudFormationStates maps the final statuses. Source: CloudFormation, stack status codes.
var cloudFormationStates = map[string]State{
	"REVIEW_IN_PROGRESS":       InReview,
	"CREATE_COMPLETE":          Created,
	"CREATE_FAILED":            CreateFailed,
	"ROLLBACK_COMPLETE":        CreateRolledBack,
	"ROLLBACK_FAILED":          CreateRollbackFailed,
	"UPDATE_COMPLETE":          Updated,
	"UPDATE_FAILED":            UpdateFailed,
	"UPDATE_ROLLBACK_COMPLETE": UpdateRolledBack,
	"UPDATE_ROLLBACK_FAILED":   UpdateRollbackFailed,
	"IMPORT_COMPLETE":          Updated,
	importRollbackComplete:     UpdateRolledBack,
	"IMPORT_ROLLBACK_FAILED":   UpdateRollbackFailed,
	"DELETE_COMPLETE":          Deleted,
	"DELETE_FAILED":            DeleteFailed,
}

func cloudFormationState(status string) State {
	if state, ok := cloudFormationStates[status]; ok {
		return state
	}
	if strings.HasSuffix(status, "_IN_PROGRESS") {
		return Working
	}
	return Other
}

// Stack implements [Service].
func (c *CloudFormation) Stack(ctx context.Context, name string) (Stack, error) {
	out, err := c.call(ctx, "DescribeStacks", members{"StackName": name})
	if message, ok := Refusal(err); ok && strings.Contains(message, "does not exist") {
		return Stack{}, ErrNone
	}
	if err != nil {
		return Stack{}, err
	}
	described := out.list("Stacks")
	if len(described) != 1 {
		return Stack{}, fmt.Errorf("the server described %d stacks instead of one", len(described))
	}
	s := described[0]
	stack := cloudFormationStack(s, "Description")
	if stack.Status == importRollbackComplete {
		if stack.State, err = c.importRolledBack(ctx, stack.ID); err != nil {
			return Stack{}, err
		}
	}
	for _, p := range s.list("Parameters") {
		stack.Parameters = append(stack.Parameters, project.Pair{Name: p.text("ParameterKey"), Text: p.text("ParameterValue")})
	}
	for _, t := range s.list("Tags") {
		stack.Tags = append(stack.Tags, project.Pair{Name: t.text("Key"), Text: t.text("Value")})
	}
	for _, o := range s.list("Outputs") {
		stack.Outputs = append(stack.Outputs, Output{o.text("OutputKey"), o.text("OutputValue"), o.text("ExportName")})
	}
	return stack, nil
}

// cloudFormationStack reads a stack, whose description the member of that name is.
func cloudFormationStack(s members, description string) Stack {
	return Stack{
		Name: s.text("StackName"), ID: s.text("StackId"), Status: s.text("StackStatus"), State: cloudFormationState(s.text("StackStatus")),
		Reason: s.text("StackStatusReason"), Description: s.text(description),
		Created: s.time("CreationTime"), Updated: s.optionalTime("LastUpdatedTime"), Deleted: s.optionalTime("DeletionTime"),
	}
}

// importRolledBack returns the state of a stack in IMPORT_ROLLBACK_COMPLETE. A stack that the import was to create has no resource but
// those that it let go, and can only be deleted.
func (c *CloudFormation) importRolledBack(ctx context.Context, id string) (State, error) {
	resources, err := c.Resources(ctx, id)
	for _, r := range resources {
		if r.Status != importRollbackComplete {
			return UpdateRolledBack, err
		}
	}
	return CreateRolledBack, err
}

// List implements [Service].
func (c *CloudFormation) List(ctx context.Context) ([]Stack, error) {
	var list []Stack
	err := c.pages(ctx, "ListStacks", members{}, "StackSummaries", func(s members) bool {
		list = append(list, cloudFormationStack(s, "TemplateDescription"))
		return true
	})
	return list, err
}

// Events implements [Service].
func (c *CloudFormation) Events(ctx context.Context, stack, since string, until func(Event) bool) ([]Event, error) {
	var events []Event
	err := c.pages(ctx, "DescribeStackEvents", members{"StackName": stack}, "StackEvents", func(found members) bool {
		e := cloudFormationEvent(found)
		if since != "" && e.ID == since {
			return false
		}
		events = append(events, e)
		return since != "" || !until(e)
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	return events, nil
}

func cloudFormationEvent(e members) Event {
	event := Event{
		ID: e.text("EventId"), Time: e.time("Timestamp"), Logical: e.text("LogicalResourceId"), Physical: e.text("PhysicalResourceId"),
		Type: e.text("ResourceType"), Status: e.text("ResourceStatus"), Reason: e.text("ResourceStatusReason"),
	}
	event.Own = event.Type == cloudFormationType && event.Physical == e.text("StackId")
	event.Begins = event.Own && event.Reason == UserInitiated
	return event
}

// UserInitiated is the reason of the event that begins an operation of CloudFormation.
const UserInitiated = "User Initiated"

// Resources implements [Service].
func (c *CloudFormation) Resources(ctx context.Context, stack string) ([]Resource, error) {
	var list []Resource
	err := c.pages(ctx, "ListStackResources", members{"StackName": stack}, "StackResourceSummaries", func(r members) bool {
		list = append(list, Resource{
			Logical: r.text("LogicalResourceId"), Physical: r.text("PhysicalResourceId"), Type: r.text("ResourceType"),
			Status: r.text("ResourceStatus"), Reason: r.text("ResourceStatusReason"), Changed: r.time("LastUpdatedTimestamp"),
		})
		return true
	})
	return list, err
}

// Template implements [Service].
func (c *CloudFormation) Template(ctx context.Context, stack string) (string, error) {
	out, err := c.call(ctx, "GetTemplate", members{"StackName": stack, "TemplateStage": "Original"})
	if err != nil {
		return "", err
	}
	return out.text("TemplateBody"), nil
}

// Declared implements [Service].
func (c *CloudFormation) Declared(ctx context.Context, template string) ([]string, error) {
	checked, err := c.call(ctx, "ValidateTemplate", templateMember(template))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, declared := range checked.list("Parameters") {
		names = append(names, declared.text("ParameterKey"))
	}
	return names, nil
}

// Create implements [Service].
func (c *CloudFormation) Create(ctx context.Context, want Desired) (string, error) {
	out, err := c.call(ctx, "CreateStack", want.request(want.Name))
	return out.text("StackId"), err
}

// Update implements [Service].
func (c *CloudFormation) Update(ctx context.Context, stack Stack, want Desired) (bool, error) {
	_, err := c.call(ctx, "UpdateStack", want.request(stack.ID))
	if message, ok := Refusal(err); ok && strings.Contains(message, "No updates are to be performed") {
		return false, nil
	}
	return err == nil, err
}

// request returns the parameters of a create or an update.
func (w Desired) request(stack string) members {
	parameters := make([]any, 0, len(w.Parameters))
	for _, p := range w.Parameters {
		given := map[string]any{"ParameterKey": p.Name}
		if p.Previous {
			given["UsePreviousValue"] = true
		} else {
			given["ParameterValue"] = p.Text
		}
		parameters = append(parameters, given)
	}
	in := templateMember(w.Template)
	in["StackName"], in["Parameters"], in["DisableRollback"] = stack, parameters, w.KeepFailed
	if len(w.Tags) > 0 {
		tags := make([]any, 0, len(w.Tags))
		for _, t := range w.Tags {
			tags = append(tags, map[string]any{"Key": t.Name, "Value": t.Text})
		}
		in["Tags"] = tags
	}
	if len(w.Agreed) > 0 {
		in["Capabilities"] = listed(w.Agreed)
	}
	return in
}

// MaxBody is the maximum size of a template in TemplateBody, in bytes. Source: CloudFormation, quotas.
const MaxBody = 51200

// templateMember returns the member of a request that contains a template: a long one is sent as a URL that contains it.
func templateMember(template string) members {
	if len(template) > MaxBody {
		return members{"TemplateURL": fetch.Seal("template", template)}
	}
	return members{"TemplateBody": template}
}

func listed(texts []string) []any {
	list := make([]any, 0, len(texts))
	for _, text := range texts {
		list = append(list, text)
	}
	return list
}

// Delete implements [Service].
func (c *CloudFormation) Delete(ctx context.Context, id string, spare Sparing) error {
	in := members{"StackName": id}
	if len(spare.Retain) > 0 {
		in["RetainResources"] = listed(spare.Retain)
	}
	if spare.Force {
		in["DeletionMode"] = "FORCE_DELETE_STACK"
	}
	_, err := c.call(ctx, "DeleteStack", in)
	return err
}

// Cancel implements [Service].
func (c *CloudFormation) Cancel(ctx context.Context, id, token string) error {
	_, err := c.call(ctx, "CancelUpdateStack", members{"StackName": id, "ClientRequestToken": token})
	return err
}

// Continue implements [Service].
func (c *CloudFormation) Continue(ctx context.Context, id, token string, skip Skipping) error {
	in := members{"StackName": id, "ClientRequestToken": token, "ForceRollback": skip.Force}
	if len(skip.Skip) > 0 {
		in["ResourcesToSkip"] = listed(skip.Skip)
	}
	_, err := c.call(ctx, "ContinueUpdateRollback", in)
	return err
}

// Rollback implements [Service].
func (c *CloudFormation) Rollback(ctx context.Context, id, token string) error {
	_, err := c.call(ctx, "RollbackStack", members{"StackName": id, "ClientRequestToken": token})
	return err
}
