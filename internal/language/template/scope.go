package template

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Pseudo holds the values of the pseudo parameters: AWS::AccountId, AWS::Region and so on in CloudFormation,
// ALIYUN::AccountId and so on in ROS.
type Pseudo struct {
	AccountID string
	Region    string
	StackID   string
	StackName string
	// Partition, URLSuffix and NotificationARNs are used only in CloudFormation.
	Partition        string
	URLSuffix        string
	NotificationARNs []string
	// TenantID and ResourceGroupID are used only in ROS. There AccountID is the user who runs the operation, and
	// TenantID the user's account.
	TenantID        string
	ResourceGroupID string
}

// noValue is the pseudo parameter that removes the member or item whose value it is.
const noValue = "AWS::NoValue"

// isNoValue reports whether name is noValue or its equivalent in ROS.
func isNoValue(name string) bool { return name == noValue || name == rosNoValue }

// isPseudo reports whether name is a pseudo parameter of the language.
func (l Language) isPseudo(name string) bool {
	_, ok := Pseudo{}.value(l, name)
	return ok
}

// value returns the value of a pseudo parameter; null for AWS::NoValue, and false for an unknown name.
func (p Pseudo) value(l Language, name string) (value.Value, bool) {
	if l == ROS {
		return p.rosValue(name)
	}
	if !strings.HasPrefix(name, "AWS::") {
		return value.Value{}, false
	}
	switch name {
	case "AWS::AccountId":
		return value.Str(p.AccountID), true
	case "AWS::Region":
		return value.Str(p.Region), true
	case "AWS::Partition":
		return value.Str(p.Partition), true
	case "AWS::StackId":
		return value.Str(p.StackID), true
	case "AWS::StackName":
		return value.Str(p.StackName), true
	case "AWS::URLSuffix":
		return value.Str(p.URLSuffix), true
	case "AWS::NotificationARNs":
		return value.Strs(p.NotificationARNs...), true
	case noValue:
		return value.Value{}, true
	}
	return value.Value{}, false
}

// Scope holds everything except resources that a template is evaluated with. [Template.Bind] creates it, or [NewScope]
// from stored values. It is not changed after that.
//
// To store one, encode every parameter, and [Outside.Value], with [value.Encode]: encoding/json would write masks
// instead of secrets.
type Scope struct {
	// Parameters are the passed values. For parameters that are read from the parameter store, that is a name; the
	// value is in Outside.
	Parameters map[string]value.Value
	Conditions map[string]bool
	Pseudo     Pseudo
	// Language is the language of the template.
	Language Language
	// Outside holds the values that were fetched before the evaluation. The zero Outside is empty.
	Outside Outside
}

// NewScope returns the scope of parameters and conditions decided earlier. The maps must not be changed afterwards.
func NewScope(parameters map[string]value.Value, conditions map[string]bool, pseudo Pseudo) *Scope {
	return &Scope{Parameters: parameters, Conditions: conditions, Pseudo: pseudo}
}

// variable returns the value of a parameter or pseudo parameter; false if name is neither.
func (s *Scope) variable(name string) (value.Value, bool) {
	if v, ok := s.Outside.Parameters[name]; ok {
		return v, true
	}
	if v, ok := s.Parameters[name]; ok {
		return v, true
	}
	return s.Pseudo.value(s.Language, name)
}
