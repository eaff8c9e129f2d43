package ros

import (
	"cmp"
	"context"
	"slices"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

type getTemplateSummaryInput struct {
	// RegionID is required only for stacks and change sets.
	RegionID    string `rpc:"RegionId" length:",64" pattern:"[a-z0-9][-a-z0-9]*"`
	StackID     string `rpc:"StackId" length:",64"`
	ChangeSetID string `rpc:"ChangeSetId" length:",64"`
	templateInput
	StackGroupName string `length:",255"`
}

type getTemplateSummaryOutput struct {
	Description                 string
	Metadata                    value.Value
	Parameters                  []value.Value
	ResourceTypes               []string
	ResourceIdentifierSummaries []struct{} // no types can be imported
	Version                     string
}

// getTemplateSummary describes the template in the call, of a stack, or of a change set.
func (f *handler) getTemplateSummary(ctx context.Context, in getTemplateSummaryInput) (out getTemplateSummaryOutput, err error) {
	text, given, err := f.text(ctx, in.templateInput)
	ways := 0
	for _, way := range []bool{given || err != nil, in.StackID != "", in.ChangeSetID != "", in.StackGroupName != ""} {
		if way {
			ways++
		}
	}
	of := getTemplateInput{region: region{in.RegionID}, StackID: in.StackID, ChangeSetID: in.ChangeSetID}
	switch {
	case err != nil:
		return out, err
	case ways > 1:
		return out, rpc.Invalid("TemplateBody", "only one of TemplateBody, TemplateURL, TemplateId, StackId, ChangeSetId and StackGroupName can be given")
	case in.StackGroupName != "":
		return out, rpc.NotSupported("StackGroupName", "There are no stack groups here: pass the template.")
	case ways == 0:
		return out, &rpc.Error{
			Code:    "MissingParameter",
			Message: "One of the input parameters TemplateBody, TemplateURL, TemplateId, StackId and ChangeSetId should be specified.",
		}
	case !given && in.RegionID == "":
		return out, rpc.Missing("RegionId", "for a stack or a change set")
	case !given:
		kept, err := f.getTemplate(ctx, of)
		if err != nil {
			return out, err
		}
		text = kept.TemplateBody
	}
	t, err := f.engine.CheckIn(engine.ROS, text)
	if err != nil {
		return out, err
	}
	summary := t.Summary(false)
	out = getTemplateSummaryOutput{
		Description: summary.Description, Version: summary.Version, Metadata: value.Object(), Parameters: []value.Value{},
		ResourceTypes: append([]string{}, summary.ResourceTypes...), ResourceIdentifierSummaries: []struct{}{},
	}
	if !t.Metadata.IsZero() {
		out.Metadata = t.Metadata.Value()
	}
	for _, p := range t.Parameters {
		out.Parameters = append(out.Parameters, summarized(p))
	}
	return out, nil
}

// summarized returns the declaration of a parameter in ROS's format: the attributes as declared, texts in one language,
// and no secret values.
func summarized(p *template.Parameter) value.Value {
	echo := "false"
	if p.NoEcho {
		echo = "true"
	}
	members := []value.Member{
		{Key: "ParameterKey", Value: value.Str(p.Name)}, {Key: "NoEcho", Value: value.Str(echo)},
		{Key: "Label", Value: value.Str(cmp.Or(p.Label, p.Name))}, {Key: "Description", Value: value.Str(p.Description)},
	}
	for _, m := range p.Declared.Value().Members() {
		switch m.Key {
		case "NoEcho", "Label", "Description":
			continue
		case "ConstraintDescription":
			m.Value = value.Str(p.ConstraintDescription)
		case "Default":
			if p.NoEcho && !m.Value.IsNull() {
				m.Value = value.Str(secretText)
			}
		case "AllowedValues":
			if p.NoEcho {
				continue
			}
		}
		members = append(members, m)
	}
	return value.Object(members...)
}

type getTemplateParameterConstraintsInput struct {
	region
	templateInput
	StackID             string           `rpc:"StackId" length:",64"`
	Parameters          []parameterInput `length:",200"`
	ParametersKeyFilter []string         `length:",200"`
	ParametersOrder     []string         `length:",200"`
	ClientToken         string           `length:",64"`
}

// parameterConstraint describes the allowed values of a parameter. Behavior is set if AllowedValues is not.
type parameterConstraint struct {
	ParameterKey              string
	Type                      string
	AllowedValues             []string `json:",omitempty"`
	Behavior                  string   `json:",omitempty"`
	BehaviorReason            string   `json:",omitempty"`
	AssociationParameterNames []string
}

type getTemplateParameterConstraintsOutput struct {
	ParameterConstraints []parameterConstraint
}

const unqueriedReason = "Only Alibaba Cloud knows what it sells: any value that the template allows is taken here."

// getTemplateParameterConstraints returns the values that the template itself allows. It does not know the products of
// Alibaba Cloud.
func (f *handler) getTemplateParameterConstraints(ctx context.Context, in getTemplateParameterConstraintsInput) (
	out getTemplateParameterConstraintsOutput, err error,
) {
	text, err := f.needed(ctx, in.templateInput)
	if err != nil {
		return out, err
	}
	t, err := f.engine.CheckIn(engine.ROS, text)
	if err != nil {
		return out, err
	}
	if in.StackID != "" {
		if _, err := f.find(ctx, stackInput{in.region, in.StackID}); err != nil {
			return out, err
		}
	}
	asked := append([]string{}, in.ParametersKeyFilter...)
	for _, p := range in.Parameters {
		asked = append(asked, p.ParameterKey)
	}
	for _, name := range asked {
		if t.Parameter(name) == nil {
			return out, &rpc.Error{Code: "UnknownUserParameter", Message: "The Parameter (" + name + ") was not defined in template."}
		}
	}
	out.ParameterConstraints = []parameterConstraint{}
	for _, p := range t.Parameters {
		if len(in.ParametersKeyFilter) > 0 && !slices.Contains(in.ParametersKeyFilter, p.Name) {
			continue
		}
		c := parameterConstraint{ParameterKey: p.Name, Type: p.Type, AssociationParameterNames: []string{}}
		switch {
		case p.NoEcho || len(p.AllowedValues) == 0:
			c.Behavior, c.BehaviorReason = "NotSupport", unqueriedReason
		default:
			c.AllowedValues = p.AllowedValues
		}
		out.ParameterConstraints = append(out.ParameterConstraints, c)
	}
	return out, nil
}
