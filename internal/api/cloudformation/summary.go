package cloudformation

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api"
	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
)

type getTemplateSummaryInput struct {
	templateInput
	StackName             string `length:"1," pattern:"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*"`
	StackSetName          string
	CallAs                string `enum:"SELF,DELEGATED_ADMIN"`
	TemplateSummaryConfig struct {
		TreatUnrecognizedResourceTypesAsWarnings bool
	}
}

type getTemplateSummaryOutput struct {
	Capabilities                []string `query:",omitempty"`
	CapabilitiesReason          string   `query:",omitempty"`
	Parameters                  []parameterDeclarationView
	Description                 string `query:",omitempty"`
	ResourceTypes               []string
	Version                     string   `query:",omitempty"`
	Metadata                    string   `query:",omitempty"`
	DeclaredTransforms          []string `query:",omitempty"`
	ResourceIdentifierSummaries []identifierSummaryView
	Warnings                    *warningsView
}

// identifierSummaryView is the structure ResourceIdentifierSummary.
type identifierSummaryView struct {
	ResourceType       string
	LogicalResourceIDs []string `query:"LogicalResourceIds"`
	// ResourceIdentifiers has one text for each identifier of the type: property names separated by commas.
	ResourceIdentifiers []string
}

// parameterDeclarationView is the structure ParameterDeclaration.
type parameterDeclarationView struct {
	ParameterKey         string
	DefaultValue         *string
	ParameterType        string
	NoEcho               bool
	Description          string `query:",omitempty"`
	ParameterConstraints struct {
		AllowedValues []string `query:",omitempty"`
	}
}

// warningsView is the structure Warnings.
type warningsView struct {
	UnrecognizedResourceTypes []string
}

// getTemplateSummary summarizes a template from the request or of a stack.
func (f *handler) getTemplateSummary(ctx context.Context, in getTemplateSummaryInput) (out getTemplateSummaryOutput, err error) {
	t, err := f.templateToSummarize(ctx, &in)
	if err != nil {
		return out, err
	}
	summary := t.Summary(f.aws)
	out.Description, out.Version, out.Metadata = summary.Description, summary.Version, summary.Metadata
	out.ResourceTypes, out.DeclaredTransforms = summary.ResourceTypes, t.Transforms()
	out.Capabilities, out.CapabilitiesReason = capabilitiesOf(t)
	for _, p := range summary.Parameters {
		view := parameterDeclarationView{
			ParameterKey: p.Key, DefaultValue: p.Default, ParameterType: p.Type, NoEcho: p.NoEcho, Description: p.Description,
		}
		view.ParameterConstraints.AllowedValues = p.AllowedValues
		out.Parameters = append(out.Parameters, view)
	}
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	out.ResourceIdentifierSummaries = f.identifiers(ctx, caller, t)
	if in.TemplateSummaryConfig.TreatUnrecognizedResourceTypesAsWarnings {
		if unknown := f.engine.Unrecognized(t); unknown != nil {
			out.Warnings = &warningsView{UnrecognizedResourceTypes: unknown}
		}
	}
	return out, nil
}

// identifiers returns the identifier properties of a template's resource types. Clients need them for imports.
func (f *handler) identifiers(ctx context.Context, caller api.Caller, t *template.Template) []identifierSummaryView {
	var list []identifierSummaryView
	identifiers := f.engine.Identifiers(ctx, caller.Account, caller.Region, t)
	for _, r := range t.Resources {
		identifier := identifiers[r.LogicalID]
		if identifier == nil {
			continue
		}
		at := slices.IndexFunc(list, func(s identifierSummaryView) bool { return s.ResourceType == r.Type })
		if at < 0 {
			at = len(list)
			list = append(list, identifierSummaryView{ResourceType: r.Type, ResourceIdentifiers: []string{strings.Join(identifier, ",")}})
		}
		list[at].LogicalResourceIDs = append(list[at].LogicalResourceIDs, r.LogicalID)
	}
	return list
}

// capabilitiesOf returns the capabilities that a client must acknowledge for a template, and the reason.
func capabilitiesOf(t *template.Template) (capabilities []string, reason string) {
	capability, reason := engine.Capabilities(t)
	if capability == "" {
		return nil, ""
	}
	return []string{capability}, reason
}

func (f *handler) templateToSummarize(ctx context.Context, in *getTemplateSummaryInput) (*template.Template, error) {
	given := in.TemplateBody != nil || in.TemplateURL != nil
	switch {
	case in.StackSetName != "":
		return nil, &query.Error{
			Code: "StackSetNotFoundException", Message: "StackSet " + in.StackSetName + " not found: there are no stack sets in this version of Pintle.",
			Status: http.StatusNotFound, Sender: true,
		}
	case given && in.StackName != "":
		return nil, query.Validation("You must specify only one of StackName, TemplateBody and TemplateURL.")
	case !given && in.StackName == "":
		return nil, query.Validation("Either Template URL or Template Body must be specified. " +
			"For the template of a stack, give StackName instead.")
	case given:
		text, err := f.text(ctx, in.templateInput)
		if err != nil {
			return nil, err
		}
		return f.engine.Outline(text, !in.TemplateSummaryConfig.TreatUnrecognizedResourceTypesAsWarnings)
	}
	stack, err := f.find(ctx, in.StackName, noStackWithID)
	if err != nil {
		return nil, err
	}
	switch {
	case stack.Revision > 0:
	case stack.Live:
		return nil, query.Validation("GetTemplateSummary cannot be called on REVIEW_IN_PROGRESS stacks.")
	default:
		return nil, query.Validation("Stack [%s] never had a template: it held change sets only.", in.StackName)
	}
	revision, err := f.engine.Revision(ctx, stack)
	if err != nil {
		return nil, err
	}
	return f.engine.Parse(revision.Template)
}
