package aws

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// texts returns an object from pairs of a name and a text.
func texts(pairs ...string) value.Value {
	v := value.Object()
	for i := 0; i < len(pairs); i += 2 {
		v = v.With(pairs[i], value.Str(pairs[i+1]))
	}
	return v
}

// withObject adds a member from JSON text. An empty text is null.
func withObject(v value.Value, name, text string) (value.Value, error) {
	if text == "" {
		return v.With(name, value.Value{}), nil
	}
	parsed, err := value.Parse([]byte(text))
	if err != nil {
		return v, errors.New(name + " is not JSON") // the parser's error could quote a secret
	}
	return v.With(name, parsed), nil
}

// View implements [resources.Viewer].
func (t parameter) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	p, err := t.Parameters.Parameter(ctx, c.Place, c.Physical(), 0)
	if err != nil {
		return value.Value{}, err
	}
	live := texts("Name", p.Name, "Type", string(p.Type), "Description", p.Description, "AllowedPattern", p.Pattern)
	text := value.Str(p.Value)
	if p.Type == store.ParameterSecure {
		text = value.SecretStr(p.Value)
	}
	return live.With("Value", text), nil
}

// View implements [resources.Viewer]. Code that the stack did not set is shown as a hash, as in Lambda.
func (t function) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	there, err := t.Catalog.Functions.Get(ctx, c.Place, c.Physical())
	if err != nil {
		return value.Value{}, err
	}
	f := there.Of
	live := texts("FunctionName", there.Name, "Runtime", f.Runtime, "Handler", f.Handler, "Role", f.Role, "Description", f.Description,
		"Timeout", strconv.Itoa(f.Timeout), "MemorySize", strconv.Itoa(f.Memory), "ReservedConcurrentExecutions", "").With("Environment", value.Value{})
	if len(f.Environment) > 0 {
		variables := value.Object()
		for name, text := range f.Environment {
			v := value.Str(text)
			if slices.Contains(f.Hidden, name) {
				v = value.SecretStr(text)
			}
			variables = variables.With(name, v)
		}
		live = live.With("Environment", value.Object(value.Member{Key: "Variables", Value: variables}))
	}
	if f.Concurrency != nil {
		live = live.With("ReservedConcurrentExecutions", value.Str(strconv.Itoa(*f.Concurrency)))
	}
	switch {
	case f.Declared == "": // an imported function, or one of an earlier version
	case f.Declared == f.Code:
		live = live.With("Code", c.At("Code"))
	default:
		live = live.With("Code", value.Str("CodeSha256 "+codeSha256(f.Code)))
	}
	return live.With("Layers", value.Strs(f.Layers...)).With("Architectures", value.Strs(f.Architectures...)).
		With("Tags", resources.TagList(f.Tags)), nil
}

// View implements [resources.Viewer].
func (t topic) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	there, err := t.Catalog.Topics.Get(ctx, c.Place, topicNamed(c))
	if err != nil {
		return value.Value{}, err
	}
	live := texts("TopicName", there.Name).With("Tags", resources.TagList(there.Of.Tags))
	for _, name := range []string{"ContentBasedDeduplication", "FifoTopic"} {
		live = live.With(name, value.Str(cmp.Or(there.Of.Attributes[name], "false")))
	}
	for _, name := range []string{"DisplayName", "KmsMasterKeyId", "SignatureVersion", "TracingConfig"} {
		live = live.With(name, value.Str(there.Of.Attributes[name]))
	}
	return live, nil
}

// View implements [resources.Viewer].
func (t subscription) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	place, name := subscriptionNamed(c)
	there, err := t.Catalog.Subscriptions.Get(ctx, place, name)
	if err != nil {
		return value.Value{}, err
	}
	raw := "false"
	if there.Of.Attributes["RawMessageDelivery"] == "true" {
		raw = "true"
	}
	return texts("TopicArn", there.Of.Topic, "Protocol", there.Of.Protocol, "Endpoint", there.Of.Endpoint, "RawMessageDelivery", raw), nil
}

// View implements [resources.Viewer].
func (t rule) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	there, err := t.Catalog.Rules.Get(ctx, registry.Global, registry.RuleName(c.Place, c.Physical()))
	if err != nil {
		return value.Value{}, err
	}
	state := "ENABLED"
	if there.Of.Disabled {
		state = "DISABLED"
	}
	live := texts("Name", there.Of.Name, "ScheduleExpression", there.Of.Schedule, "Description", there.Of.Description,
		"RoleArn", there.Of.Role, "State", state).With("Tags", resources.TagList(there.Of.Tags))
	return withObject(live, "EventPattern", there.Of.Pattern)
}

// View implements [resources.Viewer]. If the definition equals the declared one after substitution, View returns it
// as declared.
func (t machine) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	there, err := t.Catalog.Machines.Get(ctx, c.Place, machineNamed(c))
	if err != nil {
		return value.Value{}, err
	}
	live := texts("StateMachineName", there.Name, "RoleArn", there.Of.Role, "StateMachineType", there.Of.Type).With("Tags", resources.TagList(there.Of.Tags))
	declared, err := t.definition(ctx, c)
	same := err == nil && declared == there.Of.Definition
	for _, property := range []string{"DefinitionString", "Definition"} {
		switch given := c.At(property); {
		case given.IsNull():
		case same:
			live = live.With(property, given)
		case given.IsScalar():
			live = live.With(property, value.Str(there.Of.Definition))
		default:
			return withObject(live, property, there.Of.Definition)
		}
	}
	return live, nil
}

// View implements [resources.Viewer].
func (t group) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	there, err := t.Catalog.Groups.Get(ctx, c.Place, c.Physical())
	if err != nil {
		return value.Value{}, err
	}
	days := ""
	if there.Of.Retention > 0 {
		days = strconv.Itoa(there.Of.Retention)
	}
	return texts("LogGroupName", there.Name, "RetentionInDays", days, "LogGroupClass", there.Of.Class).With("Tags", resources.TagList(there.Of.Tags)), nil
}

// View implements [resources.Viewer].
func (t bucket) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	there, err := t.Catalog.Buckets.Get(ctx, registry.Global, c.Physical())
	if err != nil {
		return value.Value{}, err
	}
	live := texts("BucketName", there.Name).With("Tags", resources.TagList(there.Of.Tags)).With("VersioningConfiguration", value.Value{})
	if status := there.Of.Settings[objects.SettingVersioning]; status != "" {
		live = live.With("VersioningConfiguration", texts("Status", status))
	}
	return live, nil
}

// View implements [resources.Viewer].
func (t bucketPolicy) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	there, err := t.Catalog.Buckets.Get(ctx, registry.Global, c.Physical())
	if err != nil {
		return value.Value{}, err
	}
	policy := there.Of.Settings[objects.SettingPolicy]
	if policy == "" {
		return value.Value{}, registry.ErrNotFound
	}
	return withObject(texts("Bucket", there.Name), "PolicyDocument", policy)
}

// View implements [resources.Viewer]. As on AWS, the value is not compared, because rotation changes it on purpose.
func (t secret) View(ctx context.Context, c *resources.Call) (value.Value, error) {
	there, err := t.Secrets.Find(ctx, c.Place, c.Physical())
	if err != nil {
		return value.Value{}, err
	}
	if !there.Of.Due.IsZero() {
		return value.Value{}, registry.ErrNotFound
	}
	return texts("Name", there.Name, "Description", there.Of.Description, "KmsKeyId", there.Of.Key).With("Tags", resources.TagList(there.Of.Tags)), nil
}
