package cloudformation

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/store"
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

// getTemplate returns the submitted text, or the text after transforms if the stage is Processed. Without transforms
// these are equal. A stack that has only change sets has an empty template, which clients such as the CDK expect.
func (f *handler) getTemplate(ctx context.Context, in getTemplateInput) (out getTemplateOutput, err error) {
	var revision store.Revision
	switch {
	case in.ChangeSetName == "" && in.StackName == "":
		return out, query.Validation("StackName is required if ChangeSetName is not specified.")
	case in.ChangeSetName != "" && in.StackName == "" && !strings.HasPrefix(in.ChangeSetName, "arn:"):
		return out, query.Validation("StackName is a required parameter.") // recorded on 2025-09-12
	case in.ChangeSetName != "":
		set, err := changeSets{f}.changeSet(ctx, changeSetInput{ChangeSetName: in.ChangeSetName, StackName: in.StackName})
		if err != nil {
			return out, err
		}
		revision = set.Body.Revision
	default:
		stack, err := f.find(ctx, in.StackName, noStackWithID)
		if err != nil {
			return out, err
		}
		if revision, err = f.revision(ctx, stack); err != nil {
			return out, err
		}
	}
	text := revision.Template
	if in.TemplateStage == "Processed" && revision.Processed != "" {
		text = revision.Processed
	}
	return getTemplateOutput{TemplateBody: text, StagesAvailable: []string{"Original", "Processed"}}, nil
}

type validateTemplateInput struct{ templateInput }

type validateTemplateOutput struct {
	Parameters         []templateParameterView
	Description        string   `query:",omitempty"`
	DeclaredTransforms []string `query:",omitempty"`
	Capabilities       []string `query:",omitempty"`
	CapabilitiesReason string   `query:",omitempty"`
}

// templateParameterView is the structure TemplateParameter.
type templateParameterView struct {
	ParameterKey string
	DefaultValue *string
	NoEcho       bool
	Description  string `query:",omitempty"`
}

func (f *handler) validateTemplate(ctx context.Context, in validateTemplateInput) (out validateTemplateOutput, err error) {
	text, err := f.text(ctx, in.templateInput)
	if err != nil {
		return out, err
	}
	t, err := f.engine.Outline(text, true)
	if err != nil {
		return out, err
	}
	summary := t.Summary(f.aws)
	out.Description = summary.Description
	out.DeclaredTransforms = t.Transforms()
	out.Capabilities, out.CapabilitiesReason = capabilitiesOf(t)
	for _, p := range summary.Parameters {
		out.Parameters = append(out.Parameters, templateParameterView{
			ParameterKey: p.Key, DefaultValue: p.Default, NoEcho: p.NoEcho, Description: p.Description,
		})
	}
	return out, nil
}
