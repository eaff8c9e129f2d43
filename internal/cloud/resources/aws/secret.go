package aws

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
)

var (
	secretTable = resources.Table{
		Name:       "AWS::SecretsManager::Secret",
		Identifier: "Id",
		Texts:      "Description KmsKeyId Name SecretString Type", Lists: "ReplicaRegions Tags", Objects: "GenerateSecretString",
		Replaces: "Name", Attributes: "Id",
		Named: "Name", Longest: 512, Letters: secretLetters,
	}
	secretAttachmentTable = resources.Table{
		Name: "AWS::SecretsManager::SecretTargetAttachment", Identifier: "Id", Texts: "SecretId TargetId TargetType",
		Required: "SecretId TargetId TargetType", Replaces: "SecretId", Attributes: "Id", Named: "SecretId", Longest: 2048,
	}
	secretPolicyTable = resources.Table{
		Name: "AWS::SecretsManager::ResourcePolicy", Identifier: "Id", Texts: "SecretId", Truths: "BlockPublicPolicy", Documents: "ResourcePolicy",
		Required: "ResourcePolicy SecretId", Replaces: "SecretId", Attributes: "Id", Named: "SecretId", Longest: 2048,
	}
	rotationTable = resources.Table{
		Name: "AWS::SecretsManager::RotationSchedule", Identifier: "Id", Texts: "ExternalSecretRotationRoleArn RotationLambdaARN SecretId",
		Truths: "RotateImmediatelyOnUpdate", Lists: "ExternalSecretRotationMetadata", Objects: "HostedRotationLambda RotationRules",
		Required: "SecretId", Replaces: "SecretId", Attributes: "Id", Named: "SecretId", Longest: 2048,
	}
)

// ofSecret returns the ID of a resource that belongs to a secret.
func ofSecret(c *resources.Call) string { return c.Text("SecretId") }

// secret is AWS::SecretsManager::Secret.
type secret struct{ Config }

// Create implements [resources.Maker].
func (t secret) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	tags, err := c.Tags()
	if err != nil {
		return native.Result{}, err
	}
	declared, generate, err := secretValue(c)
	if err != nil {
		return native.Result{}, err
	}
	name := c.Text("Name")
	if name == "" {
		name = string(c.Logical) + "-" + native.Suffix(c.Request)
	}
	made, err := t.Secrets.Create(ctx, secretsmanager.NewSecret{
		Place: c.Place, Name: name, Holder: c.Holder(), Description: c.Text("Description"), Key: c.Text("KmsKeyId"), Tags: tags,
		Token: versionToken(c), Value: declared, GenerateIfMissing: generate, Rest: c.Rest(secretActs),
	})
	if errors.Is(err, registry.ErrExists) {
		return native.Result{}, c.Taken(name, made.Owner)
	}
	if err != nil {
		return native.Result{}, secretError(err)
	}
	return secretResult(made), nil
}

// secretActs are the properties that have an effect.
const secretActs = "Description GenerateSecretString KmsKeyId Name SecretString Tags"

// Update implements [resources.Maker]. The secret gets a new value only if its declaration changed.
func (t secret) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	tags, err := c.Tags()
	if err != nil {
		return native.Result{}, err
	}
	if tags == nil {
		tags = map[string]string{}
	}
	description, key, rest := c.Text("Description"), c.Text("KmsKeyId"), []byte(c.Rest(secretActs))
	change := secretsmanager.Change{Description: &description, Key: &key, Tags: &tags, Rest: &rest}
	if c.Changed("SecretString") || c.Changed("GenerateSecretString") {
		declared, generate, err := secretValue(c)
		if err != nil {
			return native.Result{}, err
		}
		change.Token = versionToken(c)
		if change.Value = declared; generate != nil {
			if change.Value, err = t.generated(ctx, c, change.Token, generate); err != nil {
				return native.Result{}, secretError(err)
			}
		}
	}
	made, _, err := t.Secrets.Update(ctx, c.Place, c.Physical(), change)
	if errors.Is(err, registry.ErrNotFound) {
		return native.Result{}, c.Lost()
	}
	if err != nil {
		return native.Result{}, secretError(err)
	}
	return secretResult(made), nil
}

// generated returns the value that this request generated before, or a new one.
func (t secret) generated(ctx context.Context, c *resources.Call, token string, generate func() (secretsmanager.Value, error)) (secretsmanager.Value, error) {
	_, there, err := t.Secrets.Version(ctx, c.Place, c.Physical(), token, "")
	if err == nil {
		return secretsmanager.Value{Text: there.Text, Binary: there.Binary}, nil
	}
	if !errors.Is(err, registry.ErrNotFound) {
		return secretsmanager.Value{}, err
	}
	return generate()
}

// versionToken returns the ID of the version that a request adds, with the length that Secrets Manager requires. It
// is the same each time the request is served.
func versionToken(c *resources.Call) string {
	return strings.Repeat("0", max(0, 32-len(c.ID))) + string(c.ID)
}

// Remove implements [resources.Maker]. As on AWS, the secret has no recovery window.
func (t secret) Remove(ctx context.Context, c *resources.Call) error {
	there, err := t.Secrets.Find(ctx, c.Place, c.Physical())
	if err != nil || !c.Made(there.Owner) {
		return resources.IgnoreMissing(err)
	}
	_, _, err = t.Secrets.Remove(ctx, c.Place, c.Physical())
	return resources.IgnoreMissing(err)
}

func secretResult(made secretsmanager.Item) native.Result {
	arn := secretsmanager.ARN(made)
	return resources.Result(arn, "Id", arn)
}

// secretError converts an error of package secretsmanager to the reason of an event, in CloudFormation's format.
func secretError(err error) error {
	if apiErr, ok := errors.AsType[*secretsmanager.Error](err); ok {
		return resources.Reasonf("%s (Service: SecretsManager, Error Code: %s)", apiErr.Message, apiErr.Code)
	}
	return err
}

// generateMembers are the members of GenerateSecretString. Source: CloudFormation's resource schema.
const generateMembers = "ExcludeCharacters ExcludeLowercase ExcludeNumbers ExcludePunctuation ExcludeUppercase GenerateStringKey IncludeSpace " +
	"PasswordLength RequireEachIncludedType SecretStringTemplate"

// secretValue returns the declared value, or the func that generates it. Both are empty for a secret without a value.
func secretValue(c *resources.Call) (secretsmanager.Value, func() (secretsmanager.Value, error), error) {
	text, declared := c.At("SecretString"), c.At("GenerateSecretString")
	switch {
	case !text.IsNull() && !declared.IsNull():
		return secretsmanager.Value{}, nil, resources.Reason("You can't specify both SecretString and GenerateSecretString")
	case !text.IsNull():
		plain := text.Text()
		return secretsmanager.Value{Text: &plain}, nil, nil
	case declared.IsNull():
		return secretsmanager.Value{}, nil, nil
	}
	p, err := passwordOf(c, declared)
	if err != nil {
		return secretsmanager.Value{}, nil, err
	}
	template, key := c.At("GenerateSecretString", "SecretStringTemplate"), c.Text("GenerateSecretString", "GenerateStringKey")
	if template.IsNull() != (key == "") {
		return secretsmanager.Value{}, nil, resources.Reason("GenerateSecretString must have both SecretStringTemplate and GenerateStringKey, or neither")
	}
	var around value.Value
	if !template.IsNull() {
		if around, err = value.Parse([]byte(template.Text())); err != nil || around.Kind() != value.Map {
			return secretsmanager.Value{}, nil, c.Bad("SecretStringTemplate", "be a JSON object")
		}
	}
	return secretsmanager.Value{}, func() (secretsmanager.Value, error) {
		password, err := p.Generate()
		if err != nil {
			return secretsmanager.Value{}, err
		}
		if key != "" {
			password = string(around.With(key, value.Str(password)).JSON())
		}
		return secretsmanager.Value{Text: &password}, nil
	}, nil
}

// passwordOf parses the password options in GenerateSecretString.
func passwordOf(c *resources.Call, declared value.Value) (p secretsmanager.Password, err error) {
	flags := map[string]*bool{
		"ExcludeLowercase": &p.NoLowercase, "ExcludeNumbers": &p.NoNumbers, "ExcludePunctuation": &p.NoPunctuation,
		"ExcludeUppercase": &p.NoUppercase, "IncludeSpace": &p.Space, "RequireEachIncludedType": &p.NotEach,
	}
	for _, m := range declared.Members() {
		if !m.Value.IsScalar() {
			return p, c.Bad(m.Key, "be a String, an Integer or a Boolean")
		}
		flag, isFlag := flags[m.Key]
		switch {
		case isFlag && m.Value.Text() != "true" && m.Value.Text() != "false":
			return p, c.Bad(m.Key, "be of type Boolean")
		case isFlag:
			*flag = (m.Value.Text() == "true") != (flag == &p.NotEach)
		case !strings.Contains(" "+generateMembers+" ", " "+m.Key+" "):
			return p, resources.Reason("Encountered unsupported property " + m.Key)
		}
	}
	p.Exclude = c.Text("GenerateSecretString", "ExcludeCharacters")
	if length := c.At("GenerateSecretString", "PasswordLength"); !length.IsNull() {
		p.Length = new(int)
		if json.Unmarshal([]byte(length.Text()), p.Length) != nil {
			return p, c.Bad("PasswordLength", "be of type Integer")
		}
	}
	return p, nil
}
