package template

import (
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Unknown stands for a value that is known only after resources are created or changed. Source: CloudFormation, change
// sets, property values.
const Unknown = "{{changeSet:KNOWN_AFTER_APPLY}}"

// Foresee is [Evaluate] for values that are not all known yet. A function call that uses a resource for which known is
// false becomes [Unknown] as a whole. For Fn::If only the selected branch counts.
func Foresee(n Node, s *Scope, r Resources, known func(Reference) bool) (value.Value, error) {
	return (&evaluation{scope: s, resources: r}).foreseen(n, known)
}

// ForeseeImports is [Foresee], except that a function call that imports a name without an export becomes [Unknown] as a
// whole. missing is the first such name, "" for none.
func ForeseeImports(n Node, s *Scope, r Resources, known func(Reference) bool) (v value.Value, missing string, err error) {
	e := &evaluation{scope: s, resources: r, lenient: true}
	if v, err = e.foreseen(n, known); err == nil && e.missing != nil {
		missing = e.missing[0]
	}
	return v, missing, err
}

func (e *evaluation) foreseen(n Node, known func(Reference) bool) (value.Value, error) {
	v, err := e.foresee(n, known)
	if err == nil && deeper(v, MaxDepth) {
		err = e.fail(n, "Template error: lists and objects nest deeper than %d levels.", MaxDepth)
	}
	if err != nil {
		return value.Value{}, err
	}
	return v, nil
}

func (e *evaluation) foresee(n Node, known func(Reference) bool) (value.Value, error) {
	n, err := e.taken(n)
	if err != nil {
		return value.Value{}, err
	}
	if _, _, call := n.call(); call {
		unknown := func(used Reference) bool { return !known(used) }
		if slices.ContainsFunc(resourcesIn(n, e.scope), unknown) {
			return value.Str(Unknown), nil
		}
		before := len(e.missing)
		v, err := e.node(n)
		if err != nil && e.lenient && len(e.missing) > before {
			return value.Str(Unknown), nil
		}
		return v, err
	}
	switch n.kind {
	case value.List:
		items := make([]value.Value, 0, len(n.items))
		for _, item := range n.items {
			v, err := e.foresee(item, known)
			if err != nil {
				return value.Value{}, err
			}
			if !v.IsNull() {
				items = append(items, v)
			}
		}
		return value.Items(items...), nil
	case value.Map:
		members := make([]value.Member, 0, len(n.members))
		for _, m := range n.members {
			v, err := e.foresee(m.Value, known)
			if err != nil {
				return value.Value{}, err
			}
			if !v.IsNull() {
				members = append(members, value.Member{Key: m.Key, Value: v})
			}
		}
		return value.Object(members...), nil
	case value.Null, value.Bool, value.Number, value.String:
	}
	return n.Value(), nil
}

// taken follows Fn::If to the selected branch.
func (e *evaluation) taken(n Node) (Node, error) {
	for {
		name, argument, ok := n.call()
		if !ok || name != "Fn::If" {
			return n, nil
		}
		var err error
		if n, err = e.branch(argument); err != nil {
			return Node{}, err
		}
	}
}

// resourcesIn returns the resources that a tree uses in the selected branches.
func resourcesIn(n Node, s *Scope) []Reference {
	var parameters []string
	uses(n, s, func(u use) {
		if _, ok := s.variable(u.name); ok && u.kind != useCondition {
			parameters = append(parameters, u.name)
		}
	})
	return references(n, s, parameters)
}

// Causes are the names that determine the value of a place in a tree, each once.
type Causes struct {
	// Parameters are those that the tree refers to, and those that the conditions of Fn::If above and below it depend
	// on.
	Parameters []string
	// Resources are those that the tree uses in the selected branches.
	Resources []Reference
}

// Causes returns the names that determine the value at a path of keys and indices below n, a tree of the template's
// resources. A path that leads into the result of a function ends at its call.
func (t *Template) Causes(n Node, s *Scope, path ...string) Causes {
	c := &causes{template: t, scope: s, seen: make(map[string]bool)}
	end := descend(n, s, path, c.condition)
	uses(end, s, c.use)
	return Causes{Parameters: c.parameters.list, Resources: resourcesIn(end, s)}
}

// At returns the declaration at a path of keys and indices below n: a literal, a list, an object, or the call of a
// function whose result the path leads into. For Fn::If it is the branch selected in a scope. It is absent if the path
// does not exist.
func (n Node) At(s *Scope, path ...string) Node { return descend(n, s, path, func(string) {}) }

// causes is one run of [Template.Causes].
type causes struct {
	template   *Template
	scope      *Scope
	parameters names
	seen       map[string]bool // names of conditions
}

func (c *causes) use(u use) {
	if u.kind == useCondition {
		c.condition(u.name)
		return
	}
	for _, name := range []string{u.name, u.parameter} {
		if _, ok := c.scope.Parameters[name]; ok {
			c.parameters.add(name)
		}
	}
}

// condition adds the parameters that a condition depends on.
func (c *causes) condition(name string) {
	declared := find(c.template.Conditions, func(d *Condition) bool { return d.Name == name })
	if declared == nil || c.seen[name] {
		return
	}
	c.seen[name] = true
	w := &walk{found: c.use, truth: true}
	w.node(declared.Expression, false)
}

// descend follows a path from n, and calls condition for the conditions on the way.
func descend(n Node, s *Scope, path []string, condition func(name string)) Node {
	e := &evaluation{scope: s}
	taken := func(n Node) (Node, bool) {
		for {
			name, argument, ok := n.call()
			if !ok || name != "Fn::If" {
				return n, !ok
			}
			test, _, _ := ifParts(argument)
			condition(test.text)
			branch, err := e.branch(argument)
			if err != nil {
				return n, false
			}
			n = branch
		}
	}
	n, open := taken(n)
	for _, key := range path {
		if !open || n.IsZero() {
			return n
		}
		if n.kind == value.List {
			n = e.item(n, key)
		} else {
			n = n.Get(key)
		}
		n, open = taken(n)
	}
	return n
}

// item returns the item at an index in the evaluated list, from which AWS::NoValue items are left out.
func (e *evaluation) item(n Node, index string) Node {
	at, err := strconv.Atoi(index)
	if err != nil {
		return Node{}
	}
	for _, item := range n.items {
		if inner, err := e.taken(item); err == nil {
			if name, argument, ok := inner.call(); ok && name == "Ref" && isNoValue(argument.text) {
				continue
			}
		}
		if at == 0 {
			return item
		}
		at--
	}
	return Node{}
}
