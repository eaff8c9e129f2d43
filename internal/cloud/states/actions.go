package states

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/engine/asl"
	"github.com/pintle-dev/pintle/internal/store"
)

// Limits. Source: Step Functions API Reference.
const (
	maxName    = 80
	maxError   = 256
	maxCause   = 32768
	maxResults = 1000
	results    = 100 // default page size
)

// stamp is a time in the format of the protocol: seconds since 1970.
type stamp time.Time

// MarshalJSON implements [json.Marshaler].
func (s stamp) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", float64(time.Time(s).UnixMilli())/1000), nil
}

func stampOf(t time.Time) *stamp {
	if t.IsZero() {
		return nil
	}
	return new(stamp(t))
}

var (
	machineARN   = regexp.MustCompile(`^arn:aws[a-z-]*:states:([a-z0-9-]+):([0-9A-Za-z]+):stateMachine:([^:\s]{1,80})$`)
	executionARN = regexp.MustCompile(`^(arn:aws[a-z-]*:states:[a-z0-9-]+:[0-9A-Za-z]+:)execution:([^:\s]{1,80}):([^:\s]{1,80})$`)
)

// machine finds a state machine in the caller's account and region.
func (f *handler) machine(ctx context.Context, arn string) (found registry.Item[registry.Machine], err error) {
	place, err := f.caller(ctx)
	if err != nil {
		return found, err
	}
	parts := machineARN.FindStringSubmatch(arn)
	if parts == nil {
		return found, badARN(arn)
	}
	if parts[1] == place.Region && parts[2] == place.Account {
		found, err = f.Machines.Get(ctx, place, parts[3])
	} else {
		err = registry.ErrNotFound
	}
	if errors.Is(err, registry.ErrNotFound) {
		return found, refuse("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", arn)
	}
	return found, err
}

func badARN(arn string) error {
	return refuse("InvalidArn", "Invalid Arn: '%.256s'", arn)
}

// checkExecution returns an error for an ARN that cannot be an execution of the caller.
func (f *handler) checkExecution(ctx context.Context, arn string) error {
	place, err := f.caller(ctx)
	if err != nil {
		return err
	}
	parts := executionARN.FindStringSubmatch(arn)
	if parts == nil {
		return badARN(arn)
	}
	if !strings.HasSuffix(parts[1], ":"+place.Region+":"+place.Account+":") {
		return noExecution(arn)
	}
	return nil
}

// execution returns an execution of the caller.
func (f *handler) execution(ctx context.Context, arn string) (engine.MachineExecution, error) {
	if err := f.checkExecution(ctx, arn); err != nil {
		return engine.MachineExecution{}, err
	}
	x, err := f.Engine.Execution(ctx, arn)
	if errors.Is(err, store.ErrNotFound) {
		err = noExecution(arn)
	}
	return x, err
}

func noExecution(arn string) error {
	return refuse("ExecutionDoesNotExist", "Execution Does Not Exist: '%s'", arn)
}

// forbidden are the characters that an execution name must not contain, in addition to spaces and control characters.
const forbidden = "<>{}[]?*\"#%\\^|~`$&,;:/"

func checkName(name string) error {
	if n := utf8.RuneCountInString(name); n > maxName {
		return invalid("Value at 'name' failed to satisfy constraint: Member must have length less than or equal to %d", maxName)
	}
	bad := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(forbidden, r)
	}
	if strings.ContainsFunc(name, bad) {
		return refuse("InvalidName", "Invalid Name: '%s'", name)
	}
	return nil
}

type startInput struct {
	Machine string  `json:"stateMachineArn"`
	Name    string  `json:"name"`
	Input   *string `json:"input"`
}

type startOutput struct {
	ARN     string `json:"executionArn"`
	Started *stamp `json:"startDate"`
}

func (f *handler) start(ctx context.Context, in startInput) (out startOutput, err error) {
	machine, err := f.machine(ctx, in.Machine)
	if err == nil {
		err = checkName(in.Name)
	}
	if err != nil {
		return out, err
	}
	input := "{}"
	if in.Input != nil {
		input = *in.Input
	}
	switch {
	case len(input) > asl.MaxData:
		return out, invalid("Value at 'input' failed to satisfy constraint: Member must have length less than or equal to %d", asl.MaxData)
	case !json.Valid([]byte(input)):
		return out, refuse("InvalidExecutionInput", "Invalid State Machine Execution Input: 'it is not JSON'")
	}
	x, err := f.Engine.StartExecution(ctx, engine.MachineExecution{
		Machine: in.Machine, Stack: machine.Of.Stack, Definition: machine.Of.Definition, Name: in.Name, Input: json.RawMessage(input),
	})
	var bad *asl.DefinitionError
	switch {
	case errors.Is(err, engine.ErrExecutionExists):
		arn := strings.Replace(in.Machine, ":stateMachine:", ":execution:", 1) + ":" + in.Name
		return out, refuse("ExecutionAlreadyExists", "Execution Already Exists: '%s'", arn)
	case errors.Is(err, engine.ErrMachineGone):
		return out, refuse("StateMachineDeleting", "State Machine is being deleted: '%s'", in.Machine)
	case errors.As(err, &bad):
		return out, refuse("ValidationException", "Invalid State Machine Definition: '%s'", bad)
	case err != nil:
		return out, err
	}
	return startOutput{x.ARN, stampOf(x.Started)}, nil
}

type describeInput struct {
	ARN      string `json:"executionArn"`
	Included string `json:"includedData"`
}

// details reports whether the output includes the data.
type details struct {
	Included bool `json:"included"`
}

type describeOutput struct {
	ARN           string   `json:"executionArn"`
	Machine       string   `json:"stateMachineArn"`
	Name          string   `json:"name"`
	Status        string   `json:"status"`
	Started       *stamp   `json:"startDate"`
	Stopped       *stamp   `json:"stopDate,omitempty"`
	Input         string   `json:"input,omitempty"`
	InputDetails  *details `json:"inputDetails,omitempty"`
	Output        string   `json:"output,omitempty"`
	OutputDetails *details `json:"outputDetails,omitempty"`
	Error         string   `json:"error,omitempty"`
	Cause         string   `json:"cause,omitempty"`
	Redrives      *int     `json:"redriveCount"`
	Redrive       string   `json:"redriveStatus"`
	Reason        string   `json:"redriveStatusReason"`
}

func checkIncluded(text string) (all bool, err error) {
	if text != "" && text != "ALL_DATA" && text != "METADATA_ONLY" {
		return false, invalid("Value '%.32s' at 'includedData' failed to satisfy constraint: Member must satisfy enum value set: [ALL_DATA, METADATA_ONLY]", text)
	}
	return text != "METADATA_ONLY", nil
}

func (f *handler) describe(ctx context.Context, in describeInput) (out describeOutput, err error) {
	all, err := checkIncluded(in.Included)
	if err != nil {
		return out, err
	}
	x, err := f.execution(ctx, in.ARN)
	if err != nil {
		return out, err
	}
	out = describeOutput{
		ARN: x.ARN, Machine: x.Machine, Name: x.Name, Status: string(x.Status), Started: stampOf(x.Started), Stopped: stampOf(x.Stopped),
		Redrives: new(0), Redrive: "NOT_REDRIVABLE", Reason: "This version of Pintle redrives no executions.",
	}
	if !all {
		return out, nil
	}
	out.Input, out.InputDetails, out.Error, out.Cause = string(x.Input), &details{true}, x.Error, x.Cause
	if x.Output != nil {
		out.Output, out.OutputDetails = string(x.Output), &details{true}
	}
	return out, nil
}

type stopInput struct {
	ARN   string `json:"executionArn"`
	Error string `json:"error"`
	Cause string `json:"cause"`
}

type stopOutput struct {
	Stopped *stamp `json:"stopDate"`
}

func (f *handler) stop(ctx context.Context, in stopInput) (out stopOutput, err error) {
	switch {
	case utf8.RuneCountInString(in.Error) > maxError:
		return out, invalid("Value at 'error' failed to satisfy constraint: Member must have length less than or equal to %d", maxError)
	case utf8.RuneCountInString(in.Cause) > maxCause:
		return out, invalid("Value at 'cause' failed to satisfy constraint: Member must have length less than or equal to %d", maxCause)
	}
	if err := f.checkExecution(ctx, in.ARN); err != nil {
		return out, err
	}
	x, err := f.Engine.StopExecution(ctx, in.ARN, in.Error, in.Cause)
	if errors.Is(err, store.ErrNotFound) {
		return out, noExecution(in.ARN)
	}
	return stopOutput{stampOf(x.Stopped)}, err
}

// checkResults returns the page size.
func checkResults(n int) (int, error) {
	if n < 0 || n > maxResults {
		return 0, invalid("Value '%d' at 'maxResults' failed to satisfy constraint: Member must have value between 0 and %d", n, maxResults)
	}
	return cmp.Or(n, results), nil
}

func invalidToken() error { return refuse("InvalidToken", "Invalid Token: 'Invalid token'") }

type listInput struct {
	Machine string `json:"stateMachineArn"`
	Status  string `json:"statusFilter"`
	Results int    `json:"maxResults"`
	Token   string `json:"nextToken"`
}

type listOutput struct {
	Executions []listed `json:"executions"`
	Token      string   `json:"nextToken,omitempty"`
}

type listed struct {
	ARN      string `json:"executionArn"`
	Machine  string `json:"stateMachineArn"`
	Name     string `json:"name"`
	Status   string `json:"status"`
	Started  *stamp `json:"startDate"`
	Stopped  *stamp `json:"stopDate,omitempty"`
	Redrives int    `json:"redriveCount"`
}

func (f *handler) list(ctx context.Context, in listInput) (out listOutput, err error) {
	switch store.ExecutionStatus(in.Status) {
	case "", store.ExecutionRunning, store.ExecutionSucceeded, store.ExecutionFailed, store.ExecutionTimedOut, store.ExecutionAborted, "PENDING_REDRIVE":
	default:
		return out, invalid("Value '%.32s' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value set: "+
			"[RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE]", in.Status)
	}
	if in.Results, err = checkResults(in.Results); err != nil {
		return out, err
	}
	if _, err := f.machine(ctx, in.Machine); err != nil {
		return out, err
	}
	badToken := invalidToken()
	after, err := base64.RawURLEncoding.DecodeString(in.Token)
	if prefix := strings.Replace(in.Machine, ":stateMachine:", ":execution:", 1) + ":"; err != nil || in.Token != "" && !strings.HasPrefix(string(after), prefix) {
		return out, badToken
	}
	found, err := f.Engine.Executions(ctx, in.Machine, store.ExecutionStatus(in.Status), string(after), in.Results+1)
	if errors.Is(err, store.ErrNotFound) {
		return out, badToken
	} else if err != nil {
		return out, err
	}
	if len(found) > in.Results {
		found = found[:in.Results]
		out.Token = base64.RawURLEncoding.EncodeToString([]byte(found[in.Results-1].ARN))
	}
	out.Executions = make([]listed, len(found))
	for i, x := range found {
		out.Executions[i] = listed{
			ARN: x.ARN, Machine: x.Machine, Name: x.Name, Status: string(x.Status), Started: stampOf(x.Started), Stopped: stampOf(x.Stopped),
		}
	}
	return out, nil
}
