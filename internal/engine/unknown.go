package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/suggest"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/wire"
)

// UnknownTypes is the handling of templates with resource types that have no provider. The set is closed.
type UnknownTypes string

// The ways to handle unknown types. The zero value is UnknownRefused.
const (
	// UnknownRefused rejects the template.
	UnknownRefused UnknownTypes = ""
	// UnknownRecorded stores the resources as records: see [native.Schema.Recorded].
	UnknownRecorded UnknownTypes = "record"
)

// checkType rejects a resource type without a provider.
func (e *environment) checkType(dialect Dialect, resourceType string) error {
	schema := e.native.Schema(resourceType)
	switch {
	case schema == nil:
		return dialect.checkType(resourceType)
	case schema.Dialect.String() != dialect.Name():
		return fmt.Errorf("%s is of %s, whose templates are of another kind than this one", resourceType, native.CloudName(schema.Dialect))
	case !schema.Recorded || e.unknownTypes == UnknownRecorded:
		return nil
	}
	text := resourceType + " has no provider."
	if native.InCloud(resourceType) {
		text = resourceType + " has no provider, because this engine does not run code from templates: start it with --run-functions or --dev."
	} else if near := suggest.Name(resourceType, e.native.NamesOf(schema.Dialect)); near != "" {
		text = resourceType + " has no provider, did you mean " + near + "?"
	}
	return fmt.Errorf("%s With --unknown-types record, Pintle stores the declaration and creates nothing in %s",
		text, native.CloudName(schema.Dialect))
}

// runs lists the available types of a dialect.
func (e *environment) runs(dialect Dialect) string {
	of := wire.CloudFormation
	if dialect.Name() == wire.ROS.String() {
		of = wire.ROS
	}
	if names := e.native.NamesOf(of); len(names) > 0 {
		return "custom resources and " + strings.Join(names, ", ")
	}
	return "custom resources"
}

// unrecognized returns the resources and local variables of a template whose types have no provider, with the problem
// of each.
func (e *environment) unrecognized(dialect Dialect, t *template.Template) (list []*template.Resource, reasons []error) {
	for _, r := range t.Resources {
		if err := e.checkType(dialect, r.Type); err != nil {
			list, reasons = append(list, r), append(reasons, err)
		}
	}
	for _, source := range t.Sources {
		if err := e.checkType(dialect, source.Type); err != nil {
			r := &template.Resource{LogicalID: source.Name, Type: source.Type, Line: source.Line, Column: source.Column}
			list, reasons = append(list, r), append(reasons, err)
		}
	}
	return list, reasons
}

// checkRecognized rejects a template with types that have no provider. The error names each type once.
func (e *environment) checkRecognized(dialect Dialect, t *template.Template) error {
	var types, texts []string
	list, reasons := e.unrecognized(dialect, t)
	for i, r := range list {
		if !slices.Contains(types, r.Type) {
			types = append(types, r.Type)
			texts = append(texts, fmt.Sprintf("%s at line %d, column %d: %v", r.LogicalID, r.Line, r.Column, reasons[i]))
		}
	}
	if types == nil {
		return nil
	}
	text := unrecognizedText(dialect, types...)
	if e.fidelity != FidelityAWS {
		text += ": " + strings.Join(texts, "; ") + ". This version runs " + e.runs(dialect) + "."
	}
	return invalid(text)
}

// unrecognizedText rejects types in the words of the dialect's service. Source for ROS: messages quoted in public
// repositories.
func unrecognizedText(dialect Dialect, types ...string) string {
	if dialect == ROS {
		return "Unknown resource Type : " + strings.Join(types, ", ")
	}
	return "Template format error: Unrecognized resource types: [" + strings.Join(types, ", ") + "]"
}
