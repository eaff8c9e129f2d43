package cloudformation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// stackView is the structure Stack. Fields without omitempty are always present, even when empty, as on AWS.
type stackView struct {
	StackID                     string `query:"StackId"`
	StackName                   string
	ChangeSetID                 string          `query:"ChangeSetId,omitempty"`
	Description                 string          `query:",omitempty"`
	Parameters                  []parameterView `query:",omitempty"`
	CreationTime                time.Time
	DeletionTime                time.Time
	LastUpdatedTime             time.Time
	RollbackConfiguration       rollbackView
	StackStatus                 string
	StackStatusReason           string `query:",omitempty"`
	DisableRollback             bool
	NotificationARNs            []string
	TimeoutInMinutes            int          `query:",omitempty"`
	Capabilities                []string     `query:",omitempty"`
	Outputs                     []outputView `query:",omitempty"`
	RoleARN                     string       `query:",omitempty"`
	Tags                        []tagView
	EnableTerminationProtection *bool
	DriftInformation            stackDriftView
	ParentID                    string          `query:"ParentId,omitempty"`
	RootID                      string          `query:"RootId,omitempty"`
	LastOperations              []operationView `query:",omitempty"`
}

type parameterView struct {
	ParameterKey   string
	ParameterValue string
	// ResolvedValue is the value in the parameter store whose name is the parameter's value.
	ResolvedValue *string
}

type outputView struct {
	OutputKey   string
	OutputValue string
	Description string `query:",omitempty"`
	ExportName  string `query:",omitempty"`
}

type tagView struct {
	Key   string
	Value string
}

type stackDriftView struct {
	StackDriftStatus   string
	LastCheckTimestamp time.Time
}

type describeStacksInput struct {
	StackName string `length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	pageInput
}

type describeStacksOutput struct {
	Stacks    []stackView
	NextToken string `query:",omitempty"`
}

// afterStack is a position in a list of stacks.
type afterStack struct {
	Stack store.StackKey `json:"s"`
}

func (f *handler) describeStacks(ctx context.Context, in describeStacksInput) (out describeStacksOutput, err error) {
	var stacks []store.Stack
	if in.StackName != "" {
		stack, err := f.settled(ctx, in.StackName)
		if err != nil {
			return out, err
		}
		stacks = []store.Stack{stack}
	} else {
		every := func(store.Stack) bool { return true }
		if stacks, out.NextToken, err = f.stackPage(ctx, "DescribeStacks", in.pageInput, false, every); err != nil {
			return out, err
		}
	}
	out.Stacks = make([]stackView, len(stacks))
	for i, stack := range stacks {
		revision, err := f.revision(ctx, stack)
		if err != nil {
			return out, err
		}
		out.Stacks[i] = f.viewStack(stack, revision)
		if out.Stacks[i].DriftInformation, err = (drifts{f}).stackDrift(ctx, stack); err != nil {
			return out, err
		}
		if out.Stacks[i].LastOperations, err = f.lastOperations(ctx, stack); err != nil {
			return out, err
		}
	}
	return out, nil
}

// look is the interval between checks of an awaited stack.
const look = 20 * time.Millisecond

// settled returns a stack after its operation has finished, or after Config.Patience since the start of the operation.
// It also returns a stack that was deleted in the meantime, because it existed when the caller named it.
func (f *handler) settled(ctx context.Context, name string) (store.Stack, error) {
	stack, err := f.find(ctx, name, noStackWithID)
	if err != nil || f.patience == 0 || stack.Phase.Final() {
		return stack, err
	}
	last, err := f.engine.LastOperations(ctx, stack)
	if err != nil || len(last) == 0 {
		return stack, err
	}
	left := min(f.patience, f.patience-f.now().Sub(last[0].Started))
	ctx, cancel := context.WithTimeout(ctx, left) // expires immediately if the operation began long ago
	defer cancel()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return stack, nil
		case <-ticker.C:
		}
		newer, err := f.find(ctx, string(stack.ID), noStackWithID)
		switch {
		case ctx.Err() != nil:
			return stack, nil
		case err != nil || newer.Phase.Final():
			return newer, err
		}
		stack = newer
	}
}

// viewStack renders a stack and its current revision.
func (f *handler) viewStack(stack store.Stack, revision store.Revision) stackView {
	view := stackView{
		StackID: string(stack.ID), StackName: stack.Name, ChangeSetID: string(stack.ChangeSet), Description: stack.Description,
		CreationTime: stack.Created, DeletionTime: stack.Deleted, LastUpdatedTime: stack.Updated,
		StackStatus: stackStatus(stack), StackStatusReason: stack.Reason, DisableRollback: stack.DisableRollback,
		NotificationARNs: revision.NotificationARNs, TimeoutInMinutes: stack.TimeoutMinutes,
		Capabilities: stack.Capabilities, RoleARN: stack.RoleARN,
		ParentID: string(stack.Parent), RootID: string(stack.Root), RollbackConfiguration: viewRollback(&revision),
	}
	if stack.Live {
		view.EnableTerminationProtection = &stack.TerminationProtection
	}
	view.Parameters = viewParameters(&revision)
	for _, o := range stack.Outputs {
		result, _ := stack.OutputValues.Get(o.Key)
		view.Outputs = append(view.Outputs, outputView{
			OutputKey: o.Key, OutputValue: textOf(f.shown(result)), Description: o.Description, ExportName: o.ExportName,
		})
	}
	for _, t := range revision.Tags {
		view.Tags = append(view.Tags, tagView(t))
	}
	return view
}

// rollbackView is the structure RollbackConfiguration.
type rollbackView struct {
	RollbackTriggers        []rollbackTriggerView `query:",omitempty"`
	MonitoringTimeInMinutes int                   `query:",omitempty"`
}

type rollbackTriggerView struct {
	Arn  string
	Type string
}

func viewRollback(revision *store.Revision) rollbackView {
	view := rollbackView{MonitoringTimeInMinutes: revision.MonitoringMinutes}
	for _, t := range revision.RollbackTriggers {
		view.RollbackTriggers = append(view.RollbackTriggers, rollbackTriggerView{t.ARN, t.Type})
	}
	return view
}

func viewParameters(revision *store.Revision) []parameterView {
	var list []parameterView
	stored := engine.StoredValues(revision)
	for _, p := range revision.Parameters.Members() {
		view := parameterView{ParameterKey: p.Key, ParameterValue: parameterText(p.Value)}
		if v, ok := stored.Get(p.Key); ok {
			text := parameterText(v)
			view.ResolvedValue = &text
		}
		list = append(list, view)
	}
	return list
}

func stackStatus(stack store.Stack) string {
	return engine.CloudFormation.StackStatus(stack.Kind, stack.Phase)
}

// parameterText returns a parameter as displayed. The mask of a secret list hides its length too.
func parameterText(v value.Value) string {
	if v.HasSecret() {
		return value.ParameterMask
	}
	return plainText(v)
}

// shown returns a value of an output, an export or Metadata as displayed. Secrets are masked unless Config.FidelityAWS
// is set.
func (f *handler) shown(v value.Value) value.Value {
	if f.aws {
		return v
	}
	return v.Masked()
}

// plainText returns a value as a string, with secrets masked and the items of a list joined by commas.
func plainText(v value.Value) string { return textOf(v.Masked()) }

// textOf is [plainText] with secrets in clear text.
func textOf(v value.Value) string {
	switch v.Kind() {
	case value.List:
		items := make([]string, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = textOf(item)
		}
		return strings.Join(items, ",")
	case value.Map:
		return string(v.JSON())
	case value.Null, value.Bool, value.Number, value.String:
	}
	return v.Text()
}

type listStacksInput struct {
	StackStatusFilter []string `enum:"CREATE_IN_PROGRESS,CREATE_FAILED,CREATE_COMPLETE,ROLLBACK_IN_PROGRESS,ROLLBACK_FAILED,ROLLBACK_COMPLETE,DELETE_IN_PROGRESS,DELETE_FAILED,DELETE_COMPLETE,UPDATE_IN_PROGRESS,UPDATE_COMPLETE_CLEANUP_IN_PROGRESS,UPDATE_COMPLETE,UPDATE_FAILED,UPDATE_ROLLBACK_IN_PROGRESS,UPDATE_ROLLBACK_FAILED,UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS,UPDATE_ROLLBACK_COMPLETE,REVIEW_IN_PROGRESS,IMPORT_IN_PROGRESS,IMPORT_COMPLETE,IMPORT_ROLLBACK_IN_PROGRESS,IMPORT_ROLLBACK_FAILED,IMPORT_ROLLBACK_COMPLETE"`
	pageInput
}

// stackSummaryView is the structure StackSummary.
type stackSummaryView struct {
	StackID             string `query:"StackId"`
	StackName           string
	TemplateDescription string `query:",omitempty"`
	CreationTime        time.Time
	LastUpdatedTime     time.Time
	DeletionTime        time.Time
	StackStatus         string
	StackStatusReason   string `query:",omitempty"`
	DriftInformation    stackDriftView
	ParentID            string `query:"ParentId,omitempty"`
	RootID              string `query:"RootId,omitempty"`
}

type listStacksOutput struct {
	StackSummaries []stackSummaryView
	NextToken      string `query:",omitempty"`
}

func (f *handler) listStacks(ctx context.Context, in listStacksInput) (out listStacksOutput, err error) {
	wanted := func(stack store.Stack) bool {
		return len(in.StackStatusFilter) == 0 || slices.Contains(in.StackStatusFilter, stackStatus(stack))
	}
	stacks, next, err := f.stackPage(ctx, "ListStacks", in.pageInput, true, wanted)
	if err != nil {
		return out, err
	}
	out.NextToken = next
	for _, stack := range stacks {
		drift, err := drifts{f}.stackDrift(ctx, stack)
		if err != nil {
			return out, err
		}
		out.StackSummaries = append(out.StackSummaries, stackSummaryView{
			StackID: string(stack.ID), StackName: stack.Name, TemplateDescription: stack.Description,
			CreationTime: stack.Created, LastUpdatedTime: stack.Updated, DeletionTime: stack.Deleted,
			StackStatus: stackStatus(stack), StackStatusReason: stack.Reason, DriftInformation: drift,
			ParentID: string(stack.Parent), RootID: string(stack.Root),
		})
	}
	return out, nil
}

// maxScanned limits how many rows one page of a filtered list scans. A page may then be incomplete or empty and still
// have a token, which the API allows.
const maxScanned = 10 * pageSize

// stackPage returns the next page of the caller's stacks, newest first, and the token of the page after it, or "".
func (f *handler) stackPage(
	ctx context.Context, action string, in pageInput, deleted bool, wanted func(store.Stack) bool,
) (page []store.Stack, next string, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return nil, "", err
	}
	scope := listScope(caller, action)
	var at afterStack
	if err := f.position(in, scope, &at); err != nil {
		return nil, "", err
	}
	for scanned := 0; scanned < maxScanned; {
		// One more row than the page size shows whether another page exists.
		rows, err := f.rows.Stacks(ctx, caller.Account, caller.Region, deleted, at.Stack, pageSize+1)
		if errors.Is(err, store.ErrNotFound) {
			return nil, "", query.Validation("The stack of NextToken no longer exists: start again without it.")
		}
		if err != nil {
			return nil, "", err
		}
		last := len(rows) <= pageSize
		for _, row := range rows[:min(len(rows), pageSize)] {
			if len(page) == pageSize {
				last = false
				break
			}
			at.Stack = row.Key
			scanned++
			if wanted(row) {
				page = append(page, row)
			}
		}
		if last {
			return page, "", nil
		}
		if len(page) == pageSize {
			break
		}
	}
	next, err = f.tokens.Encode(scope, at)
	return page, next, err
}
