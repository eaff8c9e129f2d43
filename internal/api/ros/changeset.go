package ros

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

type createChangeSetInput struct {
	region
	ChangeSetName string `rpc:",required" length:",255" pattern:"[a-zA-Z0-9][-_a-zA-Z0-9]*"`
	ChangeSetType string `enum:"CREATE,UPDATE,IMPORT"`
	StackID       string `rpc:"StackId" length:",64"`
	StackName     string `length:",255" pattern:"[a-zA-Z0-9][-_a-zA-Z0-9]*"`
	Description   string `length:",1024"`
	templateInput
	policyInput
	optionsInput
	replacingInput
	UsePreviousParameters       bool
	StackPolicyDuringUpdateBody string `length:",16384"`
	StackPolicyDuringUpdateURL  string `length:",1350"`
	TimeoutInMinutes            int    `range:"10,1440"`
	DisableRollback             bool
	ResourcesToImport           []struct {
		LogicalResourceID string `rpc:"LogicalResourceId"`
	}
}

type createChangeSetOutput struct {
	ChangeSetID string `json:"ChangeSetId"`
	StackID     string `json:"StackId"`
}

// changeSets answers the actions on change sets.
type changeSets struct{ *handler }

// createChangeSet plans an update of the stack StackId, or a new stack StackName if the type is CREATE.
func (f changeSets) createChangeSet(ctx context.Context, in createChangeSetInput) (out createChangeSetOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	made := engine.CreateChangeSet{
		Name: in.ChangeSetName, Kind: store.KindUpdate, Description: in.Description, Dialect: engine.ROS,
		TimeoutMinutes: cmp.Or(in.TimeoutInMinutes, defaultTimeout),
		Replace:        in.ReplacementOption == "Enabled", Taint: logicalIDs(in.TaintResources),
	}
	var stack store.Stack
	switch {
	case in.ChangeSetType == "IMPORT" || len(in.ResourcesToImport) > 0:
		return out, rpc.NotSupported("ChangeSetType IMPORT", "Custom resources cannot be read, so that none can be imported.")
	case in.StackPolicyDuringUpdateBody != "" || in.StackPolicyDuringUpdateURL != "":
		return out, rpc.NotSupported("StackPolicyDuringUpdateBody of a change set", "Give it to UpdateStack.")
	case in.ChangeSetType == "CREATE" && in.StackName == "":
		return out, rpc.Missing("StackName", "for a change set of type CREATE")
	case in.ChangeSetType == "CREATE":
		made.Kind = store.KindCreate
		made.Stack = engine.Ref{Account: caller.Account, Region: in.RegionID, Stack: in.StackName}
	case in.StackID == "":
		return out, rpc.Missing("StackId", "for a change set of type UPDATE")
	default:
		if made.Stack, _, err = f.ref(ctx, stackInput{in.region, in.StackID}); err != nil {
			return out, err
		}
		if stack, err = f.find(ctx, stackInput{in.region, in.StackID}); err != nil {
			return out, err
		}
		if err := in.stays(stack); err != nil {
			return out, err
		}
	}
	text, given, err := f.text(ctx, in.templateInput)
	if err == nil && !given && made.Kind == store.KindCreate {
		_, err = f.needed(ctx, in.templateInput)
	}
	if err != nil {
		return out, err
	}
	made.Template, made.UsePrevious = text, !given
	if made.Options, err = in.options(caller); err != nil {
		return out, err
	}
	if made.Policy, err = f.policy(ctx, in.StackPolicyBody, in.StackPolicyURL, "StackPolicy"); err != nil {
		return out, err
	}
	if in.UsePreviousParameters && stack.Revision > 0 {
		if made.Parameters, err = f.withPrevious(ctx, stack, text, given, made.Parameters); err != nil {
			return out, err
		}
	}
	made.DisableRollback = in.DisableRollback && made.Kind == store.KindCreate
	planned, err := f.engine.CreateChangeSet(ctx, made)
	return createChangeSetOutput{ChangeSetID: string(planned.ID), StackID: string(planned.StackID)}, err
}

// changeSetInput identifies a change set.
type changeSetInput struct {
	region
	ChangeSetID string `rpc:"ChangeSetId,required" length:",64"`
}

// changeSetRef returns a reference to a change set of the caller.
func (f changeSets) changeSetRef(ctx context.Context, in changeSetInput) (engine.ChangeSetRef, error) {
	caller, err := f.who(ctx)
	return engine.ChangeSetRef{
		Ref: engine.Ref{Account: caller.Account, Region: in.RegionID, ByID: true}, Name: strings.ToLower(in.ChangeSetID),
	}, err
}

func (f changeSets) changeSet(ctx context.Context, in changeSetInput) (engine.ChangeSet, error) {
	ref, err := f.changeSetRef(ctx, in)
	if err != nil {
		return engine.ChangeSet{}, err
	}
	return f.engine.ChangeSet(ctx, ref)
}

// changeSetView holds the common members of GetChangeSet and ListChangeSets.
type changeSetView struct {
	ChangeSetID     string `json:"ChangeSetId"`
	ChangeSetName   string
	ChangeSetType   string
	StackID         string `json:"StackId"`
	StackName       string
	RegionID        string `json:"RegionId"`
	Description     string
	CreateTime      string
	Status          string
	StatusReason    string
	ExecutionStatus string
}

func viewChangeSet(c engine.ChangeSet) changeSetView {
	view := changeSetView{
		ChangeSetID: string(c.ID), ChangeSetName: c.Name, ChangeSetType: "UPDATE", StackID: string(c.Owner.ID), StackName: c.Owner.Name,
		RegionID: c.Owner.Region, Description: c.Description, CreateTime: timeText(c.Created),
		Status: engine.ROS.ChangeSetStatus(c.State), StatusReason: c.Reason, ExecutionStatus: engine.ROS.ExecutionStatus(c.Execution),
	}
	if c.Kind == store.KindCreate {
		view.ChangeSetType = "CREATE"
	}
	return view
}

type getChangeSetInput struct {
	changeSetInput
	ShowTemplate bool
}

// changeView is one change of a set.
type changeView struct {
	Type           string
	ResourceChange resourceChangeView
}

type resourceChangeView struct {
	Action             string
	LogicalResourceID  string `json:"LogicalResourceId"`
	PhysicalResourceID string `json:"PhysicalResourceId,omitempty"`
	ResourceType       string
	Replacement        string             `json:",omitempty"`
	Scope              []string           `json:",omitempty"`
	Details            []changeDetailView `json:",omitempty"`
	Problem            string             `json:",omitempty"` // why it would fail; ROS reports that only at execution
}

type changeDetailView struct {
	Target        changeTargetView
	Evaluation    string
	ChangeSource  string
	CausingEntity string `json:",omitempty"`
}

type changeTargetView struct {
	Attribute          string
	Name               string `json:",omitempty"`
	RequiresRecreation string
}

type getChangeSetOutput struct {
	changeSetView
	Changes          []changeView
	Parameters       []parameterView
	DisableRollback  bool
	TimeoutInMinutes int
	TemplateBody     string `json:",omitempty"`
}

func (f changeSets) getChangeSet(ctx context.Context, in getChangeSetInput) (out getChangeSetOutput, err error) {
	set, err := f.changeSet(ctx, in.changeSetInput)
	if err != nil {
		return out, err
	}
	changes, err := set.Changes()
	if err != nil {
		return out, err
	}
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	out = getChangeSetOutput{
		changeSetView: viewChangeSet(set), Changes: []changeView{}, DisableRollback: set.DisableRollback,
		Parameters: viewParameters(pseudoOf(set.Owner, caller), &set.Body.Revision), TimeoutInMinutes: set.Body.TimeoutMinutes,
	}
	if in.ShowTemplate {
		out.TemplateBody = set.Body.Revision.Template
	}
	for i := range changes {
		out.Changes = append(out.Changes, viewChange(&changes[i]))
	}
	return out, nil
}

func viewChange(c *engine.Change) changeView {
	change := resourceChangeView{
		Action: string(c.Action), LogicalResourceID: c.LogicalID, PhysicalResourceID: c.PhysicalID, ResourceType: c.Type,
		Replacement: string(c.Replacement), Scope: c.Scope, Problem: c.Problem,
	}
	for _, d := range c.Details {
		view := changeDetailView{
			Target:     changeTargetView{Attribute: d.Attribute, Name: d.Name, RequiresRecreation: string(d.Recreation)},
			Evaluation: "Static", ChangeSource: string(d.Source), CausingEntity: d.Cause,
		}
		if d.Dynamic {
			view.Evaluation = "Dynamic"
		}
		if !slices.Contains(change.Details, view) { // another place in the same property
			change.Details = append(change.Details, view)
		}
	}
	return changeView{Type: "Resource", ResourceChange: change}
}

type listChangeSetsInput struct {
	stackInput
	paging
	ChangeSetID     string   `rpc:"ChangeSetId" length:",64"`
	ChangeSetName   []string `length:",5"`
	Status          []string `length:",5"`
	ExecutionStatus []string `length:",5"`
}

type listChangeSetsOutput struct {
	ChangeSets []changeSetView
	paged
}

// listChangeSets lists the change sets of a stack, newest first.
func (f changeSets) listChangeSets(ctx context.Context, in listChangeSetsInput) (out listChangeSetsOutput, err error) {
	stack, err := f.find(ctx, in.stackInput)
	if err != nil {
		return out, err
	}
	sets, err := f.engine.ChangeSets(ctx, stack)
	if err != nil {
		return out, err
	}
	is := func(list []string, text string) bool { return len(list) == 0 || slices.Contains(list, text) }
	all := []changeSetView{}
	for _, set := range slices.Backward(sets) {
		view := viewChangeSet(set)
		if (in.ChangeSetID == "" || strings.EqualFold(in.ChangeSetID, view.ChangeSetID)) && is(in.Status, view.Status) &&
			is(in.ExecutionStatus, view.ExecutionStatus) &&
			(len(in.ChangeSetName) == 0 || slices.ContainsFunc(in.ChangeSetName, func(p string) bool { return matches(p, view.ChangeSetName) })) {
			all = append(all, view)
		}
	}
	out.ChangeSets, out.paged = page(in.paging, all)
	return out, nil
}

type executeChangeSetInput struct {
	changeSetInput
	ClientToken string `length:",64" pattern:"[-_a-zA-Z0-9]*"`
}

func (f changeSets) executeChangeSet(ctx context.Context, in executeChangeSetInput) (rpc.None, error) {
	ref, err := f.changeSetRef(ctx, in.changeSetInput)
	if err != nil {
		return rpc.None{}, err
	}
	caller, err := f.who(ctx)
	if err != nil {
		return rpc.None{}, err
	}
	_, err = f.engine.ExecuteChangeSet(ctx, engine.ExecuteChangeSet{ChangeSet: ref, Token: in.ClientToken, Caller: caller.ID})
	return rpc.None{}, err
}

func (f changeSets) deleteChangeSet(ctx context.Context, in changeSetInput) (rpc.None, error) {
	ref, err := f.changeSetRef(ctx, in)
	if err != nil {
		return rpc.None{}, err
	}
	if _, err := f.engine.ChangeSet(ctx, ref); err != nil { // the engine returns no error for a missing change set, as on AWS
		return rpc.None{}, err
	}
	return rpc.None{}, f.engine.DeleteChangeSet(ctx, ref)
}
