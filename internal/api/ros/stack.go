package ros

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// parameterView is a parameter in a response.
type parameterView struct {
	ParameterKey   string
	ParameterValue string
}

// secretText replaces the value of a NoEcho parameter. Source: ROS, GetStack.
const secretText = "******"

// viewParameters renders the parameters of a revision, including the pseudo parameters, as on ROS.
func viewParameters(pseudo template.Pseudo, revision *store.Revision) []parameterView {
	list := []parameterView{}
	for _, p := range revision.Parameters.Members() {
		list = append(list, parameterView{p.Key, parameterText(p.Value)})
	}
	for _, p := range pseudo.ROS() {
		list = append(list, parameterView{p.Key, p.Value.Text()})
	}
	return list
}

// parameterText formats a parameter as a client would pass it. The mask of a secret list hides its length too.
func parameterText(v value.Value) string {
	if v.HasSecret() {
		return secretText
	}
	switch v.Kind() {
	case value.List:
		var items []string
		for _, item := range v.Items() {
			if !item.IsScalar() {
				return v.String()
			}
			items = append(items, item.Text())
		}
		return strings.Join(items, ",")
	case value.Map:
		return v.String()
	case value.Null, value.Bool, value.Number, value.String:
	}
	return v.Text()
}

// outputView is an output in a response. The value has any type, with secrets masked.
type outputView struct {
	OutputKey   string
	Description string `json:",omitempty"`
	OutputValue value.Value
}

// tagView is a tag in a response.
type tagView struct {
	Key   string
	Value string
}

func viewTags(tags []store.Tag) []tagView {
	list := []tagView{}
	for _, t := range tags {
		list = append(list, tagView(t))
	}
	return list
}

// headView holds the common members of GetStack and ListStacks.
type headView struct {
	StackID            string `json:"StackId"`
	StackName          string
	Status             string
	StatusReason       string
	CreateTime         string
	UpdateTime         string `json:",omitempty"`
	DisableRollback    bool
	TimeoutInMinutes   int
	DeletionProtection string
	ParentStackID      string `json:"ParentStackId,omitempty"`
	StackType          string
	StackDriftStatus   string
	DriftDetectionTime string `json:",omitempty"`
	ServiceManaged     bool
	RegionID           string `json:"RegionId"`
	ResourceGroupID    string `json:"ResourceGroupId,omitempty"`
	Tags               []tagView
}

func viewHead(stack store.Stack, revision *store.Revision, report drift.Report) headView {
	view := headView{
		StackID: string(stack.ID), StackName: stack.Name, Status: stackStatus(stack), StatusReason: stack.Reason,
		CreateTime: timeText(stack.Created), UpdateTime: timeText(stack.Updated), DisableRollback: stack.DisableRollback,
		TimeoutInMinutes: stack.TimeoutMinutes, DeletionProtection: "Disabled", ParentStackID: string(stack.Parent),
		StackType: "ROS", StackDriftStatus: driftStatus(report), RegionID: stack.Region, ResourceGroupID: stack.ResourceGroup,
		Tags: viewTags(revision.Tags),
	}
	if view.StackDriftStatus != notChecked {
		view.DriftDetectionTime = timeText(report.Checked)
	}
	if stack.TerminationProtection {
		view.DeletionProtection = "Enabled"
	}
	return view
}

func stackStatus(stack store.Stack) string { return engine.ROS.StackStatus(stack.Kind, stack.Phase) }

type getStackInput struct {
	stackInput
	OutputOption         string `enum:"Enabled,Disabled"`
	LogOption            string `enum:"None,Stack,Resource,All"`
	ShowResourceProgress string `enum:"Disabled,EnabledIfCreateStack,PercentageOnly"`
}

// progressView counts resources by progress.
type progressView struct {
	TotalResourceCount        int
	SuccessResourceCount      int
	FailedResourceCount       int
	InProgressResourceCount   int
	PendingResourceCount      int
	InProgressResourceDetails []progressDetail
}

type progressDetail struct {
	ResourceName  string
	ResourceType  string
	ProgressValue int `json:",omitempty"`
}

// failureView is the first failure of a failed operation.
type failureView struct {
	Action            string
	LogicalResourceID string `json:"LogicalResourceId"`
	ResourceType      string
	Message           string
}

type getStackOutput struct {
	headView
	Description              string
	TemplateDescription      string
	Parameters               []parameterView
	Outputs                  []outputView `json:",omitempty"`
	NotificationURLs         []string
	RAMRoleName              string        `json:"RamRoleName,omitempty"`
	RootStackID              string        `json:"RootStackId,omitempty"`
	ResourceProgress         *progressView `json:",omitempty"`
	OperationInfo            *failureView  `json:",omitempty"`
	RollbackFailedRootReason string        `json:",omitempty"`

	// The numbers of resources that the last detection could check and could not check, if it was successful.
	CheckedStackResourceCount    *int `json:",omitempty"`
	NotCheckedStackResourceCount *int `json:",omitempty"`
}

func (f *handler) getStack(ctx context.Context, in getStackInput) (out getStackOutput, err error) {
	stack, err := f.find(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	revision, err := f.revision(ctx, stack)
	if err != nil {
		return out, err
	}
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	report, err := drifts{f}.ofStack(ctx, stack)
	if err != nil {
		return out, err
	}
	out = getStackOutput{
		headView: viewHead(stack, &revision, report), Description: stack.Description, TemplateDescription: stack.Description,
		Parameters: viewParameters(pseudoOf(stack, caller), &revision), NotificationURLs: append([]string{}, revision.NotificationARNs...), RAMRoleName: stack.RoleARN,
		RootStackID: string(stack.Root),
	}
	if in.OutputOption != "Disabled" {
		for _, o := range stack.Outputs {
			result, _ := stack.OutputValues.Get(o.Key)
			out.Outputs = append(out.Outputs, outputView{o.Key, o.Description, result})
		}
	}
	instances, err := f.engine.Expected(ctx, stack)
	if err != nil {
		return out, err
	}
	if out.StackDriftStatus != notChecked && len(report.Pending) == 0 && len(report.Unknown()) == 0 {
		checked := report.Checks()
		others := len(instances) - checked
		out.CheckedStackResourceCount, out.NotCheckedStackResourceCount = &checked, &others
	}
	if in.ShowResourceProgress != "Disabled" {
		out.ResourceProgress = progressOf(instances)
	}
	if strings.HasSuffix(out.Status, "_FAILED") || strings.HasSuffix(out.Status, "ROLLBACK_COMPLETE") {
		out.OperationInfo = failureOf(instances)
	}
	if strings.HasSuffix(out.Status, "ROLLBACK_FAILED") {
		out.RollbackFailedRootReason, err = f.rolledBackFor(ctx, stack)
	}
	return out, err
}

// rolledBackFor returns the reason for the newest rollback of a stack, or "" if its event has been removed. Source:
// ROS, GetStack, RollbackFailedRootReason: the cause of the failure in the phase before the rollback.
func (f *handler) rolledBackFor(ctx context.Context, stack store.Stack) (string, error) {
	for before := (store.EventCursor{}); ; {
		rows, err := f.rows.Events(ctx, stack.Key, before, scanned)
		if err != nil {
			return "", err
		}
		for _, row := range rows {
			for _, e := range slices.Backward(row.Events) {
				if e.Phase == store.PhaseRevert {
					return e.Reason, nil
				}
			}
		}
		if len(rows) < scanned {
			return "", nil
		}
		before = rows[len(rows)-1].Place
	}
}

// pseudoOf returns the pseudo parameters of a stack as the caller sees them.
func pseudoOf(stack store.Stack, caller Caller) template.Pseudo {
	return template.Pseudo{
		StackName: stack.Name, StackID: string(stack.ID), Region: stack.Region, AccountID: caller.ID, TenantID: stack.Account,
		ResourceGroupID: stack.ResourceGroup,
	}
}

func progressOf(instances []store.Instance) *progressView {
	view := &progressView{InProgressResourceDetails: []progressDetail{}}
	for _, i := range instances {
		view.TotalResourceCount++
		switch i.Progress {
		case store.ProgressSucceeded, store.ProgressSkipped:
			view.SuccessResourceCount++
		case store.ProgressFailed:
			view.FailedResourceCount++
		case store.ProgressRunning:
			view.InProgressResourceCount++
			view.InProgressResourceDetails = append(view.InProgressResourceDetails, progressDetail{ResourceName: string(i.Logical), ResourceType: i.Body.Type})
		default: // nothing has happened yet
			view.PendingResourceCount++
		}
	}
	return view
}

// failureOf returns the first failure, or nil if it is not known any more.
func failureOf(instances []store.Instance) *failureView {
	var first *store.Instance
	for i := range instances {
		if n := &instances[i]; n.Progress == store.ProgressFailed && (first == nil || n.Changed.Before(first.Changed)) {
			first = n
		}
	}
	if first == nil {
		return nil
	}
	return &failureView{
		Action: strings.ToUpper(string(first.Verb)), LogicalResourceID: string(first.Logical), ResourceType: first.Body.Type, Message: first.Reason,
	}
}

type listStacksInput struct {
	region
	paging
	StackID         string   `rpc:"StackId" length:",64"`
	StackIDs        []string `rpc:"StackIds" length:",20"`
	ParentStackID   string   `rpc:"ParentStackId" length:",64"`
	ShowNestedStack bool
	StackName       []string    `length:",5"`
	Status          []string    `length:",5" enum:"CREATE_IN_PROGRESS,CREATE_FAILED,CREATE_COMPLETE,UPDATE_IN_PROGRESS,UPDATE_FAILED,UPDATE_COMPLETE,DELETE_IN_PROGRESS,DELETE_FAILED,DELETE_COMPLETE,CREATE_ROLLBACK_IN_PROGRESS,CREATE_ROLLBACK_FAILED,CREATE_ROLLBACK_COMPLETE,ROLLBACK_IN_PROGRESS,ROLLBACK_FAILED,ROLLBACK_COMPLETE,CHECK_IN_PROGRESS,CHECK_FAILED,CHECK_COMPLETE,REVIEW_IN_PROGRESS,IMPORT_CREATE_IN_PROGRESS,IMPORT_CREATE_FAILED,IMPORT_CREATE_COMPLETE,IMPORT_CREATE_ROLLBACK_IN_PROGRESS,IMPORT_CREATE_ROLLBACK_FAILED,IMPORT_CREATE_ROLLBACK_COMPLETE,IMPORT_UPDATE_IN_PROGRESS,IMPORT_UPDATE_FAILED,IMPORT_UPDATE_COMPLETE,IMPORT_UPDATE_ROLLBACK_IN_PROGRESS,IMPORT_UPDATE_ROLLBACK_FAILED,IMPORT_UPDATE_ROLLBACK_COMPLETE"`
	Tag             []tagFilter `length:",20"`
	ResourceGroupID string      `rpc:"ResourceGroupId" length:",64"`
}

type listStacksOutput struct {
	Stacks []headView
	paged
}

// listStacks lists stacks, newest first. It includes deleted ones only if the call filters by ID or by status.
func (f *handler) listStacks(ctx context.Context, in listStacksInput) (out listStacksOutput, err error) {
	ids := map[string]bool{}
	for _, id := range append(in.StackIDs, in.StackID) {
		if id != "" {
			ids[strings.ToLower(id)] = true
		}
	}
	var found []store.Stack
	deleted := len(ids) > 0 || slices.Contains(in.Status, "DELETE_COMPLETE")
	err = f.eachStack(ctx, in.RegionID, deleted, 0, func(stack store.Stack) error {
		switch {
		case len(ids) > 0 && !ids[string(stack.ID)],
			len(in.Status) > 0 && !slices.Contains(in.Status, stackStatus(stack)),
			len(in.StackName) > 0 && !slices.ContainsFunc(in.StackName, func(p string) bool { return matches(p, stack.Name) }),
			in.ParentStackID != "" && string(stack.Parent) != strings.ToLower(in.ParentStackID),
			in.ParentStackID == "" && stack.Parent != "" && !in.ShowNestedStack && len(ids) == 0,
			in.ResourceGroupID != "" && stack.ResourceGroup != in.ResourceGroupID:
			return nil
		}
		if len(in.Tag) > 0 {
			revision, err := f.revision(ctx, stack)
			if err != nil || !has(revision.Tags, in.Tag) {
				return err
			}
		}
		found = append(found, stack)
		return nil
	})
	if err != nil {
		return out, err
	}
	found, out.paged = page(in.paging, found)
	out.Stacks = make([]headView, len(found))
	for i, stack := range found {
		revision, err := f.revision(ctx, stack)
		if err != nil {
			return out, err
		}
		report, err := drifts{f}.ofStack(ctx, stack)
		if err != nil {
			return out, err
		}
		out.Stacks[i] = viewHead(stack, &revision, report)
	}
	return out, nil
}

// matches reports whether a name matches a pattern, in which each asterisk stands for any text.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}

// scanned is how many stacks are read at a time.
const scanned = 500

// eachStack calls a function for the caller's ROS stacks, newest first, beginning after the stack first, or with all if
// it is 0. It returns [store.ErrNotFound] if the stack first does not exist.
func (f *handler) eachStack(
	ctx context.Context, region string, deleted bool, first store.StackKey, visit func(store.Stack) error,
) error {
	caller, err := f.who(ctx)
	if err != nil {
		return err
	}
	for after := first; ; {
		rows, err := f.rows.Stacks(ctx, caller.Account, region, deleted, after, scanned)
		if errors.Is(err, store.ErrNotFound) && after != first { // the last one has just been deleted permanently
			return nil
		}
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Dialect != engine.ROS.Name() {
				continue
			}
			if err := visit(row); err != nil {
				return err
			}
		}
		if len(rows) < scanned {
			return nil
		}
		after = rows[len(rows)-1].Key
	}
}
