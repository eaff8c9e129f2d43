// Package serverless expands templates of the AWS Serverless Application Model (SAM) with AWS's own translator, the
// Python package aws-sam-translator. CloudFormation runs the same translator for AWS::Serverless-2016-10-31.
//
// The translator runs in a separate process. It gets no credentials and makes no calls. An application from the
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

// ErrNoTranslator means that no Python on this machine can run the translator. Its text says how to install it.
var ErrNoTranslator = errors.New("the transform AWS::Serverless-2016-10-31 needs the Python package aws-sam-translator: " +
	"run python3 -m pip install aws-sam-translator, or put the bin directory of a virtual environment that has it first on PATH")

// Invalid is the translator's error for a template, worded as in CloudFormation.
type Invalid struct{ Text string }

func (e *Invalid) Error() string { return e.Text }

// Event is the input of an expansion. Its JSON has the form of a macro's event.
type Event struct {
	Region    string `json:"region"`
	AccountID string `json:"accountId"`
	// Fragment is the template without its section Transform, as JSON and with the long forms of functions.
	Fragment json.RawMessage `json:"fragment"`
	// Values are the values of parameters, without those of parameters with NoEcho: the translator writes values into the
	// template.
	Values map[string]any `json:"templateParameterValues,omitempty"`
}

// Limits of an expansion.
const (
	maxResult = 6 << 20 // bytes: the limit of a macro's reply
	maxTime   = 2 * time.Minute
)

//go:embed expand.py
var program string

// Expand returns the expanded template as JSON. It tries python3 on PATH, and then the Python of the programs sam and
// cfn-lint, which include the translator. It is safe for concurrent use. The error is [ErrNoTranslator], an [Invalid],
// the error of ctx, or says that the result is too long.
func Expand(ctx context.Context, event Event) (json.RawMessage, error) {
	input, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("expand AWS::Serverless: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var problems []string
	for _, python := range interpreters() {
		out, err := run(ctx, python, event.Region, input)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("expand AWS::Serverless: %w", context.Cause(ctx))
		case errors.Is(err, local.ErrOutputTooLong):
			return nil, fmt.Errorf("expand AWS::Serverless: the result is longer than %d bytes", maxResult)
		case err != nil: // for example a shim without a version
			problems = append(problems, python+": "+err.Error())
		case out.Fragment != nil:
			return out.Fragment, nil
		case out.Error != "":
			return nil, &Invalid{out.Error}
		case out.Broken != "":
			problems = append(problems, python+" cannot import it: "+out.Broken)
		}
	}
	if problems != nil {
		return nil, fmt.Errorf("%w (%s)", ErrNoTranslator, strings.Join(problems, "; "))
	}
	return nil, ErrNoTranslator
}

// Macro answers the event of a macro. A failed expansion is a reply too. The error is that of ctx, or says
// that the event is not valid JSON.
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

// run expands a template with one Python. Its error does not quote the template.
func run(ctx context.Context, python, region string, input []byte) (out result, err error) {
	cmd := exec.CommandContext(ctx, python, "-c", program)
	cmd.Env = environment(os.Environ(), region)
	cmd.Stdin = bytes.NewReader(input)
	written, err := local.Output(cmd, maxResult)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(written, &out); err != nil {
		return out, fmt.Errorf("its output is not valid JSON: %w", err)
	}
	return out, nil
}

// passed matches the variables that an interpreter and its shim may need.
var passed = regexp.MustCompile(`^(?i:PATH|HOME|USER|LANG|LC_\w+|TMPDIR|TEMP|TMP|SYSTEMROOT|VIRTUAL_ENV|PYTHON\w*|PYENV_\w+|ASDF_\w+|LD_LIBRARY_PATH)=`)

// environment returns the variables of the translator. boto3 reads the region from them, and must find no credentials.
func environment(variables []string, region string) []string {
	kept := slices.DeleteFunc(slices.Clone(variables), func(kv string) bool { return !passed.MatchString(kv) })
	return append(kept, "AWS_DEFAULT_REGION="+region, "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"BOTO_CONFIG="+os.DevNull, "AWS_EC2_METADATA_DISABLED=true", "PYTHONIOENCODING=utf-8")
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
