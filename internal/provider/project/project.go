// Package project reads the project file pintle.yaml: the stack of a directory and its providers.
//
//	stack: walkthrough
//	template: template.json
//	parameters: {Sites: [a, b]}
//	tags: {team: web}
//	ssm: aws
//	resolveSecrets: true
//	unknownTypes: record
//	providers:
//	  CRTest: ./provider
//	  Slow: {run: ./slow, timeout: 30m, concurrency: 2, env: {MODE: careful}, handler: index.handler}
//	  Thing: {onEvent: ./on_event.py, isComplete: ./is_complete.py, queryInterval: 5s, totalTimeout: 30m}
//	  Aws: {builtin: aws, allow: ["ssm:GetParameter"]}
//	  Poll: {run: ./poll.py, aws: local}
//	  Disk: {run: ./disk.py, runtime: fc, initializer: disk.connect}
//	  Hook: {run: "https://hook.example.com/", delivery: webhook}
//	macros:
//	  Upper: ./upper.py
//
// Everything is optional. The error about an unknown name gives its place and the nearest known name, and all
// problems are reported at once. The package does not check whether the named files exist, so a stack can be listed
// or watched before a provider is built.
package project

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// FileName is the name of a project file.
const FileName = "pintle.yaml"

// MaxSize is the size of the largest project file in bytes. Source: ours.
const MaxSize = 1 << 20

// Project is what a project file says.
type Project struct {
	// File is the path of the file, and Dir that of its directory, to which relative paths in it are relative.
	File, Dir string
	// Stack is the stack's name; empty if the file names none.
	Stack string
	// Template is the path of the template, joined to Dir, or its URL; empty if the file names none.
	Template string
	// Parameters and Tags are in the order of the file, their names unique.
	Parameters, Tags []Pair
	// Providers are in the order of the file, their names unique.
	Providers []Provider
	// SSM says where the parameters are that templates name: [SSMOwn], [SSMAWS] or a URL; empty means the first.
	SSM string
	// ResolveSecrets has dynamic references to secrets resolved.
	ResolveSecrets bool
	// UnknownTypes says what becomes of resource types that no one provides: "record", "refuse", or empty if the file does
	// not say.
	UnknownTypes string
	// Macros are those of templates, declared as providers are: a Target, maybe with Env, Timeout, Concurrency and Handler, that
	// returns what it makes of a template. A Target may also be the ARN of a Lambda function.
	Macros []Provider
}

// The places of parameters that have a name.
const (
	// SSMOwn is the engine's own store.
	SSMOwn = "own"
	// SSMAWS is where the AWS SDK's configuration says.
	SSMAWS = "aws"
)

// These are the values of runtime, which says whose functions a provider is written like.
const (
	// RuntimeLambda is a function of AWS Lambda.
	RuntimeLambda = "lambda"
	// RuntimeFC is one of Alibaba Cloud Function Compute.
	RuntimeFC = "fc"
)

// DeliveryWebhook is the request document as a POST, signed as Standard Webhooks has it.
const DeliveryWebhook = "webhook"

// Where the AWS calls of a provider go.
const (
	// AWSLocal is this server, with keys of its own.
	AWSLocal = "local"
	// AWSEnvironment is where the environment of the server says.
	AWSEnvironment = "environment"
)

// AnswersLater says that a provider's answers may come long after its handler has returned.
const AnswersLater = "later"

// Pair is a named text. Numbers and booleans are the text that the file has; a list is joined by commas.
type Pair struct {
	Name, Text string
}

// Provider declares what runs behind a name.
type Provider struct {
	// Name is the name in service tokens, or a whole token.
	Name string
	// Target is the text that says what runs: a path, relative to the project's Dir, or a URL. Empty if OnEvent or Builtin
	// says it.
	Target string
	// OnEvent is the function that does what a request asks and returns the result. Nil if Target says what runs.
	OnEvent *Function
	// IsComplete is the function that says whether what OnEvent began is done. Nil means that it is when OnEvent returns.
	IsComplete *Function
	// QueryInterval is the pause between two calls of IsComplete, and TotalTimeout how long it is called for: 1s to 24h.
	// Zero means the default, and that IsComplete is nil.
	QueryInterval, TotalTimeout time.Duration
	// Env is added to the provider's environment.
	Env map[string]string
	// Timeout is how long one request, or one call of a function, may run, 1s to 24h. Zero means the default.
	Timeout time.Duration
	// Concurrency is how many requests may run at once, 1 to 1000. Zero means the default.
	Concurrency int
	// Handler is passed to the provider's runtime; for a Python or Node file it names the function. Empty means the default.
	Handler string
	// Runtime is whose functions Target is written like: [RuntimeLambda] or [RuntimeFC]. Empty means that each request says so.
	Runtime string
	// Initializer is called once in each process before its first request, if it is written for Function Compute: the name of
	// a function, or FILE.FUNCTION. Empty means nothing.
	Initializer string
	// Delivery says how a Target that is a URL gets requests: [DeliveryWebhook]. Empty means that the service token says so: a
	// notification of SNS behind a topic, a webhook behind any other token.
	Delivery string
	// AWS says where the AWS calls of its processes go: [AWSLocal], [AWSEnvironment], or empty for what fits the server.
	AWS string
	// Answers is [AnswersLater] if answers may come long after Target has returned, sent by something else. Empty means that
	// they are sent before it returns.
	Answers string
	// Builtin is the name of a provider that is in the program itself, [AWS]. Then Target, OnEvent, Env and Handler are zero.
	Builtin string
	// Allow is what Builtin may do. Empty means nothing.
	Allow []Allow
	// Place is where the file declares it: file:line:column.
	Place string
}

// Function declares one of the two functions of a provider.
type Function struct {
	// Target is a path, relative to the project's Dir, or the name of another provider or a token with it. Never empty.
	Target string
	// Handler is as a provider's.
	Handler string
}

// Problem is one thing that is wrong with a project file.
type Problem struct {
	File         string
	Line, Column int // from 1
	Text         string
}

// Problems is the error of a project file that is YAML but says something that cannot be. It is never empty.
type Problems []Problem

// Error returns a line for each problem: file:line:column: text.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", problem.File, problem.Line, problem.Column, problem.Text)
	}
	return strings.Join(lines, "\n")
}

// Load reads the project file in dir. Without one the error is [io/fs.ErrNotExist]; for one with mistakes it is
// [Problems].
func Load(dir string) (*Project, error) {
	file := filepath.Join(dir, FileName)
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("project file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("project file: %w", err)
	}
	return Parse(file, data)
}

// Parse reads the text of a project file; file is its path, for places and relative paths.
func Parse(file string, data []byte) (*Project, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("project file %s is larger than %d bytes", file, MaxSize)
	}
	root, err := parseYAML(data)
	if err != nil {
		return nil, fmt.Errorf("project file %s: %w", file, err)
	}
	r := &reader{project: &Project{File: file, Dir: filepath.Dir(file)}}
	if root != nil {
		r.top(root)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return r.project, nil
}

// DefaultQueryInterval and DefaultTotalTimeout are what zero means in a [Provider]. Source: AWS CDK, custom resources,
// Provider.
const (
	DefaultQueryInterval = 5 * time.Second
	DefaultTotalTimeout  = 30 * time.Minute
)

// Has reports whether the project declares a provider of this name.
func (p *Project) Has(name string) bool {
	for _, provider := range p.Providers {
		if provider.Name == name {
			return true
		}
	}
	return false
}

var errMoreDocuments = errors.New("more than one YAML document: keep one, without a further --- line")
