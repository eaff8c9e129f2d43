package native

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// Forward provides resource types through the CloudFormation API of other endpoints. It is safe for concurrent use.
type Forward interface {
	// Type returns the type of a name, or nil if it is not forwarded. It takes precedence over Pintle's own type of that
	// name. It does not block.
	Type(name string) Type
	// Checked returns the problem with forwarded types of a stack in an account and a region if it is known, or "" if their
	// endpoints have all of them. known is false if [Forward.Check] has to be called first. It does not block.
	Checked(account, region string, types []string) (problem string, known bool)
	// Check asks the endpoints whether they have types, for [Forward.Checked]. An endpoint that cannot be asked is a
	// problem too.
	Check(ctx context.Context, region string, types []string)
	// Identifiers returns the properties that identify resources of types for their import. It leaves out types whose endpoint
	// does not import them, does not say so, or cannot be asked. It makes calls only for an account that may use the endpoint.
	Identifiers(ctx context.Context, account, region string, types []string) map[string][]string
	// Foresee reports whether the endpoint would replace the resource of a Create or an Update, which is not sent.
	Foresee(ctx context.Context, r *store.Request) (Foreseen, error)
}

// ErrOwn is the error of a forwarded type for the Delete of a resource that its endpoint never had, and for reading it.
// Pintle created the resource before the type was forwarded, and its own type of that name serves the request.
var ErrOwn = errors.New("the resource is Pintle's own")

// Foreseen is the effect of an update on a forwarded resource, as its endpoint foresees it.
type Foreseen struct {
	// Replaces means that the endpoint creates a new resource, and Maybe that it may do so.
	Replaces, Maybe bool
	// Reason says why, for people.
	Reason string
}

// forwarded returns a type that another endpoint provides, or nil.
func (g *Registry) forwarded(name string) Type {
	if !g.Forwards() || !recordable.MatchString(name) {
		return nil
	}
	return g.forward.Type(name)
}

// Forwards reports whether any types are forwarded.
func (g *Registry) Forwards() bool { return g != nil && g.forward != nil }

// ForwardedTo returns the endpoint that provides a type, for people; "" for other types.
func (g *Registry) ForwardedTo(name string) string {
	if t := g.forwarded(name); t != nil {
		return t.Schema().Forwarded
	}
	return ""
}

// CheckedForwarded is [Forward.Checked]. It ignores types that are not forwarded.
func (g *Registry) CheckedForwarded(account, region string, types []string) (problem string, known bool) {
	types = g.onlyForwarded(types)
	if len(types) == 0 {
		return "", true
	}
	return g.forward.Checked(account, region, types)
}

// CheckForwarded is [Forward.Check]. It ignores types that are not forwarded.
func (g *Registry) CheckForwarded(ctx context.Context, region string, types []string) {
	if types = g.onlyForwarded(types); len(types) > 0 {
		g.forward.Check(ctx, region, types)
	}
}

// ForwardedIdentifiers is [Forward.Identifiers]. It ignores types that are not forwarded.
func (g *Registry) ForwardedIdentifiers(ctx context.Context, account, region string, types []string) map[string][]string {
	if types = g.onlyForwarded(types); len(types) > 0 {
		return g.forward.Identifiers(ctx, account, region, types)
	}
	return nil
}

// Foresee is [Forward.Foresee].
func (g *Registry) Foresee(ctx context.Context, r *store.Request) (Foreseen, error) {
	if !g.Forwards() {
		return Foreseen{}, nil
	}
	return g.forward.Foresee(ctx, r)
}

// onlyForwarded returns the forwarded types among types, sorted, each once.
func (g *Registry) onlyForwarded(types []string) []string {
	if !g.Forwards() {
		return nil
	}
	var list []string
	for _, name := range types {
		if g.ForwardedTo(name) != "" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// withoutNulls returns an object without members that are null, such as those of AWS::NoValue.
func withoutNulls(properties value.Value) value.Value {
	if properties.IsNull() {
		return value.Object()
	}
	return given(properties)
}

// Unreachable returns the resources to which a forwarded resource refers and which exist only in Pintle, each with its
// type, in the order of the text. It returns nil for other resources.
func (g *Registry) Unreachable(t *template.Template, r *template.Resource) []string {
	if g.ForwardedTo(r.Type) == "" {
		return nil
	}
	var names []string
	for _, use := range r.References() {
		to := t.Resource(use.Resource)
		if to == nil {
			continue
		}
		schema := g.Schema(to.Type)
		local := schema != nil && schema.Forwarded == "" && (schema.Recorded || InCloud(to.Type))
		if name := to.LogicalID + " (" + to.Type + ")"; local && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// UnreachableText warns of the result of [Registry.Unreachable].
func UnreachableText(endpoint string, names []string) string {
	return "Warning: it refers to " + strings.Join(names, ", ") + ", which exists only in Pintle and not at " + endpoint +
		". Add its type to --forward"
}

// Adopted warns that the endpoint of a forwarded resource with a custom name may have given it an existing resource. It
// returns "" for AWS, which refuses a taken name, and for resources without a custom name.
func (g *Registry) Adopted(resourceType string, properties value.Value) string {
	endpoint := g.ForwardedTo(resourceType)
	if endpoint == "" || endpoint == ForwardedToAWS {
		return ""
	}
	property := customName(resourceType)
	if name, ok := properties.Get(property); property == "" || !ok || name.IsNull() {
		return ""
	}
	return "Warning: it has a custom name, " + property + ". If a resource of that name existed at " + endpoint +
		", an emulator may have adopted it. It is deleted with this resource"
}

// ForwardedToAWS is [Schema.Forwarded] of the types that AWS provides.
const ForwardedToAWS = "AWS"

// customName returns the property with the custom name of a type's resources; "" if the type is unknown or has none. A
// change of it replaces the resource, and it is Name or the end of the type and Name, such as GroupName of a SecurityGroup.
func customName(resourceType string) string {
	known := knownRecords()[resourceType]
	if known == nil {
		return ""
	}
	for _, p := range known.schema.Properties {
		if stem, ok := strings.CutSuffix(p.Name, "Name"); ok && strings.HasSuffix(resourceType, stem) {
			return p.Name
		}
	}
	return ""
}
