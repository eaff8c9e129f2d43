package engine

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/store"
)

// repeat handles a creation under a name that is taken, by the same request or by another one.
func (d changeSets) repeat(in *CreateChangeSet, s *submission, row *store.ChangeSet) (store.ChangeSetID, error) {
	mismatch, err := d.mismatch(in, s, row)
	switch {
	case err != nil:
		return "", err
	case mismatch != "":
		return "", &Error{d.takenCode(), "ChangeSet " + in.Name + " cannot be created due to a mismatch with existing attribute " + mismatch}
	case in.Token == "" || in.Token != row.Token:
		return "", d.dialect.refusals().changeSetTaken(in.Name)
	}
	return row.ID, nil
}

// mismatch returns the first attribute in which a request differs from the one that created a change set, or "".
func (d changeSets) mismatch(in *CreateChangeSet, s *submission, row *store.ChangeSet) (string, error) {
	body := row.Body
	if s != nil && in.Template != body.Revision.Template {
		return "Template", nil
	}
	// The stack's own template may have changed since, but that does not change the request.
	t, err := d.parsed.of(d.dialect.language(), &body.Revision)
	if err != nil {
		return "", fmt.Errorf("parse the template of %s: %w", row.ID, err)
	}
	// The set has the values that were the previous ones when it was created.
	revision, _, err := binding(d).bind(&in.Options, t, &body.Revision)
	if err != nil {
		return "", err
	}
	listed, err := in.importing.listedJSON()
	if err != nil {
		return "", err
	}
	for _, attribute := range []struct {
		name string
		same bool
	}{
		{"ChangeSetType", in.Kind == row.Kind},
		{"Parameters", revision.Parameters.Equal(body.Revision.Parameters)},
		{"Tags", slices.Equal(revision.Tags, body.Revision.Tags)},
		{"Capabilities", slices.Equal(in.Capabilities, body.Capabilities)},
		{"RoleARN", in.RoleARN == "" || in.RoleARN == body.RoleARN},
		{"NotificationARNs", in.NotificationARNs == nil || slices.Equal(in.NotificationARNs, body.Revision.NotificationARNs)},
		{"RollbackConfiguration", slices.Equal(revision.RollbackTriggers, body.Revision.RollbackTriggers) &&
			revision.MonitoringMinutes == body.Revision.MonitoringMinutes},
		{"Description", in.Description == row.Description},
		{"OnStackFailure", in.OnFailure == row.OnFailure},
		{"DeploymentConfig", in.DisableRollback == row.DisableRollback},
		{"IncludeNestedStacks", in.IncludeNested == row.IncludeNested},
		{"ReplacementOption", in.Replace == body.Replace},
		{"TaintResources", slices.Equal(in.Taint, body.Taint)},
		{"DeploymentMode", in.RevertDrift == body.RevertDrift},
		{"ResourcesToImport", in.Import == row.Import && bytes.Equal(listed, body.Listed)},
		{"ImportExistingResources", in.ImportExisting == row.ImportExisting},
		{"Parallelism", in.Parallelism == body.Parallelism},
		{"TimeoutInMinutes", in.TimeoutMinutes == body.TimeoutMinutes},
		{"StackPolicyBody", in.Policy == body.Policy},
	} {
		if !attribute.same {
			return attribute.name, nil
		}
	}
	return "", nil
}

// takenCode returns the error code for a change set name that is taken.
func (d changeSets) takenCode() Code {
	inputErr, _ := InputError(d.dialect.refusals().changeSetTaken(""))
	return inputErr.Code
}

// cannotCreate returns the error for a create change set on an existing stack.
func (d changeSets) cannotCreate(in *CreateChangeSet) error {
	if d.dialect != CloudFormation {
		return d.dialect.refusals().stackExists(d.stack.Name)
	}
	return invalid("Stack [" + in.Stack.Stack + "] already exists and cannot be created again with the changeSet [" + in.Name + "].")
}
