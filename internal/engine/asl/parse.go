package asl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// DefinitionError describes an invalid definition. Step Functions calls this error InvalidDefinition.
type DefinitionError struct {
	// Problems are sentences, each of which names its state. There is at least one.
	Problems []string
	// Unsupported is set if the definition may be valid for Step Functions: every problem is about a part of the
	// language that this package does not support.
	Unsupported bool
}

// Error returns all problems.
func (e *DefinitionError) Error() string { return strings.Join(e.Problems, "; ") }

// kind is the type of a state.
type kind string

const (
	kindTask    kind = "Task"
	kindChoice  kind = "Choice"
	kindWait    kind = "Wait"
	kindPass    kind = "Pass"
	kindSucceed kind = "Succeed"
	kindFail    kind = "Fail"
)

// state is a parsed state.
type state struct {
	kind kind
	next string // empty: the state ends the execution

	resource, function string
	invoke             bool // called by lambda:invoke, which wraps the result
	constant           json.RawMessage
	payload            path
	timeout            time.Duration
	retry              []retrier
	catch              []catcher

	choices   []rule // of Choice
	otherwise string // Default, or empty
	wait      waitTime

	result                            json.RawMessage // of Pass
	failure                           Failure         // of Fail
	inputPath, outputPath, resultPath path
}

type errorNames []string

type retrier struct {
	errorNames
	interval time.Duration
	attempts int
	rate     float64
	most     time.Duration // 0: no bound
}

type catcher struct {
	errorNames
	next   string
	result path
}

// catches reports whether one of the names matches an error. No name matches [ErrorRuntime]. Only its own name
// matches [ErrorDataLimitExceeded].
func (e errorNames) catches(name string) bool {
	switch {
	case name == ErrorRuntime:
		return false
	case slices.Contains(e, name):
		return true
	case name == ErrorDataLimitExceeded:
		return false
	}
	return slices.Contains(e, ErrorAll) || slices.Contains(e, ErrorTaskFailed) && name != ErrorTimeout
}

// pause returns the pause before the next try, after the given number of retries by this retrier.
func (r *retrier) pause(tries int) time.Duration {
	most := cmp.Or(r.most, longest*time.Second)
	if pause := float64(r.interval) * math.Pow(r.rate, float64(tries)); pause < float64(most) {
		return time.Duration(pause).Truncate(time.Millisecond)
	}
	return most
}

// definition, declared, retrying, catching and parameters are the written form of a definition. Any other field is an
// error.
type definition struct {
	Comment        string
	Version        string
	QueryLanguage  string
	StartAt        string
	TimeoutSeconds *float64
	States         map[string]json.RawMessage
}

type declared struct {
	Type, Comment, Resource, Next, Error, Cause, QueryLanguage string
	End                                                        bool
	TimeoutSeconds                                             *float64
	InputPath, OutputPath, ResultPath, Parameters, Result      json.RawMessage
	Retry                                                      []retrying
	Catch                                                      []catching
	Choices                                                    []json.RawMessage
	Default                                                    string
	Seconds                                                    *float64
	Timestamp                                                  *string
	SecondsPath, TimestampPath                                 json.RawMessage
}

type retrying struct {
	ErrorEquals                                   []string
	IntervalSeconds, MaxAttempts, MaxDelaySeconds *float64
	BackoffRate                                   *float64
	JitterStrategy, Comment                       string
}

type catching struct {
	ErrorEquals   []string
	Next, Comment string
	ResultPath    json.RawMessage
}

// fields are the fields that states of a kind may have in addition to Type, Comment and QueryLanguage.
var fields = map[kind][]string{
	kindTask:    {"Resource", "Next", "End", "TimeoutSeconds", "InputPath", "OutputPath", "ResultPath", "Parameters", "Retry", "Catch"},
	kindChoice:  {"Choices", "Default", "InputPath", "OutputPath"},
	kindWait:    {"Next", "End", "Seconds", "SecondsPath", "Timestamp", "TimestampPath", "InputPath", "OutputPath"},
	kindPass:    {"Next", "End", "InputPath", "OutputPath", "ResultPath", "Result"},
	kindSucceed: {"InputPath", "OutputPath"},
	kindFail:    {"Error", "Cause"},
}

// Parse reads and checks a definition. Its error is a [DefinitionError] with every problem.
func Parse(text string) (*Machine, error) {
	p := &parser{}
	if m := p.parse(text); len(p.problems) == 0 {
		return m, nil
	}
	return nil, &DefinitionError{p.problems, p.unsupported == len(p.problems)}
}

// languageFields are fields that the language defines and this package does not support.
var languageFields = []string{
	"Arguments", "Assign", "CausePath", "Credentials", "ErrorPath", "HeartbeatSeconds", "HeartbeatSecondsPath", "Output", "Parameters",
	"ProcessorConfig", "ResultSelector", "TimeoutSecondsPath",
}

type parser struct {
	problems    []string
	unsupported int // number of the problems
}

// lacks reports a part of the language that this package does not support.
func (p *parser) lacks(where, format string, args ...any) {
	p.unsupported++
	p.wrong(where, format, args...)
}

// reporter returns the function that reports an unreadable path. A path that begins with "$" may be valid for Step
// Functions.
func (p *parser) reporter(path json.RawMessage) func(where, format string, args ...any) {
	if bytes.HasPrefix(path, []byte(`"$`)) {
		return p.lacks
	}
	return p.wrong
}

// cannot reports the error of [strict].
func (p *parser) cannot(where, what string, err error) {
	if unknown, ok := errors.AsType[*fieldError](err); ok && slices.Contains(languageFields, unknown.name) {
		p.lacks(where, "%s %v", what, err)
		return
	}
	p.wrong(where, "%s %v", what, err)
}

// fieldError is an unknown field.
type fieldError struct {
	name  string
	known []string
}

// Error implements error.
func (e *fieldError) Error() string {
	return fmt.Sprintf("has the field %.40q, which is not supported; supported are %s", e.name, strings.Join(e.known, ", "))
}

func (p *parser) wrong(where, format string, args ...any) {
	if where != "" {
		where = "state '" + where + "': "
	}
	p.problems = append(p.problems, where+fmt.Sprintf(format, args...))
}

func (p *parser) parse(text string) *Machine {
	var d definition
	switch err := strict([]byte(text), &d, "Comment", "Version", "QueryLanguage", "StartAt", "TimeoutSeconds", "States"); {
	case len(text) > MaxDefinition:
		p.wrong("", "the definition is %d bytes long, %d are allowed", len(text), MaxDefinition)
		return nil
	case err != nil:
		p.cannot("", "the definition", err)
		return nil
	case d.Version != "" && d.Version != "1.0":
		p.wrong("", "Version %.20q is not supported, 1.0 is", d.Version)
	case d.QueryLanguage != "" && d.QueryLanguage != "JSONPath":
		p.lacks("", "QueryLanguage %.20q is not supported, JSONPath is", d.QueryLanguage)
		return nil
	}
	m := &Machine{start: d.StartAt, states: make(map[string]*state, len(d.States)), timeout: p.seconds("", "TimeoutSeconds", d.TimeoutSeconds, 0, 1)}
	for _, name := range slices.Sorted(maps.Keys(d.States)) {
		if n := utf8.RuneCountInString(name); n == 0 || n > maxName {
			p.wrong("", "the name of a state has 1 to %d characters, not %d", maxName, n)
			continue
		}
		m.states[name] = p.state(name, d.States[name])
	}
	if len(p.problems) == 0 {
		p.transitions(m)
	}
	return m
}

// strict reads an object and rejects fields other than the known ones.
func strict(text json.RawMessage, into any, known ...string) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("is not JSON, from byte %d on", syntax.Offset)
		}
		return errors.New("is not a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, name) {
			return &fieldError{name, known}
		}
	}
	if err := json.Unmarshal(text, into); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return fmt.Errorf("has a %s for %s", kind.Value, kind.Field)
		}
		return errors.New("cannot be read")
	}
	return nil
}

func (p *parser) state(name string, text json.RawMessage) *state {
	var head struct{ Type, QueryLanguage string }
	if err := json.Unmarshal(text, &head); err != nil {
		p.wrong(name, "it is not an object with a Type")
		return &state{kind: kindFail}
	}
	s := &state{kind: kind(head.Type)}
	allowed, ok := fields[s.kind]
	if !ok {
		report := p.wrong
		if head.Type == "Map" || head.Type == "Parallel" {
			report = p.lacks
		}
		report(name, "Type %.40q is not supported; supported are Task, Choice, Wait, Pass, Succeed and Fail", head.Type)
		return s
	}
	var d declared
	if head.QueryLanguage != "" && head.QueryLanguage != "JSONPath" {
		p.lacks(name, "QueryLanguage %.20q is not supported, JSONPath is", head.QueryLanguage)
		return s
	}
	if err := strict(text, &d, append([]string{"Type", "Comment", "QueryLanguage"}, allowed...)...); err != nil {
		p.cannot(name, "it", err)
		return s
	}
	for _, of := range []struct {
		field string
		text  json.RawMessage
		into  *path
	}{{"InputPath", d.InputPath, &s.inputPath}, {"OutputPath", d.OutputPath, &s.outputPath}, {"ResultPath", d.ResultPath, &s.resultPath}} {
		var err error
		if *of.into, err = readPath(of.text); err != nil {
			p.reporter(of.text)(name, "%s %v", of.field, err)
		}
	}
	s.next, s.result, s.failure = d.Next, d.Result, Failure{d.Error, d.Cause}
	switch s.kind {
	case kindTask, kindPass, kindWait:
		if d.End == (d.Next != "") {
			p.wrong(name, "it needs either Next or End: true")
		}
	case kindChoice, kindSucceed, kindFail:
	}
	switch s.kind {
	case kindTask:
		p.task(name, s, &d)
	case kindChoice:
		p.choices(name, s, &d)
	case kindWait:
		p.waits(name, s, &d)
	case kindPass, kindSucceed, kindFail:
	}
	return s
}

var (
	functionARN = regexp.MustCompile(`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[A-Za-z0-9_-]{1,64}(?::[A-Za-z0-9_$-]{1,128})?$`)
	anyResource = regexp.MustCompile(`^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:(?:\d{12})?:.`)
	invokeARN   = regexp.MustCompile(`^arn:aws[a-z-]*:states:[a-z0-9-]*:(?:\d{12})?:lambda:invoke$`)
)

func (p *parser) task(name string, s *state, d *declared) {
	s.resource, s.function = d.Resource, d.Resource
	switch {
	case invokeARN.MatchString(d.Resource):
		s.invoke = true
		p.invoke(name, s, d.Parameters)
	case !functionARN.MatchString(d.Resource):
		report := p.wrong
		if anyResource.MatchString(d.Resource) {
			report = p.lacks
		}
		report(name, "Resource %.200q is not supported: a task calls a Lambda function, by its ARN or by arn:aws:states:::lambda:invoke", d.Resource)
	case d.Parameters != nil:
		p.lacks(name, "Parameters are supported with the Resource arn:aws:states:::lambda:invoke only")
	}
	s.timeout = p.seconds(name, "TimeoutSeconds", d.TimeoutSeconds, 0, 1)
	for n, r := range d.Retry {
		field := fmt.Sprintf("Retry[%d]", n)
		p.names(name, field, r.ErrorEquals, n == len(d.Retry)-1)
		if r.JitterStrategy != "" && r.JitterStrategy != "NONE" {
			p.lacks(name, "%s.JitterStrategy %.20q is not supported, NONE is", field, r.JitterStrategy)
		}
		rate := 2.0
		if r.BackoffRate != nil {
			rate = *r.BackoffRate
		}
		if rate < 1 {
			p.wrong(name, "%s.BackoffRate is %v, and must be 1 or more", field, rate)
		}
		s.retry = append(s.retry, retrier{
			errorNames: r.ErrorEquals, rate: rate, interval: p.seconds(name, field+".IntervalSeconds", r.IntervalSeconds, 1, 1),
			attempts: int(p.seconds(name, field+".MaxAttempts", r.MaxAttempts, 3, 0) / time.Second),
			most:     p.seconds(name, field+".MaxDelaySeconds", r.MaxDelaySeconds, 0, 1),
		})
	}
	for n, c := range d.Catch {
		field := fmt.Sprintf("Catch[%d]", n)
		p.names(name, field, c.ErrorEquals, n == len(d.Catch)-1)
		result, err := readPath(c.ResultPath)
		if err != nil {
			p.wrong(name, "%s.ResultPath %v", field, err)
		}
		if c.Next == "" {
			p.wrong(name, "%s needs Next", field)
		}
		s.catch = append(s.catch, catcher{c.ErrorEquals, c.Next, result})
	}
}

// invoke reads the Parameters of lambda:invoke.
func (p *parser) invoke(name string, s *state, text json.RawMessage) {
	var d struct {
		FunctionName, Qualifier, InvocationType string
		Payload                                 json.RawMessage
		Path                                    json.RawMessage `json:"Payload.$"`
	}
	if text == nil {
		p.wrong(name, "Parameters with FunctionName are required by lambda:invoke")
		return
	}
	if err := strict(text, &d, "FunctionName", "Qualifier", "InvocationType", "Payload", "Payload.$"); err != nil {
		p.wrong(name, "Parameters %v", err)
		return
	}
	switch {
	case d.FunctionName == "":
		p.wrong(name, "Parameters.FunctionName is required")
	case d.InvocationType != "" && d.InvocationType != "RequestResponse":
		p.lacks(name, "Parameters.InvocationType %.20q is not supported, RequestResponse is", d.InvocationType)
	case d.Payload != nil && d.Path != nil:
		p.wrong(name, "Parameters has both Payload and Payload.$")
	case dynamic(d.Payload):
		p.lacks(name, `Parameters.Payload has a field that ends in ".$", which is not supported: give all of it as Payload.$`)
	}
	if s.function = d.FunctionName; d.Qualifier != "" {
		s.function += ":" + d.Qualifier
	}
	s.constant = d.Payload
	if d.Payload == nil && d.Path == nil {
		s.constant = json.RawMessage("{}")
	}
	var err error
	if s.payload, err = readPath(d.Path); err != nil {
		p.wrong(name, "Parameters.Payload.$ %v", err)
	}
}

// dynamic reports whether a constant contains a field that ends in ".$", which the language would not treat as a
// constant.
func dynamic(text json.RawMessage) bool {
	var v any
	if text == nil || json.Unmarshal(text, &v) != nil {
		return false
	}
	var found func(any) bool
	found = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				if strings.HasSuffix(key, ".$") || found(inner) {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(v, found)
		}
		return false
	}
	return found(v)
}

// names checks the error names of a retrier or a catcher.
func (p *parser) names(state, field string, names []string, last bool) {
	switch {
	case len(names) == 0:
		p.wrong(state, "%s needs ErrorEquals with the names of errors", field)
	case slices.Contains(names, ErrorAll) && (len(names) > 1 || !last):
		p.wrong(state, "%s: States.ALL must stand alone, and in the last one", field)
	case slices.Contains(names, ""):
		p.wrong(state, "%s.ErrorEquals has an empty name", field)
	}
}

// seconds reads an optional whole number, usually of seconds.
func (p *parser) seconds(state, field string, given *float64, otherwise, least int) time.Duration {
	n := float64(otherwise)
	if given != nil {
		if n = *given; n != math.Trunc(n) || n < float64(least) || n > longest {
			p.wrong(state, "%s is %v, and must be a whole number from %d to %d", field, n, least, longest)
			return 0
		}
	}
	return time.Duration(n) * time.Second
}

// transitions checks that the transitions lead to existing states and that every state is reachable.
func (p *parser) transitions(m *Machine) {
	if m.states[m.start] == nil {
		p.wrong("", "StartAt %.80q is not a state", m.start)
		return
	}
	reached := map[string]bool{m.start: true}
	for queue := []string{m.start}; len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		s := m.states[name]
		to := func(field, next string) {
			switch {
			case next == "":
			case m.states[next] == nil:
				p.wrong(name, "%s leads to %.80q, which is not a state", field, next)
			case !reached[next]:
				reached[next] = true
				queue = append(queue, next)
			}
		}
		to("Next", s.next)
		for n, c := range s.catch {
			to(fmt.Sprintf("Catch[%d].Next", n), c.next)
		}
		for n, r := range s.choices {
			to(fmt.Sprintf("Choices[%d].Next", n), r.next)
		}
		to("Default", s.otherwise)
	}
	for _, name := range slices.Sorted(maps.Keys(m.states)) {
		if !reached[name] && len(p.problems) == 0 {
			p.wrong(name, "it cannot be reached from StartAt")
		}
	}
}
