package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// unhandled is Lambda's name for every function error.
const unhandled = "Unhandled"

// ended returns the caller's result of a call: the output of the function if it produced any, and otherwise Lambda's
// message for the error.
func ended(o local.Outcome, id string, timeout int) (payload []byte, functionError string) {
	said := func(kind, text string) []byte { return errorReport(kind, "RequestId: "+id+" Error: "+text) }
	switch o.Kind {
	case local.Returned:
		return o.Result, ""
	case local.Errored, local.InitFailed:
		switch {
		case isReport(o.Result):
			return o.Result, unhandled
		case o.Type != "" || o.Kind == local.Errored:
			return errorReport(o.Type, o.Message), unhandled
		case o.ExitCode != 0 || o.Signal != "":
			return said("Runtime.ExitError", exitText(o)), unhandled
		}
		return errorReport("Runtime.InvalidEntrypoint", o.Message), unhandled
	case local.Exited, local.Crashed:
		return said("Runtime.ExitError", exitText(o)), unhandled
	case local.TimedOut:
		return said("Sandbox.Timedout", fmt.Sprintf("Task timed out after %d.00 seconds", timeout)), unhandled
	case local.Stopped, local.Waiting:
	}
	return errorReport("Runtime.Unknown", o.String()), unhandled
}

func exitText(o local.Outcome) string {
	switch {
	case o.Signal != "":
		return "Runtime exited with error: signal: " + o.Signal
	case o.ExitCode != 0:
		return fmt.Sprintf("Runtime exited with error: exit status %d", o.ExitCode)
	}
	return "Runtime exited without providing a reason"
}

// isReport reports whether a body is a JSON error report. Any other body may not be valid JSON for the caller.
func isReport(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && json.Valid(body)
}

func errorReport(kind, message string) []byte {
	text, err := json.Marshal(struct {
		Type    string `json:"errorType,omitempty"`
		Message string `json:"errorMessage"`
	}{kind, message})
	if err != nil {
		panic(err) // strings always marshal
	}
	return text
}

const maxTail = 4 << 10

// tail returns the end of a call's log, with the lines that Lambda adds.
func tail(o local.Outcome, id, version string, fn registry.Function, took time.Duration, now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "START RequestId: %s Version: %s\n", id, version)
	for _, line := range o.Log {
		b.WriteString(line + "\n")
	}
	switch o.Kind {
	case local.TimedOut:
		fmt.Fprintf(&b, "%s %s Task timed out after %d.00 seconds\n\n", now.UTC().Format("2006-01-02T15:04:05.000Z"), id, fn.Timeout)
	case local.Exited, local.Crashed:
		fmt.Fprintf(&b, "RequestId: %s Error: %s\nRuntime.ExitError\n", id, exitText(o))
	case local.Returned, local.Errored, local.InitFailed, local.Stopped, local.Waiting:
	}
	milliseconds := float64(took) / float64(time.Millisecond)
	fmt.Fprintf(&b, "END RequestId: %s\nREPORT RequestId: %s\tDuration: %.2f ms\tBilled Duration: %d ms\tMemory Size: %d MB\t\n",
		id, id, milliseconds, (took+time.Millisecond-1)/time.Millisecond, fn.Memory)
	text := b.Bytes()
	return text[max(0, len(text)-maxTail):]
}
