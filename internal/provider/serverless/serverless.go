// Package serverless expands templates of the AWS Serverless Application Model (SAM) with AWS's own translator, the
// Python package aws-sam-translator. CloudFormation runs the same translator for AWS::Serverless-2016-10-31.
//
// The translator runs in a process of its own. It gets no credentials and needs no network. An application from the
// Serverless Application Repository is therefore an error.
package serverless

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/provider/local"
)

// ErrNoTranslator means that no Python on this machine has the translator. Its text says how to install it.
var ErrNoTranslator = errors.New("the Python package aws-sam-translator expands AWS::Serverless-2016-10-31, and it is not installed: " +
	"run python3 -m pip install aws-sam-translator, or put the programs of a virtual environment that has it first on PATH")

// Invalid is the translator's error for a template, in the words of CloudFormation.
type Invalid struct{ Text string }

func (e *Invalid) Error() string { return e.Text }

// Event is the input of an expansion. Its JSON has the form of a macro's event.
type Event struct {
	Region    string `json:"region"`
	AccountID string `json:"accountId"`
	// Fragment is the template without its section Transform, as JSON and with the long forms of functions.
	Fragment json.RawMessage `json:"fragment"`
	// Values are the values of parameters. The translator does not get those of parameters with NoEcho.
	Values map[string]any `json:"templateParameterValues,omitempty"`
}

// Limits of an expansion.
const (
	maxResult  = 6 << 20 // bytes: the limit of a macro's reply
	maxPrinted = 4 << 10 // bytes of standard error in an error
	maxTime    = 2 * time.Minute
)

//go:embed expand.py
var program string

// Expand returns the expanded template as JSON. It tries python3 on PATH, and then the Python of the programs sam and
// cfn-lint, which include the translator. It is safe for concurrent use. The error is [ErrNoTranslator], an [Invalid],
// the error of ctx, or explains why Python failed.
func Expand(ctx context.Context, event Event) (json.RawMessage, error) {
	input, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("expand AWS::Serverless: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	problem := ErrNoTranslator
	for _, python := range interpreters() {
		out, err := run(ctx, python, event.Region, input)
		switch {
		case err != nil:
			return nil, fmt.Errorf("expand AWS::Serverless with %s: %w", python, err)
		case out.Fragment != nil:
			return out.Fragment, nil
		case out.Error != "":
			return nil, &Invalid{out.Error}
		case out.Broken != "":
			problem = fmt.Errorf("%w (%s has it, and cannot import it: %s)", ErrNoTranslator, python, out.Broken)
		}
	}
	return nil, problem
}

// Macro answers the event of a macro. A failed expansion is a reply too. The error is that of ctx, or one of an event
// that is no JSON.
func Macro(ctx context.Context, text []byte) ([]byte, error) {
	var event struct {
		Event
		RequestID string `json:"requestId"`
	}
	if err := json.Unmarshal(text, &event); err != nil {
		return nil, fmt.Errorf("read the event of a macro: %w", err)
	}
	reply := struct {
		RequestID    string          `json:"requestId"`
		Status       string          `json:"status"`
		ErrorMessage string          `json:"errorMessage,omitempty"`
		Fragment     json.RawMessage `json:"fragment,omitempty"`
	}{RequestID: event.RequestID, Status: "success"}
	var err error
	if reply.Fragment, err = Expand(ctx, event.Event); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		reply.Status, reply.ErrorMessage = "failure", err.Error()
		if strings.Contains(reply.ErrorMessage, notUploaded) {
			reply.ErrorMessage += " Upload local code first: sam deploy, sam package and aws cloudformation package do that."
		}
	}
	return json.Marshal(reply)
}

// notUploaded is part of the translator's error for local code.
const notUploaded = "is not a valid S3 Uri of the form"

// result is the output of the program: exactly one field is set, or none if the translator is not installed.
type result struct {
	Fragment json.RawMessage `json:"fragment"`
	Error    string          `json:"error"`
	Broken   string          `json:"broken"`
}

// run expands a template with one Python.
func run(ctx context.Context, python, region string, input []byte) (out result, err error) {
	cmd := exec.CommandContext(ctx, python, "-c", program)
	cmd.Env = environment(os.Environ(), region)
	cmd.Stdin = bytes.NewReader(input)
	cmd.WaitDelay = time.Second
	written, printed := &beginning{limit: maxResult}, &beginning{limit: maxPrinted}
	cmd.Stdout, cmd.Stderr = written, printed
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return out, context.Cause(ctx)
	case err != nil:
		return out, fmt.Errorf("%w: %s", err, lastLine(printed.text.String()))
	case written.cut:
		return out, fmt.Errorf("the expanded template is longer than %d bytes", maxResult)
	}
	if err := json.Unmarshal(written.text.Bytes(), &out); err != nil {
		return out, fmt.Errorf("its output is no JSON: %w", err)
	}
	return out, nil
}

// lastLine returns the last line of a traceback, which has the exception. The lines above it may quote the template.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// beginning stores the beginning of its input.
type beginning struct {
	text  bytes.Buffer
	limit int
	cut   bool
}

func (b *beginning) Write(p []byte) (int, error) {
	keep := min(len(p), b.limit-b.text.Len())
	b.cut = b.cut || keep < len(p)
	b.text.Write(p[:keep]) // never fails
	return len(p), nil
}

// environment returns the variables of the translator. boto3 reads the region from them, and must find no credentials:
// it would call the Serverless Application Repository with them.
func environment(variables []string, region string) []string {
	kept := slices.DeleteFunc(slices.Clone(variables), func(kv string) bool {
		return strings.HasPrefix(kv, "AWS_") || strings.HasPrefix(kv, "PINTLE_")
	})
	return append(kept, "AWS_DEFAULT_REGION="+region, "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true", "PYTHONIOENCODING=utf-8")
}

// interpreters returns the Pythons to try, each once.
func interpreters() []string {
	var found []string
	add := func(path string) {
		if path != "" && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
	if path, err := exec.LookPath("python3"); err == nil {
		add(path)
	}
	for _, name := range []string{"sam", "cfn-lint"} {
		if path, err := exec.LookPath(name); err == nil {
			add(interpreterOf(path))
		}
	}
	return found
}

// shebang matches the first line of a program in Python, and the first two lines if its interpreter's path is too long
// for the first. Source: pip, the scripts of distlib.
var shebang = regexp.MustCompile(`^#!(?:/bin/sh\n\'\'\'exec\' )?"?(/[^"\n]*/python[0-9.]*)"?[ \n]`)

// interpreterOf returns the interpreter of a Python program, or "" if it is another program.
func interpreterOf(path string) string {
	match := shebang.FindSubmatch(local.Beginning(path, 1<<10))
	if match == nil {
		return ""
	}
	return string(match[1])
}
