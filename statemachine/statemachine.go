// Package statemachine waits in AWS Step Functions for the operations of a provider on Lambda, so that a wait can outlast
// a function and no function runs in the meantime. It needs only the standard library.
//
//	func main() { statemachine.Main(pintle.New(databases{})) }
//
// is [pintle.Main] with such waits if the function has the environment variable PINTLE_STATE_MACHINE, the ARN of a state
// machine. Otherwise it is pintle.Main. The program prints the definition of the machine itself:
//
//	./bootstrap statemachine --function-arn arn:aws:lambda:eu-west-1:123456789012:function:databases
//
// [Definition] describes it. If an operation is in progress, the function starts an execution. The execution waits, calls
// the function, and waits again, until the request is answered. Executions are named after their requests, so a request
// that is delivered again starts no second wait.
//
// # Secrets
//
// The input of an execution contains the response URL, with which anyone can answer, the properties of the template and
// the state of the provider. Anyone with permission to read executions (states:GetExecutionHistory, DescribeExecution,
// the log of the machine) could read all of it. So the function encrypts it with AES-256-GCM, under a key that the state
// machine does not have. Readers see the name of the execution, which is a hash, how often and how long it waits, and the
// size of the encrypted data.
//
// The key is a text of 32 bytes or more. The function has it in PINTLE_STATE_KEY, in a secret of Secrets Manager
// (PINTLE_STATE_KEY_SECRET, its ARN) or in a parameter of SSM (PINTLE_STATE_KEY_PARAMETER, its name). It does not protect
// against anyone who can read the key; anyone who can read the function's environment can read PINTLE_STATE_KEY. Nor does
// it protect against anyone who can invoke the function. They can send it their own requests, and can resume an encrypted
// record that they have seen. That polls the provider again, or repeats an answer that the service already has.
//
// # Limits of Step Functions
//
// The input of an execution is limited to 256 KiB. If the compressed and encrypted data is larger, the function itself
// waits, as if there were no state machine, and logs that. A pause is a whole number of seconds, at least two: an
// execution has at most 25,000 events, and a wait of an hour with such pauses has 16,200.
package statemachine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/seal"
)

// The environment variables of [FromEnvironment].
const (
	EnvMachine      = "PINTLE_STATE_MACHINE"
	EnvKey          = "PINTLE_STATE_KEY"
	EnvKeySecret    = "PINTLE_STATE_KEY_SECRET"
	EnvKeyParameter = "PINTLE_STATE_KEY_PARAMETER"
)

// Credentials are AWS credentials. Token is empty for long-term keys. They print as ****.
type Credentials struct{ ID, Secret, Token string }

// String returns "****".
func (Credentials) String() string { return "****" }

// GoString returns "****".
func (Credentials) GoString() string { return "****" }

// LogValue returns "****".
func (Credentials) LogValue() slog.Value { return slog.StringValue("****") }

// Config configures a [Waiter].
type Config struct {
	// Machine is the ARN of a state machine of the type STANDARD with the states of [Definition]. Required.
	Machine string
	// Keys are secrets of 32 bytes or more: the first encrypts, and all of them decrypt. Required unless LoadKeys is set.
	Keys [][]byte
	// LoadKeys returns the keys. It is called when the first wait needs them, and again after an error. Calls may be on
	// different goroutines, but never at the same time.
	LoadKeys func(context.Context) ([][]byte, error)
	// Credentials returns the credentials for a call. Nil means the environment variables AWS_ACCESS_KEY_ID,
	// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, which Lambda sets. They need states:StartExecution on the machine and
	// states:DescribeExecution on its executions.
	Credentials func(context.Context) (Credentials, error)
	// Endpoint is the URL of Step Functions. Empty means the environment variable AWS_ENDPOINT_URL_SFN or
	// AWS_ENDPOINT_URL, or else the default URL of the machine's region.
	Endpoint string
	// Client makes the calls. Nil means a client with a timeout of ten seconds.
	Client *http.Client
	// Logger logs errors. Nil means text on standard error.
	Logger *slog.Logger
}

// Waiter is a [pintle.EventWaiter]. It is safe for concurrent use.
type Waiter struct {
	machine arn
	states  caller
	log     *slog.Logger
	load    func(context.Context) ([][]byte, error)

	mu  sync.Mutex
	box *seal.Box // nil until the keys are loaded
}

var _ pintle.EventWaiter = (*Waiter)(nil)

// New returns a waiter. It makes no call. The error describes an invalid configuration.
func New(c Config) (*Waiter, error) {
	machine, err := parseMachine(c.Machine)
	if err != nil {
		return nil, fmt.Errorf("state machine: %w", err)
	}
	var box *seal.Box
	if c.LoadKeys == nil || len(c.Keys) > 0 {
		if box, err = seal.New(c.Keys...); err != nil {
			return nil, fmt.Errorf("state machine: %w", err)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if c.Credentials == nil {
		c.Credentials = environmentCredentials
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: callTimeout}
	}
	w := &Waiter{machine: machine, log: c.Logger, load: c.LoadKeys, box: box}
	w.states, err = newCaller(c.Client, c.Credentials, serviceStates, machine.region, c.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("state machine: %w", err)
	}
	return w, nil
}

// keys returns the box that encrypts records. It loads the keys once.
func (w *Waiter) keys(ctx context.Context) (*seal.Box, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.box != nil {
		return w.box, nil
	}
	secrets, err := w.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("state machine: load keys: %w", err)
	}
	box, err := seal.New(secrets...)
	if err != nil {
		return nil, fmt.Errorf("state machine: load keys: %w", err)
	}
	w.box = box
	return box, nil
}

// arn is a parsed ARN of a state machine.
type arn struct{ partition, region, account, name string }

var machines = regexp.MustCompile(`^arn:(aws[a-z-]*):states:([a-z0-9-]{1,30}):([0-9]{12}):stateMachine:([^:\s]{1,80})$`)

func parseMachine(text string) (arn, error) {
	m := machines.FindStringSubmatch(text)
	if m == nil {
		return arn{}, fmt.Errorf("%.200q is not the ARN of a state machine, arn:aws:states:REGION:ACCOUNT:stateMachine:NAME", text)
	}
	return arn{m[1], m[2], m[3], m[4]}, nil
}

func (a arn) String() string {
	return strings.Join([]string{"arn", a.partition, "states", a.region, a.account, "stateMachine", a.name}, ":")
}

func (a arn) execution(name string) string {
	return strings.Join([]string{"arn", a.partition, "states", a.region, a.account, "execution", a.name, name}, ":")
}

// lives is the number of executions that a request may have in sequence. The service has been seen to repeat a failed
// operation with the same request ID, and a name stays taken for 90 days.
const lives = 10

// executionName returns the name of the execution for the nth wait of a request, from 0.
func executionName(key string, n int) string {
	if n == 0 {
		return "pintle-" + key
	}
	return fmt.Sprintf("pintle-%s-%d", key, n+1)
}

// errKey is the error for a key that cannot be part of a name.
var errKey = errors.New("state machine: the key of the request is not hexadecimal")

var requestKeys = regexp.MustCompile(`^[0-9a-f]{1,64}$`)

// Wait implements [pintle.Waiter]. The execution has started when it returns nil.
func (w *Waiter) Wait(ctx context.Context, p pintle.Pending) error {
	if !requestKeys.MatchString(p.Key) {
		return errKey
	}
	input, err := w.record(ctx, p)
	if err != nil {
		return err
	}
	for n := range lives {
		err := w.states.call(ctx, "StartExecution", startInput{w.machine.String(), executionName(p.Key, n), string(input)}, nil)
		if err == nil {
			return nil
		}
		var refused *apiError
		if !errors.As(err, &refused) || refused.kind != "ExecutionAlreadyExists" {
			return fmt.Errorf("state machine: %w", err)
		}
		status, err := w.status(ctx, p.Key, n)
		if err != nil {
			return err
		}
		if status == running {
			return nil
		}
	}
	return fmt.Errorf("state machine: the request has had %d executions", lives)
}

// Waits implements [pintle.Waiter].
func (w *Waiter) Waits(ctx context.Context, key string) (bool, error) {
	if !requestKeys.MatchString(key) {
		return false, errKey
	}
	for n := range lives {
		switch status, err := w.status(ctx, key, n); {
		case err != nil:
			return false, err
		case status == "":
			return false, nil
		case status == running:
			return true, nil
		}
	}
	return false, nil
}

// running is the status of an execution in progress.
const running = "RUNNING"

type startInput struct {
	Machine string `json:"stateMachineArn"`
	Name    string `json:"name"`
	Input   string `json:"input"`
}

// status returns the status of the nth execution of a request, or "" if it does not exist.
func (w *Waiter) status(ctx context.Context, key string, n int) (string, error) {
	var out struct{ Status string }
	err := w.states.call(ctx, "DescribeExecution", map[string]string{"executionArn": w.machine.execution(executionName(key, n))}, &out)
	var refused *apiError
	switch {
	case errors.As(err, &refused) && refused.kind == "ExecutionDoesNotExist":
		return "", nil
	case err != nil:
		return "", fmt.Errorf("state machine: %w", err)
	case out.Status == "":
		return "", errors.New("state machine: an execution has no status")
	}
	return out.Status, nil
}
