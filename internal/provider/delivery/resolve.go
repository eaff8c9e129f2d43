package delivery

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// References resolves dynamic references. It is safe for concurrent use.
type References interface {
	// Wants reports whether a reference is to be resolved in the properties of a native type, or of a custom resource.
	// Other references are delivered as written.
	Wants(reference dynamic.Reference, native bool) bool
	// Resolve returns the values of references, and the reasons for those without a value. Both maps have the
	// reference's text as the key. Secret values are marked as secret. An error is temporary and contains no secret.
	// Resolve returns when ctx ends.
	Resolve(ctx context.Context, account, region string, references []dynamic.Reference) (
		resolved map[string]value.Value, missing map[string]string, err error)
	// Remember records the secrets that are sent with a request. They are stored nowhere else.
	Remember(id wire.RequestID, secrets []string)
}

// resolved means that a request's references are resolved, and that the request is yet to be sent.
type resolved struct{}

func (resolved) outcome() {}

// resolve replaces the dynamic references in a request with their current values, and returns the secrets among these.
// It changes only the request to send: rows keep the references. If the request stays ready in the table, the outcome
// is nil and ok is false.
func (rt *router) resolve(soft, hard context.Context, s *send) (secrets []string, outcome Outcome, ok bool) {
	r := s.request
	if rt.config.References == nil || r.Type == store.TypeNotification {
		return nil, nil, true
	}
	kind := r.Type
	if kind == store.TypeIsComplete {
		kind = r.Body.Asked
	}
	references, lenient, err := rt.references(r, kind == wire.Delete)
	if err == nil && len(references) == 0 {
		if !r.Body.Native() {
			rt.config.References.Remember(r.Subject().ID, nil)
		}
		return nil, nil, true
	}
	hide := newRedactor(r, partsOfSecrets(r)...) // few requests get here
	if err != nil {
		return nil, Refused{Text: hide.text(err.Error())}, false
	}
	account := ""
	if arn, err := wire.ParseStackARN(r.Body.StackID); err == nil {
		account = arn.Account
	}
	var found map[string]value.Value
	outcome = rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		got, missing, err := rt.config.References.Resolve(ctx, account, r.Body.Region, references)
		if err != nil {
			return attemptResult{text: hide.text("Could not resolve " + err.Error())}
		}
		for _, reference := range references {
			if why := missing[reference.Text]; why != "" && !lenient[reference.Text] {
				return refused(hide.text(fmt.Sprintf("Could not resolve the dynamic reference %s: %s", reference.Text, why)))
			}
		}
		found = got
		return attemptResult{outcome: resolved{}}
	})
	if _, done := outcome.(resolved); !done {
		return nil, outcome, false
	}
	s.resume()
	body := *r.Body
	body.Properties = dynamic.Replace(body.Properties, found)
	body.OldProperties = dynamic.Replace(body.OldProperties, found)
	body.Token = dynamic.Replace(body.Token, found)
	s.request.Body = &body
	for _, v := range found {
		secrets = append(secrets, v.Secrets()...)
	}
	secrets = slices.Concat(secrets, body.Properties.Secrets(), body.OldProperties.Secrets())
	if !r.Body.Native() {
		rt.config.References.Remember(r.Subject().ID, secrets)
	}
	return secrets, nil, true
}

// partsOfSecrets returns the references in a request's secret strings, and their parts. Errors quote only such parts,
// so a redactor that knows only the whole string would not find them.
func partsOfSecrets(r store.Request) (parts []string) {
	for _, v := range []value.Value{r.Body.Token, r.Body.Properties, r.Body.OldProperties} {
		for _, secret := range v.Secrets() {
			for _, reference := range dynamic.Texts(secret) {
				parts = append(parts, reference)
				_, key, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(reference, "{{resolve:"), "}}"), ":")
				parts = append(append(parts, key), strings.Split(key, ":")...)
			}
		}
	}
	return parts
}

// takesSecrets reports whether a native type uses its properties. A nested stack gets references as written, because
// they are resolved in its own resources.
func (rt *router) takesSecrets(resourceType string) bool {
	schema := rt.config.Native.Schema(resourceType)
	return schema != nil && !schema.Nested && !schema.Recorded && schema.Forwarded == ""
}

// references returns the references in a request to resolve. A lenient reference may stay as written if it has no
// value: missing old values must block neither an update nor the deletion of a resource.
func (rt *router) references(r store.Request, ending bool) (list []dynamic.Reference, lenient map[string]bool, err error) {
	lenient = make(map[string]bool)
	if isROS(r) {
		return nil, lenient, nil // they are AWS references; ROS gives this text no meaning
	}
	if r.Body.Native() && rt.config.Native.ForwardedTo(r.Body.ResourceType) != "" {
		return nil, lenient, nil // the endpoint resolves them
	}
	inNative, secrets := r.Body.Native(), true
	if inNative {
		secrets = rt.takesSecrets(r.Body.ResourceType)
	}
	for _, part := range []struct {
		in      value.Value
		lenient bool
	}{{r.Body.Token, false}, {r.Body.Properties, ending}, {r.Body.OldProperties, true}} {
		if !dynamic.Has(part.in) {
			continue
		}
		found, err := dynamic.In(part.in)
		switch {
		case err != nil && part.lenient:
			continue
		case err != nil:
			return nil, nil, err
		}
		for _, reference := range found {
			switch {
			case !rt.config.References.Wants(reference, inNative), reference.Service.Secret() && !secrets:
				continue
			case inNative && reference.Service == dynamic.SSMSecure && !part.lenient:
				return nil, nil, native.ErrSecure(native.SecureReferences(r.Body.ResourceType, part.in))
			case inNative && reference.Service == dynamic.SSMSecure:
				continue
			}
			known := slices.Contains(list, reference)
			lenient[reference.Text] = part.lenient && (lenient[reference.Text] || !known)
			if !known {
				list = append(list, reference)
			}
		}
	}
	if len(list) > dynamic.Limit {
		return nil, nil, fmt.Errorf("the properties of %s have %d dynamic references, %d are allowed", r.Logical, len(list), dynamic.Limit)
	}
	return list, lenient, nil
}
