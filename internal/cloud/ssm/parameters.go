// Package ssm resolves references to parameters of the Systems Manager Parameter Store and to secrets of Secrets
// Manager. Templates name parameters by their types (AWS::SSM::Parameter::Value<…>) and both by dynamic references.
//
// A [Source] is where parameters are: in the server's own store ([Own]), or behind an API ([Remote]). A [Reader] reads what is
// wanted for a stack, with a limit of time.
//
// Errors never hold a value.
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

// Bootstrap is what the server's own store has from the start: the version of the CDK's bootstrap stack, as the templates of
// aws-cdk-lib and the CDK's command look for it. A parameter that is put goes before it.
const (
	Bootstrap        = "/cdk-bootstrap/hnb659fds/version"
	BootstrapVersion = "33"
)

// Source is where parameters are. Its methods may be called by many goroutines at once.
type Source interface {
	// Parameter returns a version of a parameter, the newest one for version 0. The error is [store.ErrNotFound] if there is
	// none; any other error may pass.
	Parameter(ctx context.Context, place registry.Scope, name string, version int64) (store.Parameter, error)
}

// Secrets is where secrets are.
type Secrets interface {
	// Secret returns the text of a secret, of which a reference says which version. The error is [store.ErrNotFound] if there
	// is none; any other error may pass.
	Secret(ctx context.Context, place registry.Scope, reference dynamic.Reference) (string, error)
}

// Config is what a [Reader] is made of.
type Config struct {
	// Parameters is where parameters are. Required.
	Parameters Source
	// Secrets is where secrets are; nil is nowhere.
	Secrets Secrets
	// ResolveSecrets has references to secrets resolved. CloudFormation does not, in custom resources.
	ResolveSecrets bool
	// ResolveNative resolves references to secrets in the properties of native types, as CloudFormation does.
	ResolveNative bool
	// Timeout bounds all that is read for one template or request. Zero means [DefaultTimeout].
	Timeout time.Duration
}

// DefaultTimeout is how long all that is read at once may take.
const DefaultTimeout = 10 * time.Second

// Reader reads for stacks. It is safe for concurrent use.
type Reader struct{ config Config }

// New returns a reader. It returns an error if a required field is missing or a number is negative.
func New(config Config) (*Reader, error) {
	if config.Parameters == nil || config.Timeout < 0 {
		return nil, errors.New("parameters: a source is required, and the timeout must not be negative")
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	return &Reader{config}, nil
}

// Stored returns what there is under names that a template reads its parameters from. The error is that of the source.
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

// Selector takes NAME, NAME:VERSION or the ARN of a parameter apart; false for what is none in that place.
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
		if given = path; strings.Count(path, "/") == 1 { // of a name without a path the ARN has it too
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

// Wants reports whether a reference is resolved in the properties of a native type, or of another one.
func (r *Reader) Wants(reference dynamic.Reference, native bool) bool {
	return !reference.Service.Secret() || r.config.ResolveSecrets || native && r.config.ResolveNative
}

// Resolve returns the values of references, by their texts. The value of a secret is marked as one. missing has the references
// without a value, with the reason, by their texts. The error is a temporary one and names the reference.
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

// one resolves one reference. why says why there is nothing, empty if there is.
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

// member returns a member of the object that a secret is.
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
