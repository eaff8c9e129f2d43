package local

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// Origin is the log stream where Lambda would write the log of a process. Each process has its own stream.
type Origin struct {
	Account, Region, Group, Stream string
}

// platform passes on the log of a Lambda function's process, and adds the lines that Lambda itself writes. Calls of the
// same method must not be concurrent. A platform that was not opened passes on nothing.
type platform struct {
	sink func(Origin, string)
	// opened is set when the other fields have their values. Lines of the process may be read by another goroutine.
	opened atomic.Bool
	origin Origin
	// json selects JSON for the lines of Lambda. They contain version and memory, in MB.
	json    bool
	version string
	memory  int
}

func newPlatform(sink func(Origin, string)) *platform { return &platform{sink: sink} }

// open reads the log's destination from the environment of the process before the process starts.
func (l *platform) open(config *Config, provider Provider, env map[string]string) {
	if l.sink == nil {
		return
	}
	function := Function{}
	if provider.Function != nil {
		function = *provider.Function
	}
	l.origin = Origin{
		Account: cmp.Or(function.Account, config.Account), Region: cmp.Or(function.Region, config.Region),
		Group: env["AWS_LAMBDA_LOG_GROUP_NAME"], Stream: env["AWS_LAMBDA_LOG_STREAM_NAME"],
	}
	l.json = function.LogFormat == "JSON"
	l.version = env["AWS_LAMBDA_FUNCTION_VERSION"]
	l.memory, _ = strconv.Atoi(env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]) // an invalid size is shown as zero
	l.opened.Store(l.origin.Group != "")
}

func (l *platform) print(line string) {
	if l.opened.Load() {
		l.sink(l.origin, line)
	}
}

// start writes the line at the start of an event.
func (l *platform) start(inv *invocation) {
	if !l.opened.Load() {
		return
	}
	if l.json {
		l.record(inv.begun, "platform.start", map[string]any{"requestId": inv.id, "version": l.version})
		return
	}
	l.print("START RequestId: " + inv.id + " Version: " + l.version)
}

// end writes the lines at the end of an event, after all its other lines.
func (l *platform) end(inv *invocation, o Outcome, timeout time.Duration) {
	if !l.opened.Load() {
		return
	}
	took, now := time.Since(inv.begun), time.Now()
	milliseconds := float64(took.Microseconds()) / 1000
	billed := (took + time.Millisecond - 1).Milliseconds()
	if l.json {
		status := "success"
		switch o.Kind {
		case TimedOut:
			status = "timeout"
		case Exited, Crashed, InitFailed, Errored:
			status = "error"
		case Returned, Stopped, Waiting:
		}
		l.record(now, "platform.report", map[string]any{
			"requestId": inv.id, "status": status,
			"metrics": map[string]any{"durationMs": milliseconds, "billedDurationMs": billed, "memorySizeMB": l.memory},
		})
		return
	}
	switch o.Kind {
	case TimedOut:
		l.print(fmt.Sprintf("%s %s Task timed out after %.2f seconds", now.UTC().Format(stampFormat), inv.id, timeout.Seconds()))
	case Exited, Crashed:
		l.print("RequestId: " + inv.id + " Error: " + o.Message)
	case Returned, Errored, InitFailed, Stopped, Waiting:
	}
	l.print("END RequestId: " + inv.id)
	l.print(fmt.Sprintf("REPORT RequestId: %s\tDuration: %.2f ms\tBilled Duration: %d ms\tMemory Size: %d MB\t", inv.id, milliseconds, billed, l.memory))
}

const stampFormat = "2006-01-02T15:04:05.000Z"

// record writes a line in JSON.
func (l *platform) record(at time.Time, kind string, record map[string]any) {
	text, err := json.Marshal(map[string]any{"time": at.UTC().Format(stampFormat), "type": kind, "record": record})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	l.print(string(text))
}
