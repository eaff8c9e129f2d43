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

// Limits of a script. Source: ours.
const (
	// maxScript is the maximum size of a script in bytes.
	maxScript = 8 << 10
	// maxSteps is the maximum number of instructions that a script executes.
	maxSteps = 1_000_000
	// maxWork is the maximum number of pieces of values that its functions read and create.
	maxWork = 4_000_000
	// maxThrown is the size in bytes below which the text of a script's error is reported.
	maxThrown = 1024
	// maxWhole is the maximum length in bytes of a whole number in the input that stays exact.
	maxWhole = 1024
)

// pieceBytes is the number of bytes of a text that count as one piece.
const pieceBytes = 16

// Result is the result of a script.
type Result struct {
	// Values are the results of the script; none if it failed.
	Values []value.Value
	// Work is the number of executed instructions plus the pieces of values read and created, even if the script
	// failed.
	Work int
	// Exhausted says that the script exceeded its limits.
	Exhausted bool
}

// Reading returns the work to parse a script, in the unit of [Result].
func Reading(script string) int { return 2000 + 4*len(script) }

// Check parses a script without running it. The error says why the script is invalid.
func Check(script string) error {
	_, err := new(work).compile(script)
	return err
}

// Run runs a script, and returns its results, or only the first. They nest no deeper than depth. The error says why the
// script is invalid or how it failed, and may quote the input; the result then still has the work.
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

// errWork is the result of a function after the script has exceeded its limits. The script ends at its next
// instruction.
var errWork = errors.New("the script does too much")

// work counts the work of a script. It is the context of the script, which jq checks before every instruction.
type work struct {
	context
	steps, pieces int
	natives       map[string]*gojq.Code
}

// done returns the work done.
func (w *work) done() int { return maxSteps - max(w.steps, 0) + maxWork - max(w.pieces, 0) }

func (w *work) exhausted() bool { return w.steps < 0 || w.pieces < 0 }

// Done returns a closed channel once the script has exceeded its limits.
func (w *work) Done() <-chan struct{} {
	if w.steps--; !w.exhausted() {
		return nil
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// Err returns an error once the script has exceeded its limits.
func (w *work) Err() error {
	if w.exhausted() {
		return errWork
	}
	return nil
}

// compile parses a script. The error says why it is invalid.
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
			return nil, fmt.Errorf("the result of the script is nested deeper than %d levels", depth)
		}
		if results = append(results, v); first {
			return results, nil
		}
	}
}

// failure returns the error of a failed script.
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

// fromValue converts a value to jq's form: whole numbers are exact, other numbers are floats.
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
	f, _ := strconv.ParseFloat(text, 64) // the largest float if out of range
	return f
}

// toValue converts jq's form to a value. It returns false if that nests deeper than depth. Members are sorted by key,
// because jq keeps no order.
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

// float returns a float as jq writes it: NaN is null, and infinity is the largest finite number.
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
