package template

import "github.com/pintle-dev/pintle/internal/language/value"

// blueGreen is the transform that templates with [AWS::CodeDeploy::BlueGreen] hooks declare. It changes nothing in a
// template.
const blueGreen = "AWS::CodeDeployBlueGreen"

// hooks checks the form of the section Hooks: an object for each hook, with a Type and Properties. No hook can be
// registered, so a template keeps its hooks, but no operation calls one. Source: CloudFormation, template anatomy,
// Hooks. The texts are assumed.
func (p *parser) hooks(section Node, where path) {
	if !p.object(section, where, "Hooks") {
		return
	}
	for _, m := range section.members {
		at := where.to(m.Key)
		p.name(m, at, "Hook")
		if m.Value.kind != value.Map {
			p.at(m.Value, at, "Template format error: Any Hooks member must be an object.")
			continue
		}
		for _, property := range m.Value.members {
			in := at.to(property.Key)
			switch {
			case property.Key == "Type":
				p.text(property.Value, in, "Type")
			case property.Key != "Properties":
				p.key(property, in, "Invalid template hook property '%s'", property.Key)
			case property.Value.kind != value.Map:
				p.at(property.Value, in, "Template format error: [%s] Every Properties member must be an object.", in)
			}
		}
		if m.Value.Get("Type").IsZero() {
			p.key(m, at, "Template format error: [%s] Every Hooks object must contain a Type member.", at)
		}
	}
}
