package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// evaluation evaluates declarations to the properties for a provider.
type evaluation struct{ *decision }

// resolve evaluates a declaration in a revision's scope. properties are for display: as declared, if they could not
// be converted for the provider. problem describes the error in them.
func (d evaluation) resolve(declared *template.Resource, revision int) (
	properties, metadata value.Value, ask asked, problem string, err error,
) {
	scope, err := d.scope(revision)
	if err != nil {
		return value.Value{}, value.Value{}, asked{}, "", err
	}
	source := attributes{d.decision}
	properties, failure := template.Evaluate(declared.Properties, scope, source)
	if failure == nil {
		metadata, failure = template.Evaluate(declared.Metadata, scope, source)
	}
	var policy value.Value
	if failure == nil {
		policy, failure = template.Evaluate(declared.CreationPolicy, scope, source)
	}
	if failure == nil {
		ask, failure = d.split(declared, properties, policy)
		ask.tags = d.stackTags(declared.Type, ask.properties, revision)
	}
	if failure == nil {
		if ask.forwarded, err = d.forwarded(declared, revision, scope); err != nil {
			return value.Value{}, value.Value{}, asked{}, "", err
		}
	}
	if failure != nil {
		if properties.IsNull() {
			properties = value.Object()
		}
		if ask.properties = properties; !d.dialect.rules().typesStay {
			ask.properties = properties.Stringified()
		}
		problem = d.presentable(failure.Error(), ask.properties)
		return ask.properties, metadata, ask, d.failure(failureOf(failure), wire.LogicalID(declared.LogicalID), problem), nil
	}
	return ask.properties, metadata, ask, "", nil
}

// stackTags returns the tags of a revision for a resource that takes the tags of its stack, and nil for any other.
// Without tags the result is empty, not nil.
// CloudFormation puts them on resources that can have tags. Source: CloudFormation User Guide, resource tag.
func (d evaluation) stackTags(resourceType string, properties value.Value, revision int) []store.Tag {
	if schema := d.native.Schema(resourceType); schema == nil || !schema.Tagged(properties) {
		return nil
	}
	return append([]store.Tag{}, d.view.Revisions[revision].Tags...)
}

// forwarded returns what the endpoint of a forwarded type needs apart from the properties; nil for other types.
func (d evaluation) forwarded(declared *template.Resource, revision int, scope *template.Scope) (*store.Forwarded, error) {
	if d.native.ForwardedTo(declared.Type) == "" {
		return nil, nil
	}
	t, err := d.template(revision)
	if err != nil {
		return nil, err
	}
	wanted := &store.Forwarded{DeletionPolicy: declared.DeletionPolicy, UpdateReplacePolicy: declared.UpdateReplacePolicy}
	for _, read := range t.AttributeReads(scope, declared.LogicalID) {
		wanted.Attributes = append(wanted.Attributes, read.Attribute)
	}
	slices.Sort(wanted.Attributes)
	wanted.Attributes = slices.Compact(wanted.Attributes)
	return wanted, nil
}

// split separates an evaluated declaration into the request's properties and the settings of its provider.
func (d evaluation) split(declared *template.Resource, properties, policy value.Value) (asked, error) {
	schema := d.native.Schema(declared.Type)
	if schema == nil {
		return d.dialect.request(properties)
	}
	if properties.IsNull() {
		properties = value.Object()
	}
	properties = schema.Normal(properties)
	wanted, err := d.native.Declare(declared.Type, native.Declaration{
		StackID: d.stack.ID, Properties: properties, CreationPolicy: policy,
	})
	return asked{properties: properties, timeout: wanted.Timeout, await: wanted.Await}, err
}

// attributes are the values of Ref and Fn::GetAtt: the current state of the instances.
type attributes struct{ d *decision }

// PhysicalID returns the value of a Ref.
func (a attributes) PhysicalID(logical string) (value.Value, bool) {
	instance := a.d.current(wire.LogicalID(logical))
	if instance == nil {
		return value.Value{}, false
	}
	if !instance.Body.Ref.IsNull() {
		return instance.Body.Ref, true
	}
	return value.Str(string(instance.PhysicalID)), true
}

// Attribute returns the value of an Fn::GetAtt. Reading an attribute that the provider did not send is an error.
func (a attributes) Attribute(logical, name string) (value.Value, error) {
	instance := a.d.current(wire.LogicalID(logical))
	if instance == nil {
		return value.Value{}, fmt.Errorf("resource %s has no attributes: it does not exist", logical)
	}
	if schema := a.d.native.Schema(instance.Body.Type); schema == nil {
		if v, ok := a.d.dialect.attribute(instance.Body.Data, name); ok {
			return v, nil
		}
	} else if v, ok := instance.Body.Data.Get(name); ok && !v.IsNull() {
		return v, nil
	}
	if schema := a.d.native.Schema(instance.Body.Type); schema != nil {
		if v, ok := instance.Body.Properties.Get(name); ok && !v.IsNull() && schema.Reads(name) {
			return v, nil
		}
		if schema.Recorded {
			return native.StandIn(a.d.stack.ID, instance.Body.Type, instance.PhysicalID, name), nil
		}
		if schema.Dialect != wire.ROS {
			return value.Value{}, unsupportedAttribute(instance.Body.Type, name)
		}
	}
	return value.Value{}, missingError(a.d.dialect.texts().missingAttribute(name, responseurl.ResponseKey{
		StackID: a.d.stack.ID, LogicalID: instance.Logical, RequestID: instance.Body.AnsweredBy,
	}))
}

// missingError is the error for reading an attribute that a provider has not sent.
type missingError string

func (e missingError) Error() string { return string(e) }

// attributeError is the error for reading an attribute that a native type does not have.
type attributeError struct{ at template.Error }

// Error returns CloudFormation's text; for an output it includes the path.
func (e *attributeError) Error() string {
	if e.at.Path == "" {
		return e.at.Message
	}
	return "[Error] " + e.at.Path + "/Fn::GetAtt: " + e.at.Message
}

// Unwrap lets package template record where the attribute is read.
func (e *attributeError) Unwrap() error { return &e.at }

func unsupportedAttribute(resourceType, name string) error {
	return &attributeError{template.Error{
		Message: "Resource type " + resourceType + " does not support attribute {" + name + "}.",
	}}
}

// failureOf returns the class of an error in a declaration.
func failureOf(err error) failure {
	var missing missingError
	var templateErr *template.Error
	switch {
	case errors.As(err, &missing):
		return failedByAttribute
	case errors.As(err, &templateErr) && templateErr.Code != "":
		return failure(templateErr.Code)
	}
	return failedAsDeclared
}
