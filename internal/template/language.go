package template

// Language is whose template language a template is written in.
type Language uint8

// The languages. The zero value is CloudFormation's.
const (
	// CloudFormation is the language of AWS CloudFormation.
	CloudFormation Language = iota
	// ROS is the language of Resource Orchestration Service of Alibaba Cloud, ROSTemplateFormatVersion 2015-09-01.
	ROS
)

// String returns "cloudformation" or "ros".
func (l Language) String() string {
	if l == ROS {
		return "ros"
	}
	return "cloudformation"
}

// ParseROS reads a template of ROS in JSON or YAML and checks it within limits. The error is an [Errors] with every problem that
// was found, each with its Code.
func ParseROS(body string, limits Limits) (*Template, error) {
	return parseROS(body, limits.withROSDefaults(), false)
}

// functionNamed returns a function of the language; false for a name that is none, or none yet.
func (l Language) functionNamed(name string) (function, bool) {
	switch {
	case l == ROS && name == "Condition": // a name that [plainROS] wrapped, or that was written so
		return function{places: anywhere | inRules, check: checkCondition, truth: decideCondition}, true
	case l == ROS:
		return rosFunctionNamed(name)
	}
	return functionNamed(name)
}
