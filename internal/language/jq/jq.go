// Package jq runs jq scripts in bounded time and deterministically.
package jq

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Bounds of a script. Source: ours.
const (
	// maxScript is how many bytes a script may have.
	maxScript = 8 << 10
	// maxSteps is how many instructions a script may take.
	maxSteps = 1_000_000
	// maxWork is how many pieces of values its functions may look at and make.
	maxWork = 4_000_000
	// maxThrown is how many bytes a text may have that a script fails with, to be told.
	maxThrown = 1024
	// maxWhole is how many bytes a whole number of the input may have, to be exact.
	maxWhole = 1024
)

// pieceBytes is how many bytes of a text are a piece.
const pieceBytes = 16

// Result is what became of a script.
type Result struct {
	// Values are what the script returned; none if it failed.
	Values []value.Value
	// Work is how many instructions it took, and pieces of values it looked at and made; also if it failed.
	Work int
	// Exhausted says that it came to more than a script may do.
	Exhausted bool
}

// Reading returns how much work it is to read a script, in the unit of [Result].
func Reading(script string) int { return 2000 + 4*len(script) }

// Check reads a script without running it. The error reports what is wrong with it.
func Check(script string) error {
	_, err := new(work).compile(script)
	return err
}

// Run runs a script, and returns its results, or only the first. They nest no deeper than depth. The error reports what is wrong with the
// script, or how it failed, maybe with what is in the input; the result then tells its work.
func Run(script string, input value.Value, depth int, first bool) (Result, error) {
	w := &work{steps: maxSteps, pieces: maxWork}
	values, err := w.run(script, input, depth, first)
	return Result{Values: values, Work: w.done(), Exhausted: w.exhausted()}, err
}

// Functions returns the names of the functions that a script may call, sorted, each once.
func Functions() []string {
	names := []string{"empty", "error", "path", "getpath"}
	for _, n := range natives() {
		names = append(names, n.name)
	}
	for _, d := range definitions() {
		names = append(names, d.name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "_") })
	slices.Sort(names)
	return slices.Compact(names)
}

// errWork is what a function returns when there was too much to do. The script ends at its next instruction.
var errWork = errors.New("the script does too much")

// work counts what a script does. It is the context in which the script runs, which is asked before every instruction whether it is
// done.
type work struct {
	context
	steps, pieces int
	natives       map[string]*gojq.Code
}

// done returns how much was done.
func (w *work) done() int { return maxSteps - max(w.steps, 0) + maxWork - max(w.pieces, 0) }

func (w *work) exhausted() bool { return w.steps < 0 || w.pieces < 0 }

// Done returns a closed channel once there was too much to do.
func (w *work) Done() <-chan struct{} {
	if w.steps--; !w.exhausted() {
		return nil
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// Err returns an error once there was too much to do.
func (w *work) Err() error {
	if w.exhausted() {
		return errWork
	}
	return nil
}

// compile reads a script. The error reports what is wrong with it.
func (w *work) compile(script string) (*gojq.Code, error) {
	if len(script) > maxScript {
		return nil, fmt.Errorf("the script is longer than %d bytes", maxScript)
	}
	query, err := gojq.Parse(script)
	if err != nil {
		return nil, fmt.Errorf("the script is not valid jq: %w", err)
	}
	if query, err = guarded(query); err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query, w.functions()...)
	if err != nil {
		return nil, fmt.Errorf("the script is not valid jq: %s", strings.ReplaceAll(err.Error(), nativePrefix, ""))
	}
	return code, nil
}

// run returns the results of a script, or the first.
func (w *work) run(script string, input value.Value, depth int, first bool) ([]value.Value, error) {
	code, err := w.compile(script)
	if err != nil {
		return nil, err
	}
	results := []value.Value{}
	for outputs := code.RunWithContext(w, fromValue(input)); ; {
		output, ok := outputs.Next()
		if !ok {
			return results, nil
		}
		if err, failed := output.(error); failed {
			return nil, failure(err)
		}
		if w.weigh(output); w.exhausted() {
			return nil, errWork
		}
		v, ok := toValue(output, depth)
		if !ok {
			return nil, fmt.Errorf("what the script returns nests deeper than %d levels", depth)
		}
		if results = append(results, v); first {
			return results, nil
		}
	}
}

// failure returns the error with which a script ends.
func failure(err error) error {
	var thrown gojq.ValueError
	if !errors.As(err, &thrown) {
		return fmt.Errorf("the script failed: %w", err)
	}
	if text, ok := thrown.Value().(string); ok && len(text) < maxThrown {
		return fmt.Errorf("the script failed: %s", text)
	}
	return errors.New("the script failed with an error of its own")
}

// fromValue returns a value as jq has it: whole numbers exact, others as floats.
func fromValue(v value.Value) any {
	switch v.Kind() {
	case value.Null:
		return nil
	case value.Bool:
		return v.Text() == "true"
	case value.Number:
		return number(v.Text())
	case value.String:
		return v.Text()
	case value.List:
		list := make([]any, len(v.Items()))
		for i, item := range v.Items() {
			list[i] = fromValue(item)
		}
		return list
	case value.Map:
		object := make(map[string]any, len(v.Members()))
		for _, m := range v.Members() {
			object[m.Key] = fromValue(m.Value)
		}
		return object
	}
	return nil
}

func number(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if len(text) <= maxWhole {
		if n, ok := new(big.Int).SetString(text, 10); ok {
			return n
		}
	}
	f, _ := strconv.ParseFloat(text, 64) // beyond the largest it is that
	return f
}

// toValue returns what jq has as a value, false if it nests deeper than so many levels. Members are in the order of their keys, as jq
// has none.
func toValue(v any, depth int) (value.Value, bool) {
	if depth < 0 {
		return value.Value{}, false
	}
	switch v := v.(type) {
	case bool:
		return value.Boolean(v), true
	case int:
		return value.Num(strconv.Itoa(v)), true
	case *big.Int:
		return value.Num(v.String()), true
	case float64:
		return float(v), true
	case string:
		return value.Str(strings.ToValidUTF8(v, "\ufffd")), true
	case []any:
		items := make([]value.Value, len(v))
		for i, item := range v {
			var ok bool
			if items[i], ok = toValue(item, depth-1); !ok {
				return value.Value{}, false
			}
		}
		return value.Items(items...), true
	case map[string]any:
		members := make([]value.Member, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			member, ok := toValue(v[key], depth-1)
			if !ok {
				return value.Value{}, false
			}
			members = append(members, value.Member{Key: key, Value: member})
		}
		return value.Object(members...), true
	}
	return value.Value{}, true
}

// float returns a float as jq writes it: what is not a number is null, and what is infinite the largest that is finite.
func float(f float64) value.Value {
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
