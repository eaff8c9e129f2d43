package lambda

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/wire"
)

// Latest is the qualifier of the unpublished function.
const Latest = "$LATEST"

// Reference identifies a function or a version of it.
type Reference struct {
	registry.Scope
	Name string
	// Qualifier is $LATEST or a version number, or empty if none was given.
	Qualifier string
}

const namePattern = `(arn:(aws[a-zA-Z-]*)?:lambda:)?([a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\d{1}:)?(\d{12}:)?(function:)?` +
	`([a-zA-Z0-9-_\.]+)(:(\$LATEST|[a-zA-Z0-9-_]+))?`

var (
	referenceForm = regexp.MustCompile(
		`^(?:arn:aws[a-zA-Z-]*:lambda:([a-z0-9-]+):)?(?:(\d{12}):)?(?:function:)?([a-zA-Z0-9_-]+)(?::(\$LATEST|[a-zA-Z0-9_-]+))?$`)
	qualifierForm = regexp.MustCompile(`^(\$LATEST|[a-zA-Z0-9_-]+)$`)
	layerForm     = regexp.MustCompile(`^arn:aws[a-zA-Z-]*:lambda:([a-z0-9-]+):(\d{12}):layer:([a-zA-Z0-9_-]+):([0-9]+)$`)
	ownName       = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	layerName     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,140}$`)
)

const (
	maxReference = 256
	maxQualifier = 128
)

// ParseReference parses the name of a function from a client in a scope: a name, ACCOUNT:function:NAME or an ARN,
// each with or without :QUALIFIER. qualifier is a separate qualifier, or empty. If place is zero, an ARN may be in
// any scope. It also parses the names of Function Compute functions.
func ParseReference(place registry.Scope, text, qualifier string) (Reference, error) {
	if r, ok := fcReference(place, text); ok {
		if place != (registry.Scope{}) && r.Scope != place {
			return r, notFound(r.ARN())
		}
		return r, nil
	}
	m := referenceForm.FindStringSubmatch(text)
	if m == nil || len(text) > maxReference || m[1] != "" && m[2] == "" || len(m[3]) > 64 {
		return Reference{}, constraint("functionName", text, "Member must satisfy regular expression pattern: "+namePattern)
	}
	if place == (registry.Scope{}) {
		if m[1] == "" {
			return Reference{}, constraint("functionName", text, "Member must be an ARN")
		}
		place = registry.Scope{Account: m[2], Region: m[1]}
	}
	r := Reference{
		Scope: registry.Scope{Account: cmp.Or(m[2], place.Account), Region: cmp.Or(m[1], place.Region)}, Name: m[3], Qualifier: m[4],
	}
	switch {
	case r.Region != place.Region:
		return r, &Error{
			Code: "ResourceNotFoundException", Status: http.StatusNotFound, kind: ErrNotFound,
			Message: "Functions from '" + r.Region + "' are not reachable in this region ('" + place.Region + "')",
		}
	case r.Account != place.Account:
		return r, &Error{
			Code: "AccessDeniedException", Status: http.StatusForbidden,
			Message: "The account " + place.Account + " is not authorized to use the resource: " + r.ARN(),
		}
	case qualifier != "" && r.Qualifier != "" && qualifier != r.Qualifier:
		return r, invalid("The derived qualifier from the function name does not match the specified qualifier.")
	}
	if qualifier != "" && (!qualifierForm.MatchString(qualifier) || len(qualifier) > maxQualifier) {
		return r, constraint("qualifier", qualifier, `Member must satisfy regular expression pattern: \$(LATEST(\.PUBLISHED)?)|[a-zA-Z0-9-_$]+`)
	}
	r.Qualifier = cmp.Or(r.Qualifier, qualifier)
	return r, nil
}

// ARN returns the ARN, with the qualifier if there is one.
func (r Reference) ARN() string {
	if isFC(r.Name) {
		return "acs:fc:" + r.Region + ":" + r.Account + ":" + r.Name
	}
	arn := "arn:" + wire.Partition(r.Region) + ":lambda:" + r.Region + ":" + r.Account + ":function:" + r.Name
	if r.Qualifier != "" {
		arn += ":" + r.Qualifier
	}
	return arn
}

// row returns the name of the item in the catalog.
func (r Reference) row() string {
	if r.Qualifier == "" || r.Qualifier == Latest {
		return r.Name
	}
	return r.Name + ":" + r.Qualifier
}

// of returns the reference of an item.
func of[T any](i registry.Item[T]) Reference {
	name, qualifier, _ := strings.Cut(i.Name, ":")
	return Reference{Scope: i.Scope, Name: name, Qualifier: qualifier}
}

// layerReference identifies a layer version.
type layerReference struct {
	registry.Scope
	name string // NAME:NUMBER
	fc   bool   // a Function Compute layer
}

func parseLayer(arn string) (layerReference, bool) {
	m, fc := layerForm.FindStringSubmatch(arn), false
	if m == nil {
		m, fc = fcLayerForm.FindStringSubmatch(arn), true
	}
	if m == nil {
		return layerReference{}, false
	}
	return layerReference{registry.Scope{Account: m[2], Region: m[1]}, m[3] + ":" + m[4], fc}, true
}

// fcLayerForm matches the ARN of a Function Compute layer version.
var fcLayerForm = regexp.MustCompile(`^acs:fc:([a-z0-9-]+):([a-zA-Z0-9]+):layers/([a-zA-Z0-9_-]{1,140})/versions/([1-9][0-9]{0,17})$`)

func (r layerReference) arn() string {
	if r.fc {
		name, number, _ := strings.Cut(r.name, ":")
		return "acs:fc:" + r.Region + ":" + r.Account + ":layers/" + name + "/versions/" + number
	}
	return "arn:" + wire.Partition(r.Region) + ":lambda:" + r.Region + ":" + r.Account + ":layer:" + r.name
}
