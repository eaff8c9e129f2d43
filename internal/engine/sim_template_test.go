package engine_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
)

// simTemplate is a template of random resources, each of which may refer to earlier ones, with its parameter values.
type simTemplate struct {
	resources map[string]simResource
	// open and hidden are the parameters; hidden is NoEcho. extra is the condition of some resources.
	open, hidden string
	extra        bool
}

type simResource struct {
	id          string
	v, timeout  int
	needs       []string // by Ref
	after       []string // by DependsOn
	reads       string   // a resource whose attribute it reads
	readsSecret string   // a resource whose secret attribute it reads
	policy      string
	replace     string // UpdateReplacePolicy
	conditional bool
	token       string
	// imports is an export of a neighbour, or ""; exported is set if the resource's ID is exported.
	imports  string
	exported bool
}

// template returns a random template, or a new version of one.
func (s *sim) template(from *simTemplate) simTemplate {
	v := simTemplate{
		resources: map[string]simResource{}, open: fmt.Sprint("open", s.rng.IntN(2)),
		hidden: fmt.Sprint("hush-parameter-", s.rng.IntN(2)), extra: s.chance(60),
	}
	size := 1 + s.rng.IntN(7)
	var before []string
	for i := range size {
		id := "R" + string(rune('A'+i))
		if from != nil && s.chance(15) {
			continue // removed, or still missing
		}
		r := simResource{
			id: id, v: s.rng.IntN(3), timeout: 600,
			policy:  []string{"", "", "", "Retain", "RetainExceptOnCreate"}[s.rng.IntN(5)],
			replace: []string{"", "", "", "Retain"}[s.rng.IntN(4)], token: token,
		}
		if s.chance(10) {
			r.timeout = 400
		}
		if s.chance(2) && !s.chance(s.calm) {
			r.token = strings.Replace(token, "CRTest", "Other", 1)
		}
		if s.chance(2) && !s.chance(s.calm) {
			r.timeout = 9999 // rejected before any request is sent
		}
		for _, other := range before {
			switch dice := s.rng.IntN(100); {
			case dice < 25:
				r.needs = append(r.needs, other)
			case dice < 32:
				r.reads = other
			case dice < 39:
				r.readsSecret = other
			case dice < 44:
				r.after = append(r.after, other)
			}
		}
		if s.neighbours {
			if s.chance(15) {
				r.imports = netExport(s.rng.IntN(netExports))
			}
			r.exported = s.chance(70)
		}
		// A resource that depends on a conditional one has to be conditional too.
		r.conditional = s.chance(15) || slices.ContainsFunc(r.all(), func(id string) bool { return v.resources[id].conditional })
		v.resources[id] = r
		before = append(before, id)
	}
	if v.active() == 0 {
		v.resources["RA"] = simResource{id: "RA", timeout: 600, token: token}
	}
	return v
}

// all returns everything that a resource depends on.
func (r simResource) all() []string {
	all := slices.Concat(r.needs, r.after)
	for _, id := range []string{r.reads, r.readsSecret} {
		if id != "" {
			all = append(all, id)
		}
	}
	return all
}

// resource returns a resource that exists.
func (v simTemplate) resource(id string) (simResource, bool) {
	r, ok := v.resources[id]
	if !ok || r.conditional && !v.extra {
		return simResource{}, false
	}
	return r, true
}

// active counts the resources that exist.
func (v simTemplate) active() int {
	n := 0
	for id := range v.resources {
		if _, ok := v.resource(id); ok {
			n++
		}
	}
	return n
}

// feeds reports whether resource id needs the other one.
func (v simTemplate) feeds(other, id string) bool {
	r, ok := v.resource(id)
	return ok && slices.Contains(r.all(), other)
}

func (v simTemplate) parameters() []engine.Parameter {
	return []engine.Parameter{
		{Key: "Open", Value: v.open}, {Key: "Hidden", Value: v.hidden}, {Key: "Extra", Value: fmt.Sprint(v.extra)},
	}
}

// looped reports whether the template is written as loops that are equivalent to the resources. It draws no random
// number, so that seeds keep their meaning.
func (v simTemplate) looped() bool { return v.open == "open1" && len(v.resources)%2 == 0 }

func (v simTemplate) text() string {
	resources := map[string]string{}
	var outputs []string
	for _, id := range slices.Sorted(mapKeys(v.resources)) {
		r := v.resources[id]
		properties := fmt.Sprintf(`"V": %d, "ServiceTimeout": %d, "Open": {"Ref": "Open"}`, r.v, r.timeout)
		if r.v > 0 {
			properties += `, "Hidden": {"Fn::Sub": "<${Hidden}>"}`
		}
		for _, need := range r.needs {
			properties += fmt.Sprintf(`, "To%s": {"Ref": %q}`, need, need)
		}
		if r.reads != "" {
			properties += fmt.Sprintf(`, "Reads": {"Fn::GetAtt": [%q, "att"]}`, r.reads)
		}
		if r.readsSecret != "" {
			properties += fmt.Sprintf(`, "Hears": {"Fn::Sub": "heard ${%s.hid}"}`, r.readsSecret)
		}
		if r.imports != "" {
			properties += `, "In": ` + imported(r.imports)
		}
		var attributes []string
		if r.policy != "" {
			attributes = append(attributes, fmt.Sprintf(`"DeletionPolicy": %q`, r.policy))
		}
		if r.replace != "" {
			attributes = append(attributes, fmt.Sprintf(`"UpdateReplacePolicy": %q`, r.replace))
		}
		if r.after != nil {
			attributes = append(attributes, `"DependsOn": ["`+strings.Join(r.after, `", "`)+`"]`)
		}
		condition := ""
		if r.conditional {
			attributes = append(attributes, `"Condition": "Extra"`)
			condition = `, "Condition": "Extra"`
		}
		resources[id] = strings.Replace(resource(properties, attributes...), token, r.token, 1)
		if v.looped() {
			// {"Ref": "X"} in a property is equivalent to the number itself.
			text := strings.Replace(resources[id], fmt.Sprintf(`"V": %d,`, r.v), `"V": {"Ref": "X"},`, 1)
			delete(resources, id)
			resources["Fn::ForEach::"+id] = fmt.Sprintf(`["X", [%d], {"Fn::ForEach::I%s": ["L", ["%s"], {"R${L}": %s}]}]`, r.v, id, id[1:], text)
		}
		export := ""
		if r.exported {
			export = fmt.Sprintf(`, "Export": {"Name": %q}`, exportOf(id))
		}
		outputs = append(outputs, fmt.Sprintf(`"%sId": {"Value": {"Ref": %q}%s%s}`, id, id, condition, export))
		if r.v == 2 {
			outputs = append(outputs, fmt.Sprintf(`"%sHid": {"Value": {"Fn::GetAtt": [%q, "hid"]}%s}`, id, id, condition))
		}
	}
	version := `"AWSTemplateFormatVersion": "2010-09-09"`
	if v.looped() {
		version += `, "Transform": "AWS::LanguageExtensions"`
	}
	return body(resources, version, `"Parameters": {"Open": {"Type": "String"}, "Extra": {"Type": "String"}, "Hidden": {"Type": "String", "NoEcho": true}}`,
		`"Conditions": {"Extra": {"Fn::Equals": [{"Ref": "Extra"}, "true"]}}`, `"Outputs": {`+strings.Join(outputs, ", ")+`}`)
}
