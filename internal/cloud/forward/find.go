package forward

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
)

// Find implements [native.Importer]. It does not look for the resource: the endpoint does when the resource is
// imported, which fails before anything changes.
func (t *forwarded) Find(ctx context.Context, r *store.Request) (native.Existing, error) {
	j, err := t.job(r)
	if err != nil {
		return native.Existing{}, err
	}
	if err := t.config.Allowed(j.place.Account, "cloudformation:"+callOf(store.TypeImport)); err != nil {
		return native.Existing{}, &native.MissingError{Text: j.failure("%v", err).Error()}
	}
	if j.place.Account != t.config.Account {
		return native.Existing{}, &native.MissingError{Text: j.otherAccount().Error()}
	}
	if err := (importing{j}).importable(ctx); err != nil {
		return native.Existing{}, &native.MissingError{Text: err.Error() + ". Nothing was changed"}
	}
	if problem := (importing{j}).misidentified(ctx); problem != nil {
		return native.Existing{}, &native.MissingError{Text: problem.Error() + ". Nothing was changed"}
	}
	pointer, err := t.config.Catalog.Forwarded.Get(ctx, j.place, registry.ForwardedID(r.Body.ResourceType, r.Body.PhysicalID))
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return native.Existing{}, err
	}
	if pointer.Of.Stray || pointer.Version != 0 && pointer.Of.Endpoint != t.endpoint.rule.Endpoint {
		pointer.Owner = ""
	}
	return native.Existing{ID: r.Body.PhysicalID, Holder: pointer.Owner}, nil
}

// misidentified returns an error if the endpoint names other properties as the identifier of the type.
func (j importing) misidentified(ctx context.Context) error {
	known, ok := j.e.identifiers(ctx, j.place.Region, []string{j.r.Body.ResourceType})
	sets := known[j.r.Body.ResourceType]
	got := slices.Sorted(maps.Keys(j.r.Body.Identifier))
	fits := func(set []string) bool { return slices.Equal(slices.Sorted(slices.Values(set)), got) }
	switch {
	case ok && sets == nil && j.e.rule.Endpoint == AWS:
		return j.failure("The following resource types are not supported for resource import: %s", j.r.Body.ResourceType)
	case sets != nil && !slices.ContainsFunc(sets, fits):
		return j.failure("Invalid resource identifier for resource type %s. Expected [%s]", j.r.Body.ResourceType, strings.Join(sets[0], ", "))
	}
	return nil
}

// Identifiers implements [native.Forward].
func (f *Forwarder) Identifiers(ctx context.Context, account, region string, types []string) map[string][]string {
	if f.config.Allowed(account, "cloudformation:GetTemplateSummary") != nil || account != f.config.Account {
		return nil
	}
	found := map[string][]string{}
	for e, names := range f.byEndpoint(types) {
		known, _ := e.identifiers(ctx, region, names)
		for name, sets := range known {
			found[name] = sets[0]
		}
	}
	return found
}

// maxIdentify bounds the time to ask an endpoint for identifiers, because a client waits for it.
const maxIdentify = 10 * time.Second

// identifiers asks the endpoint for the properties that identify resources of types. A type may have several sets of
// them; it has none if it cannot be imported, or if the endpoint does not say so. ok reports whether it could be asked.
//
// Source: CloudFormation API Reference, GetTemplateSummary, ResourceIdentifierSummaries.
func (e *endpoint) identifiers(ctx context.Context, region string, types []string) (known map[string][][]string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, maxIdentify)
	defer cancel()
	c, err := e.client(ctx, region)
	if err != nil {
		return nil, false
	}
	body, err := oneOfEach(types)
	if err != nil {
		return nil, false
	}
	out, err := c.Call(ctx, cloudFormation, "GetTemplateSummary", map[string]any{"TemplateBody": body})
	if err != nil {
		return nil, false
	}
	known = map[string][][]string{}
	for _, summary := range objects(out, "ResourceIdentifierSummaries") {
		sets, _ := summary["ResourceIdentifiers"].([]any)
		for _, set := range sets {
			if names, ok := set.(string); ok && names != "" {
				known[text(summary, "ResourceType")] = append(known[text(summary, "ResourceType")], strings.Split(names, ","))
			}
		}
	}
	return known, true
}
