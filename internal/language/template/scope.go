package template

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Pseudo is what the engine itself supplies to a template as AWS::AccountId, AWS::Region and so on, or as ALIYUN::AccountId and
// so on to one of ROS.
type Pseudo struct {
	AccountID string
	Region    string
	StackID   string
	StackName string
	// Partition, URLSuffix and NotificationARNs are those of CloudFormation.
	Partition        string
	URLSuffix        string
	NotificationARNs []string
	// TenantID and ResourceGroupID are those of ROS. AccountID is there the user who runs the operation, and TenantID the account
	// which that user is of.
	TenantID        string
	ResourceGroupID string
}

// noValue is the pseudo parameter that removes what it is the value of.
const noValue = "AWS::NoValue"

// isNoValue reports whether name is the pseudo parameter, of either language, that removes what it is the value of.
func isNoValue(name string) bool { return name == noValue || name == rosNoValue }

// isPseudo reports whether name is one of the pseudo parameters of the language.
func (l Language) isPseudo(name string) bool {
	_, ok := Pseudo{}.value(l, name)
	return ok
}

// value returns the value of a pseudo parameter; null for the one that stands for no value, false for a name that is none.
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

// Scope is everything but the resources that a template is evaluated with. It is made by [Template.Bind], or by
// [NewScope] from what was stored, and is not changed after that.
//
// To store one, encode every parameter, and [Outside.Value], with [value.Encode]: encoding/json would write masks for
// secrets.
type Scope struct {
	// Parameters are what was passed. Of those that the parameter store has that is a name; the value is in Outside.
	Parameters map[string]value.Value
	Conditions map[string]bool
	Pseudo     Pseudo
	// Language is that of the template.
	Language Language
	// Outside is what was fetched for the template before it was evaluated. The zero Outside is nothing.
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
