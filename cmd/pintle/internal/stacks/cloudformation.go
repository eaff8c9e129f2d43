package stacks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/project"
)

// CloudFormation is the [Service] of stacks of CloudFormation.
type CloudFormation struct{ client *cloudformation.Client }

// NewCloudFormation returns the service behind a client.
func NewCloudFormation(client *cloudformation.Client) *CloudFormation { return &CloudFormation{client} }

// cloudFormationType is the resource type of a stack's own events.
const cloudFormationType = "AWS::CloudFormation::Stack"

// cloudFormationStates are the statuses at rest. Source: CloudFormation, stack status codes.
var cloudFormationStates = map[types.StackStatus]State{
	types.StackStatusReviewInProgress:       InReview,
	types.StackStatusCreateComplete:         Created,
	types.StackStatusCreateFailed:           CreateFailed,
	types.StackStatusRollbackComplete:       CreateRolledBack,
	types.StackStatusRollbackFailed:         CreateRollbackFailed,
	types.StackStatusUpdateComplete:         Updated,
	types.StackStatusUpdateFailed:           UpdateFailed,
	types.StackStatusUpdateRollbackComplete: UpdateRolledBack,
	types.StackStatusUpdateRollbackFailed:   UpdateRollbackFailed,
	types.StackStatusImportComplete:         Updated,
	types.StackStatusImportRollbackComplete: UpdateRolledBack,
	types.StackStatusImportRollbackFailed:   UpdateRollbackFailed,
	types.StackStatusDeleteComplete:         Deleted,
	types.StackStatusDeleteFailed:           DeleteFailed,
}

func cloudFormationState(status types.StackStatus) State {
	if state, ok := cloudFormationStates[status]; ok {
		return state
	}
	if strings.HasSuffix(string(status), "_IN_PROGRESS") {
		return Working
	}
	return Other
}

// Stack implements [Service].
func (c *CloudFormation) Stack(ctx context.Context, name string) (Stack, error) {
	out, err := c.client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if message, ok := Refusal(err); ok && strings.Contains(message, "does not exist") {
		return Stack{}, ErrNone
	}
	if err != nil {
		return Stack{}, err
	}
	if len(out.Stacks) != 1 {
		return Stack{}, fmt.Errorf("the server described %d stacks instead of one", len(out.Stacks))
	}
	s := out.Stacks[0]
	stack := Stack{
		Name: aws.ToString(s.StackName), ID: aws.ToString(s.StackId), Status: string(s.StackStatus), State: cloudFormationState(s.StackStatus),
		Reason: aws.ToString(s.StackStatusReason), Description: aws.ToString(s.Description),
		Created: aws.ToTime(s.CreationTime), Updated: s.LastUpdatedTime, Deleted: s.DeletionTime,
	}
	if s.StackStatus == types.StackStatusImportRollbackComplete {
		if stack.State, err = c.importRolledBack(ctx, stack.ID); err != nil {
			return Stack{}, err
		}
	}
	for _, p := range s.Parameters {
		stack.Parameters = append(stack.Parameters, project.Pair{Name: aws.ToString(p.ParameterKey), Text: aws.ToString(p.ParameterValue)})
	}
	for _, t := range s.Tags {
		stack.Tags = append(stack.Tags, project.Pair{Name: aws.ToString(t.Key), Text: aws.ToString(t.Value)})
	}
	for _, o := range s.Outputs {
		stack.Outputs = append(stack.Outputs, Output{aws.ToString(o.OutputKey), aws.ToString(o.OutputValue), aws.ToString(o.ExportName)})
	}
	return stack, nil
}

// importRolledBack returns the state of a stack in IMPORT_ROLLBACK_COMPLETE. A stack that the import was to create has no resource but
// those that it let go, and can only be deleted.
func (c *CloudFormation) importRolledBack(ctx context.Context, id string) (State, error) {
	resources, err := c.Resources(ctx, id)
	for _, r := range resources {
		if r.Status != string(types.ResourceStatusImportRollbackComplete) {
			return UpdateRolledBack, err
		}
	}
	return CreateRolledBack, err
}

// List implements [Service].
func (c *CloudFormation) List(ctx context.Context) ([]Stack, error) {
	var list []Stack
	pages := cloudformation.NewListStacksPaginator(c.client, &cloudformation.ListStacksInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.StackSummaries {
			list = append(list, Stack{
				Name: aws.ToString(s.StackName), ID: aws.ToString(s.StackId), Status: string(s.StackStatus), State: cloudFormationState(s.StackStatus),
				Reason: aws.ToString(s.StackStatusReason), Description: aws.ToString(s.TemplateDescription),
				Created: aws.ToTime(s.CreationTime), Updated: s.LastUpdatedTime, Deleted: s.DeletionTime,
			})
		}
	}
	return list, nil
}

// Events implements [Service].
func (c *CloudFormation) Events(ctx context.Context, stack, since string, until func(Event) bool) ([]Event, error) {
	var events []Event
	pages := cloudformation.NewDescribeStackEventsPaginator(c.client, &cloudformation.DescribeStackEventsInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, told := range page.StackEvents {
			e := cloudFormationEvent(told)
			if since != "" && e.ID == since {
				slices.Reverse(events)
				return events, nil
			}
			events = append(events, e)
			if since == "" && until(e) {
				slices.Reverse(events)
				return events, nil
			}
		}
	}
	slices.Reverse(events)
	return events, nil
}

func cloudFormationEvent(e types.StackEvent) Event {
	event := Event{
		ID: aws.ToString(e.EventId), Time: aws.ToTime(e.Timestamp), Logical: aws.ToString(e.LogicalResourceId),
		Physical: aws.ToString(e.PhysicalResourceId), Type: aws.ToString(e.ResourceType),
		Status: string(e.ResourceStatus), Reason: aws.ToString(e.ResourceStatusReason),
	}
	event.Own = event.Type == cloudFormationType && event.Physical == aws.ToString(e.StackId)
	event.Begins = event.Own && event.Reason == UserInitiated
	return event
}

// UserInitiated is the reason of the event that begins an operation of CloudFormation.
const UserInitiated = "User Initiated"

// Resources implements [Service].
func (c *CloudFormation) Resources(ctx context.Context, stack string) ([]Resource, error) {
	var list []Resource
	pages := cloudformation.NewListStackResourcesPaginator(c.client, &cloudformation.ListStackResourcesInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.StackResourceSummaries {
			list = append(list, Resource{
				Logical: aws.ToString(r.LogicalResourceId), Physical: aws.ToString(r.PhysicalResourceId),
				Type: aws.ToString(r.ResourceType), Status: string(r.ResourceStatus),
				Reason: aws.ToString(r.ResourceStatusReason), Changed: aws.ToTime(r.LastUpdatedTimestamp),
			})
		}
	}
	return list, nil
}

// Declared implements [Service].
func (c *CloudFormation) Declared(ctx context.Context, template string) ([]string, error) {
	checked, err := c.client.ValidateTemplate(ctx, &cloudformation.ValidateTemplateInput{TemplateBody: &template})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, declared := range checked.Parameters {
		names = append(names, aws.ToString(declared.ParameterKey))
	}
	return names, nil
}

// Create implements [Service].
func (c *CloudFormation) Create(ctx context.Context, want Desired) (string, error) {
	out, err := c.client.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &want.Name, TemplateBody: &want.Template, Parameters: want.given(), Tags: want.tags(),
		DisableRollback: &want.KeepFailed, Capabilities: want.capabilities(),
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.StackId), nil
}

// Update implements [Service].
func (c *CloudFormation) Update(ctx context.Context, stack Stack, want Desired) (bool, error) {
	_, err := c.client.UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: &stack.ID, TemplateBody: &want.Template, Parameters: want.given(), Tags: want.tags(),
		DisableRollback: &want.KeepFailed, Capabilities: want.capabilities(),
	})
	if message, ok := Refusal(err); ok && strings.Contains(message, "No updates are to be performed") {
		return false, nil
	}
	return err == nil, err
}

func (w Desired) given() []types.Parameter {
	list := make([]types.Parameter, 0, len(w.Parameters))
	for _, p := range w.Parameters {
		given := types.Parameter{ParameterKey: aws.String(p.Name)}
		if p.Previous {
			given.UsePreviousValue = aws.Bool(true)
		} else {
			given.ParameterValue = aws.String(p.Text)
		}
		list = append(list, given)
	}
	return list
}

func (w Desired) tags() (list []types.Tag) {
	for _, t := range w.Tags {
		list = append(list, types.Tag{Key: aws.String(t.Name), Value: aws.String(t.Text)})
	}
	return list
}

func (w Desired) capabilities() (list []types.Capability) {
	for _, agreed := range w.Agreed {
		list = append(list, types.Capability(agreed))
	}
	return list
}

// Delete implements [Service].
func (c *CloudFormation) Delete(ctx context.Context, id string, spare Sparing) error {
	in := &cloudformation.DeleteStackInput{StackName: &id, RetainResources: spare.Retain}
	if spare.Force {
		in.DeletionMode = types.DeletionModeForceDeleteStack
	}
	_, err := c.client.DeleteStack(ctx, in)
	return err
}

// Cancel implements [Service].
func (c *CloudFormation) Cancel(ctx context.Context, id, token string) error {
	_, err := c.client.CancelUpdateStack(ctx, &cloudformation.CancelUpdateStackInput{StackName: &id, ClientRequestToken: &token})
	return err
}

// Continue implements [Service].
func (c *CloudFormation) Continue(ctx context.Context, id, token string, skip Skipping) error {
	_, err := c.client.ContinueUpdateRollback(ctx, &cloudformation.ContinueUpdateRollbackInput{
		StackName: &id, ClientRequestToken: &token, ResourcesToSkip: skip.Skip, ForceRollback: &skip.Force,
	})
	return err
}

// Rollback implements [Service].
func (c *CloudFormation) Rollback(ctx context.Context, id, token string) error {
	_, err := c.client.RollbackStack(ctx, &cloudformation.RollbackStackInput{StackName: &id, ClientRequestToken: &token})
	return err
}
