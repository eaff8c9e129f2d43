package template

import (
	"slices"
)

// resolver resolves the names in a CloudFormation template.
type resolver struct{ *parser }

// resolve checks every name in a template after all sections are read. A name of a parameter, a resource or a condition
// must exist, and nothing may depend on itself in all conditions.
func (p resolver) resolve() {
	p.gatherNames()
	for _, r := range p.template.Resources {
		if p.parameterNames[r.LogicalID] {
			p.add(&Error{
				Message: "Template format error: " + r.LogicalID + " is both a parameter and a resource.",
				Path:    path{"Resources", r.LogicalID}.String(), Line: r.Line, Column: r.Column,
			})
		}
	}
	p.resolveRules()
	p.resolveConditions()
	p.resolveResources()
	p.resolveOutputs()
	if len(p.found) == 0 || p.lenient {
		p.refuseCycles()
	}
}

// gatherNames collects the declared names.
func (p resolver) gatherNames() {
	p.conditionNames = make(map[string]bool)
	for _, c := range p.template.Conditions {
		p.conditionNames[c.Name] = true
	}
	p.parameterNames = make(map[string]bool)
	for _, d := range p.template.Parameters {
		p.parameterNames[d.Name] = true
	}
	p.resourceNames = make(map[string]bool)
	for _, r := range p.template.Resources {
		p.resourceNames[r.LogicalID] = true
		if !r.count.IsZero() {
			if p.countedNames == nil {
				p.countedNames = make(map[string]bool)
			}
			p.countedNames[r.LogicalID] = true
		}
	}
	for section, names := range map[string]map[string]bool{
		"Parameters": p.parameterNames, "Conditions": p.conditionNames, "Resources": p.resourceNames,
	} {
		for _, m := range p.declared.Get(section).members {
			names[m.Key] = true // even if it is malformed
		}
	}
}

func (p resolver) resolveResources() {
	b := &block{parser: p.parser, name: "Resources"}
	for _, r := range p.template.Resources {
		where := path{"Resources", r.LogicalID}
		if r.Condition != "" && !p.conditionNames[r.Condition] {
			p.add(&Error{
				Message: unresolvedCondition(r.Condition, "Resources"),
				Path:    where.to("Condition").String(), Line: r.Line, Column: r.Column,
			})
		}
		r.Properties = b.tree(r.Properties, where.to("Properties"), &r.parameters)
		r.Metadata = b.tree(r.Metadata, where.to("Metadata"), &r.parameters)
		for _, choice := range []struct {
			name string
			n    Node
		}{{"DeletionPolicy", r.deletionChoice}, {"UpdateReplacePolicy", r.updateReplaceChoice}} {
			b.tree(choice.n, where.to(choice.name), &r.parameters)
		}
		r.CreationPolicy = b.aloof(r.CreationPolicy, where.to("CreationPolicy"), &r.parameters, "a CreationPolicy")
		b.where = where.to("DependsOn")
		for _, name := range r.DependsOn {
			if !p.resourceNames[name] {
				b.miss(name, Node{line: r.Line, column: r.Column})
			}
		}
	}
	b.report()
}

func (p resolver) resolveOutputs() {
	b := &block{parser: p.parser, name: "Outputs"}
	for _, o := range p.template.Outputs {
		where := path{"Outputs", o.Key}
		if o.Condition != "" && !p.conditionNames[o.Condition] {
			p.add(&Error{
				Message: unresolvedCondition(o.Condition, "Outputs"),
				Path:    where.to("Condition").String(), Line: o.Line, Column: o.Column,
			})
		}
		o.Value = b.tree(o.Value, where.to("Value"), &o.parameters)
		name := where.to("Export", "Name")
		o.ExportName = b.tree(o.ExportName, name, &o.parameters)
		b.early(o.ExportName, name, "Template format error: Output "+o.Key+" is malformed. "+exportDependsMessage)
	}
	b.report()
}

// block checks the names of one section whose trees may refer to resources.
type block struct {
	*parser
	name    string
	missing names
	first   Node
	where   path // of the current tree
}

// tree links a tree and checks its names. It adds those of parameters to the list.
func (b *block) tree(n Node, where path, parameters *[]string) Node {
	if n.IsZero() {
		return n
	}
	n = b.linked(n, where)
	b.where = where
	uses(n, nil, func(u use) {
		switch {
		case u.name == "" && b.unsound[member(where)]:
			// already reported
		case u.kind == useCondition:
			if !b.conditionNames[u.name] {
				b.at(u.at, where, "Template error: unresolved condition dependency %s in Fn::If", u.name)
				b.spoil(where)
			}
		case u.kind == useGetAtt:
			if !b.resourceNames[u.name] && !b.template.incomplete {
				b.at(u.at, where, "%s", undefined(u.name))
			}
			if u.parameter != "" && !b.parameterNames[u.parameter] && !b.template.Language.isPseudo(u.parameter) {
				b.at(u.at, where, "Template error: the attribute of Fn::GetAtt can be literal or refer to a parameter, not to %s.", u.parameter)
			}
		case u.kind == useRef && (b.template.Language.isPseudo(u.name) || b.parameterNames[u.name]):
			if b.parameterNames[u.name] && !slices.Contains(*parameters, u.name) {
				*parameters = append(*parameters, u.name)
			}
		case !b.resourceNames[u.name]:
			b.miss(u.name, u.at)
		}
	})
	slices.Sort(*parameters)
	w := &walk{found: func(use) {}, call: func(name string, argument Node) {
		if fetches(name) {
			b.early(argument, where, dependsMessage(name))
		}
	}}
	w.node(n, false)
	return n
}

// early checks that an argument which is fetched before resources exist does not depend on one.
func (b *block) early(argument Node, where path, message string) {
	uses(argument, nil, func(u use) {
		if u.kind != useCondition && b.resourceNames[u.name] {
			b.at(u.at, where, "%s", message)
		}
	})
}

// aloof is tree for a tree that must not depend on a resource. Messages use the name in what.
func (b *block) aloof(n Node, where path, parameters *[]string, what string) Node {
	n = b.tree(n, where, parameters)
	uses(n, nil, func(u use) {
		if u.kind != useCondition && b.resourceNames[u.name] {
			b.at(u.at, where, "Template format error: %s cannot depend on the resource %s.", what, u.name)
		}
	})
	return n
}

func (b *block) miss(name string, at Node) {
	if b.template.incomplete {
		return
	}
	if b.lenient {
		b.at(at, b.where, "%s", unresolved(b.name, name))
		return
	}
	if len(b.missing.list) == 0 {
		b.first = at
	}
	b.missing.add(name)
}

func (b *block) report() {
	if len(b.missing.list) > 0 {
		b.at(b.first, path{b.name}, "%s", unresolved(b.name, b.missing.list...))
	}
}

// refuseCycles finds resources that depend on each other under all conditions. Cycles that depend on a condition are
// left to [Template.Graph].
func (p resolver) refuseCycles() {
	needs := make(map[string][]string)
	var ids []string
	for _, r := range p.template.Resources {
		if r.Condition != "" {
			continue
		}
		ids = append(ids, r.LogicalID)
		list := slices.Clone(r.DependsOn)
		for _, n := range []Node{r.Properties, r.Metadata} {
			uses(n, nil, func(u use) {
				if !u.maybe && u.kind != useCondition && p.resourceNames[u.name] {
					list = append(list, u.name)
				}
			})
		}
		slices.Sort(list)
		needs[r.LogicalID] = slices.Compact(list)
	}
	if _, cycle := sortByNeeds(ids, needs); len(cycle) > 0 {
		p.add(p.template.circular(cycle))
	}
}
