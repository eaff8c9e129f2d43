package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
)

func (f *foresight) parameters() []engine.Parameter {
	if f.given != nil && f.chance(60) {
		return f.given
	}
	f.given = []engine.Parameter{
		{Key: "Open", Value: fmt.Sprint("open", f.rng.IntN(2))}, {Key: "Hidden", Value: fmt.Sprint("hush", f.rng.IntN(2))},
		{Key: "Extra", Value: fmt.Sprint(f.chance(60))}, {Key: "Names", Value: []string{"x,y", "x,z", "x,y,z"}[f.rng.IntN(3)]},
	}
	return f.given
}

// policy returns a stack policy that denies one action.
func (f *foresight) policy() string {
	action := []string{"Update:Modify", "Update:Replace", "Update:Delete", "Update:*"}[f.rng.IntN(4)]
	text := fmt.Sprintf(`{"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"},
		{"Effect": "Deny", "Principal": "*", "Action": %q, "Resource": "LogicalResourceId/R%c"}]}`, action, 'A'+rune(f.rng.IntN(7)))
	f.note("policy %s", text)
	return text
}

// template returns a template in which every resource may refer to earlier ones.
func (f *foresight) template() string {
	resources := map[string]string{}
	last := f.last
	f.last = resources
	keep := []int{0, 70, 90, 100}[f.rng.IntN(4)]
	var before []string // those that may be referred to
	for i := range 7 {
		id := "R" + string(rune('A'+i))
		if was := last[id]; was != "" && f.chance(keep) && f.fits(was, before) {
			resources[id] = was
			if !strings.Contains(was, `"Condition"`) {
				before = append(before, id)
			}
			continue
		}
		if f.chance(35) {
			continue
		}
		conditional := f.chance(15)
		text := ""
		if i == 6 || i == 5 {
			text = f.shelf(before)
		} else {
			text = f.thing(before)
		}
		var attributes []string
		if conditional {
			attributes = append(attributes, `"Condition": "Extra"`)
		}
		if f.chance(20) {
			attributes = append(attributes, `"DeletionPolicy": "`+[]string{"Retain", "RetainExceptOnCreate", "Delete"}[f.rng.IntN(3)]+`"`)
		}
		if f.chance(20) {
			attributes = append(attributes, `"UpdateReplacePolicy": "Retain"`)
		}
		if f.chance(30) {
			attributes = append(attributes, `"Metadata": {"M": `+f.expression(before, 1)+`}`)
		}
		if len(before) > 0 && f.chance(10) {
			attributes = append(attributes, `"DependsOn": "`+before[f.rng.IntN(len(before))]+`"`)
		}
		for _, a := range attributes {
			text = strings.TrimSuffix(text, "}") + ", " + a + "}"
		}
		resources[id] = text
		if !conditional {
			before = append(before, id)
		}
	}
	if len(before) == 0 {
		resources["RZ"] = resource(`"K": 1`)
	}
	return body(resources,
		`"Parameters": {"Open": {"Type": "String"}, "Extra": {"Type": "String"}, "Hidden": {"Type": "String", "NoEcho": true}, "Names": {"Type": "CommaDelimitedList"}}`,
		`"Conditions": {"Extra": {"Fn::Equals": [{"Ref": "Extra"}, "true"]}}`,
		`"Mappings": {"M": {"open0": {"k": "m0"}, "open1": {"k": "m`+fmt.Sprint(f.rng.IntN(2))+`"}}}`)
}

var reference = regexp.MustCompile(`\bR[A-Z]\b`)

// fits reports whether all resources exist that a resource refers to.
func (f *foresight) fits(text string, before []string) bool {
	for _, id := range reference.FindAllString(text, -1) {
		if !slices.Contains(before, id) {
			return false
		}
	}
	return true
}

func (f *foresight) thing(before []string) string {
	var properties []string
	for _, name := range []string{"A", "B", "C"} {
		if f.chance(70) {
			properties = append(properties, `"`+name+`": `+f.expression(before, 2))
		}
	}
	if f.chance(3) {
		properties = append(properties, `"ServiceTimeout": "9999"`)
	}
	text := resource(strings.Join(properties, ", "))
	if f.chance(2) {
		text = strings.Replace(text, "CRTest", "Other", 1)
	}
	return text
}

func (f *foresight) shelf(before []string) string {
	properties := `"Name": ` + f.scalar(before, 1)
	for strings.Contains(properties, "Hidden") || strings.Contains(properties, "hid") { // not secret: it becomes the ID
		properties = `"Name": ` + f.scalar(before, 1)
	}
	if f.chance(50) {
		properties += fmt.Sprintf(`, "Width": %d`, f.rng.IntN(3))
	}
	if f.chance(15) {
		properties += fmt.Sprintf(`, "Owner": "o%d"`, f.rng.IntN(2))
	}
	return shelved(properties)
}

// expression returns a value for a property, of limited depth.
func (f *foresight) expression(before []string, depth int) string {
	if depth > 0 {
		switch f.rng.IntN(9) {
		case 0:
			return `[` + f.expression(before, depth-1) + `, ` + f.expression(before, depth-1) + `]`
		case 1:
			return `{"k": ` + f.expression(before, depth-1) + `, "l": ` + f.expression(before, depth-1) + `}`
		case 2:
			return `{"Fn::If": ["Extra", ` + f.expression(before, depth-1) + `, ` + f.expression(before, depth-1) + `]}`
		case 3:
			return `{"Fn::If": ["Extra", ` + f.expression(before, depth-1) + `, {"Ref": "AWS::NoValue"}]}`
		case 4:
			return `{"Ref": "Names"}`
		case 5:
			return `{"Fn::Split": ["-", ` + f.scalar(before, depth-1) + `]}`
		}
	}
	return f.scalar(before, depth)
}

// scalar returns an expression that evaluates to a scalar.
func (f *foresight) scalar(before []string, depth int) string {
	switch dice := f.rng.IntN(12); {
	case dice < 3 && len(before) > 0:
		other := before[f.rng.IntN(len(before))]
		if other >= "RF" {
			return []string{`{"Ref": "` + other + `"}`, `{"Fn::GetAtt": ["` + other + `", "Arn"]}`}[f.rng.IntN(2)]
		}
		return []string{
			`{"Ref": "` + other + `"}`, `{"Fn::GetAtt": ["` + other + `", "att"]}`, `{"Fn::GetAtt": ["` + other + `", "fix"]}`,
			`{"Fn::GetAtt": ["` + other + `", "hid"]}`, `{"Fn::Sub": "s-${` + other + `}-${Hidden}"}`, `{"Fn::Sub": "s-${` + other + `.fix}"}`,
			`{"Fn::Sub": ["${v}", {"v": {"Ref": "` + other + `"}}]}`,
		}[f.rng.IntN(7)]
	case dice < 5 && depth > 0:
		return `{"Fn::Join": ["-", [` + f.scalar(before, depth-1) + `, ` + f.scalar(before, depth-1) + `]]}`
	case dice < 6:
		return []string{`{"Fn::Join": ["+", {"Ref": "Names"}]}`, `{"Fn::Select": ["1", {"Ref": "Names"}]}`, `{"Fn::FindInMap": ["M", {"Ref": "Open"}, "k"]}`}[f.rng.IntN(3)]
	case dice < 7:
		return []string{`{"Ref": "Open"}`, `{"Ref": "Hidden"}`, `{"Fn::Sub": "<${Hidden}>"}`}[f.rng.IntN(3)]
	case dice < 8:
		return []string{`1`, `1.0`, `true`}[f.rng.IntN(3)]
	}
	return fmt.Sprintf(`"v%d"`, f.rng.IntN(3))
}
