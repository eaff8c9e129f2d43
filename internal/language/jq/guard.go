package jq

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// The functions that guard instructions. guardShallow counts its input and returns it. guardScalar returns an index
// that is neither a list nor an object. guardPath counts a path and returns it if it contains no list.
const (
	guardShallow = "_shallow"
	guardScalar  = "_scalar"
	guardPath    = "_path"
)

// guarded returns a script that counts everything that takes more than a step. Operators and functions become natives
// of this package, functions that are defined by others get new definitions, and operations that traverse a list or a
// text count it. It rejects unknown functions, and those that read the time, the environment, files or further input.
// It changes the query.
func guarded(query *gojq.Query) (*gojq.Query, error) {
	g := &guard{natives: natives(), defined: definitions(), needed: make(map[string]bool)}
	g.query(query)
	if g.err != nil {
		return nil, g.err
	}
	var all []*gojq.FuncDef
	g.within = true
	for _, d := range slices.Backward(g.defined) { // each needs only those before it
		if !g.needed[d.key] {
			continue
		}
		read := d.read()
		g.definition(read)
		all = append(all, read)
	}
	slices.Reverse(all)
	query.FuncDefs = append(all, query.FuncDefs...)
	return query, g.err
}

// guard is one run of guarded.
type guard struct {
	natives map[string]native
	// defined are this package's definitions, each after those that it needs, and needed are the names of those that
	// are called.
	defined []definition
	needed  map[string]bool
	// within is true while this package's definitions are processed instead of the script.
	within bool
	// bound are the functions in scope that the script defines, and the parameters of their definitions.
	bound []string
	err   error
}

func (g *guard) refuse(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

func (g *guard) query(q *gojq.Query) {
	if q == nil || g.err != nil {
		return
	}
	if len(q.Imports) > 0 || q.Meta != nil {
		g.refuse("the script uses modules, which are not supported")
		return
	}
	outer := len(g.bound)
	for _, d := range q.FuncDefs {
		if strings.HasPrefix(d.Name, "_") && !g.within {
			g.refuse("the script defines %s: names of functions do not begin with an underscore", d.Name)
		}
		g.definition(d)
		g.bound = append(g.bound, keyOf(d.Name, len(d.Args)))
	}
	defer func() { g.bound = g.bound[:outer] }()
	if q.Term != nil {
		g.term(q.Term)
		return
	}
	if q.Right == nil {
		g.refuse("the script is empty")
		return
	}
	g.query(q.Left)
	g.query(q.Right)
	if name := operatorOf(q.Op); name != "" {
		call := &gojq.Func{Name: name, Args: []*gojq.Query{q.Left, q.Right}}
		if native, ok := g.natives[keyOf(name, 2)]; ok {
			call.Name = nativePrefix + native.name
		} else {
			g.needed[keyOf(name, 2)] = true
		}
		*q = gojq.Query{FuncDefs: q.FuncDefs, Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: call}}
	}
}

// operatorOf returns the function that implements an operator, "" for operators of control flow.
func operatorOf(op gojq.Operator) string {
	switch op {
	case gojq.OpAdd:
		return "_add"
	case gojq.OpSub:
		return "_subtract"
	case gojq.OpMul:
		return "_multiply"
	case gojq.OpDiv:
		return "_divide"
	case gojq.OpMod:
		return "_modulo"
	case gojq.OpEq:
		return "_equal"
	case gojq.OpNe:
		return "_notequal"
	case gojq.OpGt:
		return "_greater"
	case gojq.OpLt:
		return "_less"
	case gojq.OpGe:
		return "_greatereq"
	case gojq.OpLe:
		return "_lesseq"
	case gojq.OpAssign:
		return "_assigned"
	case gojq.OpModify:
		return "_updated"
	case gojq.OpUpdateAdd:
		return "_updated_add"
	case gojq.OpUpdateSub:
		return "_updated_subtract"
	case gojq.OpUpdateMul:
		return "_updated_multiply"
	case gojq.OpUpdateDiv:
		return "_updated_divide"
	case gojq.OpUpdateMod:
		return "_updated_modulo"
	case gojq.OpUpdateAlt:
		return "_updated_alternative"
	case gojq.OpPipe, gojq.OpComma, gojq.OpAnd, gojq.OpOr, gojq.OpAlt:
	}
	return ""
}

// definition processes the body of a definition, which may call itself and its parameters.
func (g *guard) definition(d *gojq.FuncDef) {
	outer := len(g.bound)
	g.bound = append(g.bound, keyOf(d.Name, len(d.Args)))
	for _, parameter := range d.Args {
		g.bound = append(g.bound, keyOf(strings.TrimPrefix(parameter, "$"), 0))
	}
	g.query(d.Body)
	g.bound = g.bound[:outer]
}

func (g *guard) term(t *gojq.Term) {
	switch t.Type {
	case gojq.TermTypeRecurse:
		g.needed[keyOf("_recursed", 0)] = true
		t.Type, t.Func = gojq.TermTypeFunc, &gojq.Func{Name: "_recursed"}
	case gojq.TermTypeIndex:
		index := t.Index
		t.Type, t.Index = gojq.TermTypeIdentity, nil
		t.SuffixList = append([]*gojq.Suffix{{Index: index}}, t.SuffixList...)
	case gojq.TermTypeFunc:
		paths := t.Func.Name == "path" && len(t.Func.Args) == 1 && !slices.Contains(g.bound, keyOf("path", 1))
		if g.function(t.Func); paths { // each path is built again
			rest := t.SuffixList
			t.SuffixList = nil
			*t = countedTerm(*t)
			t.SuffixList = rest
		}
	case gojq.TermTypeObject:
		for _, kv := range t.Object.KeyVals {
			if kv.Val == nil && kv.KeyString != nil && kv.KeyString.Queries != nil {
				g.refuse("the script has an object whose key is computed, and has no value")
				return
			}
			g.keyString(&kv.KeyString, &kv.KeyQuery)
			g.query(kv.KeyQuery)
			g.query(kv.Val)
		}
	case gojq.TermTypeArray:
		g.query(t.Array.Query)
	case gojq.TermTypeUnary:
		g.term(t.Unary.Term)
	case gojq.TermTypeFormat:
		format := textQuery(strings.TrimPrefix(t.Format, "@"))
		call := &gojq.Func{Name: nativePrefix + "format", Args: []*gojq.Query{format}}
		if t.Str != nil {
			g.interpolated(t, call)
			break
		}
		t.Type, t.Func = gojq.TermTypeFunc, call
	case gojq.TermTypeString:
		g.interpolated(t, &gojq.Func{Name: nativePrefix + "tostring"})
	case gojq.TermTypeIf:
		g.query(t.If.Cond)
		g.query(t.If.Then)
		for _, elif := range t.If.Elif {
			g.query(elif.Cond)
			g.query(elif.Then)
		}
		g.query(t.If.Else)
	case gojq.TermTypeTry:
		g.query(t.Try.Body)
		g.query(t.Try.Catch)
	case gojq.TermTypeReduce:
		g.query(t.Reduce.Query)
		g.pattern(t.Reduce.Pattern)
		g.query(t.Reduce.Start)
		g.query(t.Reduce.Update)
	case gojq.TermTypeForeach:
		g.query(t.Foreach.Query)
		g.pattern(t.Foreach.Pattern)
		g.query(t.Foreach.Start)
		g.query(t.Foreach.Update)
		g.query(t.Foreach.Extract)
	case gojq.TermTypeLabel:
		g.query(t.Label.Body)
	case gojq.TermTypeQuery:
		g.query(t.Query)
	case gojq.TermTypeIdentity, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber, gojq.TermTypeBreak:
	}
	g.suffixes(t)
}

// suffixes processes the suffixes of a term. It counts the term's value before a suffix that traverses the value or
// takes a slice of it.
func (g *guard) suffixes(t *gojq.Term) {
	rest := t.SuffixList
	t.SuffixList = nil
	for _, suffix := range rest {
		counted := suffix.Iter
		if index := suffix.Index; index != nil {
			counted = g.index(index)
		}
		if suffix.Bind != nil {
			for _, p := range suffix.Bind.Patterns {
				g.pattern(p)
			}
			g.query(suffix.Bind.Body)
		}
		if counted {
			*t = countedTerm(*t)
		}
		t.SuffixList = append(t.SuffixList, suffix)
	}
}

// countedTerm returns a term whose values are counted.
func countedTerm(t gojq.Term) gojq.Term {
	return gojq.Term{Type: gojq.TermTypeQuery, Query: &gojq.Query{
		Left: &gojq.Query{Term: &t}, Op: gojq.OpPipe,
		Right: &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: guardShallow}}},
	}}
}

// index processes an index, and reports whether it traverses the value: a slice does.
func (g *guard) index(index *gojq.Index) bool {
	if index.Str != nil {
		g.keyString(&index.Str, &index.Start)
	}
	g.query(index.Start)
	g.query(index.End)
	if start := index.Start; start != nil && !index.IsSlice && (start.Term == nil || start.Term.Type != gojq.TermTypeNumber) {
		index.Start = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: guardScalar, Args: []*gojq.Query{start}}}}
	}
	return index.IsSlice
}

// keyString turns an interpolated key into a query.
func (g *guard) keyString(key **gojq.String, query **gojq.Query) {
	if *key == nil || (*key).Queries == nil {
		return
	}
	*query = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: *key}}
	*key = nil
}

// interpolated turns an interpolated text into a sum whose values are each formatted by a call.
func (g *guard) interpolated(t *gojq.Term, format *gojq.Func) {
	if t.Str.Queries == nil {
		t.Type, t.Format = gojq.TermTypeString, ""
		return
	}
	var sum *gojq.Query
	for _, part := range t.Str.Queries {
		if part.Term == nil || part.Term.Str == nil {
			g.query(part)
			part = &gojq.Query{Left: part, Op: gojq.OpPipe, Right: &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: format}}}
		}
		if sum == nil {
			sum = part
			continue
		}
		sum = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{
			Name: nativePrefix + "_add", Args: []*gojq.Query{sum, part},
		}}}
	}
	t.Type, t.Str, t.Format, t.Query = gojq.TermTypeQuery, nil, "", sum
}

// textQuery returns a text as a query.
func textQuery(text string) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: text}}}
}

func (g *guard) pattern(p *gojq.Pattern) {
	for _, item := range p.Array {
		g.pattern(item)
	}
	for _, member := range p.Object {
		g.keyString(&member.KeyString, &member.KeyQuery)
		g.query(member.KeyQuery)
		if member.Val != nil {
			g.pattern(member.Val)
		}
	}
}

// function processes a call.
func (g *guard) function(f *gojq.Func) {
	for _, argument := range f.Args {
		g.query(argument)
	}
	key := keyOf(f.Name, len(f.Args))
	inner := strings.HasPrefix(f.Name, "_")
	switch _, native := g.natives[key]; {
	case f.Name == "$ENV":
		g.refuse("the script asks for the environment, which it does not get")
	case strings.HasPrefix(f.Name, "$"), slices.Contains(g.bound, key):
	case inner && !g.within:
		g.refuse("jq has no function %s", key)
	case native:
		f.Name = nativePrefix + f.Name
	case slices.ContainsFunc(g.defined, func(d definition) bool { return d.key == key }):
		g.needed[key] = true
	case key == "getpath/1":
		f.Args = []*gojq.Query{{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: guardPath, Args: f.Args}}}}
	case slices.Contains([]string{"empty/0", "error/0", "error/1", "path/1", "_range/3"}, key):
	default:
		g.refuse("the function %s of jq is not supported", key)
	}
}
