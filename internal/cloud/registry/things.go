package registry

import (
	"encoding/json"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Contracts of functions.
const (
	ContractLambda = ""
	ContractFC     = "fc"
)

// Function is a Lambda function, or a function of Alibaba Cloud Function Compute. Its item has its name. For Function
// Compute that is the end of the ARN, functions/NAME or services/SERVICE/functions/NAME, which is not a valid Lambda
// name.
type Function struct {
	// Contract is [ContractLambda] or [ContractFC].
	Contract    string `json:"contract,omitempty"`
	Runtime     string `json:"runtime,omitempty"`
	Handler     string `json:"handler,omitempty"`
	Role        string `json:"role,omitempty"`
	Description string `json:"description,omitempty"`
	// Timeout is the maximum duration of a call in seconds. Memory is in MB.
	Timeout int `json:"timeout,omitempty"`
	Memory  int `json:"memory,omitempty"`
	// Environment may contain secrets.
	Environment map[string]string `json:"environment,omitempty"`
	// Hidden are the names of variables with secret values, which are redacted in the function's log.
	Hidden []string `json:"hidden,omitempty"`
	// Layers are ARNs of layer versions. LayerCode is their code at the time they were set, because they may be
	// deleted later.
	Layers        []string    `json:"layers,omitempty"`
	LayerCode     []LayerCode `json:"layerCode,omitempty"`
	Architectures []string    `json:"architectures,omitempty"`
	// LogGroup and LogFormat (Text or JSON) describe its log. LogLevel is the minimum level of its own lines in JSON
	// logs.
	LogGroup  string `json:"logGroup,omitempty"`
	LogFormat string `json:"logFormat,omitempty"`
	LogLevel  string `json:"logLevel,omitempty"`
	// Concurrency is the reserved number of concurrent calls, or nil.
	Concurrency *int `json:"concurrency,omitempty"`
	// Code is the SHA-256 of its zip file in hexadecimal digits, and CodeSize its length in bytes.
	Code     string    `json:"code,omitempty"`
	CodeSize int64     `json:"codeSize,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
	// Declared is the Code that a stack's template last set, or empty.
	Declared string `json:"declared,omitempty"`
	// Revision changes with every change.
	Revision string            `json:"revision,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	// Last is the number of the last published version, or 0. A version is a separate, immutable item, NAME:NUMBER.
	Last int `json:"last,omitempty"`
	// Initializer is the Function Compute initializer, which is called once in each process, or empty. Command is the
	// start command of a custom runtime. LogProject and LogStore are passed to the function.
	Initializer string   `json:"initializer,omitempty"`
	Command     []string `json:"command,omitempty"`
	LogProject  string   `json:"logProject,omitempty"`
	LogStore    string   `json:"logStore,omitempty"`
	// Rest holds other declared properties, which are only recorded.
	Rest json.RawMessage `json:"rest,omitempty"`
}

// FCName returns the item name of a Function Compute function. service is empty for version 3.0.
func FCName(service, function string) string {
	if service == "" {
		return "functions/" + function
	}
	return FCService(service) + function
}

// FCService returns the prefix of the item names of a Function Compute 2.0 service's functions.
func FCService(name string) string { return "services/" + name + "/functions/" }

// LayerCode is the zip file of a layer, as [Function.Code], and the scope of the layer.
type LayerCode struct {
	ARN string `json:"arn"`
	Scope
	Code string
	Size int64
}

// Code is the source of a function's or layer's code. Exactly one of Bucket, Inline and Zip is set.
type Code struct {
	Bucket, Key, ObjectVersion string
	// Inline is the text of the only file. It may be secret.
	Inline *string
	Zip    []byte
}

// Layer is a layer version. Its item has the name NAME:NUMBER. An item without a number holds the version counter.
type Layer struct {
	// Contract is the contract of the functions that can use it, [ContractLambda] or [ContractFC].
	Contract    string    `json:"contract,omitempty"`
	Last        int       `json:"last,omitempty"` // the version counter
	Description string    `json:"description,omitempty"`
	Runtimes    []string  `json:"runtimes,omitempty"`
	Code        string    `json:"code,omitempty"` // as in Function
	CodeSize    int64     `json:"codeSize,omitempty"`
	Made        time.Time `json:"made,omitzero"`
}

// EventConfig configures the retries and destinations of asynchronous calls of a function. Its item has the name
// NAME:QUALIFIER.
type EventConfig struct {
	// Retries is the number of retries of a failed call. Nil means two.
	Retries *int `json:"retries,omitempty"`
	// Age is the maximum age of an event in seconds. 0 means six hours.
	Age int `json:"age,omitempty"`
	// OnSuccess and OnFailure are ARNs of destinations, or empty.
	OnSuccess string    `json:"onSuccess,omitempty"`
	OnFailure string    `json:"onFailure,omitempty"`
	Modified  time.Time `json:"modified,omitzero"`
}

// Topic is an SNS topic. Its item has its name.
type Topic struct {
	// ID distinguishes the topic from earlier ones with its name. It is secret: subscription IDs and confirmation
	// tokens are derived from it.
	ID         string            `json:"id,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// Subscription is a subscription to a topic. Its item has the name TOPIC:ID, the last two parts of its ARN.
type Subscription struct {
	// Topic is the topic's ARN.
	Topic    string `json:"topic"`
	Protocol string `json:"protocol"`
	// Endpoint may contain a password.
	Endpoint   string            `json:"endpoint"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Token is the confirmation token. It is empty once the subscription is confirmed.
	Token string `json:"token,omitempty"`
	// Authenticated means that only signed calls may end the subscription.
	Authenticated bool `json:"authenticated,omitempty"`
}

// Machine is a state machine. Its item has its name.
type Machine struct {
	// Definition may contain secrets.
	Definition string `json:"definition"`
	Role       string `json:"role,omitempty"`
	Type       string `json:"type,omitempty"`
	// Stack is the stack that the machine belongs to.
	Stack   wire.StackID      `json:"stack,omitempty"`
	Made    time.Time         `json:"made,omitzero"`
	Tags    map[string]string `json:"tags,omitempty"`
	Logging json.RawMessage   `json:"logging,omitempty"`
}

// RuleName returns the item name of an EventBridge rule.
func RuleName(place Scope, name string) string {
	return place.Account + "/" + place.Region + "/" + name
}

// Rule is an EventBridge rule on the default event bus. [RuleName] returns the name of its item.
type Rule struct {
	Place       Scope             `json:"place"`
	Name        string            `json:"name"`
	Schedule    string            `json:"schedule,omitempty"`
	Pattern     string            `json:"pattern,omitempty"`
	Description string            `json:"description,omitempty"`
	Role        string            `json:"role,omitempty"`
	Disabled    bool              `json:"disabled,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Made        time.Time         `json:"made,omitzero"`
	// Start is when the schedule started, and Next when the rule fires next. Zero means never.
	Start time.Time `json:"start,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	// Poll means that a function created the rule: it fires soon, and then at growing intervals up to the schedule's.
	// Fired counts those firings.
	Poll  bool `json:"poll,omitempty"`
	Fired int  `json:"fired,omitempty"`
	// Running means that targets of such a rule are being called. If the node dies, it stays set.
	Running bool `json:"running,omitempty"`
}

// Target is a target of an EventBridge rule, in the scope of the rule. Its item has the name RULE/ID.
type Target struct {
	ARN  string `json:"arn"`
	Role string `json:"role,omitempty"`
	// Input, InputPath and Transformer define the input of the target. At most one is set. Each may contain secrets.
	Input       *string      `json:"input,omitempty"`
	InputPath   string       `json:"inputPath,omitempty"`
	Transformer *Transformer `json:"transformer,omitempty"`
	// Rest holds other declared properties, which are only recorded.
	Rest json.RawMessage `json:"rest,omitempty"`
}

// Transformer is the InputTransformer of a target.
type Transformer struct {
	Paths    map[string]string `json:"paths,omitempty"`
	Template string            `json:"template"`
}

// LogGroup is a CloudWatch Logs log group. Its item has its name. Package logs stores its events.
type LogGroup struct {
	// Implicit means that a function created it by logging. A stack that declares the group takes it over.
	Implicit bool `json:"implicit,omitempty"`
	// Retention is how many days events are kept. 0 means no limit.
	Retention int `json:"retention,omitempty"`
	// Key is the KMS key. Nothing is encrypted with it.
	Key   string            `json:"key,omitempty"`
	Class string            `json:"class,omitempty"`
	Made  time.Time         `json:"made,omitzero"`
	Tags  map[string]string `json:"tags,omitempty"`
}

// Bucket is an S3 bucket without its objects. Its item has its name and is [Global].
type Bucket struct {
	Owner Scope             `json:"owner"`
	Made  time.Time         `json:"made,omitzero"`
	Tags  map[string]string `json:"tags,omitempty"`
	// Settings are texts from clients, by subject, such as "policy" and "encryption".
	Settings map[string]string `json:"settings,omitempty"`
}

// Record is a resource that is only recorded, such as a role. The name of its item is the resource type, a slash and
// the resource name.
type Record struct {
	Properties json.RawMessage `json:"properties,omitempty"`
	// Tags are the tags from its stack.
	Tags map[string]string `json:"tags,omitempty"`
	Made time.Time         `json:"made,omitzero"`
	// State holds data that calls attached later, by name, such as the record sets of a hosted zone. It may contain
	// secrets.
	State map[string]json.RawMessage `json:"state,omitempty"`
}

// Secret is a Secrets Manager secret. Its item has its name.
type Secret struct {
	// Suffix is the six random characters at the end of the ARN.
	Suffix      string `json:"suffix"`
	Description string `json:"description,omitempty"`
	// Key is the KMS key. Nothing is encrypted with it.
	Key  string            `json:"key,omitempty"`
	Tags map[string]string `json:"tags,omitempty"`
	// Versions are sorted by age, the oldest first.
	Versions []SecretVersion `json:"versions,omitempty"`
	Made     time.Time       `json:"made,omitzero"`
	Changed  time.Time       `json:"changed,omitzero"`
	// Due is when a deleted secret is removed, and Deleted when it was deleted. Both are zero for other secrets.
	Deleted time.Time `json:"deleted,omitzero"`
	Due     time.Time `json:"due,omitzero"`
	// Rest holds properties that are only recorded, as JSON.
	Rest json.RawMessage `json:"rest,omitempty"`
}

// SecretVersion is a version of a secret. Either Text or Binary is set.
type SecretVersion struct {
	ID     string    `json:"id"`
	Stages []string  `json:"stages,omitempty"`
	Text   *string   `json:"text,omitempty"`
	Binary []byte    `json:"binary,omitempty"`
	Made   time.Time `json:"made,omitzero"`
}

// Key is a secret key of the stand-ins.
type Key struct {
	Secret []byte    `json:"secret"`
	Made   time.Time `json:"made,omitzero"`
}

// Tags are tags by their keys.
type Tags map[string]string

// ParameterTags returns the item name of a parameter's tags.
func ParameterTags(name string) string { return "parameter/" + name }

// ForwardedStack returns the item name of a stack at an endpoint.
func ForwardedStack(name string) string { return "stack/" + name }

// ForwardedID returns the item name of the physical ID of a forwarded resource. The item points to the stack.
func ForwardedID(resourceType string, id wire.PhysicalID) string {
	return "id/" + resourceType + "/" + string(id)
}

// Forwarded is a stack at another endpoint with one forwarded resource, or a pointer to such a stack.
type Forwarded struct {
	// Stack is the name of the stack, and StackID its ARN at the endpoint, which is empty until it is known.
	Stack   string `json:"stack"`
	StackID string `json:"stackID,omitempty"`
	// Endpoint is the endpoint, as the configuration names it.
	Endpoint string `json:"endpoint"`
	Type     string `json:"type"`
	// PhysicalID is that of the resource; empty until it is known.
	PhysicalID wire.PhysicalID `json:"physicalID,omitempty"`
	// Policy is the DeletionPolicy of the stack's template.
	Policy string `json:"policy,omitempty"`
	// Stray, of a physical ID, means that the endpoint replaced the resource on its own. No stack has it now.
	Stray bool      `json:"stray,omitempty"`
	Made  time.Time `json:"made,omitzero"`
}
