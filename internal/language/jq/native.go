package jq

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// context implements the methods of a context that scripts do not use.
type context struct{}

// Deadline returns none: work is counted instead of time.
func (context) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value returns nothing.
func (context) Value(any) any { return nil }

// nativePrefix begins the names of the functions that run jq's own functions and count their work.
const nativePrefix = "_native_"

// cost is the part of its arguments that a jq function reads.
type cost uint8

const (
	// wholly is all of the input and the arguments.
	wholly cost = iota
	// shallowly is the input without the contents of its items.
	shallowly
	// crossways is all of the input, once for each piece of the arguments.
	crossways
)

// native is a jq function or operator that runs unchanged after its work has been counted.
type native struct {
	name  string
	arity int
	cost  cost
	// text is its jq form, with its arguments as $a, $b and so on; "" stands for a call of its name.
	text string
}

// natives returns the functions that a script may call. Names that begin with an underscore are only for definitions.
func natives() map[string]native {
	natives := make(map[string]native)
	add := func(arity int, cost cost, names string) {
		for name := range strings.FieldsSeq(names) {
			natives[keyOf(name, arity)] = native{name: name, arity: arity, cost: cost}
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
	for _, n := range []native{
		{name: "_matches", arity: 2, text: "[match($a; $b)]"},
		{name: "_add", arity: 2, text: "$a + $b"}, {name: "_subtract", arity: 2, cost: crossways, text: "$a - $b"},
		{name: "_multiply", arity: 2, text: "$a * $b"}, {name: "_divide", arity: 2, text: "$a / $b"}, {name: "_modulo", arity: 2, text: "$a % $b"},
		{name: "_equal", arity: 2, text: "$a == $b"}, {name: "_notequal", arity: 2, text: "$a != $b"},
		{name: "_less", arity: 2, text: "$a < $b"}, {name: "_greater", arity: 2, text: "$a > $b"},
		{name: "_lesseq", arity: 2, text: "$a <= $b"}, {name: "_greatereq", arity: 2, text: "$a >= $b"},
	} {
		natives[keyOf(n.name, n.arity)] = n
	}
	return natives
}

func keyOf(name string, arity int) string { return fmt.Sprintf("%s/%d", name, arity) }

// functions returns the natives, and the guards of instructions that read more than one value.
func (w *work) functions() []gojq.CompilerOption {
	options := []gojq.CompilerOption{
		gojq.WithFunction(guardShallow, 0, 0, func(input any, _ []any) any {
			w.pieces -= breadth(input)
			return input
		}),
		gojq.WithFunction(guardScalar, 1, 1, func(_ any, arguments []any) any {
			switch arguments[0].(type) {
			case []any, map[string]any:
				return errors.New("an index is neither a text nor a number")
			}
			return arguments[0]
		}),
		gojq.WithFunction(guardPath, 1, 1, func(_ any, arguments []any) any {
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
	for _, n := range natives() {
		options = append(options, gojq.WithFunction(nativePrefix+n.name, n.arity, n.arity, func(input any, arguments []any) any {
			return w.call(n, input, arguments)
		}))
	}
	return options
}

// call runs a native.
func (w *work) call(n native, input any, arguments []any) any {
	before := w.pieces
	for _, argument := range arguments {
		w.weigh(argument)
	}
	of := before - w.pieces
	operator := n.text != "" && n.name != "_matches" // an operator ignores its input
	switch {
	case n.name == "setpath":
		if err := w.weighPath(input, arguments[0]); err != nil {
			return err
		}
	case operator && n.cost == crossways:
		w.pieces -= min(of, maxWork) * min(of, maxWork) / 4
	case operator:
	case n.cost == shallowly:
		w.pieces -= breadth(input)
	default:
		before = w.pieces
		if w.weigh(input); n.cost == crossways {
			w.pieces -= min(before-w.pieces, maxWork) * min(of, maxWork)
		}
	}
	if text, ok := input.(string); ok && (n.name == "tonumber" || n.name == "fromjson") && !readable(text) {
		return fmt.Errorf("a number has more than %d digits", maxNumber)
	}
	result, done := w.matchedByUs(n, input, arguments)
	if n.name == "_multiply" {
		w.weighRepeated(arguments[0], arguments[1])
		w.weighRepeated(arguments[1], arguments[0])
	}
	if w.exhausted() {
		return errWork
	}
	if !done {
		code, err := w.native(n)
		if err != nil {
			return err
		}
		var ok bool
		if result, ok = code.RunWithContext(w, input, arguments...).Next(); !ok {
			return errWork
		}
	}
	if _, failed := result.(error); !failed && n.name != "setpath" {
		if w.weigh(result); w.exhausted() {
			return errWork
		}
	}
	return result
}

// native returns the code of a native.
func (w *work) native(n native) (*gojq.Code, error) {
	key := keyOf(n.name, n.arity)
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

// maxBits is the maximum number of bits of a whole number.
const maxBits = 4096

// weigh counts the pieces of a value each time it is used.
func (w *work) weigh(v any) {
	if w.pieces--; w.pieces < 0 {
		return
	}
	switch v := v.(type) {
	case string:
		w.pieces -= len(v) / pieceBytes
	case *big.Int:
		if w.pieces -= v.BitLen() / 64; v.BitLen() > maxBits {
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
			w.pieces -= len(key) / pieceBytes
			if w.weigh(item); w.pieces < 0 {
				return
			}
		}
	}
}

// breadth returns the number of pieces of a value without the contents of its items.
func breadth(v any) int {
	switch v := v.(type) {
	case string:
		return 1 + len(v)/pieceBytes
	case []any:
		return 1 + len(v)
	case map[string]any:
		return 1 + len(v)
	}
	return 1
}

// weighRepeated counts a text that will be repeated.
func (w *work) weighRepeated(text, times any) {
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
	if !(n*float64(len(s)+1) < maxWork) {
		w.pieces = -1
		return
	}
	w.pieces -= int(max(n, 0)) * (1 + len(s)/pieceBytes)
}

// maxIndex is the maximum index at which a list can be set: setting it creates all items before it.
const maxIndex = 10_000

// weighPath counts the pieces that are copied to set a path in a value.
func (w *work) weighPath(v, path any) error {
	keys, ok := path.([]any)
	if !ok {
		return errors.New("a path is not a list")
	}
	for _, key := range keys {
		w.pieces -= breadth(v)
		switch key := key.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[key]
		case int:
			list, _ := v.([]any)
			if key > max(maxIndex, len(list)) {
				return fmt.Errorf("an index is larger than %d", maxIndex)
			}
			if key < 0 {
				key += len(list)
			}
			if v = nil; key >= 0 && key < len(list) {
				v = list[key]
			}
		case map[string]any: // a slice, which creates a list
		default:
			return errors.New("a path has something that is neither a text nor a whole number")
		}
	}
	return nil
}
