package local

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Origin is where Lambda would put the log of a process: a stream of a log group. Each process has a stream of its own.
type Origin struct {
	Account, Region, Group, Stream string
}

// platform passes the log of a process of a function of Lambda, with the lines that Lambda writes itself. It is used by one goroutine at a
// time for each of its methods. One that was not opened passes nothing.
type platform struct {
	sink   func(Origin, string)
	origin Origin
	// json says that the lines of Lambda are JSON; version and memory, in MB, are told in them.
	json    bool
	version string
	memory  int
}

func newPlatform(sink func(Origin, string)) *platform { return &platform{sink: sink} }

// open reads where the log goes from the environment of the process, before that starts.
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
	l.memory, _ = strconv.Atoi(env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]) // zero is shown if it is none
}

func (l *platform) print(line string) {
	if l.origin.Group != "" {
		l.sink(l.origin, line)
	}
}

// start says that an event is about to be handed over.
func (l *platform) start(inv *invocation) {
	if l.origin.Group == "" {
		return
	}
	if l.json {
		l.record(inv.begun, "platform.start", map[string]any{"requestId": inv.id, "version": l.version})
		return
	}
	l.print("START RequestId: " + inv.id + " Version: " + l.version)
}

// end says how an event ended, after all lines of it.
func (l *platform) end(inv *invocation, o Outcome, timeout time.Duration) {
	if l.origin.Group == "" {
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
		panic(err) // texts and numbers always marshal
	}
	l.print(string(text))
}
