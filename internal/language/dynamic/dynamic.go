// Package dynamic finds and replaces CloudFormation's dynamic references, {{resolve:SERVICE:KEY}}. It fetches nothing
// itself.
//
// A reference is part of a string. Text in braces that is not a reference, because it names another service or is not
// closed, is ordinary text.
//
// Source: CloudFormation User Guide, "Get values stored in other services using dynamic references".
package dynamic

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Limit is the maximum number of references in a template. Source: CloudFormation, quotas.
const Limit = 60

// Service is the service that a reference reads from. The set is closed.
type Service string

// The services.
const (
	// SSM is a plain parameter.
	SSM Service = "ssm"
	// SSMSecure is a secret parameter.
	SSMSecure Service = "ssm-secure"
	// SecretsManager is a secret, or part of one.
	SecretsManager Service = "secretsmanager"
)

// Secret reports whether the service's results are secret.
func (s Service) Secret() bool { return s != SSM }

// Reference is one dynamic reference.
type Reference struct {
	// Text is the reference as it is written, braces included.
	Text    string
	Service Service
	// Name is the name of a parameter, or the name or ARN of a secret.
	Name string
	// Version is the version of a parameter, 0 for the newest.
	Version int64
	// Key is a key of the secret's JSON, empty for the whole text.
	Key string
	// Stage and VersionID select a version of a secret; if both are empty, it is the current one.
	Stage, VersionID string
}

var (
	pattern = regexp.MustCompile(`\{\{resolve:(ssm|ssm-secure|secretsmanager):([^{}]*)\}\}`)
	ssmKey  = regexp.MustCompile(`^([a-zA-Z0-9_.\-/]+)(?::([0-9]{1,18}))?$`)
)

// mark is the beginning of every reference.
const mark = "{{resolve:"

// Find returns the references in a text, in order. The error is about the first text that looks like a reference but is
// invalid, in CloudFormation's words where they are known.
func Find(text string) ([]Reference, error) {
	if !strings.Contains(text, mark) {
		return nil, nil
	}
	var found []Reference
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		r, err := parse(m[0], Service(m[1]), m[2])
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// Texts returns everything in a text that looks like a reference, valid or not.
func Texts(text string) []string {
	if !strings.Contains(text, mark) {
		return nil
	}
	return pattern.FindAllString(text, -1)
}

func parse(text string, service Service, key string) (Reference, error) {
	r := Reference{Text: text, Service: service}
	if service == SecretsManager {
		return r, r.parseSecret(key)
	}
	m := ssmKey.FindStringSubmatch(key)
	if m == nil {
		return r, fmt.Errorf("Incorrect format is used in the following SSM reference: [%s]", text) //nolint:staticcheck // CloudFormation's words
	}
	r.Name = m[1]
	for _, digit := range m[2] {
		r.Version = r.Version*10 + int64(digit-'0')
	}
	if m[2] != "" && r.Version == 0 {
		return r, fmt.Errorf("Incorrect format is used in the following SSM reference: [%s]", text) //nolint:staticcheck // CloudFormation's words
	}
	return r, nil
}

// arnParts is the number of parts in the ARN of a secret.
const arnParts = 7

// parseSecret reads ID[:SecretString[:KEY[:STAGE[:VERSION]]]]. The parts at the end may be missing or empty.
func (r *Reference) parseSecret(key string) error {
	parts := strings.Split(key, ":")
	id := 1
	if parts[0] == "arn" {
		id = arnParts
	}
	wrong := func(why string) error {
		return fmt.Errorf("Incorrect format is used in the following Secrets Manager reference: [%s]: %s", r.Text, why) //nolint:staticcheck // CloudFormation's manner
	}
	switch {
	case len(parts) < id || parts[id-1] == "":
		return wrong("it names no secret")
	case strings.HasSuffix(key, `\`):
		return wrong("it must not end with a backslash")
	case len(parts) > id+4:
		return wrong("it has more parts than secret-id:SecretString:json-key:version-stage:version-id")
	}
	r.Name = strings.Join(parts[:id], ":")
	rest := append(parts[id:], "", "", "", "")
	if rest[0] != "" && rest[0] != "SecretString" {
		return wrong("a secret can only be read as SecretString")
	}
	r.Key, r.Stage, r.VersionID = rest[1], rest[2], rest[3]
	return nil
}

// In returns the references in all strings of a value, each text once, in order. It ignores the keys of objects.
func In(v value.Value) ([]Reference, error) {
	seen := make(map[string]bool)
	var list []Reference
	err := eachString(v, func(text string) error {
		found, err := Find(text)
		for _, r := range found {
			if !seen[r.Text] {
				seen[r.Text] = true
				list = append(list, r)
			}
		}
		return err
	})
	return list, err
}

// Has reports whether any string of a value may contain a reference. It is fast.
func Has(v value.Value) bool {
	return eachString(v, func(text string) error {
		if strings.Contains(text, mark) {
			return errHas
		}
		return nil
	}) != nil
}

var errHas = fmt.Errorf("there is a reference")

func eachString(v value.Value, look func(string) error) error {
	if v.Kind() == value.String {
		return look(v.Text())
	}
	for _, item := range v.Items() {
		if err := eachString(item, look); err != nil {
			return err
		}
	}
	for _, m := range v.Members() {
		if err := eachString(m.Value, look); err != nil {
			return err
		}
	}
	return nil
}

// Replace returns a value whose strings have each reference replaced by its entry in resolved. References without an
// entry stay as they are. A string that contains a replaced secret is secret. Replace does not search the inserted
// text for references.
func Replace(v value.Value, resolved map[string]value.Value) value.Value {
	switch v.Kind() {
	case value.Null, value.Bool, value.Number:
		return v
	case value.String:
		return replaceText(v, resolved)
	case value.List:
		items := make([]value.Value, len(v.Items()))
		for i, item := range v.Items() {
			items[i] = Replace(item, resolved)
		}
		return value.Items(items...)
	case value.Map:
		members := make([]value.Member, len(v.Members()))
		for i, m := range v.Members() {
			members[i] = value.Member{Key: m.Key, Value: Replace(m.Value, resolved)}
		}
		return value.Object(members...)
	}
	return v
}

func replaceText(v value.Value, resolved map[string]value.Value) value.Value {
	if !strings.Contains(v.Text(), mark) {
		return v
	}
	secrecy := v.Secrecy()
	text := pattern.ReplaceAllStringFunc(v.Text(), func(reference string) string {
		found, ok := resolved[reference]
		if !ok {
			return reference
		}
		secrecy = max(secrecy, found.Secrecy())
		return found.Text()
	})
	return value.Str(text).Tainted(secrecy)
}
