package ros

import (
	"context"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
)

type getTemplateInput struct {
	region
	StackID     string `rpc:"StackId" length:",64"`
	ChangeSetID string `rpc:"ChangeSetId" length:",64"`
	TemplateID  string `rpc:"TemplateId" length:",64"`
	// TemplateVersion is v and a number. It defaults to the latest version.
	TemplateVersion string
	IncludeTags     string
	TemplateStage   string `enum:"Original,Processed"`
}

type getTemplateOutput struct {
	TemplateBody string
	StackID      string `json:"StackId,omitempty"`
	ChangeSetID  string `json:"ChangeSetId,omitempty"`
	RegionID     string `json:"RegionId"`
	*templateView
}

// getTemplate returns the submitted text. For the stage Processed, the counted resources in it are expanded. The
// default stage is Original, unlike on ROS, so that the result can be submitted again.
func (f *handler) getTemplate(ctx context.Context, in getTemplateInput) (getTemplateOutput, error) {
	out := getTemplateOutput{StackID: in.StackID, ChangeSetID: in.ChangeSetID, RegionID: in.RegionID}
	var revision store.Revision
	switch {
	case in.TemplateID != "":
		kept, of, version, err := storedTemplates{f}.bodyOf(ctx, in.TemplateID, in.TemplateVersion)
		if err != nil {
			return out, err
		}
		caller, err := f.who(ctx)
		view := viewTemplate(caller.Account, strings.ToLower(in.TemplateID), version, kept)
		if in.IncludeTags != "Enabled" {
			view.Tags = nil
		}
		out.TemplateBody, out.templateView = of.Body, &view
		return out, err
	case in.ChangeSetID != "":
		set, err := changeSets{f}.changeSet(ctx, changeSetInput{region: in.region, ChangeSetID: in.ChangeSetID})
		if err != nil {
			return out, err
		}
		revision, out.StackID = set.Body.Revision, string(set.Owner.ID)
	case in.StackID != "":
		stack, err := f.find(ctx, stackInput{in.region, in.StackID})
		if err != nil {
			return out, err
		}
		if revision, err = f.revision(ctx, stack); err != nil {
			return out, err
		}
	default:
		return out, &rpc.Error{
			Code: "MissingParameter", Message: "One of the input parameters StackId, ChangeSetId and TemplateId should be specified.",
		}
	}
	out.TemplateBody = revision.Template
	if in.TemplateStage == "Processed" && revision.Processed != "" {
		out.TemplateBody = revision.Processed
	}
	return out, nil
}

type validateTemplateInput struct {
	region
	templateInput
	ValidationOption string
}

// declaredParameter is a parameter of a template in a response.
type declaredParameter struct {
	ParameterKey  string
	Type          string
	Description   string   `json:",omitempty"`
	NoEcho        string   // a string, as on ROS
	Default       *string  `json:",omitempty"`
	AllowedValues []string `json:",omitempty"`
}

type declaredOutput struct {
	OutputKey   string
	Description string `json:",omitempty"`
}

type resourceTypesView struct {
	Resources   []string
	DataSources []string
}

type validateTemplateOutput struct {
	Description   string
	Parameters    []declaredParameter
	Outputs       []declaredOutput
	ResourceTypes resourceTypesView
}

func (f *handler) validateTemplate(ctx context.Context, in validateTemplateInput) (out validateTemplateOutput, err error) {
	text, err := f.needed(ctx, in.templateInput)
	if err != nil {
		return out, err
	}
	t, err := f.engine.CheckIn(engine.ROS, text)
	if err != nil {
		return out, err
	}
	summary := t.Summary(false)
	out = validateTemplateOutput{
		Description: summary.Description, Parameters: []declaredParameter{}, Outputs: outputsOf(t),
		ResourceTypes: resourceTypesView{Resources: []string{}, DataSources: []string{}},
	}
	for _, p := range summary.Parameters {
		shown := declaredParameter{ParameterKey: p.Key, Type: p.Type, Description: p.Description, NoEcho: "false", Default: p.Default, AllowedValues: p.AllowedValues}
		if p.NoEcho {
			shown.NoEcho = "true"
			if p.Default != nil {
				mask := secretText
				shown.Default = &mask
			}
		}
		out.Parameters = append(out.Parameters, shown)
	}
	for _, name := range summary.ResourceTypes {
		if strings.HasPrefix(name, "DATASOURCE::") {
			out.ResourceTypes.DataSources = append(out.ResourceTypes.DataSources, name)
		} else {
			out.ResourceTypes.Resources = append(out.ResourceTypes.Resources, name)
		}
	}
	return out, nil
}

func outputsOf(t *template.Template) []declaredOutput {
	list := []declaredOutput{}
	for _, o := range t.Outputs {
		list = append(list, declaredOutput{o.Key, o.Description})
	}
	return list
}
