package template

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/pintle-dev/pintle/internal/value"
)

// Bounds of Fn::Jq: what one script may do is counted, so that it ends, and ends the same each time. Source: ours.
const (
	// maxJqScript is how many bytes a script may have.
	maxJqScript = 8 << 10
	// maxJqSteps is how many instructions a script may take.
	maxJqSteps = 1_000_000
	// maxJqWork is how many pieces of values its functions may look at and make.
	maxJqWork = 4_000_000
)

// jq returns Fn::Jq: what a script of jq makes of a value, the first result or all of them. All of it is as secret as what it is made of.
func jq() (function, bool) {
	g := signature{name: "Fn::Jq", usage: "[First or All, script, JSON]", wants: []want{wantText, wantText, wantAny}, least: 3}
	f, ok := g.function(rosAnywhere, func(e *evaluation, a arguments) (value.Value, error) {
		if method := a.text(0); method != "First" && method != "All" {
			return value.Value{}, a.fail(e, "argument 1 is neither First nor All")
		}
		input, err := a.fromJSON(e, 2)
		if err != nil {
			return value.Value{}, err
		}
		work := &jqWork{steps: maxJqSteps, pieces: maxJqWork}
		if err := e.spend(a.at, extent(input)+jqReading(a.text(1))); err != nil {
			return value.Value{}, err
		}
		results, err := work.run(a.text(1), input, a.text(0) == "First")
		if err := e.spend(a.at, work.done()); err != nil {
			return value.Value{}, err
		}
		switch {
		case work.exhausted():
			return value.Value{}, a.fail(e, "the script does too much")
		case err != nil && a.secrecy() != value.Open:
			return value.Value{}, a.fail(e, "the script failed")
		case err != nil:
			return value.Value{}, a.fail(e, "%v", err)
		case a.secrecy() != value.Open && !a.keysShown(input, results):
			return value.Value{}, a.fail(e, "a key in the result would be made of a secret, and everyone may read it")
		case a.text(0) == "All":
			return value.Items(results...), nil
		case len(results) == 0:
			return value.Value{}, nil
		}
		return results[0], nil
	})
	check := f.check
	f.check = func(s *shapes, argument Node, where path) {
		before := len(s.found)
		if check(s, argument, where); len(s.found) > before || argument.kind != value.List {
			return
		}
		if method := argument.items[0]; method.isScalar() && method.text != "First" && method.text != "All" {
			s.at(method, where.to("0"), "%s", g.misused("argument 1 is neither First nor All"))
		}
		if script := argument.items[1]; script.isScalar() && !s.linked && s.try(jqReading(script.text)) {
			if _, err := new(jqWork).compile(script.text); err != nil {
				s.at(script, where.to("1"), "%s", g.misused("%v", err))
			}
		}
	}
	return f, ok
}

// jqReading is how much work it is to read a script.
func jqReading(script string) int { return 2000 + 4*len(script) }

// keysShown reports whether all keys in the results may be read by everyone: those of the input, its texts that are not secret, and
// what stands in the script.
func (a arguments) keysShown(input value.Value, results []value.Value) bool {
	script := ""
	if !a.values[1].Secret() {
		script = a.text(1)
	}
	shown := make(map[string]bool)
	var gather func(v value.Value)
	gather = func(v value.Value) {
		if v.Kind() == value.String && !v.Secret() {
			shown[v.Text()] = true
		}
		for _, item := range v.Items() {
			gather(item)
		}
		for _, m := range v.Members() {
			shown[m.Key] = true
			gather(m.Value)
		}
	}
	gather(input)
	var all func(v value.Value) bool
	all = func(v value.Value) bool {
		for _, item := range v.Items() {
			if !all(item) {
				return false
			}
		}
		for _, m := range v.Members() {
			if !shown[m.Key] && !strings.Contains(script, m.Key) || !all(m.Value) {
				return false
			}
		}
		return true
	}
	return !slices.ContainsFunc(results, func(v value.Value) bool { return !all(v) })
}

// errJqWork is what a function returns when there was too much to do. The script ends at its next instruction.
var errJqWork = errors.New("the script does too much")

// jqWork counts what a script does. It is the context in which the script runs, which is asked before every instruction whether it is
// done.
type jqWork struct {
	jqContext
	steps, pieces int
	natives       map[string]*gojq.Code
}

// done returns how much was done.
func (w *jqWork) done() int { return maxJqSteps - max(w.steps, 0) + maxJqWork - max(w.pieces, 0) }

func (w *jqWork) exhausted() bool { return w.steps < 0 || w.pieces < 0 }

// Done returns a closed channel once there was too much to do.
func (w *jqWork) Done() <-chan struct{} {
	if w.steps--; !w.exhausted() {
		return nil
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// Err returns an error once there was too much to do.
func (w *jqWork) Err() error {
	if w.exhausted() {
		return errJqWork
	}
	return nil
}

// compile reads a script. The error tells what is wrong with it.
func (w *jqWork) compile(script string) (*gojq.Code, error) {
	if len(script) > maxJqScript {
		return nil, fmt.Errorf("the script is longer than %d bytes", maxJqScript)
	}
	query, err := gojq.Parse(script)
	if err != nil {
		return nil, fmt.Errorf("the script is no jq: %w", err)
	}
	if query, err = guarded(query); err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query, w.functions()...)
	if err != nil {
		return nil, fmt.Errorf("the script is no jq: %s", strings.ReplaceAll(err.Error(), jqNativePrefix, ""))
	}
	return code, nil
}

// run returns the results of a script, or the first.
func (w *jqWork) run(script string, input value.Value, first bool) ([]value.Value, error) {
	code, err := w.compile(script)
	if err != nil {
		return nil, err
	}
	results := []value.Value{}
	for outputs := code.RunWithContext(w, toJq(input)); ; {
		output, ok := outputs.Next()
		if !ok {
			return results, nil
		}
		if err, failed := output.(error); failed {
			return nil, jqFailure(err)
		}
		if w.weigh(output); w.exhausted() {
			return nil, errJqWork
		}
		v, err := fromJq(output, MaxDepth)
		if err != nil {
			return nil, err
		}
		if results = append(results, v); first {
			return results, nil
		}
	}
}

// jqFailure returns the error with which a script ends.
func jqFailure(err error) error {
	var thrown gojq.ValueError
	if !errors.As(err, &thrown) {
		return fmt.Errorf("the script failed: %w", err)
	}
	if text, ok := thrown.Value().(string); ok && len(text) < maxAsked {
		return fmt.Errorf("the script failed: %s", text)
	}
	return errors.New("the script failed with an error of its own")
}

// toJq returns a value as jq has it: whole numbers exact, others as floats.
func toJq(v value.Value) any {
	switch v.Kind() {
	case value.Null:
		return nil
	case value.Bool:
		return v.Text() == "true"
	case value.Number:
		return jqNumber(v.Text())
	case value.String:
		return v.Text()
	case value.List:
		list := make([]any, len(v.Items()))
		for i, item := range v.Items() {
			list[i] = toJq(item)
		}
		return list
	case value.Map:
		object := make(map[string]any, len(v.Members()))
		for _, m := range v.Members() {
			object[m.Key] = toJq(m.Value)
		}
		return object
	}
	return nil
}

func jqNumber(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if d, ok := parseDecimal(text); ok && !d.float {
		return d.rat.Num()
	}
	f, _ := strconv.ParseFloat(text, 64) // beyond the largest it is that
	return f
}

// fromJq returns what jq has as a value. Members are in the order of their keys, as jq has none.
func fromJq(v any, depth int) (value.Value, error) {
	if depth < 0 {
		return value.Value{}, fmt.Errorf("what the script returns nests deeper than %d levels", MaxDepth)
	}
	switch v := v.(type) {
	case bool:
		return value.Boolean(v), nil
	case int:
		return value.Num(strconv.Itoa(v)), nil
	case *big.Int:
		return value.Num(v.String()), nil
	case float64:
		return jqFloat(v), nil
	case string:
		return value.Str(strings.ToValidUTF8(v, "\ufffd")), nil
	case []any:
		items := make([]value.Value, len(v))
		for i, item := range v {
			var err error
			if items[i], err = fromJq(item, depth-1); err != nil {
				return value.Value{}, err
			}
		}
		return value.Items(items...), nil
	case map[string]any:
		members := make(map[string]value.Value, len(v))
		for key, item := range v {
			member, err := fromJq(item, depth-1)
			if err != nil {
				return value.Value{}, err
			}
			members[key] = member
		}
		return sorted(members), nil
	}
	return value.Value{}, nil
}

// jqFloat returns a float as jq writes it: what is no number is null, and what is infinite the largest that is finite.
func jqFloat(f float64) value.Value {
	switch {
	case math.IsNaN(f):
		return value.Value{}
	case f > math.MaxFloat64:
		f = math.MaxFloat64
	case f < -math.MaxFloat64:
		f = -math.MaxFloat64
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e17 {
		return value.Num(strconv.FormatFloat(f, 'f', -1, 64))
	}
	return value.Num(strconv.FormatFloat(f, 'g', -1, 64))
}
