package template

import (
	"errors"
	"fmt"
	"strings"
)

// The error codes of ROS templates. Source: ROS API reference, error codes.
const (
	rosCircular         = "CircularDependency"
	rosInvalidSchema    = "InvalidSchema"
	rosInvalidType      = "InvalidTemplatePropertyType"
	rosInvalidReference = "InvalidTemplateReference"
	rosInvalidSection   = "InvalidTemplateSection"
	rosInvalidVersion   = "InvalidTemplateVersion"
	rosValidationFailed = "StackValidationFailed"
	rosNotSupported     = "NotSupported"
	rosUnknownParameter = "UnknownUserParameter"
	rosMissingParameter = "UserParameterMissing"
)

// coded adds a problem with a code at a node.
func (p *problems) coded(code string, n Node, where path, format string, args ...any) {
	p.add(&Error{Message: fmt.Sprintf(format, args...), Code: code, Path: where.String(), Line: n.line, Column: n.column})
}

// codedKey adds a problem with a code at the key of a member.
func (p *problems) codedKey(code string, m Member, where path, format string, args ...any) {
	p.coded(code, Node{line: m.line, column: m.column}, where, format, args...)
}

// wrongType adds the problem that a node has the wrong type; what names the required one.
func (p *problems) wrongType(n Node, where path, what string) {
	name, section := "", where.dotted()
	if len(where) > 2 {
		name, section = where[1]+" ", where[2:].dotted()
	}
	p.coded(rosInvalidType, n, where, "The specified value type of (%s%s) is incorrect.", name, section)
	p.explain("it must be " + what)
}

// dotted returns a path in the form A.Properties.List[0], as ROS writes it.
func (p path) dotted() string {
	var b strings.Builder
	for i, key := range p {
		switch {
		case isIndex(key):
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

func isIndex(key string) bool {
	return key != "" && strings.Trim(key, "0123456789") == ""
}

// rosReference returns ROS's text for an unknown name.
func rosReference(name string, referencer path) string {
	if len(referencer) > 0 {
		referencer = referencer[1:]
	}
	return fmt.Sprintf("The specified reference %q (in %s) is incorrect.", name, referencer.dotted())
}

// asROS adds a code to every problem of a ROS template that has none, and removes CloudFormation's prefixes from the
// messages.
func asROS(err error, code string) error {
	if err == nil {
		return nil
	}
	var all Errors
	if !errors.As(err, &all) {
		return err
	}
	for _, e := range all {
		if e.Code == "" {
			e.Code = code
		}
		e.Message = rosText(e.Message)
	}
	return all
}

// rosText returns a message without CloudFormation's prefix.
func rosText(message string) string {
	for _, prefix := range []string{"Template format error: ", "Template error: ", "Template validation error: "} {
		message = strings.TrimPrefix(message, prefix)
	}
	return message
}
