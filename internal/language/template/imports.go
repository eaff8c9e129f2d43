package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	importMessage        = "Template error: the attribute in Fn::ImportValue must be a string or a function that returns a string"
	importDependsMessage = "Template error: the attribute in Fn::ImportValue must not depend on any resources, imported values, or Fn::GetAZs"
	importSecretMessage  = "Template error: the attribute in Fn::ImportValue must not be made of a NoEcho parameter: the names of exports are shown to everybody"

	stackOutputMessage        = "Template error: every Fn::GetStackOutput object requires a StackName and an OutputName, and takes a Region and a RoleArn, all of them strings"
	stackOutputDependsMessage = "Template error: the attributes in Fn::GetStackOutput must not depend on any resources, imported values, outputs of stacks, or Fn::GetAZs"
	stackOutputSecretMessage  = "Template error: the attributes in Fn::GetStackOutput must not be made of a NoEcho parameter"

	// exportDependsMessage follows the name of the output.
	exportDependsMessage = "The Name field of Export must not depend on any resources, imported values, or Fn::GetAZs."
	// maxExportName is the maximum length in bytes of an export's name. Source: CloudFormation's limit of names.
	maxExportName = 255
	// maxAsked is the maximum length in bytes of a requested name, which errors quote. Source: ours.
	maxAsked = 1024
)

// StackOutput is an output that Fn::GetStackOutput requests.
type StackOutput struct {
	// Stack is the name of the stack, Output the key of its output.
	Stack, Output string
	// Region is the stack's region, by default that of the requesting stack. RoleARN is "" if the template sets none.
	Region, RoleARN string
	// Optional says that a missing output has no value, as in ROS; otherwise it is an error.
	Optional bool
}

// Key returns the key of the output in [Outside.StackOutputs].
func (o StackOutput) Key() string {
	return strings.Join([]string{o.Region, o.Stack, o.Output, o.RoleARN}, "\n")
}

// Wanted lists the values to fetch before a template can be evaluated in a scope, each once and in order.
type Wanted struct {
	Imports      []string
	StackOutputs []StackOutput
}

// Wanted returns the imports and stack outputs that the resources and outputs in a scope request in the selected
// branches. The error is an [Error] about the first name that cannot be computed.
func (t *Template) Wanted(s *Scope) (Wanted, error) {
	var wanted Wanted
	var failure error
	e := &evaluation{scope: s}
	w := &walk{scope: s, found: func(use) {}}
	w.call = func(name string, argument Node) {
		if failure != nil {
			return
		}
		switch name {
		case "Fn::ImportValue":
			var text string
			text, failure = e.importName(argument)
			wanted.Imports = append(wanted.Imports, text)
		case "Fn::GetStackOutput":
			var output StackOutput
			if output, failure = e.wantedOutput(argument); output.Stack != "" {
				wanted.StackOutputs = append(wanted.StackOutputs, output)
			}
		}
	}
	tree := func(n Node, where ...string) error {
		if failure == nil {
			if w.node(n, false); failure != nil {
				failure = placed(failure, where)
			}
		}
		return failure
	}
	for _, r := range t.Active(s) {
		_ = tree(r.Properties, "Resources", r.LogicalID, "Properties")
		_ = tree(r.Metadata, "Resources", r.LogicalID, "Metadata")
		if err := tree(r.CreationPolicy, "Resources", r.LogicalID, "CreationPolicy"); err != nil {
			return Wanted{}, err
		}
	}
	for _, o := range t.activeOutputs(s) {
		if err := tree(o.Value, "Outputs", o.Key, "Value"); err != nil {
			return Wanted{}, err
		}
	}
	slices.Sort(wanted.Imports)
	slices.SortFunc(wanted.StackOutputs, func(a, b StackOutput) int { return cmp.Compare(a.Key(), b.Key()) })
	wanted.Imports, wanted.StackOutputs = slices.Compact(wanted.Imports), slices.Compact(wanted.StackOutputs)
	return wanted, nil
}

// fetches reports whether the result of a function comes from outside the template.
func fetches(function string) bool {
	return function == "Fn::ImportValue" || function == "Fn::GetStackOutput"
}

// dependsMessage returns the error for an argument of a fetching function that depends on a resource.
func dependsMessage(function string) string {
	if function == "Fn::ImportValue" {
		return importDependsMessage
	}
	return stackOutputDependsMessage
}

// early checks that an argument does not call a function whose value must itself be fetched or created.
func (s *shapes) early(n Node, where path, message string) {
	w := &walk{found: func(use) {}, call: func(name string, argument Node) {
		if fetches(name) || name == "Fn::GetAZs" || name == "Fn::GetAtt" {
			s.at(argument, where, "%s", message)
		}
	}}
	w.node(n, false)
}

func checkImportValue(s *shapes, argument Node, where path) {
	before := len(s.found)
	s.string(argument, where, importMessage)
	if len(s.found) == before {
		s.early(argument, where, importDependsMessage)
	}
}

func evaluateImportValue(e *evaluation, argument Node) (value.Value, error) {
	name, err := e.importName(argument)
	if err != nil {
		return value.Value{}, err
	}
	v, ok := e.scope.Outside.Imports[name]
	if !ok {
		e.missing = append(e.missing, name)
		return value.Value{}, e.fail(argument, "%s", NoExport(name))
	}
	return v, nil
}

// NoExport returns CloudFormation's error for the import of a missing export.
func NoExport(name string) string { return "No export named " + name + " found" }

func (e *evaluation) importName(argument Node) (string, error) {
	name, err := e.string(argument, importMessage)
	switch {
	case err != nil:
		return "", err
	case name.Secret():
		return "", e.fail(argument, importSecretMessage)
	case len(name.Text()) > maxAsked:
		return "", e.fail(argument, "%s of at most %d bytes", importMessage, maxAsked)
	}
	return name.Text(), nil
}

func checkGetStackOutput(s *shapes, argument Node, where path) {
	if argument.kind != value.Map || argument.Get("StackName").IsZero() || argument.Get("OutputName").IsZero() {
		s.at(argument, where, stackOutputMessage)
		return
	}
	before := len(s.found)
	for _, m := range argument.members {
		switch m.Key {
		case "StackName", "OutputName", "Region", "RoleArn":
			s.string(m.Value, where.to(m.Key), stackOutputMessage)
		default:
			s.key(m, where.to(m.Key), stackOutputMessage)
		}
	}
	if len(s.found) == before {
		s.early(argument, where, stackOutputDependsMessage)
	}
}

func evaluateGetStackOutput(e *evaluation, argument Node) (value.Value, error) {
	output, err := e.stackOutput(argument)
	if err != nil {
		return value.Value{}, err
	}
	v, ok := e.scope.Outside.StackOutputs[output.Key()]
	if !ok {
		return value.Value{}, e.fail(argument, "%s", NoStackOutput(output))
	}
	return v, nil
}

// NoStackOutput returns the error for a missing output that Fn::GetStackOutput requests. The text is ours.
func NoStackOutput(o StackOutput) string {
	return fmt.Sprintf("No output %s of a stack %s found in %s", o.Output, o.Stack, o.Region)
}

// wantedOutput returns the output that Fn::GetStackOutput requests; the zero StackOutput if it names no stack.
func (e *evaluation) wantedOutput(argument Node) (StackOutput, error) {
	if e.scope.Language == ROS {
		return e.rosStackOutput(argument)
	}
	return e.stackOutput(argument)
}

func (e *evaluation) stackOutput(argument Node) (StackOutput, error) {
	output := StackOutput{Region: e.scope.Pseudo.Region}
	for _, field := range []struct {
		name string
		text *string
	}{
		{"StackName", &output.Stack}, {"OutputName", &output.Output}, {"Region", &output.Region}, {"RoleArn", &output.RoleARN},
	} {
		n := argument.Get(field.name)
		if n.IsZero() {
			continue
		}
		v, err := e.node(n)
		switch {
		case err != nil:
			return StackOutput{}, err
		case v.IsNull(): // AWS::NoValue: the same as absent
			continue
		case v.HasSecret():
			return StackOutput{}, e.fail(n, stackOutputSecretMessage)
		case !v.IsScalar() || v.Text() == "" || len(v.Text()) > maxAsked || strings.ContainsFunc(v.Text(), unicode.IsControl):
			return StackOutput{}, e.fail(n, stackOutputMessage)
		}
		*field.text = v.Text()
	}
	if output.Stack == "" || output.Output == "" {
		return StackOutput{}, e.fail(argument, stackOutputMessage)
	}
	return output, nil
}

// exportName evaluates the name of an output's export.
func (o *DeclaredOutput) exportName(s *Scope) (string, error) {
	name, err := (&evaluation{scope: s}).output(o.ExportName)
	if err != nil {
		return "", err
	}
	problem := ""
	switch text := name.Text(); {
	case name.Secret():
		problem = "The Name field of Export must not be made of a NoEcho parameter: the names of exports are shown to everybody."
	case text == "" || len(text) > maxExportName || strings.ContainsFunc(text, unicode.IsControl):
		problem = fmt.Sprintf("The Name field of Export must have 1 to %d bytes, and no control characters.", maxExportName)
	}
	if problem == "" {
		return name.Text(), nil
	}
	return "", &Error{
		Message: "Template format error: Output " + o.Key + " is malformed. " + problem, Line: o.ExportName.line, Column: o.ExportName.column,
	}
}
