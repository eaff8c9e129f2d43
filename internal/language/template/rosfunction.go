package template

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Codes of function errors in the spelling of ROS. Source: ROS, error codes of the API.
const (
	codeInvalidValue     = "StackValidationFailed"
	codeInvalidReference = "InvalidTemplateReference"
)

// rosFunctionNamed returns a function of ROS; false for an unknown name. The families, one file each, are rostext,
// rosstring, roslist, rosmap, roslogic, rosnumber, rosjson, rostime, rosnetwork and rosoutside. Source: ROS, template
// functions.
func rosFunctionNamed(name string) (function, bool) {
	for _, family := range []func(string) (function, bool){
		rosReferenceNamed, rosTextNamed, rosListNamed, rosMapNamed, rosLogicNamed, rosNumberNamed, rosJSONNamed, rosTimeNamed,
		rosNetworkNamed, rosOutsideNamed,
	} {
		if f, ok := family(name); ok {
			return f, true
		}
	}
	return function{}, false
}

// rosAnywhere is the set of all places in a ROS template where functions may be called.
const rosAnywhere = anywhere | inRules

func rosReferenceNamed(name string) (function, bool) {
	switch name {
	case "Ref":
		return function{places: rosAnywhere, check: checkRef, evaluate: evaluateRef}, true
	case "Fn::GetAtt":
		return function{places: rosAnywhere &^ (inConditions | inRules), check: checkGetAtt, evaluate: evaluateGetAtt}, true
	}
	return function{}, false
}

// want is the required type of a function's argument.
type want uint8

const (
	// wantAny accepts everything, even no value.
	wantAny want = iota
	// wantText is a scalar.
	wantText
	// wantNumber is a number, or a text that contains one.
	wantNumber
	wantList
	wantMap
)

// String describes the required type.
func (w want) String() string {
	switch w {
	case wantAny:
		return "a value"
	case wantText:
		return "a text"
	case wantNumber:
		return "a number"
	case wantList:
		return "a list"
	case wantMap:
		return "a map"
	}
	return "nothing"
}

// fits reports whether a value of a kind, with this text if it is a scalar, has the required type.
func (w want) fits(kind value.Kind, text string) bool {
	switch w {
	case wantAny:
		return true
	case wantText:
		return kind == value.Bool || kind == value.Number || kind == value.String
	case wantNumber:
		_, ok := parseDecimal(text)
		return ok && (kind == value.Number || kind == value.String)
	case wantList:
		return kind == value.List
	case wantMap:
		return kind == value.Map
	}
	return false
}

// signature describes the calls of a ROS function that takes a list of arguments.
type signature struct {
	name string
	// usage shows a call, e.g. [delimiter, [text, …]].
	usage string
	// wants are the types of the arguments. The arguments from index least on are optional.
	wants []want
	least int
	// rest says that more arguments may follow, of the same type as the last one.
	rest bool
	// keeps says that the result contains the arguments unchanged, each with its own secrecy. Otherwise the whole
	// result is as secret as the most secret argument.
	keeps bool
}

// arguments are the values of a call's arguments.
type arguments struct {
	signature
	// at is the position of the argument in errors.
	at     Node
	values []value.Value
}

// function returns the function with a signature.
func (g signature) function(places place, apply func(e *evaluation, a arguments) (value.Value, error)) (function, bool) {
	return function{
		places: places,
		check:  g.check,
		evaluate: func(e *evaluation, argument Node) (value.Value, error) {
			a, err := g.evaluate(e, argument)
			if err != nil {
				return value.Value{}, err
			}
			v, err := apply(e, a)
			if err != nil || g.keeps {
				return v, err
			}
			return v.Tainted(a.secrecy()), nil
		},
	}, true
}

// decision returns the function with a signature whose result is a truth value.
func (g signature) decision(decide func(e *evaluation, a arguments) (bool, error)) (function, bool) {
	truth := func(e *evaluation, argument Node) (bool, error) {
		a, err := g.evaluate(e, argument)
		if err != nil {
			return false, err
		}
		return decide(e, a)
	}
	return function{places: rosAnywhere, check: g.check, truth: truth, evaluate: asValue(truth)}, true
}

// asValue returns a truth function in a form that can be used where a value is expected.
func asValue(truth func(e *evaluation, argument Node) (bool, error)) func(e *evaluation, argument Node) (value.Value, error) {
	return func(e *evaluation, argument Node) (value.Value, error) {
		holds, err := truth(e, argument)
		return value.Boolean(holds), err
	}
}

// want returns the type of the argument at an index.
func (g signature) want(i int) want { return g.wants[min(i, len(g.wants)-1)] }

// misused returns the error for an invalid call.
func (g signature) misused(format string, args ...any) string {
	return fmt.Sprintf("%s takes %s: %s.", g.name, g.usage, fmt.Sprintf(format, args...))
}

// miscounted returns the error for a call with too many or too few arguments, or "".
func (g signature) miscounted(n int) string {
	if n < g.least || n > len(g.wants) && !g.rest {
		return g.misused("here are %d arguments", n)
	}
	return ""
}

// check reports the problems of a call that its text shows. It accepts a call whose arguments are the result of another
// call.
func (g signature) check(s *shapes, argument Node, where path) {
	if _, _, call := argument.call(); call {
		s.node(argument, where)
		return
	}
	if argument.kind != value.List {
		s.at(argument, where, "%s", g.misused("here is not a list"))
		return
	}
	if wrong := g.miscounted(len(argument.items)); wrong != "" {
		s.at(argument, where, "%s", wrong)
		return
	}
	for i, item := range argument.items {
		at := where.to(strconv.Itoa(i))
		if _, _, call := item.call(); !call && !item.IsZero() && !g.want(i).fits(item.kind, item.text) {
			s.at(item, at, "%s", g.misused("argument %d is not %s", i+1, g.want(i)))
			continue
		}
		s.node(item, at)
	}
}

// evaluate returns the arguments of a call. An argument without a value is null, which reads as an empty text, list or
// map. A required number must have a value.
func (g signature) evaluate(e *evaluation, argument Node) (arguments, error) {
	values, err := e.members(argument, 2)
	if err != nil {
		return arguments{}, err
	}
	if values.Kind() != value.List {
		return arguments{}, e.fail(argument, "%s", g.misused("here is not a list"))
	}
	a := arguments{signature: g, at: argument, values: values.Items()}
	if wrong := g.miscounted(len(a.values)); wrong != "" {
		return arguments{}, e.fail(argument, "%s", wrong)
	}
	for i, v := range a.values {
		if wanted := g.want(i); !v.IsNull() && !wanted.fits(v.Kind(), v.Text()) || v.IsNull() && wanted == wantNumber && i < g.least {
			return arguments{}, a.fail(e, "argument %d is not %s", i+1, wanted)
		}
	}
	return a, nil
}

// members evaluates a list, and the lists in it down to a number of levels. An item without a value keeps its position,
// as null. Other nodes are evaluated as usual.
func (e *evaluation) members(n Node, levels int) (value.Value, error) {
	if n.kind != value.List || levels == 0 {
		return e.node(n)
	}
	list := make([]value.Value, len(n.items))
	for i, item := range n.items {
		var err error
		if list[i], err = e.members(item, levels-1); err != nil {
			return value.Value{}, err
		}
	}
	return value.Items(list...), nil
}

// fail returns an error about the arguments. The text must not contain their values.
func (a arguments) fail(e *evaluation, format string, args ...any) error {
	return e.fail(a.at, "%s", a.misused(format, args...))
}

// secrecy returns the highest secrecy of the arguments.
func (a arguments) secrecy() value.Secrecy { return value.Items(a.values...).Secrecy() }

// text returns the text of a scalar; "" for an absent one.
func (a arguments) text(i int) string {
	if i >= len(a.values) {
		return ""
	}
	return a.values[i].Text()
}

// present returns the items of a list that have a value.
func present(list value.Value) []value.Value {
	items := make([]value.Value, 0, len(list.Items()))
	for _, item := range list.Items() {
		if !item.IsNull() {
			items = append(items, item)
		}
	}
	return items
}

// rosCall is call for ROS.
func (s *shapes) rosCall(n Node, name string, argument Node, where path) {
	before := len(s.found)
	f, ok := rosFunctionNamed(name)
	switch {
	case !ok:
		s.at(n, where, "%s", unknownROSFunction(name))
	case f.places&s.in == 0:
		s.at(n, where, "%s cannot be used in %s.", name, s.in)
	default:
		f.check(s, argument, where)
	}
	for _, problem := range s.found[min(before, len(s.found)):] {
		if problem.Code == "" {
			problem.Code = codeInvalidValue
		}
	}
}

// unknownROSFunction returns the error for an unknown function, with a replacement for one that ROS does not have.
func unknownROSFunction(name string) string {
	instead := ""
	switch name {
	case "Fn::Base64":
		instead = ": use Fn::Base64Encode"
	case "Fn::ImportValue":
		instead = ": use Fn::GetStackOutput [stack, output], which needs no export"
	case "Fn::ToJsonString":
		instead = ": use Fn::Str, which makes JSON of lists and maps"
	case "Fn::Transform":
		instead = ": ROS has the section Transform"
	case "Fn::ListJoin":
		instead = ": it belongs to templates of CloudOps Orchestration Service; use a list, or Fn::ListMerge"
	case "Fn::TransformNamespace":
		instead = ": ROS writes it itself where it puts a module in a template; use the template from before, without modules"
	default:
		if alike, ok := rosFunctionAlike(name); ok {
			instead = ": write " + alike
		}
	}
	return "The function " + name + " is not supported" + instead + "."
}

// rosFunctionAlike returns a function whose name differs only in the case of its letters.
func rosFunctionAlike(name string) (string, bool) {
	for _, known := range rosFunctionNames() {
		if strings.EqualFold(known, name) {
			return known, true
		}
	}
	return "", false
}

// rosFunctionNames returns the functions of ROS, in the order of its index.
func rosFunctionNames() []string {
	return []string{
		"Ref", "Fn::GetAtt", "Fn::Base64Encode", "Fn::Base64Decode", "Fn::Str", "Fn::Indent", "Fn::FindInMap", "Fn::Join", "Fn::Sub",
		"Fn::Select", "Fn::GetAZs", "Fn::Replace", "Fn::Split", "Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not", "Fn::Index", "Fn::If",
		"Fn::Length", "Fn::ListMerge", "Fn::GetJsonValue", "Fn::MergeMapToList", "Fn::Avg", "Fn::SelectMapList", "Fn::Add",
		"Fn::Calculate", "Fn::Max", "Fn::Min", "Fn::GetStackOutput", "Fn::Jq", "Fn::FormatTime", "Fn::MarketplaceImage", "Fn::Any",
		"Fn::Contains", "Fn::EachMemberIn", "Fn::MatchPattern", "Fn::Cidr", "Fn::MemberListToMap", "Fn::MergeMap",
	}
}

// rosCall is call for ROS.
func (e *evaluation) rosCall(n Node, name string, argument Node) (value.Value, error) {
	f, ok := rosFunctionNamed(name)
	if !ok || f.evaluate == nil {
		return value.Value{}, coded(e.fail(n, "%s", unknownROSFunction(name)))
	}
	v, err := f.evaluate(e, argument)
	if err == nil {
		err = e.spend(n, extent(v))
	}
	if err != nil {
		return value.Value{}, coded(err)
	}
	return v, nil
}

// coded returns an error with the code of an invalid value, if it is an [Error] without a code.
func coded(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Code == "" {
		e.Code = codeInvalidValue
	}
	return err
}
