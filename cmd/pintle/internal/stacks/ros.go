package stacks

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// ROS is the [Service] of stacks of ROS.
type ROS struct{ client *rosclient.Client }

// NewROS returns the service behind a client.
func NewROS(client *rosclient.Client) *ROS { return &ROS{client} }

// rosType is the resource type of a stack's own events.
const rosType = "ALIYUN::ROS::Stack"

// rosStates maps the final statuses. ROLLBACK_COMPLETE is the end of an update here. Source: ROS API, GetStack.
var rosStates = map[string]State{
	"REVIEW_IN_PROGRESS":       InReview,
	"CREATE_COMPLETE":          Created,
	"CREATE_FAILED":            CreateFailed,
	"CREATE_ROLLBACK_COMPLETE": CreateRolledBack,
	"CREATE_ROLLBACK_FAILED":   CreateRollbackFailed,
	"UPDATE_COMPLETE":          Updated,
	"UPDATE_FAILED":            UpdateFailed,
	"ROLLBACK_COMPLETE":        UpdateRolledBack,
	"ROLLBACK_FAILED":          UpdateRollbackFailed,
	"DELETE_COMPLETE":          Deleted,
	"DELETE_FAILED":            DeleteFailed,
}

func rosState(status string) State {
	if state, ok := rosStates[status]; ok {
		return state
	}
	if strings.HasSuffix(status, "_IN_PROGRESS") {
		return Working
	}
	return Other
}

// rosTime is a time as the API writes it: in UTC, without saying so.
type rosTime struct{ time.Time }

// UnmarshalJSON reads a time; an empty text is none.
func (t *rosTime) UnmarshalJSON(text []byte) (err error) {
	var written string
	if err = json.Unmarshal(text, &written); err != nil || written == "" {
		return err
	}
	t.Time, err = time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(written, "Z"))
	return err
}

func (t *rosTime) pointer() *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	return &t.Time
}

// rosStack is a stack in a reply.
type rosStack struct {
	StackID, StackName, Status, StatusReason, Description, TemplateDescription string
	CreateTime                                                                 rosTime
	UpdateTime, DeleteTime                                                     *rosTime
	Parameters                                                                 []struct{ ParameterKey, ParameterValue string }
	Tags                                                                       []struct{ Key, Value string }
	Outputs                                                                    []struct {
		OutputKey   string
		OutputValue json.RawMessage
	}
}

func (s *rosStack) stack() Stack {
	stack := Stack{
		Name: s.StackName, ID: s.StackID, Status: s.Status, State: rosState(s.Status), Reason: s.StatusReason,
		Description: cmp.Or(s.Description, s.TemplateDescription), Created: s.CreateTime.Time,
		Updated: s.UpdateTime.pointer(), Deleted: s.DeleteTime.pointer(),
	}
	for _, p := range s.Parameters {
		if !strings.HasPrefix(p.ParameterKey, "ALIYUN::") { // the pseudo parameters are among them
			stack.Parameters = append(stack.Parameters, project.Pair{Name: p.ParameterKey, Text: p.ParameterValue})
		}
	}
	for _, t := range s.Tags {
		stack.Tags = append(stack.Tags, project.Pair{Name: t.Key, Text: t.Value})
	}
	for _, o := range s.Outputs {
		stack.Outputs = append(stack.Outputs, Output{Name: o.OutputKey, Text: rosText(o.OutputValue)})
	}
	return stack
}

// rosText returns a value of any type as a text: a string as it is, anything else as JSON.
func rosText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// IsROSID reports whether a text is the id of a stack of ROS: a UUID.
func IsROSID(text string) bool { return rosID.MatchString(text) }

var rosID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Stack implements [Service]. Only its id names a stack in the API, so that a name is looked for.
func (r *ROS) Stack(ctx context.Context, name string) (Stack, error) {
	id := name
	if !IsROSID(name) {
		found, err := r.list(ctx, url.Values{"StackName.1": {name}})
		if err != nil {
			return Stack{}, err
		}
		i := slices.IndexFunc(found, func(s Stack) bool { return s.Name == name && s.State != Deleted })
		if i < 0 {
			return Stack{}, ErrNone
		}
		id = found[i].ID
	}
	var out rosStack
	if err := r.client.Call(ctx, "GetStack", url.Values{"StackId": {id}}, &out); err != nil {
		if apiErr, ok := errors.AsType[*rosclient.Error](err); ok && apiErr.Code == "StackNotFound" {
			return Stack{}, ErrNone
		}
		return Stack{}, err
	}
	return out.stack(), nil
}

// The largest pages of the API's lists.
const rosPage = 50

// pages requests one page after the other until take reports that it has enough, or there are no more.
func (r *ROS) pages(ctx context.Context, action string, parameters url.Values, take func(page json.RawMessage) (n int, enough bool, err error)) error {
	asked := url.Values{"PageSize": {strconv.Itoa(rosPage)}}
	for name, values := range parameters {
		asked[name] = values
	}
	for page := 1; ; page++ {
		asked.Set("PageNumber", strconv.Itoa(page))
		var out json.RawMessage
		if err := r.client.Call(ctx, action, asked, &out); err != nil {
			return err
		}
		n, enough, err := take(out)
		if err != nil || enough || n < rosPage {
			return err
		}
	}
}

func (r *ROS) list(ctx context.Context, parameters url.Values) ([]Stack, error) {
	var list []Stack
	err := r.pages(ctx, "ListStacks", parameters, func(page json.RawMessage) (int, bool, error) {
		var out struct{ Stacks []rosStack }
		if err := json.Unmarshal(page, &out); err != nil {
			return 0, false, fmt.Errorf("the reply to ListStacks: %w", err)
		}
		for i := range out.Stacks {
			list = append(list, out.Stacks[i].stack())
		}
		return len(out.Stacks), false, nil
	})
	return list, err
}

// List implements [Service].
func (r *ROS) List(ctx context.Context) ([]Stack, error) {
	list, err := r.list(ctx, nil)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, s := range list {
		known[s.ID] = true
	}
	gone, err := r.list(ctx, url.Values{"Status.1": {"DELETE_COMPLETE"}}) // which are listed only if they are asked for
	for _, s := range gone {
		if !known[s.ID] {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b Stack) int { return b.Created.Compare(a.Created) })
	return list, err
}

// rosReason leaves out the reason that says nothing: ROS gives one to everything.
func rosReason(text string) string {
	if text == "state changed" {
		return ""
	}
	return text
}

var rosBegins = regexp.MustCompile(`^Stack [A-Z]+ started$`)

// Events implements [Service].
func (r *ROS) Events(ctx context.Context, stack, since string, until func(Event) bool) ([]Event, error) {
	var events []Event
	seen := map[string]bool{} // new events shift the pages
	err := r.pages(ctx, "ListStackEvents", url.Values{"StackId": {stack}}, func(page json.RawMessage) (int, bool, error) {
		var out struct {
			Events []struct {
				EventID, StackID, LogicalResourceID, PhysicalResourceID, ResourceType, Status, StatusReason string
				CreateTime                                                                                  rosTime
			}
		}
		if err := json.Unmarshal(page, &out); err != nil {
			return 0, false, fmt.Errorf("the reply to ListStackEvents: %w", err)
		}
		for _, event := range out.Events {
			if since != "" && event.EventID == since {
				return 0, true, nil
			}
			if seen[event.EventID] {
				continue
			}
			seen[event.EventID] = true
			e := Event{
				ID: event.EventID, Time: event.CreateTime.Time, Logical: event.LogicalResourceID, Physical: event.PhysicalResourceID,
				Type: event.ResourceType, Status: event.Status, Reason: rosReason(event.StatusReason),
			}
			e.Own = e.Type == rosType && e.Physical == event.StackID
			e.Begins = e.Own && rosBegins.MatchString(e.Reason) && !strings.Contains(e.Status, "ROLLBACK")
			events = append(events, e)
			if since == "" && until(e) {
				return 0, true, nil
			}
		}
		return len(out.Events), false, nil
	})
	slices.Reverse(events)
	return events, err
}

// Resources implements [Service].
func (r *ROS) Resources(ctx context.Context, stack string) ([]Resource, error) {
	var out struct {
		Resources []struct {
			LogicalResourceID, PhysicalResourceID, ResourceType, Status, StatusReason string
			UpdateTime                                                                rosTime
		}
	}
	err := r.client.Call(ctx, "ListStackResources", url.Values{"StackId": {stack}}, &out)
	var list []Resource
	for _, resource := range out.Resources {
		list = append(list, Resource{
			resource.LogicalResourceID, resource.PhysicalResourceID, resource.ResourceType, resource.Status, rosReason(resource.StatusReason), resource.UpdateTime.Time,
		})
	}
	return list, err
}

// Template implements [Service].
func (r *ROS) Template(ctx context.Context, stack string) (string, error) {
	var out struct{ TemplateBody string }
	err := r.client.Call(ctx, "GetTemplate", url.Values{"StackId": {stack}}, &out)
	return out.TemplateBody, err
}

// Declared implements [Service]. It parses the template itself, because the service reports less.
func (r *ROS) Declared(_ context.Context, text string) ([]string, error) {
	t, err := template.ParseROS(text, template.Unlimited())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range t.Parameters {
		names = append(names, p.Name)
	}
	return names, nil
}

// form returns the desired stack as parameters of a call.
func (w Desired) form() url.Values {
	form := url.Values{"TemplateBody": {w.Template}, "ClientToken": {rand.Text()}}
	n := 0
	for _, p := range w.Parameters {
		if p.Previous {
			form.Set("UsePreviousParameters", "true")
			continue
		}
		n++
		form.Set(fmt.Sprintf("Parameters.%d.ParameterKey", n), p.Name)
		form.Set(fmt.Sprintf("Parameters.%d.ParameterValue", n), p.Text)
	}
	for i, t := range w.Tags {
		form.Set(fmt.Sprintf("Tags.%d.Key", i+1), t.Name)
		form.Set(fmt.Sprintf("Tags.%d.Value", i+1), t.Text)
	}
	return form
}

// Create implements [Service].
func (r *ROS) Create(ctx context.Context, want Desired) (string, error) {
	form := want.form()
	form.Set("StackName", want.Name)
	if want.KeepFailed {
		form.Set("DisableRollback", "true")
	}
	var out struct{ StackID string }
	err := r.client.Call(ctx, "CreateStack", form, &out)
	return out.StackID, err
}

// Update implements [Service]. A stack that could not be created is continued: it is not to be updated.
func (r *ROS) Update(ctx context.Context, stack Stack, want Desired) (bool, error) {
	form := want.form()
	form.Set("StackId", stack.ID)
	if stack.State == CreateFailed {
		for _, name := range []string{"UsePreviousParameters", "ClientToken"} {
			form.Del(name) // parameters that are not given keep their values there anyway
		}
		form.Set("Mode", "Recreate")
		return true, r.client.Call(ctx, "ContinueCreateStack", form, nil)
	}
	if want.Replace {
		form.Set("ReplacementOption", "Enabled")
	}
	err := r.client.Call(ctx, "UpdateStack", form, nil)
	if apiErr, ok := errors.AsType[*rosclient.Error](err); ok && strings.HasPrefix(apiErr.Message, "Update the completely same stack") {
		return false, nil
	}
	return err == nil, err
}

// Delete implements [Service].
func (r *ROS) Delete(ctx context.Context, id string, spare Sparing) error {
	if spare.Force {
		return refuse("ROS cannot delete a stack and leave failures behind: name the resources to keep with --retain")
	}
	form := url.Values{"StackId": {id}}
	for i, logical := range spare.Retain {
		form.Set(fmt.Sprintf("RetainResources.%d", i+1), logical)
	}
	return r.client.Call(ctx, "DeleteStack", form, nil)
}

// Cancel implements [Service].
func (r *ROS) Cancel(ctx context.Context, id, _ string) error {
	return r.client.Call(ctx, "CancelUpdateStack", url.Values{"StackId": {id}}, nil)
}

// Continue implements [Service]. ROS continues a create, not a rollback. With Force it drops the failed resources,
// and the stack counts as created.
func (r *ROS) Continue(ctx context.Context, id, _ string, skip Skipping) error {
	if len(skip.Skip) > 0 {
		return refuse("ROS cannot skip single resources when it continues a create: --force drops all that failed")
	}
	form := url.Values{"StackId": {id}, "Mode": {"Recreate"}}
	if skip.Force {
		form.Set("Mode", "Ignore")
	}
	return r.client.Call(ctx, "ContinueCreateStack", form, nil)
}

// Rollback implements [Service]: ROS has no such call.
func (r *ROS) Rollback(context.Context, string, string) error {
	return refuse("ROS cannot roll back a failed stack on request: continue the create, or delete the stack")
}

// refuse returns the error of a call that the API does not have.
func refuse(message string) error {
	return &rosclient.Error{Status: 400, Code: "NotSupported", Message: message}
}
