package template

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// jqContext is the part of a context that a script has no use for.
type jqContext struct{}

// Deadline says that there is none: it is not time that is counted.
func (jqContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value returns nothing.
func (jqContext) Value(any) any { return nil }

// jqNativePrefix is what the names of functions begin with that do the work of jq's own and count it.
const jqNativePrefix = "_native_"

// jqCost is what a function of jq has to look at.
type jqCost uint8

const (
	// wholly is everything in its input and its arguments.
	wholly jqCost = iota
	// shallowly is the input without what is in its items.
	shallowly
	// crossways is everything in the input, as often as there are pieces in the arguments.
	crossways
)

// jqNative is a function or an operator of jq that is run as it is, once it was counted.
type jqNative struct {
	name  string
	arity int
	cost  jqCost
	// text is how jq writes it, with its arguments as $a, $b and so on; "" is a call of its name.
	text string
}

// jqNatives returns the functions that a script may call. Those whose names begin with an underscore are for the definitions of others.
func jqNatives() map[string]jqNative {
	natives := make(map[string]jqNative)
	add := func(arity int, cost jqCost, names string) {
		for name := range strings.FieldsSeq(names) {
			natives[jqKey(name, arity)] = jqNative{name: name, arity: arity, cost: cost}
		}
	}
	add(0, shallowly, "type length utf8bytelength keys to_entries reverse first last")
	add(0, wholly, "from_entries add tonumber tostring ltrim rtrim trim explode implode ascii_downcase ascii_upcase tojson fromjson "+
		"flatten min max sort unique floor ceil round trunc fabs abs sqrt cbrt exp exp2 exp10 log log2 log10 "+
		"infinite nan isinfinite isnan isnormal isfinite todate fromdate gmtime mktime")
	add(1, shallowly, "has")
	add(1, wholly, "startswith endswith ltrimstr rtrimstr split format flatten test delpaths bsearch _min_by _max_by _sort_by _group_by _unique_by")
	add(1, crossways, "contains indices index rindex join")
	add(2, wholly, "split test pow fmin fmax fmod atan2 ldexp setpath")
	for _, n := range []jqNative{
		{name: "_matches", arity: 2, text: "[match($a; $b)]"},
		{name: "_add", arity: 2, text: "$a + $b"}, {name: "_subtract", arity: 2, cost: crossways, text: "$a - $b"},
		{name: "_multiply", arity: 2, text: "$a * $b"}, {name: "_divide", arity: 2, text: "$a / $b"}, {name: "_modulo", arity: 2, text: "$a % $b"},
		{name: "_equal", arity: 2, text: "$a == $b"}, {name: "_notequal", arity: 2, text: "$a != $b"},
		{name: "_less", arity: 2, text: "$a < $b"}, {name: "_greater", arity: 2, text: "$a > $b"},
		{name: "_lesseq", arity: 2, text: "$a <= $b"}, {name: "_greatereq", arity: 2, text: "$a >= $b"},
	} {
		natives[jqKey(n.name, n.arity)] = n
	}
	return natives
}

func jqKey(name string, arity int) string { return fmt.Sprintf("%s/%d", name, arity) }

// functions returns the natives, and what guards the instructions that look at more than one value.
func (w *jqWork) functions() []gojq.CompilerOption {
	options := []gojq.CompilerOption{
		gojq.WithFunction(jqShallow, 0, 0, func(input any, _ []any) any {
			w.pieces -= breadth(input)
			return input
		}),
		gojq.WithFunction(jqScalar, 1, 1, func(_ any, arguments []any) any {
			switch arguments[0].(type) {
			case []any, map[string]any:
				return errors.New("an index is neither a text nor a number")
			}
			return arguments[0]
		}),
		gojq.WithFunction(jqPath, 1, 1, func(_ any, arguments []any) any {
			w.pieces -= breadth(arguments[0])
			path, _ := arguments[0].([]any)
			for _, key := range path {
				if _, list := key.([]any); list {
					return errors.New("a path has a list in it")
				}
			}
			return arguments[0]
		}),
	}
	for _, n := range jqNatives() {
		options = append(options, gojq.WithFunction(jqNativePrefix+n.name, n.arity, n.arity, func(input any, arguments []any) any {
			return w.call(n, input, arguments)
		}))
	}
	return options
}

// call runs a native.
func (w *jqWork) call(n jqNative, input any, arguments []any) any {
	before := w.pieces
	for _, argument := range arguments {
		w.weigh(argument)
	}
	of := before - w.pieces
	operator := n.text != "" && n.name != "_matches" // whose input is not looked at
	switch {
	case n.name == "setpath":
		if err := w.weighPath(input, arguments[0]); err != nil {
			return err
		}
	case operator && n.cost == crossways:
		w.pieces -= min(of, maxJqWork) * min(of, maxJqWork) / 4
	case operator:
	case n.cost == shallowly:
		w.pieces -= breadth(input)
	default:
		before = w.pieces
		if w.weigh(input); n.cost == crossways {
			w.pieces -= min(before-w.pieces, maxJqWork) * min(of, maxJqWork)
		}
	}
	if text, ok := input.(string); ok && (n.name == "tonumber" || n.name == "fromjson") && !readable(text) {
		return fmt.Errorf("a number has more than %d digits", maxJqNumber)
	}
	result, done := w.matchedByUs(n, input, arguments)
	if n.name == "_multiply" {
		w.weighRepeated(arguments[0], arguments[1])
		w.weighRepeated(arguments[1], arguments[0])
	}
	if w.exhausted() {
		return errJqWork
	}
	if !done {
		code, err := w.native(n)
		if err != nil {
			return err
		}
		var ok bool
		if result, ok = code.RunWithContext(w, input, arguments...).Next(); !ok {
			return errJqWork
		}
	}
	if _, failed := result.(error); !failed && n.name != "setpath" {
		if w.weigh(result); w.exhausted() {
			return errJqWork
		}
	}
	return result
}

// native returns the code of a native.
func (w *jqWork) native(n jqNative) (*gojq.Code, error) {
	key := jqKey(n.name, n.arity)
	if code, ok := w.natives[key]; ok {
		return code, nil
	}
	variables := []string{"$a", "$b"}[:n.arity]
	text := n.text
	if text == "" {
		text = n.name
		if n.arity > 0 {
			text += "(" + strings.Join(variables, "; ") + ")"
		}
	}
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query, gojq.WithVariables(variables))
	if err != nil {
		return nil, err
	}
	if w.natives == nil {
		w.natives = make(map[string]*gojq.Code)
	}
	w.natives[key] = code
	return code, nil
}

// maxJqBits is how many bits a whole number may have.
const maxJqBits = 4096

// weigh counts the pieces of a value, each time it is met.
func (w *jqWork) weigh(v any) {
	if w.pieces--; w.pieces < 0 {
		return
	}
	switch v := v.(type) {
	case string:
		w.pieces -= len(v) / nodeBytes
	case *big.Int:
		if w.pieces -= v.BitLen() / 64; v.BitLen() > maxJqBits {
			w.pieces = -1
		}
	case []any:
		for _, item := range v {
			if w.weigh(item); w.pieces < 0 {
				return
			}
		}
	case map[string]any:
		for key, item := range v {
			w.pieces -= len(key) / nodeBytes
			if w.weigh(item); w.pieces < 0 {
				return
			}
		}
	}
}

// breadth is how many pieces a value has without what is in them.
func breadth(v any) int {
	switch v := v.(type) {
	case string:
		return 1 + len(v)/nodeBytes
	case []any:
		return 1 + len(v)
	case map[string]any:
		return 1 + len(v)
	}
	return 1
}

// weighRepeated counts a text that is to be repeated.
func (w *jqWork) weighRepeated(text, times any) {
	s, ok := text.(string)
	if !ok {
		return
	}
	n := 1.0
	switch times := times.(type) {
	case int:
		n = float64(times)
	case float64:
		n = times
	case *big.Int:
		n, _ = times.Float64()
	}
	if !(n*float64(len(s)+1) < maxJqWork) {
		w.pieces = -1
		return
	}
	w.pieces -= int(max(n, 0)) * (1 + len(s)/nodeBytes)
}

// maxJqIndex is where a list may be set at most: what is before comes into being with it.
const maxJqIndex = 10_000

// weighPath counts what is copied when something is put at a path in a value.
func (w *jqWork) weighPath(v, path any) error {
	keys, ok := path.([]any)
	if !ok {
		return errors.New("a path is no list")
	}
	for _, key := range keys {
		w.pieces -= breadth(v)
		switch key := key.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[key]
		case int:
			list, _ := v.([]any)
			if key > max(maxJqIndex, len(list)) {
				return fmt.Errorf("an index is larger than %d", maxJqIndex)
			}
			if key < 0 {
				key += len(list)
			}
			if v = nil; key >= 0 && key < len(list) {
				v = list[key]
			}
		case map[string]any: // a slice, of which a list is made
		default:
			return errors.New("a path has something that is neither a text nor a whole number")
		}
	}
	return nil
}
