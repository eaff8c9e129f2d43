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

// Function is a Lambda function, or one of Function Compute of Alibaba Cloud. Its item has its name: of the latter what its ARN
// ends with, functions/NAME or services/SERVICE/functions/NAME, which is the name of no Lambda function.
type Function struct {
	// Contract is [ContractLambda] or [ContractFC].
	Contract    string `json:"contract,omitempty"`
	Runtime     string `json:"runtime,omitempty"`
	Handler     string `json:"handler,omitempty"`
	Role        string `json:"role,omitempty"`
	Description string `json:"description,omitempty"`
	// Timeout is how long a call may take, in seconds; Memory is in MB.
	Timeout int `json:"timeout,omitempty"`
	Memory  int `json:"memory,omitempty"`
	// Environment may hold secrets.
	Environment map[string]string `json:"environment,omitempty"`
	// Hidden are the names of variables whose values are secrets: they do not show in what the function logs.
	Hidden []string `json:"hidden,omitempty"`
	// Layers are ARNs of versions of layers. LayerCode is what they were when they were given: they may be deleted since.
	Layers        []string    `json:"layers,omitempty"`
	LayerCode     []LayerCode `json:"layerCode,omitempty"`
	Architectures []string    `json:"architectures,omitempty"`
	// LogGroup and LogFormat (Text or JSON) are where its log would go; LogLevel is the least of its own lines with JSON.
	LogGroup  string `json:"logGroup,omitempty"`
	LogFormat string `json:"logFormat,omitempty"`
	LogLevel  string `json:"logLevel,omitempty"`
	// Concurrency is how many calls may run at a time, if that is reserved; nil if it is not.
	Concurrency *int `json:"concurrency,omitempty"`
	// Code is the SHA-256 of its zip file in hexadecimal digits, CodeSize its length in bytes.
	Code     string    `json:"code,omitempty"`
	CodeSize int64     `json:"codeSize,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
	// Declared is the Code that a stack's template gave it last; empty if none did.
	Declared string `json:"declared,omitempty"`
	// Revision changes with every change.
	Revision string            `json:"revision,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	// Last is the number of the last version that was published; 0 if none was. A version is an item of its own, NAME:NUMBER,
	// that no change reaches.
	Last int `json:"last,omitempty"`
	// Initializer, of Function Compute, is what is called once in each process; empty for nothing. Command is what a custom runtime
	// starts. It gets LogProject and LogStore.
	Initializer string   `json:"initializer,omitempty"`
	Command     []string `json:"command,omitempty"`
	LogProject  string   `json:"logProject,omitempty"`
	LogStore    string   `json:"logStore,omitempty"`
	// Rest is what else was declared of it, and is only recorded.
	Rest json.RawMessage `json:"rest,omitempty"`
}

// FCName returns the name of the item of a function of Function Compute; service is empty for one of 3.0.
func FCName(service, function string) string {
	if service == "" {
		return "functions/" + function
	}
	return FCService(service) + function
}

// FCService begins the names of the items of the functions of a service of Function Compute 2.0.
func FCService(name string) string { return "services/" + name + "/functions/" }

// LayerCode is the zip file of a layer, as [Function.Code], and where the layer is.
type LayerCode struct {
	ARN string `json:"arn"`
	Scope
	Code string
	Size int64
}

// Code says where the code of a function or layer comes from: exactly one of Bucket, Inline and Zip is set.
type Code struct {
	Bucket, Key, ObjectVersion string
	// Inline is the text of the one file there is. It may be secret.
	Inline *string
	Zip    []byte
}

// Layer is a version of a layer. Its item has the name NAME:NUMBER. One whose name has no number counts the versions.
type Layer struct {
	// Contract is that of the functions it is for, [ContractLambda] or [ContractFC].
	Contract    string    `json:"contract,omitempty"`
	Last        int       `json:"last,omitempty"` // of the one that counts
	Description string    `json:"description,omitempty"`
	Runtimes    []string  `json:"runtimes,omitempty"`
	Code        string    `json:"code,omitempty"` // as in Function
	CodeSize    int64     `json:"codeSize,omitempty"`
	Made        time.Time `json:"made,omitzero"`
}

// EventConfig says how asynchronous calls of a function are tried, and where their results go. Its item has the name NAME:QUALIFIER.
type EventConfig struct {
	// Retries is how often a call that failed is repeated; nil means twice.
	Retries *int `json:"retries,omitempty"`
	// Age is how old an event becomes at most, in seconds; 0 means six hours.
	Age int `json:"age,omitempty"`
	// OnSuccess and OnFailure are ARNs of destinations, empty for none.
	OnSuccess string    `json:"onSuccess,omitempty"`
	OnFailure string    `json:"onFailure,omitempty"`
	Modified  time.Time `json:"modified,omitzero"`
}

// Topic is an SNS topic. Its item has its name.
type Topic struct {
	// ID tells it from others that had its name, and is known to nobody else: what its subscriptions are called and confirmed by
	// comes of it.
	ID         string            `json:"id,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// Subscription is a subscription to a topic. Its item has the last two parts of its ARN, TOPIC:ID.
type Subscription struct {
	// Topic is the topic's ARN.
	Topic    string `json:"topic"`
	Protocol string `json:"protocol"`
	// Endpoint may hold a password.
	Endpoint   string            `json:"endpoint"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Token is what confirms it; empty if it is confirmed.
	Token string `json:"token,omitempty"`
	// Authenticated says that only calls that are signed may end it.
	Authenticated bool `json:"authenticated,omitempty"`
}

// Machine is a state machine. Its item has its name.
type Machine struct {
	// Definition may hold secrets.
	Definition string `json:"definition"`
	Role       string `json:"role,omitempty"`
	Type       string `json:"type,omitempty"`
	// Stack is the one that it belongs to.
	Stack   wire.StackID      `json:"stack,omitempty"`
	Made    time.Time         `json:"made,omitzero"`
	Tags    map[string]string `json:"tags,omitempty"`
	Logging json.RawMessage   `json:"logging,omitempty"`
}

// RuleName returns the name of the item of a rule of EventBridge.
func RuleName(place Scope, name string) string {
	return place.Account + "/" + place.Region + "/" + name
}

// Rule is a rule of EventBridge on the default event bus. Its item has the name of [RuleName].
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
	// Start is when the schedule began to count, Next when the rule fires next: zero for never.
	Start time.Time `json:"start,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	// Poll says that a function made the rule: it fires soon, and then at growing intervals up to those of its schedule. Fired counts
	// those firings.
	Poll  bool `json:"poll,omitempty"`
	Fired int  `json:"fired,omitempty"`
	// Running says that targets of such a rule are being called. A node that dies leaves it set.
	Running bool `json:"running,omitempty"`
}

// Target is a target of a rule of EventBridge, in the place of the rule. Its item has the name RULE/ID.
type Target struct {
	ARN  string `json:"arn"`
	Role string `json:"role,omitempty"`
	// Input, InputPath and the transformer say what the target gets; at most one is given. Any may hold secrets.
	Input       *string      `json:"input,omitempty"`
	InputPath   string       `json:"inputPath,omitempty"`
	Transformer *Transformer `json:"transformer,omitempty"`
	// Rest is what else was declared of it, and is only recorded.
	Rest json.RawMessage `json:"rest,omitempty"`
}

// Transformer is the InputTransformer of a target.
type Transformer struct {
	Paths    map[string]string `json:"paths,omitempty"`
	Template string            `json:"template"`
}

// LogGroup is a log group of CloudWatch Logs. Its item has its name. Package streams has its events.
type LogGroup struct {
	// Implicit says that it was made because a function logged to it. A stack that declares it takes it over.
	Implicit bool `json:"implicit,omitempty"`
	// Retention is for how many days events are kept; 0 means no limit.
	Retention int `json:"retention,omitempty"`
	// Key is that of KMS, which nothing is encrypted with.
	Key   string            `json:"key,omitempty"`
	Class string            `json:"class,omitempty"`
	Made  time.Time         `json:"made,omitzero"`
	Tags  map[string]string `json:"tags,omitempty"`
}

// Bucket is an S3 bucket, as far as it is not files. Its item has its name and is [Global].
type Bucket struct {
	Owner Scope             `json:"owner"`
	Made  time.Time         `json:"made,omitzero"`
	Tags  map[string]string `json:"tags,omitempty"`
	// Settings are texts as clients put them, by what they are about, such as "policy" and "encryption".
	Settings map[string]string `json:"settings,omitempty"`
}

// Record is something that is only recorded, such as a role. Its item has the type of the resource, a slash and its name.
type Record struct {
	Properties json.RawMessage `json:"properties,omitempty"`
	// Tags are those that it has from its stack.
	Tags map[string]string `json:"tags,omitempty"`
	Made time.Time         `json:"made,omitzero"`
	// State is what calls have attached to it since, such as record sets to a hosted zone, by what it is. It may hold secrets.
	State map[string]json.RawMessage `json:"state,omitempty"`
}

// Secret is a secret of Secrets Manager. The item's name is the secret's name.
type Secret struct {
	// Suffix is the six random characters that end the ARN.
	Suffix      string `json:"suffix"`
	Description string `json:"description,omitempty"`
	// Key is the KMS key that was given; nothing is encrypted with it.
	Key  string            `json:"key,omitempty"`
	Tags map[string]string `json:"tags,omitempty"`
	// Versions are sorted by age, the oldest first.
	Versions []SecretVersion `json:"versions,omitempty"`
	Made     time.Time       `json:"made,omitzero"`
	Changed  time.Time       `json:"changed,omitzero"`
	// Due is when a deleted secret is removed; zero for one that is not deleted. Deleted is when it was deleted.
	Deleted time.Time `json:"deleted,omitzero"`
	Due     time.Time `json:"due,omitzero"`
	// Rest is JSON with the properties that are recorded only.
	Rest json.RawMessage `json:"rest,omitempty"`
}

// SecretVersion is one version of a secret: either Text or Binary is set.
type SecretVersion struct {
	ID     string    `json:"id"`
	Stages []string  `json:"stages,omitempty"`
	Text   *string   `json:"text,omitempty"`
	Binary []byte    `json:"binary,omitempty"`
	Made   time.Time `json:"made,omitzero"`
}

// Key is a secret of this cloud.
type Key struct {
	Secret []byte    `json:"secret"`
	Made   time.Time `json:"made,omitzero"`
}

// Tags are tags by their keys.
type Tags map[string]string

// ParameterTags is the name of the item of the tags of a parameter.
func ParameterTags(name string) string { return "parameter/" + name }
