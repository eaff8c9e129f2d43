package cloudformation

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// revertDrift is the deployment mode of a change set that reverts drift. Source: CloudFormation, CreateChangeSet.
const revertDrift = "REVERT_DRIFT"

// maxStackName is the maximum length of a new stack's name. Source: CloudFormation, CreateStack.
const maxStackName = 128

type createChangeSetInput struct {
	StackName     string `query:",required" length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	ChangeSetName string `query:",required" length:"1,128" pattern:"[a-zA-Z][-a-zA-Z0-9]*"`
	templateInput
	optionsInput
	UsePreviousTemplate bool
	ClientToken         string `length:"1,128"`
	Description         string `length:"1,1024"`
	ChangeSetType       string `enum:"CREATE,UPDATE,IMPORT"`
	IncludeNestedStacks bool
	OnStackFailure      string `enum:"DO_NOTHING,ROLLBACK,DELETE"`

	ResourcesToImport []resourceToImport `length:",200"`

	// DeploymentMode is set to update drifted resources to their declared state.
	DeploymentMode string `enum:"REVERT_DRIFT"`

	// ImportExistingResources imports existing resources instead of creating them.
	ImportExistingResources bool
}

// resourceToImport is the structure ResourceToImport.
type resourceToImport struct {
	ResourceType       string               `query:",required" length:"1,256"`
	LogicalResourceID  string               `query:"LogicalResourceId,required"`
	ResourceIdentifier []identifierProperty `query:",entries,required" length:",256"`
}

// identifierProperty is an entry of an identifier's map.
type identifierProperty struct {
	Key   string `query:"key,required" length:"1,2048"`
	Value string `query:"value,required" length:"1,2048"`
}

type createChangeSetOutput struct {
	ID      string `query:"Id"`
	StackID string `query:"StackId"`
}

// changeSets answers the operations on change sets.
type changeSets struct{ *handler }

func (f changeSets) createChangeSet(ctx context.Context, in createChangeSetInput) (out createChangeSetOutput, err error) {
	ref, err := f.ref(ctx, in.StackName)
	if err != nil {
		return out, err
	}
	var text string
	if !in.UsePreviousTemplate {
		if text, err = f.text(ctx, in.templateInput); err != nil {
			return out, err
		}
	} else if in.TemplateBody != nil || in.TemplateURL != nil {
		return out, query.Validation("You cannot specify both usePreviousTemplate and Template Body/Template URL.")
	}
	if in.OnStackFailure != "" && in.DeploymentConfig.DisableRollback != nil {
		return out, query.Validation("You must specify either OnStackFailure or DisableRollback, but not both")
	}
	if err := in.checkImport(); err != nil {
		return out, err
	}
	options, err := f.options(ctx, &in.optionsInput)
	if err != nil {
		return out, err
	}
	options.Token, options.RetainExceptOnCreate, options.Policy = in.ClientToken, false, "" // the last two are not members of this call
	kind := store.KindUpdate
	if in.ChangeSetType == "CREATE" {
		kind = store.KindCreate
		if len(in.StackName) > maxStackName && !strings.HasPrefix(in.StackName, "arn:") {
			return out, query.Validation("1 validation error detected: Value '%.1024s' at 'stackName' failed to satisfy constraint: "+
				"Member must have length less than or equal to %d", in.StackName, maxStackName)
		}
	}
	revert, err := f.toRevert(ctx, &in)
	if err != nil {
		return out, err
	}
	made, err := f.engine.CreateChangeSet(ctx, engine.CreateChangeSet{
		RevertDrift: in.DeploymentMode != "", Revert: revert,
		Options: options, Stack: ref, Name: in.ChangeSetName, Kind: kind, Template: text, UsePrevious: in.UsePreviousTemplate,
		Description: in.Description, OnFailure: in.OnStackFailure, IncludeNested: in.IncludeNestedStacks,
		Import: in.ChangeSetType == importType, Resources: in.resources(), ImportExisting: in.ImportExistingResources,
	})
	return createChangeSetOutput{ID: string(made.ID), StackID: string(made.StackID)}, err
}

// importType is the type of change sets that import the listed resources. Source: CloudFormation, CreateChangeSet.
const importType = "IMPORT"

// checkImport rejects members that cannot be combined. That CloudFormation rejects the last two is an interpretation of
// its documentation, and these messages are Pintle's.
func (in *createChangeSetInput) checkImport() error {
	imports := in.ChangeSetType == importType
	switch {
	case imports && len(in.ResourcesToImport) == 0:
		return query.Validation("Must Provide at least one resource to import")
	case !imports && len(in.ResourcesToImport) > 0:
		return query.Validation("ResourcesToImport is for change sets of type IMPORT only. Use ImportExistingResources to import resources " +
			"while a stack is created or updated.")
	case imports && (in.ImportExistingResources || in.DeploymentMode != ""):
		return query.Validation("ImportExistingResources and DeploymentMode are not for change sets of type IMPORT.")
	}
	return nil
}

// resources returns the resources to import.
func (in *createChangeSetInput) resources() []engine.ImportResource {
	var list []engine.ImportResource
	for _, r := range in.ResourcesToImport {
		identifier := make(map[string]string, len(r.ResourceIdentifier))
		for _, p := range r.ResourceIdentifier {
			identifier[p.Key] = p.Value
		}
		list = append(list, engine.ImportResource{Type: r.ResourceType, Logical: wire.LogicalID(r.LogicalResourceID), Identifier: identifier})
	}
	return list
}

// toRevert returns the resources whose drift a change set reverts. It omits resources that drift detection does not
// cover.
func (f changeSets) toRevert(ctx context.Context, in *createChangeSetInput) ([]wire.LogicalID, error) {
	switch {
	case in.DeploymentMode == "":
		return nil, nil
	case in.ChangeSetType == "CREATE":
		return nil, query.Validation("DeploymentMode REVERT_DRIFT is not supported for change sets of type CREATE: a new stack has no drift")
	}
	stack, instances, err := f.resources(ctx, in.StackName, noStackBracket)
	if err != nil {
		return nil, err
	}
	if f.drift == nil {
		return nil, nil
	}
	report, err := f.drift.Detect(ctx, stack, instances, instances)
	if err == nil {
		report, err = drifts(f).awaitDrift(ctx, stack, instances, instances, report)
	}
	if err != nil {
		return nil, err
	}
	var drifted []wire.LogicalID
	var forwarded []string
	for _, r := range report.Resources {
		switch {
		case !r.Status.Drifted():
		case r.Forwarded != "":
			forwarded = append(forwarded, string(r.Logical)+" (forwarded to "+r.Forwarded+")")
		default:
			drifted = append(drifted, r.Logical)
		}
	}
	if forwarded != nil {
		return nil, query.Validation("DeploymentMode REVERT_DRIFT cannot revert the drift of [%s]: their endpoints take no update that "+
			"changes nothing in the template. Change the resources back yourself", strings.Join(forwarded, ", "))
	}
	return drifted, nil
}

// changeSetInput names a change set.
type changeSetInput struct {
	ChangeSetName string `query:",required" length:"1,1600" pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/]*"`
	StackName     string `length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
}

// changeSetRef returns a reference to a change set of the caller.
func (f changeSets) changeSetRef(ctx context.Context, stack, name string) (engine.ChangeSetRef, error) {
	ref, err := f.ref(ctx, stack)
	return engine.ChangeSetRef{Ref: ref, Name: name}, err
}

func (f changeSets) changeSet(ctx context.Context, in changeSetInput) (engine.ChangeSet, error) {
	ref, err := f.changeSetRef(ctx, in.StackName, in.ChangeSetName)
	if err != nil {
		return engine.ChangeSet{}, err
	}
	return f.engine.ChangeSet(ctx, ref)
}

type executeChangeSetInput struct {
	changeSetInput
	ClientRequestToken   string `length:"1,128" pattern:"[a-zA-Z0-9][-a-zA-Z0-9]*"`
	DisableRollback      *bool
	RetainExceptOnCreate bool
}

// emptyOutput is an empty result element.
type emptyOutput struct{}

func (f changeSets) executeChangeSet(ctx context.Context, in executeChangeSetInput) (emptyOutput, error) {
	ref, err := f.changeSetRef(ctx, in.StackName, in.ChangeSetName)
	if err != nil {
		return emptyOutput{}, err
	}
	_, err = f.engine.ExecuteChangeSet(ctx, engine.ExecuteChangeSet{
		ChangeSet: ref, Token: in.ClientRequestToken, DisableRollback: in.DisableRollback,
		RetainExceptOnCreate: in.RetainExceptOnCreate,
	})
	return emptyOutput{}, err
}

type deleteChangeSetInput struct{ changeSetInput }

// deleteChangeSet succeeds if the change set does not exist.
func (f changeSets) deleteChangeSet(ctx context.Context, in deleteChangeSetInput) (emptyOutput, error) {
	ref, err := f.changeSetRef(ctx, in.StackName, in.ChangeSetName)
	if err != nil {
		return emptyOutput{}, err
	}
	return emptyOutput{}, f.engine.DeleteChangeSet(ctx, ref)
}
