package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/redact"
	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
)

// SchemaError is the error of a program with the Go SDK, or of a handler with the library for its language, that fails while it prints
// its schema, for example because it panics or raises an exception. So it is unknown whether the provider has a schema.
type SchemaError struct {
	Provider string
	Program  string // an executable, the directory of a Go package, or a handler's file
	// Err is the exit status.
	Err error
	// Text is the panic and its place, the exception, or else the beginning of what the program printed on standard error. It is one line of at most
	// [maxSchemaFailure] bytes, without the values of the provider's variables. It may be empty.
	Text string
}

// Error returns the provider, its program, the exit status and the text.
func (e *SchemaError) Error() string {
	text := fmt.Sprintf("print the schema of provider %s: %s schema: %v", e.Provider, e.Program, e.Err)
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Unwrap returns the exit status.
func (e *SchemaError) Unwrap() error { return e.Err }

// CannotRun reports whether an error of [Runtime.Schema] says that the program does not build, or fails at once. Requests would fail too.
func CannotRun(err error) bool {
	_, unbuilt := errors.AsType[*BuildError](err)
	_, fails := errors.AsType[*SchemaError](err)
	return unbuilt || fails
}

const (
	// exitNoSchema is the exit status of a program with the Go SDK that has no schema: none of its handlers was made by pintle.New.
	exitNoSchema = bootstrap.NoSchema
	// maxSchemaFailure bounds the text of a [SchemaError], and maxSchemaErrors the part of standard error in which it is looked for, in bytes.
	maxSchemaFailure = 1000
	maxSchemaErrors  = 1 << 20
)

// sdkMain is the name of a function that only programs with the command schema contain, as it is in the table for traces, which
// stripped programs have too. It is joined at run time, because otherwise every program with this package would contain it.
var sdkMain = []byte(strings.Join([]string{sdkPrefix, "Main\x00"}, ""))

// sdkPrefix begins the names of the functions of the SDK.
const sdkPrefix = "github.com/pintle-dev/pintle."

// hasSDK reports whether a program is one with the Go SDK. Another program need not know the argument schema.
func hasSDK(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // read only
	const step = 256 << 10
	buffer := make([]byte, 0, step+len(sdkMain))
	for {
		n, err := io.ReadFull(f, buffer[len(buffer):len(buffer)+step])
		buffer = buffer[:len(buffer)+n]
		if bytes.Contains(buffer, sdkMain) {
			return true
		}
		if err != nil {
			return false
		}
		kept := copy(buffer, buffer[len(buffer)-len(sdkMain)+1:]) // a name may lie across two steps
		buffer = buffer[:kept]
	}
}

// panicStart begins the text of a panic, of an error of Go's runtime, or of an exception that a handler's file raises.
var panicStart = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime error: |\[ERROR\] |Invoke Error\t)`)

// goFrame is a function and its place in a trace.
var goFrame = regexp.MustCompile(`(?m)^([^\s(].*)\(.*\)\n\t(\S+:\d+)`)

// failureText returns the part of a program's standard error that says why it failed, in one line.
func failureText(printed string, secrets *redact.Secrets) string {
	printed = secrets.Mask(printed) // as a whole, because a secret may contain what ends a panic
	text, place := printed, ""
	if at := panicStart.FindStringIndex(printed); at != nil {
		var trace string
		text, trace, _ = strings.Cut(printed[at[0]:], "\n\n") // the traces follow an empty line
		for _, frame := range goFrame.FindAllStringSubmatch(trace, -1) {
			name := frame[1]
			if name != "panic" && !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, sdkPrefix) {
				place = fmt.Sprintf(" (in %s, %s)", name, frame[2])
				break
			}
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if most := maxSchemaFailure - len(place); len(text) > most {
		text = redact.CutRune(text[:max(most-len("…"), 0)]) + "…"
	}
	return text + place
}

// variableSecrets returns the values that the text of a failure must not contain: those of the provider's own variables, and those of
// inherited ones whose names say that they are secret or that are URLs with a password. Go indents the lines of a panic, so each line is
// found by itself.
func variableSecrets(own, env map[string]string) *redact.Secrets {
	secrets := slices.Collect(maps.Values(own))
	for name, value := range env {
		if secretVariable.MatchString(name) {
			secrets = append(secrets, value)
		}
		if password := urlPassword.FindStringSubmatch(value); password != nil {
			secrets = append(secrets, value, password[1])
		}
	}
	masked := &redact.Secrets{Shortest: redact.ShortSecret, Spell: spellings}
	masked.Add(secrets...)
	return masked
}

// secretVariable matches the names of variables that are likely to contain secrets.
var secretVariable = regexp.MustCompile(`(?i)(secret|passw|passphrase|private|credential|token|api_?key|access_?key|dsn|(^|_)auth(_|$)|conn(ection)?_?str)`)

// urlPassword matches a URL with a user and a password.
var urlPassword = regexp.MustCompile(`://[^/?#\s]*?:([^/?#\s]+)@`)
