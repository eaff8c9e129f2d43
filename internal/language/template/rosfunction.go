package template

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Codes of the errors of functions in the spelling of ROS. Source: ROS, error codes of the API.
const (
	codeInvalidValue     = "StackValidationFailed"
	codeInvalidReference = "InvalidTemplateReference"
)

// rosFunctionNamed returns a function of the language of ROS; false for a name that is none. The families, one file each, are
// rostext, rosstring, roslist, rosmap, roslogic, rosnumber, rosjson, rostime, rosnetwork and rosoutside.
// Source: ROS, template functions.
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

// rosAnywhere is every place of a template of ROS in which functions are called.
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

// want is what an argument of a function must be.
type want uint8

const (
	// wantAny lets everything pass, also that there is no value.
	wantAny want = iota
	// wantText is a scalar.
	wantText
	// wantNumber is a number, or a text that is one.
	wantNumber
	wantList
	wantMap
)

// String says what is wanted.
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

// fits reports whether what is of a kind, and has a text if it is a scalar, is what is wanted.
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

// signature is how a function of ROS is called: with a list of arguments.
type signature struct {
	name string
	// usage shows a call, e.g. [delimiter, [text, …]].
	usage string
	// wants are what the arguments must be. Those from least on can be left out.
	wants []want
	least int
	// rest says that there may be more arguments, which are as the last one.
	rest bool
	// keeps says that the result is made of the arguments as they are, each as secret as it was. Otherwise all of it is as secret
	// as the most secret argument.
	keeps bool
}

// arguments are the values with which a function is called.
type arguments struct {
	signature
	// at is where the argument stands, for errors.
	at     Node
	values []value.Value
}

// function returns the function of a signature.
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

// decision returns the function of a signature whose result is a truth value.
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

// asValue returns what a function whose result is a truth value is where a value belongs.
func asValue(truth func(e *evaluation, argument Node) (bool, error)) func(e *evaluation, argument Node) (value.Value, error) {
	return func(e *evaluation, argument Node) (value.Value, error) {
		holds, err := truth(e, argument)
		return value.Boolean(holds), err
	}
}

// want returns what the argument with an index must be.
func (g signature) want(i int) want { return g.wants[min(i, len(g.wants)-1)] }

// misused says what is wrong with a call.
func (g signature) misused(format string, args ...any) string {
	return fmt.Sprintf("%s takes %s: %s.", g.name, g.usage, fmt.Sprintf(format, args...))
}

// miscounted says that a call has too many or too few arguments; "" if it has not.
func (g signature) miscounted(n int) string {
	if n < g.least || n > len(g.wants) && !g.rest {
		return g.misused("here are %d arguments", n)
	}
	return ""
}

// check reports what is wrong with a call as far as its text tells it. One whose arguments are another's result is let pass.
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

// evaluate returns the arguments of a call. One that has no value is null where everything passes, and else the empty text, list or
// map; a number that must be there has no such.
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

// members evaluates a list, and the lists in it, so many levels of them, so that what has no value keeps its place, as null. Other
// nodes are evaluated as they are.
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

// fail returns an error about the arguments. The text must hold none of their values.
func (a arguments) fail(e *evaluation, format string, args ...any) error {
	return e.fail(a.at, "%s", a.misused(format, args...))
}

// secrecy returns how secret the arguments are.
func (a arguments) secrecy() value.Secrecy { return value.Items(a.values...).Secrecy() }

// text returns the text of a scalar; "" for one that is not there.
func (a arguments) text(i int) string {
	if i >= len(a.values) {
		return ""
	}
	return a.values[i].Text()
}

// present returns the items of a list but those without a value.
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

// unknownROSFunction says that there is no such function, and what to use instead of one that ROS does not have.
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

// rosFunctionAlike returns a function whose name differs in the case of letters only.
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

// coded returns an error with the code of an invalid value if it is ours and has none.
func coded(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Code == "" {
		e.Code = codeInvalidValue
	}
	return err
}
