package cloudformation

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// changeSetHeadView holds the common members of a change set's description and summary.
type changeSetHeadView struct {
	ChangeSetID         string `query:"ChangeSetId"`
	ChangeSetName       string
	StackID             string `query:"StackId"`
	StackName           string
	Description         string `query:",omitempty"`
	CreationTime        time.Time
	ExecutionStatus     string
	Status              string
	StatusReason        string `query:",omitempty"`
	IncludeNestedStacks bool
	ParentChangeSetID   string `query:"ParentChangeSetId,omitempty"`
	RootChangeSetID     string `query:"RootChangeSetId,omitempty"`
	// ImportExistingResources is nil if the client did not request it.
	ImportExistingResources *bool
}

func viewChangeSet(c engine.ChangeSet) changeSetHeadView {
	view := changeSetHeadView{
		ChangeSetID: string(c.ID), ChangeSetName: c.GivenName(), StackID: string(c.Owner.ID), StackName: c.Owner.Name,
		Description: c.Description, CreationTime: c.Created,
		ExecutionStatus: engine.CloudFormation.ExecutionStatus(c.Execution),
		Status:          engine.CloudFormation.ChangeSetStatus(c.State), StatusReason: c.Reason,
		IncludeNestedStacks: c.IncludeNested, ParentChangeSetID: string(c.Parent), RootChangeSetID: string(c.Root),
	}
	if c.ImportExisting {
		view.ImportExistingResources = &c.ImportExisting
	}
	return view
}

type describeChangeSetInput struct {
	changeSetInput
	pageInput
	IncludePropertyValues bool
}

// describeChangeSetOutput contains empty lists in the same places as AWS's output.
type describeChangeSetOutput struct {
	changeSetHeadView
	Parameters            []parameterView `query:",omitempty"`
	NotificationARNs      []string
	RollbackConfiguration rollbackView
	Capabilities          []string
	Tags                  []tagView `query:",omitempty"`
	OnStackFailure        string    `query:",omitempty"`
	DeploymentMode        string    `query:",omitempty"`
	Changes               []changeView
	NextToken             string `query:",omitempty"`
}

// changeView is the structure Change.
type changeView struct {
	Type           string
	ResourceChange resourceChangeView
}

// resourceChangeView is the structure ResourceChange.
type resourceChangeView struct {
	PolicyAction       string `query:",omitempty"`
	Action             string
	LogicalResourceID  string `query:"LogicalResourceId"`
	PhysicalResourceID string `query:"PhysicalResourceId,omitempty"`
	ResourceType       string
	Replacement        string `query:",omitempty"`
	Scope              []string
	Details            []changeDetailView
	BeforeContext      string `query:",omitempty"`
	AfterContext       string `query:",omitempty"`
	ChangeSetID        string `query:"ChangeSetId,omitempty"`
}

// changeDetailView is the structure ResourceChangeDetail.
type changeDetailView struct {
	Target        changeTargetView
	Evaluation    string
	ChangeSource  string
	CausingEntity string `query:",omitempty"`
}

// changeTargetView is the structure ResourceTargetDefinition. The members after RequiresRecreation are present only
// with property values.
type changeTargetView struct {
	Attribute           string
	Name                string `query:",omitempty"`
	RequiresRecreation  string
	Path                string `query:",omitempty"`
	BeforeValue         *string
	AfterValue          *string
	AttributeChangeType string `query:",omitempty"`
}

// Values of ChangeSource with a special format.
const (
	directModification = "DirectModification"
	parameterReference = "ParameterReference"
	resourceReference  = "ResourceReference"
	resourceAttribute  = "ResourceAttribute"
)

// changePosition is a position in the immutable list of changes.
type changePosition struct {
	Shown int `json:"s"`
}

func (f changeSets) describeChangeSet(ctx context.Context, in describeChangeSetInput) (out describeChangeSetOutput, err error) {
	set, err := f.changeSet(ctx, in.changeSetInput)
	if err != nil {
		return out, err
	}
	changes, err := set.Changes()
	if err != nil {
		return out, err
	}
	out = describeChangeSetOutput{
		changeSetHeadView: viewChangeSet(set), NotificationARNs: set.Body.Revision.NotificationARNs, Capabilities: set.Body.Capabilities,
		OnStackFailure: set.OnFailure, RollbackConfiguration: viewRollback(&set.Body.Revision),
	}
	if set.Body.RevertDrift {
		out.DeploymentMode = revertDrift
	}
	out.Parameters = viewParameters(&set.Body.Revision)
	for _, t := range set.Body.Revision.Tags {
		out.Tags = append(out.Tags, tagView(t))
	}
	scope := "DescribeChangeSet|" + string(set.ID)
	var at changePosition
	if err := f.position(in.pageInput, scope, &at); err != nil {
		return out, err
	}
	slices.SortFunc(changes, func(a, b engine.Change) int { return cmp.Compare(a.LogicalID, b.LogicalID) })
	if in.IncludePropertyValues {
		out.StatusReason = incomplete(out.StatusReason, changes)
	}
	replaced := map[string]bool{}
	for i := range changes {
		replaced[changes[i].LogicalID] = string(changes[i].Replacement) == "True"
	}
	for ; at.Shown < len(changes) && len(out.Changes) < pageSize; at.Shown++ {
		change := viewChange(&changes[at.Shown], replaced, in.IncludePropertyValues)
		for _, n := range set.Nested {
			if string(n.Logical) == change.ResourceChange.LogicalResourceID {
				change.ResourceChange.ChangeSetID = string(n.ID)
				change.ResourceChange.PhysicalResourceID = string(n.Stack)
			}
		}
		out.Changes = append(out.Changes, change)
	}
	if at.Shown < len(changes) {
		out.NextToken, err = f.tokens.Encode(scope, at)
	}
	return out, err
}

// maxIncomplete limits the resources that the warning about incomplete values names.
const maxIncomplete = 5

// incomplete adds a warning to the reason of a change set: imports without an export. CloudFormation gives this warning
// only in answers with property values. Source: recorded answers.
func incomplete(reason string, changes []engine.Change) string {
	var lines []string
	for i := range changes {
		if c := &changes[i]; c.Import != "" && len(lines) < maxIncomplete {
			lines = append(lines, "ChangeSet creation failed for resource ["+c.LogicalID+"] because: No export named "+c.Import)
		}
	}
	if lines == nil {
		return reason
	}
	text := "[WARN] --include-property-values option can return incomplete ChangeSet data because: " + strings.Join(lines, "; ")
	return strings.TrimLeft(reason+" "+text, " ")
}

// viewChange renders a change. replaced contains the resources that the change set certainly replaces.
func viewChange(c *engine.Change, replaced map[string]bool, values bool) changeView {
	change := resourceChangeView{
		PolicyAction: c.PolicyAction, Action: string(c.Action), LogicalResourceID: c.LogicalID,
		PhysicalResourceID: c.PhysicalID, ResourceType: c.Type, Replacement: string(c.Replacement), Scope: c.Scope,
	}
	if values {
		change.BeforeContext, change.AfterContext = contextText(c.Before), contextText(c.After)
	}
	// twins maps each place that changes only because of parameters to its last detail.
	twins := map[string]int{}
	for i, d := range c.Details {
		if string(d.Source) == parameterReference {
			twins[d.Path] = i
		}
	}
	for _, d := range c.Details {
		if string(d.Source) == directModification { // it has its own detail for the text of the template
			twins[d.Path] = -1
		}
	}
	seen := map[changeDetailView]bool{}
	for i := range c.Details {
		for _, view := range viewDetails(&c.Details[i], twins[c.Details[i].Path] == i, replaced, values) {
			if values {
				view.Target = withValues(view.Target, &c.Details[i])
			} else if seen[view] {
				continue // another place in the same property
			}
			seen[view] = true
			change.Details = append(change.Details, view)
		}
	}
	return changeView{Type: "Resource", ResourceChange: change}
}

// viewDetails renders one of a resource's details. If direct is set, a changing parameter gets a second detail: the
// dynamic direct modification of the same place. A reference to a resource that is certainly replaced is static. If
// values are shown, it also has a dynamic twin. Source: recorded answers.
func viewDetails(d *engine.ChangeDetail, direct bool, replaced map[string]bool, values bool) []changeDetailView {
	view := viewDetail(d)
	twin := view
	twin.Evaluation = "Dynamic"
	switch string(d.Source) {
	case parameterReference:
		if !direct {
			return []changeDetailView{view}
		}
		twin.ChangeSource, twin.CausingEntity = directModification, ""
		return []changeDetailView{view, twin}
	case resourceReference, resourceAttribute:
		resource, _, _ := strings.Cut(d.Cause, ".")
		if !replaced[resource] {
			return []changeDetailView{view}
		}
		view.Evaluation = "Static"
		if values {
			return []changeDetailView{view, twin}
		}
	}
	return []changeDetailView{view}
}

func viewDetail(d *engine.ChangeDetail) changeDetailView {
	view := changeDetailView{
		Target:     changeTargetView{Attribute: d.Attribute, Name: d.Name, RequiresRecreation: string(d.Recreation)},
		Evaluation: "Static", ChangeSource: string(d.Source), CausingEntity: d.Cause,
	}
	if d.Dynamic {
		view.Evaluation = "Dynamic"
	}
	return view
}

// withValues adds the members that are shown only on request.
func withValues(target changeTargetView, d *engine.ChangeDetail) changeTargetView {
	target.Path, target.BeforeValue, target.AfterValue, target.AttributeChangeType = d.Path, d.Before, d.After, "Modify"
	switch {
	case d.Before == nil && d.After == nil: // unknown
	case d.Before == nil:
		target.AttributeChangeType = "Add"
	case d.After == nil:
		target.AttributeChangeType = "Remove"
	}
	return target
}

func contextText(v value.Value) string {
	if v.IsNull() {
		return ""
	}
	return v.String()
}

type listChangeSetsInput struct {
	StackName string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	pageInput
}

type listChangeSetsOutput struct {
	Summaries []changeSetHeadView
}

// listChangeSets returns all change sets on one page, because the engine limits their number.
func (f changeSets) listChangeSets(ctx context.Context, in listChangeSetsInput) (out listChangeSetsOutput, err error) {
	stack, err := f.find(ctx, in.StackName, noStackBracket)
	if err != nil {
		return out, err
	}
	if in.NextToken != nil {
		return out, query.Validation("NextToken is not one that this list gave out: start again without it.")
	}
	sets, err := f.engine.ChangeSets(ctx, stack)
	for _, set := range sets {
		out.Summaries = append(out.Summaries, viewChangeSet(set))
	}
	return out, err
}

type describeChangeSetHooksInput struct {
	changeSetInput
	pageInput
	LogicalResourceID string `query:"LogicalResourceId"`
}

type describeChangeSetHooksOutput struct {
	ChangeSetID   string `query:"ChangeSetId"`
	ChangeSetName string
	StackID       string `query:"StackId"`
	StackName     string
	Hooks         []struct{}
	Status        string
}

// describeChangeSetHooks returns no hooks, because none can be registered.
func (f changeSets) describeChangeSetHooks(ctx context.Context, in describeChangeSetHooksInput) (describeChangeSetHooksOutput, error) {
	set, err := f.changeSet(ctx, in.changeSetInput)
	return describeChangeSetHooksOutput{
		ChangeSetID: string(set.ID), ChangeSetName: set.GivenName(), StackID: string(set.Owner.ID), StackName: set.Owner.Name,
		Status: "PLANNED",
	}, err
}
