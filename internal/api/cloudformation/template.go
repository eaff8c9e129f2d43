package cloudformation

import (
	"context"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/query"
)

type getTemplateInput struct {
	StackName     string `length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	ChangeSetName string `length:"1,1600" pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/]*"`
	TemplateStage string `enum:"Original,Processed"`
}

type getTemplateOutput struct {
	TemplateBody    string
	StagesAvailable []string
}

// getTemplate returns the text as it was submitted. No transforms run in this version, so both stages are the same.
func (f *face) getTemplate(ctx context.Context, in getTemplateInput) (out getTemplateOutput, err error) {
	switch {
	case in.ChangeSetName != "" && in.StackName == "" && !strings.HasPrefix(in.ChangeSetName, "arn:"):
		return out, query.Validation("StackName must be specified if ChangeSetName is not specified as an ARN.")
	case in.ChangeSetName != "":
		return out, &query.Error{
			Code: "ChangeSetNotFound", Message: "ChangeSet [" + in.ChangeSetName + "] does not exist",
			Status: http.StatusNotFound, Sender: true,
		}
	case in.StackName == "":
		return out, query.Validation("StackName is required if ChangeSetName is not specified.")
	}
	stack, err := f.find(ctx, in.StackName, noStackWithID)
	if err != nil {
		return out, err
	}
	revision, err := f.engine.Revision(ctx, stack)
	if err != nil {
		return out, err
	}
	return getTemplateOutput{TemplateBody: revision.Template, StagesAvailable: []string{"Original", "Processed"}}, nil
}

type validateTemplateInput struct{ templateInput }

type validateTemplateOutput struct {
	Parameters  []templateParameterView
	Description string `query:",omitempty"`
}

// templateParameterView is the structure TemplateParameter.
type templateParameterView struct {
	ParameterKey string
	DefaultValue *string
	NoEcho       bool
	Description  string `query:",omitempty"`
}

func (f *face) validateTemplate(_ context.Context, in validateTemplateInput) (out validateTemplateOutput, err error) {
	text, err := in.text()
	if err != nil {
		return out, err
	}
	t, err := f.engine.Check(text)
	if err != nil {
		return out, err
	}
	summary := t.Summary()
	out.Description = summary.Description
	for _, p := range summary.Parameters {
		out.Parameters = append(out.Parameters, templateParameterView{
			ParameterKey: p.Key, DefaultValue: p.Default, NoEcho: p.NoEcho, Description: p.Description,
		})
	}
	return out, nil
}
