package jq

import (
	"strings"

	"github.com/itchyny/gojq"
)

// definition is a jq function that is defined by other jq functions.
type definition struct{ name, key, text string }

// read returns the parsed definition.
func (d definition) read() *gojq.FuncDef {
	query, err := gojq.Parse(d.text + " .")
	if err != nil {
		panic(err) // it is a constant
	}
	return query.FuncDefs[0]
}

// definitions returns the jq functions that are defined by others, each after those that it needs. Source: jq 1.7
// manual.
func definitions() []definition {
	var list []definition
	for text := range strings.SplitSeq(strings.TrimSpace(library), "\ndef ") {
		text = "def " + strings.TrimPrefix(text, "def ")
		head, _, _ := strings.Cut(text[len("def "):], ":")
		name, parameters, takes := strings.Cut(head, "(")
		arity := 0
		if takes {
			arity = 1 + strings.Count(parameters, ";")
		}
		list = append(list, definition{name, keyOf(name, arity), text})
	}
	return list
}

const library = `
def not: if . then false else true end;
def select(f): if f then . else empty end;
def map(f): [.[] | f];
def toarray: if type == "array" then . else [.] end;
def values: if . == null then empty else . end;
def nulls: if . == null then . else empty end;
def booleans: if type == "boolean" then . else empty end;
def numbers: if type == "number" then . else empty end;
def strings: if type == "string" then . else empty end;
def arrays: if type == "array" then . else empty end;
def objects: if type == "object" then . else empty end;
def iterables: (type) as $t | if $t == "array" or $t == "object" then . else empty end;
def scalars: (type) as $t | if $t == "array" or $t == "object" then empty else . end;
def first(f): label $found | (f | ., break $found);
def last(f): reduce f as $x (null; $x);
def isempty(f): first((f | false), true);
def any(g; c): first((g | if c then true else empty end), false);
def any(c): any(.[]; c);
def any: any(.[]; .);
def all(g; c): first((g | if c then empty else false end), true);
def all(c): all(.[]; c);
def all: all(.[]; .);
def recurse(f): def r: ., (f | r); r;
def recurse(f; c): def r: ., (f | select(c) | r); r;
def _recursed: recurse(.[]?);
def recurse: recurse(.[]?);
def range($n): _range(0; $n; 1);
def range($a; $b): _range($a; $b; 1);
def range($a; $b; $step): _range($a; $b; $step);
def while(c; f): def w: if c then ., (f | w) else empty end; w;
def until(c; f): def u: if c then . else (f | u) end; u;
def repeat(f): def r: ., (f | r); r;
def limit($n; f): if $n > 0 then label $enough | foreach f as $x (0; . + 1; $x, (if . >= $n then break $enough else empty end)) else empty end;
def skip($n; f): foreach f as $x (0; . + 1; if . > $n then $x else empty end);
def nth($n): .[$n];
def nth($n; f): if $n < 0 then error("nth takes no negative number") else first(skip($n; f)) end;
def in(g): . as $key | g | has($key);
def inside(g): . as $part | g | contains($part);
def add(f): [f] | add;
def with_entries(f): to_entries | map(f) | from_entries;
def keys_unsorted: keys;
def min_by(f): _min_by([.[] | [f]]);
def max_by(f): _max_by([.[] | [f]]);
def sort_by(f): _sort_by([.[] | [f]]);
def group_by(f): _group_by([.[] | [f]]);
def unique_by(f): _unique_by([.[] | [f]]);
def del(p): delpaths([path(p)]);
def paths: path(_recursed) | select(. != []);
def paths(f): path(_recursed | select(f)) | select(. != []);
def leaf_paths: paths(scalars);
def pick(p): . as $all | reduce path(p) as $q (null; setpath($q; $all | getpath($q)));
def _assigned(p; $v): reduce path(p) as $q (.; setpath($q; $v));
def _updated(p; f): reduce path(p) as $q ({in: ., gone: []};
  . as $state | label $done
  | (($state.in | getpath($q) | f) as $v | {in: ($state.in | setpath($q; $v)), gone: $state.gone} | ., break $done),
    {in: $state.in, gone: ($state.gone + [$q])})
  | .gone as $gone | .in | if $gone == [] then . else delpaths($gone) end;
def _updated_add(p; $v): _updated(p; . + $v);
def _updated_subtract(p; $v): _updated(p; . - $v);
def _updated_multiply(p; $v): _updated(p; . * $v);
def _updated_divide(p; $v): _updated(p; . / $v);
def _updated_modulo(p; $v): _updated(p; . % $v);
def _updated_alternative(p; $v): _updated(p; . // $v);
def map_values(f): _updated(.[]; f);
def walk(f): def w: (if type == "array" then map(w) elif type == "object" then map_values(w) else . end) | f; w;
def transpose: . as $rows | if $rows == [] then [] else [range([.[] | length] | max) as $i | [$rows[] | .[$i]]] end;
def combinations: if length == 0 then [] else .[0][] as $x | (.[1:] | combinations) as $more | [$x] + $more end;
def combinations($n): [limit($n; repeat(.))] | combinations;
def match($re; $flags): _matches($re; $flags)[];
def match($re): _matches($re; null)[];
def _named: reduce (.captures[] | select(.name != null)) as $c ({}; . + {($c.name): $c.string});
def capture($re; $flags): match($re; $flags) | _named;
def capture($re): match($re; null) | _named;
def scan($re; $flags): match($re; "g" + $flags) | if .captures == [] then .string else [.captures[].string] end;
def scan($re): scan($re; "");
def splits($re; $flags): split($re; $flags)[];
def splits($re): split($re; null)[];
def sub($re; f; $flags): . as $text
  | reduce match($re; $flags) as $m ({at: 0, out: ""};
      . as $state | ($m | _named | f) as $by | {at: ($m.offset + $m.length), out: ($state.out + $text[$state.at:$m.offset] + $by)})
  | .out + $text[.at:];
def sub($re; f): sub($re; f; "");
def gsub($re; f; $flags): sub($re; f; "g" + $flags);
def gsub($re; f): sub($re; f; "g");
def IN(s): . as $x | any(s; . == $x);
def IN(source; s): any(source == s; .);
def INDEX(stream; f): reduce stream as $row ({}; . + {($row | f | tostring): $row});
def INDEX(f): INDEX(.[]; f);
`
