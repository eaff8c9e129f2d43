package native

import (
	"context"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/value"
	"github.com/pintle-dev/pintle/wire"
)

// record is a type of AWS, or of somebody else, that nobody provides here: what is declared is kept and nothing is done.
// Anything may be declared of it and every change is made in place.
type record struct{ schema Schema }

// recordable is the form of the names of types that can be kept as records. Source: CloudFormation, RegisterType, TypeName.
var recordable = regexp.MustCompile(`^[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}$`)

// recordNamed returns a record of the type, nil if it can be none. The service's own types, which act on stacks, would be
// missed sooner than a bucket, and a custom type has a provider.
func recordNamed(name string) Type {
	if !recordable.MatchString(name) || strings.HasPrefix(name, "AWS::CloudFormation::") || strings.HasPrefix(name, wire.CustomTypePrefix) {
		return nil
	}
	return record{Schema{Name: name, Recorded: true}}
}

// Schema implements [Type].
func (r record) Schema() *Schema { return &r.schema }

// Serve implements [Type].
func (record) Serve(context.Context, *store.Request) (Result, error) { return Result{}, nil }

// RecordedOnly is the reason of the event by which a request of a recorded type has succeeded.
func RecordedOnly(kind wire.RequestType) string {
	const begin = "Recorded only: nothing was "
	switch kind {
	case wire.Create:
		return begin + "created in AWS"
	case wire.Update:
		return begin + "changed in AWS"
	case wire.Delete:
		return begin + "deleted in AWS"
	}
	return begin + "done in AWS"
}

// StandIn returns what Fn::GetAtt reads of a recorded resource, whose attributes nobody knows: for a name that ends in Arn
// something of the form of an ARN, else the physical id, a dot and the name. It is the same for the same resource.
func StandIn(stack wire.StackID, resourceType string, id wire.PhysicalID, attribute string) value.Value {
	if strings.HasSuffix(attribute, "Arn") {
		parts := strings.Split(strings.ToLower(resourceType), "::")
		if arn, err := wire.ParseStackARN(stack); err == nil && len(parts) == 3 {
			return value.Str(strings.Join([]string{"arn", wire.Partition(arn.Region), parts[1], arn.Region, arn.Account, parts[2] + "/" + string(id)}, ":"))
		}
	}
	return value.Str(string(id) + "." + attribute)
}
