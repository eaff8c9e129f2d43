// Package project reads the project file pintle.yaml: the stack of a directory and its providers.
//
//	stack: walkthrough
//	template: template.json
//	parameters: {Sites: [a, b]}
//	tags: {team: web}
//	ssm: aws
//	resolveSecrets: true
//	unknownTypes: record
//	forward:
//	  - {types: ["AWS::SQS::*", AWS::DynamoDB::Table], endpoint: "http://127.0.0.1:4566", profile: dev}
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
// Everything is optional. The error about an unknown name contains its position and the most similar known name. All
// problems are reported at once. The package does not check whether the named files exist, so a stack can be listed or
// watched before a provider is built.
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

// MaxSize is the maximum size of a project file in bytes. Source: Pintle's own limit.
const MaxSize = 1 << 20

// Project is the content of a project file.
type Project struct {
	// File is the path of the file, and Dir is its directory, the base of relative paths in the file.
	File, Dir string
	// Stack is the stack's name. It may be empty.
	Stack string
	// Template is the path of the template, joined to Dir, or its URL. It may be empty.
	Template string
	// Parameters and Tags are in the order of the file. Their names are unique.
	Parameters, Tags []Pair
	// Providers are in the order of the file. Their names are unique.
	Providers []Provider
	// SSM is the store of the parameters that templates name: [SSMOwn], [SSMAWS] or a URL. Empty means the first.
	SSM string
	// ResolveSecrets enables the resolution of dynamic references to secrets.
	ResolveSecrets bool
	// UnknownTypes says how to handle resource types without a provider: "record", "refuse", or empty if the file does
	// not say.
	UnknownTypes string
	// Forward says which resource types other endpoints provide, in the order of the file.
	Forward []Forward
	// Macros are the macros of templates. They are declared like providers, with a Target and possibly Env, Timeout,
	// Concurrency and Handler. The Target returns the transformed template, and may also be the ARN of a Lambda
	// function.
	Macros []Provider
}

// The stores of parameters.
const (
	// SSMOwn is Pintle's own store.
	SSMOwn = "own"
	// SSMAWS is the store that the AWS SDK's configuration selects.
	SSMAWS = "aws"
)

// The values of runtime: the calling convention of a provider.
const (
	// RuntimeLambda is the convention of AWS Lambda functions.
	RuntimeLambda = "lambda"
	// RuntimeFC is the convention of Alibaba Cloud Function Compute.
	RuntimeFC = "fc"
)

// DeliveryWebhook sends the request document as a POST, signed as in Standard Webhooks.
const DeliveryWebhook = "webhook"

// Destinations of a provider's AWS calls.
const (
	// AWSLocal is this server, with its own access keys.
	AWSLocal = "local"
	// AWSEnvironment is the destination that the server's environment configures.
	AWSEnvironment = "environment"
)

// AnswersLater means that a provider's answers may come long after its handler has returned.
const AnswersLater = "later"

// Forward forwards resource types to the CloudFormation API of another endpoint.
type Forward struct {
	// Types are names of types, or patterns such as AWS::SQS::*. Endpoint is an http(s) URL, or "aws".
	Types    []string
	Endpoint string
	// Profile is the profile of the AWS SDK's configuration with the credentials. Empty means the default.
	Profile string
	// Place is the position in the file, for errors.
	Place string
}

// Pair is a named text. Numbers and booleans keep their text in the file. A list is joined by commas.
type Pair struct {
	Name, Text string
}

// Provider declares the program behind a name.
type Provider struct {
	// Name is the name in service tokens, or a complete token.
	Name string
	// Target is the program: a path, relative to the project's Dir, or a URL. It is empty if OnEvent or Builtin is set.
	Target string
	// OnEvent is the function that handles a request and returns the result. Nil if Target is set.
	OnEvent *Function
	// IsComplete is the function that reports whether the work that OnEvent began is done. Nil means that it is done
	// when OnEvent returns.
	IsComplete *Function
	// QueryInterval is the pause between two calls of IsComplete, and TotalTimeout limits how long it is called: 1s to
	// 24h. Zero means the default. Both are zero if IsComplete is nil.
	QueryInterval, TotalTimeout time.Duration
	// Env is added to the provider's environment.
	Env map[string]string
	// Timeout is the maximum time of one request, or of one call of a function, 1s to 24h. Zero means the default.
	Timeout time.Duration
	// Concurrency is the maximum number of concurrent requests, 1 to 1000. Zero means the default.
	Concurrency int
	// Handler is passed to the provider's runtime. For a Python or Node file, it names the function. Empty means the
	// default.
	Handler string
	// Runtime is the calling convention of Target: [RuntimeLambda] or [RuntimeFC]. Empty means that each request
	// specifies it.
	Runtime string
	// Initializer is called once in each process before its first request, if the provider is written for Function
	// Compute. It is the name of a function, or FILE.FUNCTION. Empty means no initializer.
	Initializer string
	// Delivery is the form of requests to a Target that is a URL: [DeliveryWebhook]. Empty means that the service token
	// decides: an SNS notification for a topic, a webhook for any other token.
	Delivery string
	// AWS is the destination of the provider's AWS calls: [AWSLocal], [AWSEnvironment], or empty for the server's
	// default.
	AWS string
	// Answers is [AnswersLater] if answers may come long after Target has returned, from elsewhere. Empty means that
	// answers are sent before Target returns.
	Answers string
	// Builtin is the name of a built-in provider, [AWS]. Then Target, OnEvent, Env and Handler are zero.
	Builtin string
	// Allow lists the allowed calls of Builtin. Empty allows none.
	Allow []Allow
	// Place is the position of the declaration: file:line:column.
	Place string
}

// Function declares one of the two functions of a provider.
type Function struct {
	// Target is a path, relative to the project's Dir, or the name of another provider or a token that contains it.
	// Never empty.
	Target string
	// Handler has the same meaning as in [Provider].
	Handler string
}

// Problem is an error in a project file.
type Problem struct {
	File         string
	Line, Column int // from 1
	Text         string
}

// Problems is the error of a project file that is valid YAML with invalid content. It is never empty.
type Problems []Problem

// Error returns one line for each problem: file:line:column: text.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = fmt.Sprintf("%s:%d:%d: %s", problem.File, problem.Line, problem.Column, problem.Text)
	}
	return strings.Join(lines, "\n")
}

// Load reads the project file in dir. If it does not exist, the error is [io/fs.ErrNotExist]. For an invalid file, it
// is [Problems].
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

// Parse parses the text of a project file. file is its path, which error positions and relative paths use.
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

// DefaultQueryInterval and DefaultTotalTimeout are the defaults of a [Provider]. Source: AWS CDK, custom resources,
// Provider.
const (
	DefaultQueryInterval = 5 * time.Second
	DefaultTotalTimeout  = 30 * time.Minute
)

// Has reports whether the project declares a provider with this name.
func (p *Project) Has(name string) bool {
	for _, provider := range p.Providers {
		if provider.Name == name {
			return true
		}
	}
	return false
}

var errMoreDocuments = errors.New("more than one YAML document: keep one, without a further --- line")
