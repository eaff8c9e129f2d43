// Package ssm resolves references to parameters of the Systems Manager Parameter Store and to secrets of Secrets
// Manager. Templates name parameters by their types (AWS::SSM::Parameter::Value<…>) and both by dynamic references.
//
// A [Source] provides parameters, from the server's own store ([Own]) or from an API ([Remote]). A [Reader] reads the
// values for a stack within a time limit.
//
// Errors never contain a value.
package ssm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// Bootstrap is a built-in parameter of the server's own store: the version of the CDK's bootstrap stack, which
// aws-cdk-lib templates and the CDK command look up. A stored parameter with this name takes precedence.
const (
	Bootstrap        = "/cdk-bootstrap/hnb659fds/version"
	BootstrapVersion = "33"
)

// Source provides parameters. Its methods are safe for concurrent use.
type Source interface {
	// Parameter returns a version of a parameter, the newest for version 0. It returns [store.ErrNotFound] for a
	// missing one. Any other error may be temporary.
	Parameter(ctx context.Context, place registry.Scope, name string, version int64) (store.Parameter, error)
}

// Secrets provides secrets.
type Secrets interface {
	// Secret returns the text of the secret version in a reference. It returns [store.ErrNotFound] for a missing one.
	// Any other error may be temporary.
	Secret(ctx context.Context, place registry.Scope, reference dynamic.Reference) (string, error)
}

// Config configures a [Reader].
type Config struct {
	// Parameters provides the parameters. Required.
	Parameters Source
	// Secrets provides the secrets. Nil means none.
	Secrets Secrets
	// ResolveSecrets resolves references to secrets in custom resources. CloudFormation does not.
	ResolveSecrets bool
	// ResolveNative resolves references to secrets in the properties of native types, as CloudFormation does.
	ResolveNative bool
	// Timeout bounds all reads for one template or request. Zero means [DefaultTimeout].
	Timeout time.Duration
}

// DefaultTimeout is the default of Config.Timeout.
const DefaultTimeout = 10 * time.Second

// Reader reads values for stacks. It is safe for concurrent use.
type Reader struct{ config Config }

// New returns a reader. It returns an error if a required field is missing or the timeout is negative.
func New(config Config) (*Reader, error) {
	if config.Parameters == nil || config.Timeout < 0 {
		return nil, errors.New("parameters: a source is required, and the timeout must not be negative")
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	return &Reader{config}, nil
}

// Stored returns the parameters with the names in a template. The error is that of the source.
func (r *Reader) Stored(ctx context.Context, account, region string, names []string) (map[string]template.Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	place := registry.Scope{Account: account, Region: region}
	stored := make(map[string]template.Stored, len(names))
	for _, given := range names {
		name, version, ok := Selector(place, given)
		if !ok {
			stored[given] = template.Stored{State: template.StoredMissing}
			continue
		}
		p, err := r.config.Parameters.Parameter(ctx, place, name, version)
		switch {
		case errors.Is(err, store.ErrNotFound):
			stored[given] = template.Stored{State: template.StoredMissing}
		case err != nil:
			return nil, fmt.Errorf("read parameter %s: %w", name, err)
		case p.Type == store.ParameterSecure:
			stored[given] = template.Stored{State: template.StoredSecret}
		default:
			stored[given] = template.Stored{State: template.StoredText, Value: p.Value}
		}
	}
	return stored, nil
}

// Selector parses NAME, NAME:VERSION or the ARN of a parameter. ok is false for an invalid text or another scope.
func Selector(place registry.Scope, given string) (name string, version int64, ok bool) {
	if rest, isARN := strings.CutPrefix(given, "arn:"); isARN {
		parts := strings.SplitN(rest, ":", 5) // partition, ssm, region, account, parameter/NAME
		if len(parts) != 5 || parts[1] != "ssm" || parts[2] != place.Region || parts[3] != place.Account {
			return "", 0, false
		}
		var path string
		if path, ok = strings.CutPrefix(parts[4], "parameter"); !ok || !strings.HasPrefix(path, "/") {
			return "", 0, false
		}
		if given = path; strings.Count(path, "/") == 1 { // the ARN has a slash even if the name has no path
			given = strings.TrimPrefix(path, "/")
		}
	}
	name, digits, selected := strings.Cut(given, ":")
	if !selected {
		return name, 0, name != ""
	}
	for _, digit := range digits {
		if digit < '0' || digit > '9' || version > 1<<50 {
			return "", 0, false
		}
		version = version*10 + int64(digit-'0')
	}
	return name, version, name != "" && version > 0
}

// Wants reports whether a reference is resolved in the properties of a native type, or of another type.
func (r *Reader) Wants(reference dynamic.Reference, native bool) bool {
	return !reference.Service.Secret() || r.config.ResolveSecrets || native && r.config.ResolveNative
}

// Resolve returns the values of references, by their texts. Values of secrets are marked as secret. missing has the
// reasons for references without a value. An error is temporary and names the reference.
func (r *Reader) Resolve(ctx context.Context, account, region string, references []dynamic.Reference) (
	resolved map[string]value.Value, missing map[string]string, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	resolved, missing = make(map[string]value.Value), make(map[string]string)
	for _, reference := range references {
		text, why, err := r.one(ctx, registry.Scope{Account: account, Region: region}, reference)
		if final, ok := errors.AsType[*Final](err); ok {
			why, err = final.Text, nil
		}
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("the dynamic reference %s: %w", reference.Text, err)
		case why != "":
			missing[reference.Text] = why
		case reference.Service.Secret():
			resolved[reference.Text] = value.SecretStr(text)
		default:
			resolved[reference.Text] = value.Str(text)
		}
	}
	return resolved, missing, nil
}

// one resolves one reference. why is the reason if it has no value, and otherwise empty.
func (r *Reader) one(ctx context.Context, place registry.Scope, reference dynamic.Reference) (text, why string, err error) {
	switch reference.Service {
	case dynamic.SSM, dynamic.SSMSecure:
		p, err := r.config.Parameters.Parameter(ctx, place, reference.Name, reference.Version)
		switch secure := p.Type == store.ParameterSecure; {
		case errors.Is(err, store.ErrNotFound) && reference.Version > 0:
			return "", fmt.Sprintf("there is no parameter %s with version %d", reference.Name, reference.Version), nil
		case errors.Is(err, store.ErrNotFound):
			return "", "there is no parameter " + reference.Name, nil
		case err != nil:
			return "", "", err
		case secure && reference.Service == dynamic.SSM:
			return "", "parameter " + reference.Name + " is a SecureString, which ssm-secure is for", nil
		case !secure && reference.Service == dynamic.SSMSecure:
			return "", "parameter " + reference.Name + " is not a SecureString: ssm reads only other types", nil
		}
		return p.Value, "", nil
	case dynamic.SecretsManager:
		if r.config.Secrets == nil {
			return "", "this server knows no Secrets Manager", nil
		}
		text, err := r.config.Secrets.Secret(ctx, place, reference)
		if errors.Is(err, store.ErrNotFound) {
			return "", "there is no secret " + reference.Name + ", or not that version of it", nil
		}
		if err != nil || reference.Key == "" {
			return text, "", err
		}
		text, why = member(text, reference.Key)
		return text, why, nil
	}
	return "", "there is no such service", nil
}

// member returns a member of a secret that is a JSON object.
func member(text, key string) (found, why string) {
	const wording = "Could not find a value associated with JSONKey in SecretString" // CloudFormation's own
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil { // its error could quote the secret
		return "", wording + ": the secret is not a JSON object"
	}
	raw, ok := object[key]
	if !ok || string(raw) == "null" {
		return "", wording + ": it has no " + key
	}
	if json.Unmarshal(raw, &found) == nil {
		return found, ""
	}
	return string(raw), ""
}
