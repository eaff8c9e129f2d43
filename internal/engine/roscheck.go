package engine

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// rosProblems returns the known problems with the properties of custom resources in a ROS template.
func (e *environment) rosProblems(p *template.Partial) template.Errors {
	var list template.Errors
	for _, r := range p.Resources() {
		if ROS.checkType(r.Type) != nil {
			continue
		}
		literal, computed, known, err := p.Look(r.Properties)
		if err != nil || !known || literal.IsZero() && !computed.IsNull() {
			continue // the result of a function is checked when the operation reaches the resource
		}
		add := func(n template.Node, property, text string) {
			e := &template.Error{
				Message: text, Path: "/Resources/" + r.LogicalID + "/Properties/" + property, Line: n.Line(), Column: n.Column(),
				Code: string(ROS.refusals().code),
			}
			if n.IsZero() {
				e.Path, e.Line, e.Column = "/Resources/"+r.LogicalID, r.Line, r.Column
			}
			list = append(list, e)
		}
		if literal.Get(rosToken).IsZero() {
			add(template.Node{}, rosToken, rosNoToken)
		}
		for _, m := range literal.Members() {
			v, known := settledValue(p, m.Value)
			if !known || v.IsNull() && m.Key != rosToken {
				v = value.Value{}
			}
			if text := e.rosProblem(m.Key, v); text != "" {
				add(m.Value, m.Key, text)
			}
		}
	}
	return list
}

// rosProblem describes the problem with a property of a custom resource. The value is null if it is unknown or not
// set.
func (e *environment) rosProblem(property string, v value.Value) string {
	var err error
	switch property {
	case rosToken:
		if v.IsNull() {
			return ""
		}
		if text := rosTokenProblem(v); text != "" {
			return text
		}
		return e.rosTokenForm(wire.ServiceToken(v.Text()))
	case rosTimeout:
		if !v.IsNull() {
			_, err = rosTime(v)
		}
	case rosParameters:
		if !v.IsNull() && v.Kind() != value.Map {
			return "Parameters must be a map, not " + v.Kind().String()
		}
	case rosHTTPConfig:
		_, err = httpConfig(v)
	default:
		return rosNoProperty(property)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// rosTokenForm explains why a text is not a ROS service token, "" if it may be one. A local provider may have any
// name.
func (e *environment) rosTokenForm(token wire.ServiceToken) string {
	if e.serves != nil && e.serves(token) {
		return ""
	}
	parsed, err := wire.ParseToken(token)
	if err != nil {
		return err.Error()
	}
	switch parsed.Service {
	case wire.HTTP:
		return "a service token that is a URL begins with web: or web[sync]:, as in web:https://example.com/hook"
	case wire.Lambda, wire.SNS:
		return "the service token is an ARN of AWS, which ROS does not call: write web:URL, or the ARN of a function, queue or topic of " +
			"Alibaba Cloud, as in acs:fc:REGION:ACCOUNT:functions/NAME"
	case wire.FC, wire.Queue, wire.Topic, wire.Web, wire.Other:
	}
	return ""
}

// rosRefused returns the error for a template with problems: the code of the first, and all problems with their
// places.
func (e *environment) rosRefused(found template.Errors) error {
	if found == nil {
		return nil
	}
	var sentences []string
	for _, problem := range found {
		sentences = append(sentences, rosPlace(problem)+": "+problem.Message)
	}
	return &Error{ROS.refusals().code, strings.Join(sentences, "; ")}
}

// rosPlace returns the place of a problem in the notation of ROS: resources.A.
func rosPlace(e *template.Error) string {
	section, rest, _ := strings.Cut(strings.TrimPrefix(e.Path, "/"), "/")
	name, _, _ := strings.Cut(rest, "/")
	return strings.ToLower(section) + "." + name
}

// checkROS parses a ROS template and rejects problems that do not depend on parameters.
func (c Checker) checkROS(text string) (*template.Template, error) {
	t, err := c.env.parse(ROS, text)
	if err != nil || !c.env.upfront {
		return t, err
	}
	open := []string{"ALIYUN::StackId", "ALIYUN::StackName", "ALIYUN::Region", "ALIYUN::AccountId", "ALIYUN::TenantId"}
	p, err := t.BindPartly(nil, open, template.Pseudo{})
	if err != nil {
		return nil, refused(ROS, err)
	}
	return t, c.env.rosRefused(append(p.Problems(), c.env.rosProblems(p)...))
}
