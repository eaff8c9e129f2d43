package forward

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// The outputs of an inner stack.
const (
	outputRef       = "PintleRef"
	outputDigest    = "PintleDigest"
	outputAttribute = "PintleAttribute" // followed by the index of the attribute
)

// The tags of an inner stack. Its resource gets them too, if the endpoint passes tags on.
const (
	tagStack    = "pintle:stack"
	tagResource = "pintle:resource"
)

// Limits of CloudFormation. Source: CloudFormation quotas.
const (
	maxTemplate  = 51_200
	maxParameter = 4096
)

// document is the desired state of an inner stack.
type document struct {
	template   string
	parameters []any
	tags       []any
	digest     string
	attributes []string
	policy     string // DeletionPolicy
}

// secretPrefix is the prefix of the parameters with secret values.
const secretPrefix = "PintleSecret"

// write makes the document of a request. The UpdateReplacePolicy of the inner stack is always Retain: Pintle replaces a
// resource by a second stack, so an endpoint that replaces it on its own must not delete the old one.
func (j *job) write() (document, error) {
	r := j.r
	wanted := r.Body.Forwarded
	if wanted == nil {
		wanted = &store.Forwarded{}
	}
	d := document{attributes: wanted.Attributes, policy: wanted.DeletionPolicy}
	prefix := secretPrefix
	if strings.HasPrefix(string(r.Logical), prefix) {
		prefix = "Secret"
	}
	hide := secrets{prefix: prefix, parameters: map[string]any{}}
	resource := map[string]any{
		"Type": r.Body.ResourceType, "Properties": hide.plain(r.Body.Properties), "UpdateReplacePolicy": "Retain",
	}
	if d.policy != "" {
		resource["DeletionPolicy"] = d.policy
	}
	outputs := map[string]any{outputRef: map[string]any{"Value": map[string]any{"Ref": string(r.Logical)}}}
	for i, name := range d.attributes {
		var read any = map[string]any{"Fn::GetAtt": []any{string(r.Logical), name}}
		if native.IsList(r.Body.ResourceType, name) {
			read = map[string]any{"Fn::Join": []any{listSeparator, read}}
		}
		outputs[outputAttribute+strconv.Itoa(i)] = map[string]any{"Value": read}
	}
	template := map[string]any{
		"AWSTemplateFormatVersion": "2010-09-09",
		"Description":              "Pintle manages this stack. It has the resource " + string(r.Logical) + " of " + string(r.Body.StackID),
		"Resources":                map[string]any{string(r.Logical): resource},
		"Outputs":                  outputs,
	}
	if len(hide.parameters) > 0 {
		template["Parameters"] = hide.parameters
	}
	for _, tag := range r.Body.Tags {
		if tag.Key != tagStack && tag.Key != tagResource {
			d.tags = append(d.tags, pair("Key", tag.Key, "Value", tag.Value))
		}
	}
	d.tags = append(d.tags, pair("Key", tagStack, "Value", string(r.Body.StackID)), pair("Key", tagResource, "Value", string(r.Logical)))
	for i, secret := range hide.values {
		if len(secret) > maxParameter {
			return d, fmt.Errorf("a secret value in the properties has %d bytes, and a parameter at %s may have %d", len(secret), j.e.host, maxParameter)
		}
		d.parameters = append(d.parameters, pair("ParameterKey", prefix+strconv.Itoa(i), "ParameterValue", secret))
	}
	body, err := json.Marshal(template)
	if err != nil {
		return d, fmt.Errorf("the properties cannot be written as JSON") //nolint:err113 // the error may quote a secret
	}
	signed, err := json.Marshal([]any{json.RawMessage(body), d.parameters, d.tags})
	if err != nil {
		return d, err
	}
	mac := hmac.New(sha256.New, j.config.Key)
	mac.Write(signed)
	d.digest = hex.EncodeToString(mac.Sum(nil)[:16])
	outputs[outputDigest] = map[string]any{"Value": d.digest}
	if body, err = json.Marshal(template); err != nil {
		return d, err
	}
	if len(body) > maxTemplate {
		return d, fmt.Errorf("the template for %s has %d bytes, and CloudFormation takes %d: the properties are too large", j.e.host, len(body), maxTemplate)
	}
	d.template = string(body)
	return d, nil
}

// params returns the parameters of a call that creates or updates an inner stack.
func (d *document) params(stack string) map[string]any {
	p := map[string]any{
		"StackName": stack, "TemplateBody": d.template, "Tags": d.tags, "Capabilities": []any{"CAPABILITY_NAMED_IAM"},
	}
	if d.parameters != nil {
		p["Parameters"] = d.parameters
	}
	return p
}

func pair(key, is, other, text string) map[string]any { return map[string]any{key: is, other: text} }

// secrets replaces secret values with parameters.
type secrets struct {
	prefix     string
	parameters map[string]any
	values     []string
}

// plain returns a value as encoding/json takes it. Secret scalars become references to parameters.
func (s *secrets) plain(v value.Value) any {
	switch v.Kind() {
	case value.Map:
		object := make(map[string]any, len(v.Members()))
		for _, m := range v.Members() {
			object[m.Key] = s.plain(m.Value)
		}
		return object
	case value.List:
		items := make([]any, 0, len(v.Items()))
		for _, item := range v.Items() {
			items = append(items, s.plain(item))
		}
		return items
	case value.Null:
		return nil
	case value.String, value.Number, value.Bool:
	}
	if v.Secret() {
		at := slices.Index(s.values, v.Text())
		if at < 0 {
			at = len(s.values)
			s.values = append(s.values, v.Text())
			s.parameters[s.prefix+strconv.Itoa(at)] = map[string]any{"Type": "String", "NoEcho": true}
		}
		return map[string]any{"Ref": s.prefix + strconv.Itoa(at)}
	}
	return json.RawMessage(v.JSON())
}

// listSeparator separates the items of a list attribute in an output, which is always a string.
const listSeparator = ","
