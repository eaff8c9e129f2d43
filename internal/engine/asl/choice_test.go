package asl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine/asl"
)

// chooses returns the definition of a Choice state that leads to Yes if a rule is true, and else to No.
func chooses(rule string) string {
	return `{"StartAt": "C", "States": {"C": {"Type": "Choice", "Choices": [{` + rule + `, "Next": "Yes"}], "Default": "No"},
		"Yes": {"Type": "Succeed"}, "No": {"Type": "Succeed"}}}`
}

func TestChoiceOperators(t *testing.T) {
	const data = `{"s": "banana", "e": "", "n": 10, "f": 10.0, "m": -2.5e1, "b": true, "x": null, "o": {"s": "banana"}, "big": 1e999,
		"t": "2026-01-31T12:00:00Z", "u": "2026-01-31T13:00:00+01:00", "v": "2026-02-01T00:00:00.5Z", "w": "*\\"}`
	tests := map[string]bool{
		`"Variable": "$.s", "StringEquals": "banana"`:                                                          true,
		`"Variable": "$.s", "StringEquals": "apple"`:                                                           false,
		`"Variable": "$.n", "StringEquals": "10"`:                                                              false,
		`"Variable": "$.x", "StringEquals": ""`:                                                                false,
		`"Variable": "$.s", "StringEqualsPath": "$.o.s"`:                                                       true,
		`"Variable": "$.s", "StringEqualsPath": "$.n"`:                                                         false,
		`"Variable": "$.s", "StringLessThan": "cherry"`:                                                        true,
		`"Variable": "$.s", "StringLessThanPath": "$.o.s"`:                                                     false,
		`"Variable": "$.s", "StringLessThanEqualsPath": "$.o.s"`:                                               true,
		`"Variable": "$.s", "StringLessThanEquals": "apple"`:                                                   false,
		`"Variable": "$.s", "StringGreaterThan": "apple"`:                                                      true,
		`"Variable": "$.s", "StringGreaterThanPath": "$.e"`:                                                    true,
		`"Variable": "$.s", "StringGreaterThanEquals": "banana"`:                                               true,
		`"Variable": "$.s", "StringGreaterThanEqualsPath": "$.s"`:                                              true,
		`"Variable": "$.s", "StringMatches": "banana"`:                                                         true,
		`"Variable": "$.s", "StringMatches": "*"`:                                                              true,
		`"Variable": "$.s", "StringMatches": "b*n*a"`:                                                          true,
		`"Variable": "$.s", "StringMatches": "ban*nana"`:                                                       false,
		`"Variable": "$.s", "StringMatches": "*nan"`:                                                           false,
		`"Variable": "$.w", "StringMatches": "\\*\\\\"`:                                                        true,
		`"Variable": "$.s", "StringMatches": "\\*"`:                                                            false,
		`"Variable": "$.n", "StringMatches": "*"`:                                                              false,
		`"Variable": "$.n", "NumericEquals": 10.00`:                                                            true,
		`"Variable": "$.n", "NumericEqualsPath": "$.f"`:                                                        true,
		`"Variable": "$.s", "NumericEquals": 0`:                                                                false,
		`"Variable": "$.m", "NumericLessThan": -24`:                                                            true,
		`"Variable": "$.m", "NumericLessThanPath": "$.n"`:                                                      true,
		`"Variable": "$.n", "NumericLessThanEquals": 9`:                                                        false,
		`"Variable": "$.n", "NumericLessThanEqualsPath": "$.f"`:                                                true,
		`"Variable": "$.big", "NumericGreaterThan": 1e300`:                                                     true,
		`"Variable": "$.n", "NumericGreaterThanPath": "$.f"`:                                                   false,
		`"Variable": "$.n", "NumericGreaterThanEquals": 10`:                                                    true,
		`"Variable": "$.n", "NumericGreaterThanEqualsPath": "$.s"`:                                             false,
		`"Variable": "$.b", "BooleanEquals": true`:                                                             true,
		`"Variable": "$.b", "BooleanEquals": false`:                                                            false,
		`"Variable": "$.b", "BooleanEqualsPath": "$.b"`:                                                        true,
		`"Variable": "$.s", "BooleanEquals": false`:                                                            false,
		`"Variable": "$.t", "TimestampEquals": "2026-01-31T12:00:00.0Z"`:                                       true,
		`"Variable": "$.t", "TimestampEqualsPath": "$.u"`:                                                      true,
		`"Variable": "$.t", "TimestampLessThan": "2026-02-01T00:00:00Z"`:                                       true,
		`"Variable": "$.t", "TimestampLessThanPath": "$.u"`:                                                    false,
		`"Variable": "$.t", "TimestampLessThanEqualsPath": "$.v"`:                                              true,
		`"Variable": "$.t", "TimestampLessThanEquals": "2026-01-01T00:00:00Z"`:                                 false,
		`"Variable": "$.v", "TimestampGreaterThan": "2026-02-01T00:00:00Z"`:                                    true,
		`"Variable": "$.v", "TimestampGreaterThanPath": "$.s"`:                                                 false,
		`"Variable": "$.v", "TimestampGreaterThanEquals": "2026-02-01T00:00:00Z"`:                              true,
		`"Variable": "$.v", "TimestampGreaterThanEqualsPath": "$.v"`:                                           true,
		`"Variable": "$.x", "IsNull": true`:                                                                    true,
		`"Variable": "$.s", "IsNull": false`:                                                                   true,
		`"Variable": "$.x", "IsPresent": true`:                                                                 true,
		`"Variable": "$.no.such", "IsPresent": true`:                                                           false,
		`"Variable": "$.no", "IsPresent": false`:                                                               true,
		`"Variable": "$.m", "IsNumeric": true`:                                                                 true,
		`"Variable": "$.s", "IsNumeric": true`:                                                                 false,
		`"Variable": "$.e", "IsString": true`:                                                                  true,
		`"Variable": "$.x", "IsString": true`:                                                                  false,
		`"Variable": "$.b", "IsBoolean": true`:                                                                 true,
		`"Variable": "$.t", "IsTimestamp": true`:                                                               true,
		`"Variable": "$.s", "IsTimestamp": true`:                                                               false,
		`"And": [{"Variable": "$.n", "IsNumeric": true}, {"Variable": "$.n", "NumericGreaterThan": 9}]`:        true,
		`"And": [{"Variable": "$.no", "IsPresent": true}, {"Variable": "$.no", "StringEquals": "x"}]`:          false,
		`"Or": [{"Variable": "$.no", "IsPresent": false}, {"Variable": "$.no", "StringEquals": "x"}]`:          true,
		`"Or": [{"Variable": "$.b", "BooleanEquals": false}, {"Variable": "$.s", "StringEquals": "x"}]`:        false,
		`"Not": {"And": [{"Variable": "$.b", "BooleanEquals": false}, {"Variable": "$.s", "IsString": true}]}`: true,
		`"Comment": "why", "Not": {"Or": [{"Variable": "$.b", "BooleanEquals": true, "Comment": "because"}]}`:  false,
	}
	seen := map[string]bool{}
	for rule, want := range tests {
		end := "No"
		if want {
			end = "Yes"
		}
		if got := walk(t, chooses(rule), data); len(got) != 1 || !strings.HasPrefix(got[0], end+" ended with") {
			t.Errorf("%s: %.80s, want %s", rule, got, end)
		}
		for _, word := range strings.Split(rule, `"`) {
			seen[word] = true
		}
	}
	for _, operator := range asl.Operators() {
		if !seen[operator] {
			t.Errorf("%s is not tested", operator)
		}
	}
}

func TestChoiceAndWait(t *testing.T) {
	wait := func(fields string) string {
		return `{"StartAt": "W", "States": {"W": {"Type": "Wait", ` + fields + `, "End": true}}}`
	}
	loop := `{"StartAt": "Pause", "States": {
		"Pause": {"Type": "Wait", "SecondsPath": "$.wait.seconds", "Next": "Ask"},
		"Ask": {"Type": "Task", "Resource": "` + f + `", "Next": "Done?"},
		"Done?": {"Type": "Choice", "Choices": [{"Variable": "$.wait.state", "StringEquals": "waiting", "Next": "Pause"},
			{"Variable": "$.wait.state", "StringEquals": "done", "Next": "Done"}], "Default": "Useless"},
		"Done": {"Type": "Succeed"}, "Useless": {"Type": "Fail", "Error": "E", "Cause": "C"}}}`
	for name, test := range map[string]struct {
		definition, input string
		outcomes, want    []string
	}{
		"a loop": {loop, `{"wait": {"seconds": 2}}`, []string{`={"wait": {"state": "waiting", "seconds": 3.0}}`, `={"wait": {"state": "done"}}`},
			[]string{"Pause waits 2s", `Ask after 0s calls F({"wait": {"seconds": 2}})`, "Pause waits 3s",
				`Ask after 0s calls F({"wait": {"state": "waiting", "seconds": 3.0}})`, `Done ended with {"wait": {"state": "done"}}`}},
		"the default": {loop, `{"wait": {"seconds": 0}}`, []string{`={"wait": {"state": "what"}}`},
			[]string{"Pause waits 0s", `Ask after 0s calls F({"wait": {"seconds": 0}})`, "Useless failed: E: C"}},
		"a variable that is missing": {loop, `{"wait": {"seconds": 0}}`, []string{`={}`}, []string{"Pause waits 0s", `Ask after 0s calls F({"wait": {"seconds": 0}})`,
			"Done? failed: States.Runtime: An error occurred while executing the state 'Done?'. Invalid path '$.wait.state': The choice state's condition path references an invalid value."}},
		"no rule matches": {`{"StartAt": "C", "States": {"C": {"Type": "Choice", "Choices": [{"Variable": "$.a", "IsNull": true, "Next": "D"}]}, "D": {"Type": "Succeed"}}}`, `{"a": 1}`, nil,
			[]string{"C failed: States.NoChoiceMatched: An error occurred while executing the state 'C'. Failed to transition out of the state. The state does not point to a next state."}},
		"paths of a choice": {`{"StartAt": "C", "States": {"C": {"Type": "Choice", "InputPath": "$.in", "OutputPath": "$.out",
			"Choices": [{"Variable": "$.a", "NumericEquals": 1, "Next": "D"}]}, "D": {"Type": "Succeed"}}}`, `{"in": {"a": 1, "out": 2.0}}`, nil, []string{"D ended with 2.0"}},
		"cycle of choices": {`{"StartAt": "C", "States": {"C": {"Type": "Choice", "Choices": [{"Variable": "$", "IsNull": true, "Next": "C"}]}}}`, `null`, nil,
			[]string{"C failed: States.Runtime: The execution went through 1000 states in a row without a task."}},
		"seconds":              {wait(`"Seconds": 5`), `1.0`, nil, []string{"W waits 5s", "W ended with 1.0"}},
		"zero seconds":         {wait(`"Seconds": 0`), `1.0`, nil, []string{"W waits 0s", "W ended with 1.0"}},
		"a timestamp":          {wait(`"Timestamp": "2026-01-31T12:00:00.5+01:00"`), `1`, nil, []string{"W waits until 2026-01-31T12:00:00.5+01:00", "W ended with 1"}},
		"a timestamp path":     {wait(`"TimestampPath": "$.at", "InputPath": "$.in", "OutputPath": "$.n"`), `{"in": {"at": "2026-01-31T12:00:00Z", "n": 1.50}}`, nil, []string{"W waits until 2026-01-31T12:00:00Z", "W ended with 1.50"}},
		"a long wait":          {wait(`"SecondsPath": "$"`), `1e30`, nil, []string{"W waits 27777h46m39s", "W ended with 1e30"}},
		"fraction of a second": {wait(`"SecondsPath": "$.s"`), `{"s": 0.5}`, nil, []string{"W failed: States.Runtime: An error occurred while executing the state 'W'. The SecondsPath parameter cannot be parsed as a long value: $.s == 0.5"}},
		"a negative wait":      {wait(`"SecondsPath": "$.s"`), `{"s": -1}`, nil, []string{"W failed: States.Runtime: An error occurred while executing the state 'W'. The SecondsPath parameter references a negative value: $.s == -1"}},
		"no seconds":           {wait(`"SecondsPath": "$.s"`), `{}`, nil, []string{"W failed: States.Runtime: An error occurred while executing the state 'W'. The SecondsPath parameter does not reference an input value: $.s"}},
		"no timestamp":         {wait(`"TimestampPath": "$.s"`), `{}`, nil, []string{"W failed: States.Runtime: An error occurred while executing the state 'W'. The TimestampPath parameter does not reference an input value: $.s"}},
		"not a timestamp":      {wait(`"TimestampPath": "$.s"`), `{"s": "soon"}`, nil, []string{"W failed: States.Runtime: An error occurred while executing the state 'W'. The Timestamp parameter does not reference a valid ISO-8601 extended offset date-time format string: $.s == \"soon\""}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, walk(t, test.definition, test.input, test.outcomes...)); diff != "" {
				t.Errorf("(-want +got):\n%.2000s", diff)
			}
		})
	}
}

func TestProblemsOfChoiceAndWait(t *testing.T) {
	choice := func(fields string) string {
		return `{"StartAt": "C", "States": {"C": {"Type": "Choice", ` + fields + `}, "D": {"Type": "Succeed"}}}`
	}
	rule := func(fields string) string {
		return choice(`"Default": "D", "Choices": [{` + fields + `, "Next": "D"}]`)
	}
	wait := func(fields string) string { return `{"StartAt": "W", "States": {"W": {"Type": "Wait"` + fields + `}}}` }
	deep := strings.Repeat(`"Not": {`, 40) + `"Variable": "$", "IsNull": true` + strings.Repeat("}", 40)
	for definition, want := range map[string]string{
		choice(`"Default": "D"`):                                                              "state 'C': Choices needs at least one rule",
		choice(`"Choices": [1], "Default": "D"`):                                              "state 'C': Choices[0] is not an object; state 'C': Choices[0] needs Next",
		choice(`"Choices": [{"Variable": "$", "IsNull": true}]`):                              "state 'C': Choices[0] needs Next",
		choice(`"Choices": [{"Variable": "$", "IsNull": true, "Next": "E"}], "Default": "D"`): `state 'C': Choices[0].Next leads to "E", which is not a state`,
		choice(`"Choices": [{"Variable": "$", "IsNull": true, "Next": "D"}], "Default": "E"`): `state 'C': Default leads to "E", which is not a state`,
		choice(`"Choices": [{"Variable": "$", "IsNull": true, "Next": "D"}], "End": true`):    `state 'C': it has the field "End", which is not supported; supported are Type, Comment, QueryLanguage, Choices, Default, InputPath, OutputPath`,
		rule(`"Variable": "$.a"`):                                                             "state 'C': Choices[0] needs exactly one operator, and has 0: ",
		rule(`"Variable": "$.a", "IsNull": true, "IsString": true`):                           "state 'C': Choices[0] needs exactly one operator, and has 2: IsNull, IsString",
		rule(`"IsNull": true`):                                                                "state 'C': Choices[0] needs Variable",
		rule(`"Variable": "a", "IsNull": true`):                                               `state 'C': Choices[0].Variable "a" is not supported: paths are $ or, of members of objects, such as $.Detail.Name`,
		rule(`"Variable": "$.a", "IsNull": 1`):                                                "state 'C': Choices[0].IsNull is not true or false",
		rule(`"Variable": "$.a", "StringEquals": 1`):                                          "state 'C': Choices[0].StringEquals is 1, which is not of its type",
		rule(`"Variable": "$.a", "NumericEquals": "1"`):                                       `state 'C': Choices[0].NumericEquals is "1", which is not of its type`,
		rule(`"Variable": "$.a", "TimestampLessThan": "2026-01-31 12:00:00Z"`):                `state 'C': Choices[0].TimestampLessThan is "2026-01-31 12:00:00Z", which is not of its type`,
		rule(`"Variable": "$.a", "NumericEqualsPath": "1"`):                                   `state 'C': Choices[0].NumericEqualsPath "1" is not supported: paths are $ or, of members of objects, such as $.Detail.Name`,
		rule(`"Variable": "$.a", "StringMatches": 1`):                                         "state 'C': Choices[0].StringMatches is not a string",
		rule(`"Variable": "$.a", "StringMatches": "\\x"`):                                     `state 'C': Choices[0].StringMatches has a backslash that no * or \ follows`,
		rule(`"And": []`): "state 'C': Choices[0].And needs a list of at least one rule",
		rule(`"Variable": "$", "Not": {"Variable": "$", "IsNull": true}`): "state 'C': Choices[0] has a Variable next to Not",
		rule(`"And": [{"Variable": "$", "IsNull": true, "Next": "D"}]`):   "state 'C': Choices[0].And[0] needs exactly one operator, and has 2: IsNull, Next",
		rule(deep): "state 'C': Choices[0]" + strings.Repeat(".Not", 32) + " is nested too deep: 32 levels are allowed",
		rule(`"Variable": "$.a", "BooleanLessThan": true`):      "state 'C': Choices[0].BooleanLessThan is not supported; supported are And, Or, Not, " + strings.Join(asl.Operators(), ", "),
		wait(`, "Seconds": 1`):                                  "state 'W': it needs either Next or End: true",
		wait(`, "End": true`):                                   "state 'W': it needs exactly one of Seconds, SecondsPath, Timestamp and TimestampPath, and has 0",
		wait(`, "End": true, "Seconds": 1, "SecondsPath": "$"`): "state 'W': it needs exactly one of Seconds, SecondsPath, Timestamp and TimestampPath, and has 2",
		wait(`, "End": true, "Seconds": -1`):                    "state 'W': Seconds is -1, and must be a whole number from 0 to 99999999",
		wait(`, "End": true, "Timestamp": "today"`):             `state 'W': Timestamp "today" is not of the form 2026-01-31T12:00:00Z`,
		wait(`, "End": true, "SecondsPath": "x"`):               `state 'W': SecondsPath "x" is not supported: paths are $ or, of members of objects, such as $.Detail.Name`,
	} {
		_, err := asl.Parse(definition)
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", definition, diff)
		}
	}
}
