package statemachine

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// The names of the states, which appear in the history of executions.
const (
	statePause   = "Pause"
	stateAsk     = "Ask"
	stateGoOn    = "Is it done?"
	stateDone    = "Done"
	stateUseless = "Useless record"
)

// FunctionPlaceholder is the ARN of the function in a definition without one. A template replaces it with
// DefinitionSubstitutions.
const FunctionPlaceholder = "${FunctionArn}"

var functions = regexp.MustCompile(`^arn:aws[a-z-]*:lambda:[a-z0-9-]{1,30}:[0-9]{12}:function:[a-zA-Z0-9_-]{1,140}(:[a-zA-Z0-9$_-]{1,128})?$`)

// Definition returns the definition of the state machine in the Amazon States Language, as JSON with line breaks. The
// machine pauses as long as its input says, calls the function with the whole input, and uses the result as its next
// input. It ends when the result says that the request is answered. It retries a failed invocation after 5 seconds, then
// at growing intervals of up to a minute and for more than an hour: by then the service has stopped listening. An empty
// ARN leaves [FunctionPlaceholder].
//
// The machine must be of the type STANDARD. Its role needs lambda:InvokeFunction on the function. In the CDK's waiter,
// each "not yet" is a failed invocation. Here the provider sets the time of the next call, and its state may change from
// call to call. Source: Amazon States Language; Step Functions, "Call an AWS Lambda function with Step Functions".
func Definition(functionARN string) ([]byte, error) {
	switch {
	case functionARN == "":
		functionARN = FunctionPlaceholder
	case !functions.MatchString(functionARN):
		return nil, fmt.Errorf("%.200q is not the ARN of a Lambda function, arn:aws:lambda:REGION:ACCOUNT:function:NAME", functionARN)
	}
	type choice struct {
		Variable     string
		StringEquals string
		Next         string
	}
	type retry struct {
		ErrorEquals     []string
		IntervalSeconds int
		BackoffRate     float64
		MaxDelaySeconds int
		MaxAttempts     int
	}
	type state struct {
		Type           string
		SecondsPath    string   `json:",omitempty"`
		Resource       string   `json:",omitempty"`
		TimeoutSeconds int      `json:",omitempty"`
		Retry          []retry  `json:",omitempty"`
		Choices        []choice `json:",omitempty"`
		Default        string   `json:",omitempty"`
		Error          string   `json:",omitempty"`
		Cause          string   `json:",omitempty"`
		Next           string   `json:",omitempty"`
	}
	return json.MarshalIndent(struct {
		Comment string
		StartAt string
		States  map[string]state
	}{
		Comment: "Waits for an operation of a provider of custom resources. What it carries is sealed.",
		StartAt: statePause,
		States: map[string]state{
			statePause: {Type: "Wait", SecondsPath: "$.pintleWait.seconds", Next: stateAsk},
			stateAsk: {
				Type: "Task", Resource: functionARN, TimeoutSeconds: 960, // a function has 900
				Retry: []retry{{ErrorEquals: []string{"States.ALL"}, IntervalSeconds: 5, BackoffRate: 2, MaxDelaySeconds: 60, MaxAttempts: 65}},
				Next:  stateGoOn,
			},
			stateGoOn: {Type: "Choice", Choices: []choice{
				{"$.pintleWait.state", waiting, statePause},
				{"$.pintleWait.state", done, stateDone},
			}, Default: stateUseless},
			stateDone:    {Type: "Succeed"},
			stateUseless: {Type: "Fail", Error: "Pintle.UselessRecord", Cause: "The record cannot be used; the log of the function says why."},
		},
	}, "", "  ")
}
