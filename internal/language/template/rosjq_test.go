package template_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/template"
)

func TestROSJq(t *testing.T) {
	tryROS(t, []rosRow{
		{expression: `{"Fn::Jq":["First",".test","{\"test\":\"test\"}"]}`, want: `"test"`},
		{
			expression: `{"Fn::Jq":["All",".parameters[] | {\"param_name\": .name, \"param_type\":.type}",{"id":"x","parameters":[{"name":"A","value":"t"},{"name":"B"}]}]}`,
			want:       `[{"param_name":"A","param_type":null},{"param_name":"B","param_type":null}]`,
		},
		{expression: `{"Fn::Jq":["First","if .[0].PublicIpAddress != [] then .[0].PublicIpAddress[0] else .[0].EipAddress.IpAddress end",{"Fn::GetAtt":["R","Outputs"]}]}`, want: `"1.2.3.4"`},
		{expression: `{"Fn::Jq":["First",".missing",{"Ref":"Json"}]}`},
		{expression: `{"Fn::Jq":["First","empty",1]}`},
		{expression: `{"Fn::Jq":["All","empty",1]}`, want: `[]`},
		{expression: `{"Fn::Jq":["First",".",""]}`},
		{expression: `{"Fn::Jq":["First",".key.n",{"Ref":"Json"}]}`, want: `10000000`},
		{expression: `{"Fn::Jq":["First",".","123456789012345678901234567890"]}`, want: `123456789012345678901234567890`},
		{expression: `{"Fn::Jq":["First",". + 1",12345678901234567890]}`, want: `12345678901234567891`},
		{expression: `{"Fn::Jq":["All",".list[]",{"Ref":"Json"}]}`, want: `[1,2.5,null]`},
		{expression: `{"Fn::Jq":["All","1e1000, -1e1000, nan, 1e20, 100.0",null]}`, want: `[1.7976931348623157e+308,-1.7976931348623157e+308,null,1e+20,100]`},
		{expression: `{"Fn::Jq":["First",{"Fn::Sub":".${Text}"},{"text":1}]}`, want: `1`},
		{expression: `{"Fn::Jq":["first",".",1]}`, err: "neither First nor All"},
		{expression: `{"Fn::Jq":[{"Ref":"Text"},".",1]}`, err: "neither First nor All"},
		{expression: `{"Fn::Jq":["First",".",1,2]}`, err: "here are 4 arguments"},
		{expression: `{"Fn::Jq":["First",".","no json"]}`, err: "is not JSON"},
		{expression: `{"Fn::Jq":["First",".[",1]}`, err: "not valid jq"},
		{expression: `{"Fn::Jq":["First","",1]}`, err: "the script is empty"},
		{expression: `{"Fn::Jq":["First",".a",1]}`, err: "the script failed: expected an object"},
		{expression: `{"Fn::Jq":["First","error(\"mine\")",1]}`, err: "the script failed: mine"},
		{expression: `{"Fn::Jq":["First","error({})",1]}`, err: "an error of its own"},
		{expression: `{"Fn::Jq":["First",".a",[{"Ref":"Secret"}]]}`, err: "the script failed."},
		{expression: `{"Fn::Jq":["First","reduce range(60) as $i (1; [.])",1]}`, err: "nested deeper"},
		{expression: `{"Fn::Jq":["First","` + strings.Repeat(" ", 9000) + `.",1]}`, err: "longer than"},
	})
}

// TestROSJqScripts compares scripts with jq's manual.
func TestROSJqScripts(t *testing.T) {
	for _, test := range []struct{ script, input, want string }{
		{`.[] | "http://" + .`, `["a","b"]`, `["http://a","http://b"]`},
		{`[ .[] | . + ":80" ]`, `["a"]`, `[["a:80"]]`},
		{`.deploy."fc-zip".triggers[0].url`, `{"deploy":{"fc-zip":{"triggers":[{"url":"u"}]}}}`, `["u"]`},
		{`.StackId[:5]`, `{"StackId":"abcdefgh"}`, `["abcde"]`},
		{`if . == {} then "Canceled" else "Normal" end`, `{}`, `["Canceled"]`},
		{`.a?, (.a? // "none")`, `[1]`, `["none"]`},
		{`..`, `[[1]]`, `[[[1]],[1],1]`},
		{`[.. | numbers]`, `[1,[2,"x"],{"a":3}]`, `[[1,2,3]]`},
		{`(1,2) + (10,20)`, `null`, `[11,12,21,22]`},
		{`[(1,2) - 1, 6 / 4, 7 % 3, 2 * 3, -(1)]`, `null`, `[[0,1,1.5,1,6,-1]]`},
		{`[1 < 2, 1 <= 1, 2 > 3, 2 >= 3, "a" != "b", [1] == [1.0]]`, `null`, `[[true,true,false,false,true,true]]`},
		{`"a \(.x) b \(.y + 1)"`, `{"x":[1],"y":1}`, `["a [1] b 2"]`},
		{`@base64 "x\(.)", @json "v=\(.)", @uri "\(.)", @csv`, `["a b"]`, `["xWyJhIGIiXQ==","v=[\"a b\"]","%5B%22a%20b%22%5D","\"a b\""]`},
		{`@text, @html, @base64`, `"<b>"`, `["<b>","&lt;b&gt;","PGI+"]`},
		{`@base64d`, `"YWJj"`, `["abc"]`},
		{`{a: 1, "b": 2, (.k): 3, "x\(.k)": 4}`, `{"k":"c"}`, `[{"a":1,"b":2,"c":3,"xc":4}]`},
		{`.k as $k | {$k, k2: $k}`, `{"k":1}`, `[{"k":1,"k2":1}]`},
		{`. as {a: $x, b: [$y, {c: $z}]} | [$x, $y, $z]`, `{"a":1,"b":[2,{"c":3}]}`, `[[1,2,3]]`},
		{`.[] as [$a] ?// $a | $a`, `[[1],2]`, `[1,2]`},
		{`reduce .[] as $x (0; . + $x)`, `[1,2,3]`, `[6]`},
		{`[foreach .[] as $x (0; . + $x; [$x, .])]`, `[1,2]`, `[[[1,1],[2,3]]]`},
		{`def f(g): g | g; def h($x): $x + x; f(. * 2), h(3)`, `3`, `[12,6]`},
		{`def fac: if . <= 1 then 1 else . * (. - 1 | fac) end; fac`, `20`, `[2432902008176640000]`},
		{`label $out | .[] | if . > 2 then break $out else . end`, `[1,2,3,4]`, `[1,2]`},
		{`try error("x") catch . , (try error({a: 1}) catch .a)`, `null`, `["x",1]`},
		{`.a = 1 | .b.c = 2`, `{}`, `[{"a":1,"b":{"c":2}}]`},
		{`.[] |= . + 1`, `[1,2]`, `[[2,3]]`},
		{`.[] |= empty`, `[1,2,3]`, `[[]]`},
		{`.a += 1 | .a -= 3 | .a *= 10 | .a /= 4 | .a %= 3 | .b //= 7`, `{"a":5}`, `[{"a":1,"b":7}]`},
		{`(.a, .b) = (1, 2)`, `{}`, `[{"a":1,"b":1},{"a":2,"b":2}]`},
		{`map(. * 2), map_values(. + 1)`, `[1,2]`, `[[2,4],[2,3]]`},
		{`to_entries, with_entries(.value += 1), keys, length`, `{"b":1,"a":2}`, `[[{"key":"a","value":2},{"key":"b","value":1}],{"a":3,"b":2},["a","b"],2]`},
		{`[range(3)], [range(1; 3)], [range(5; 0; -2)]`, `null`, `[[0,1,2],[1,2],[5,3,1]]`},
		{`[limit(2; .[])], first(.[]), last(.[]), nth(1; .[]), first, last, nth(1), [skip(1; .[])]`, `[1,2,3]`, `[[1,2],1,3,2,1,3,2,[2,3]]`},
		{`[limit(0; 1, 2)], [limit(3; repeat(1))], [1 | while(. < 9; . * 2)], (1 | until(. > 9; . * 2))`, `null`, `[[],[null,1,1],[1,2,4,8],16]`},
		{`any, all, any(. > 2), all(. > 0), isempty(.[]), isempty(empty)`, `[1,2,null]`, `[true,false,false,false,false,true]`},
		{`sort, sort_by(-.), group_by(. % 2), unique, unique_by(. % 2), min, max, min_by(-.), max_by(-.), add, add(.[] * 2)`, `[3,1,2,3]`,
			`[[1,2,3,3],[3,3,2,1],[[2],[3,1,3]],[1,2,3],[2,3],1,3,3,1,9,18]`},
		{`contains("bar"), inside("xfoobarx"), startswith("foo"), endswith("bar"), ltrimstr("foo"), rtrimstr("bar"), split("o"), ascii_upcase, index("o"), rindex("o"), indices("o")`, `"foobar"`,
			`[true,true,true,true,"bar","foo",["f","","bar"],"FOOBAR",1,2,[1,2]]`},
		{`join("-"), flatten, reverse, (. - [1]), has(0), index(2), tojson, (tojson | fromjson)`, `[1,2,1]`, `["1-2-1",[1,2,1],[1,2,1],[2],true,1,"[1,2,1]",[1,2,1]]`},
		{`test("B"; "i"), [match("a"; "g").offset], (capture("(?<x>b)(?<y>.)") | .y), [scan("a")], [scan("(a)(.)")], [splits("b")], sub("a"; "X"), gsub("(?<l>[ab])"; "<\(.l)>")`, `"abcab"`,
			`[true,[0,3],"c",["a","a"],[["a","b"],["a","b"]],["a","ca",""],"Xbcab","<a><b>c<a><b>"]`},
		{`gsub(""; "-"), gsub("^"; "x")`, `"ab"`, `["-a-b-","xab"]`},
		{`del(.a), del(.b[0, 1]), delpaths([["a"]]), [paths], [leaf_paths], getpath(["b", 0]), pick(.b[1])`, `{"a":1,"b":[2,3]}`,
			`[{"b":[2,3]},{"a":1,"b":[]},{"b":[2,3]},[["a"],["b"],["b",0],["b",1]],[["a"],["b",0],["b",1]],2,{"b":[null,3]}]`},
		{`walk(if type == "number" then . + 1 else . end)`, `[1,{"a":[2]}]`, `[[2,{"a":[3]}]]`},
		{`transpose, [combinations]`, `[[1,2],[3]]`, `[[[1,3],[2,null]],[[1,3],[2,3]]]`},
		{`[.[] | tostring], [.[] | type], [.[] | not]`, `[1,"a",null,true]`, `[["1","a","null","true"],["number","string","null","boolean"],[false,false,true,false]]`},
		{`IN(1, 2), IN(.[]?; 3), INDEX(.[]?; .)`, `2`, `[true,false,{}]`},
		{`floor, sqrt, pow(.; 2), round, fabs, log2`, `4`, `[4,2,16,4,4,2]`},
		{`todate, (todate | fromdate)`, `1425599621`, `["2015-03-05T23:53:41Z",1425599621]`},
		{`"x" * 3, {a: {b: 1}} * {a: {c: 2}}, "a,b" / ","`, `null`, `["xxx",{"a":{"b":1,"c":2}},["a","b"]]`},
		{`explode, (explode | implode), utf8bytelength, length`, `"aé"`, `[[97,233],"aé",3,2]`},
		{`.["a"], ."a", .a, .["a","b"]`, `{"a":1,"b":2}`, `[1,1,1,1,2]`},
		{`.[-1], .[1:], .[:-1], .[1:2]`, `[1,2,3]`, `[3,[2,3],[1,2],[2]]`},
		{`recurse(if . < 3 then . + 1 else empty end), [recurse(. * 2; . < 9)]`, `1`, `[1,2,3,[1,2,4,8]]`},
		{`try (1 / 0) catch "zero"`, `null`, `["zero"]`},
		{`limit(1; .[] | select(. > 1))`, `[1,2,3]`, `[2]`},
		{`.. |= (if type == "number" then . + 1 else . end)`, `[1,[2]]`, `[[2,[3]]]`},
		{`path(..), [path(.a[0]?)]`, `{"a":null}`, `[[],["a"],[["a",0]]]`},
		{`def map(f): "mine"; map(.)`, `[1]`, `["mine"]`},
		{`try error catch .`, `"boom"`, `["boom"]`},
		{`-.a, +1`, `{"a":2}`, `[-2,1]`},
		{`try ("\(1;2)") catch 1`, `null`, ``},
	} {
		expression, err := json.Marshal(map[string]any{"Fn::Jq": []any{"All", test.script, test.input}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := template.TryROS(string(expression), "", template.ROSProperties, rosScope(), nil)
		switch {
		case test.want == "" && err == nil:
			t.Errorf("%s = %s, want an error", test.script, got.JSON())
		case test.want != "" && (err != nil || string(got.JSON()) != test.want):
			t.Errorf("%s\n= %s, %v\nwant %s", test.script, got.JSON(), err, test.want)
		}
	}
}

// TestROSJqRefuses checks that scripts which read anything except their input, or call unknown functions, are rejected
// before they run.
func TestROSJqRefuses(t *testing.T) {
	for script, want := range map[string]string{
		`now`: "now/0 of jq is not supported", `env`: "env/0", `$ENV.HOME`: "environment", `input`: "input/0", `inputs`: "inputs/0",
		`debug`: "debug/0", `stderr`: "stderr/0", `localtime`: "localtime/0", `strflocaltime("%Y")`: "strflocaltime/1", `halt`: "halt/0",
		`halt_error`: "halt_error/0", `input_line_number`: "input_line_number/0", `builtins`: "builtins/0", `modulemeta`: "modulemeta/0",
		`import "a" as a; .`: "modules", `include "a"; .`: "modules", `get_search_list`: "get_search_list/0", `nonsense(1; 2)`: "nonsense/2",
		`_add(1; 2)`: "no function _add/2", `_native__add(1; 2)`: "no function", `def _x: 1; _x`: "underscore", `_range(0; 1; 1)`: "no function",
		`_shallow`: "no function", `$x`: "not valid jq", `break $x`: "not valid jq", `{"a\(1)"}`: "has no value", `def f: now; 1`: "now/0",
	} {
		expression, err := json.Marshal(map[string]any{"Fn::Jq": []any{"All", script, 1}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := template.TryROS(string(expression), "", template.ROSProperties, rosScope(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %s, %v, want the error %q", script, got.JSON(), err, want)
		}
	}
}

// TestROSJqEnds checks that scripts which never end, or need more memory than available, soon end with an error.
func TestROSJqEnds(t *testing.T) {
	large := strings.Repeat(`"0123456789abcdef",`, 20_000) + `1`
	for _, test := range []struct{ script, input string }{
		{`def f: f; f`, `1`}, {`def f: 1 + f; f`, `1`}, {`def f: [f]; f`, `1`}, {`[repeat(1)]`, `1`}, {`until(false; .)`, `1`}, {`last(range(1e12))`, `1`},
		{`[range(1e9)]`, `1`}, {`reduce range(1e9) as $i (0; . + 1)`, `1`}, {`first(range(1e9) | select(. < 0))`, `1`},
		{`reduce range(99) as $i ("a"; . + .)`, `1`}, {`reduce range(99) as $i ("a"; "\(.)\(.)")`, `1`}, {`reduce range(99) as $i ("a"; @json "\(.)\(.)")`, `1`},
		{`reduce range(99) as $i ([1]; . + .) | length`, `1`}, {`reduce range(99) as $i (1; [., .]) | tojson | length`, `1`},
		{`reduce range(99) as $i (1; [., .])`, `1`}, {`reduce range(99) as $i (1; {a: ., b: .}) | . == .`, `1`},
		{`reduce range(99) as $i (3; . * .)`, `1`}, {`"x" * 1e9`, `1`}, {`1e9 * "x"`, `1`}, {`"x" * (1 / 1e-300 * 1e300)`, `1`},
		{`.[1e9] = 1`, `[]`}, {`setpath([1e8 | floor]; 1)`, `[]`}, {`.[100000] |= 1`, `null`}, {`[limit(3; repeat("a" * 1000000))] | add | length`, `1`},
		{`. as $x | [range(9999) | $x] | add | length`, `[` + large + `]`}, {`[range(9999) as $i | first(.[])] | length`, `[` + large + `]`},
		{`[range(9999) as $i | .[1:]] | length`, `[` + large + `]`}, {`. - .`, `[` + large + `]`}, {`contains(.)`, `[` + large + `]`},
		{`. as $x | .[$x]`, `[` + large + `]`}, {`join(tojson)`, `[` + large + `]`}, {`sort_by(range(1e9))`, `[1]`}, {`[.[] as $x | .[] as $y | 1] | length`, `[` + large + `]`},
		{`. as $x | sort_by($x)`, `[` + large + `]`}, {`. as $x | map(sort == $x)`, `[` + large + `]`},
		{`. as $x | reduce range(99999) as $i ($x; .[0] = $i)`, `[` + large + `]`}, {`try (def f: f; f) catch 1`, `1`}, {`[limit(1e9; repeat(try ([range(1e9)] | tojson) catch 1))]`, `1`},
		{`[range(9999) | "a" | test("(a{30}){30}")]`, `1`}, {`test("a{999}" * 900)`, `"\"a\""`}, {`[limit(9999; repeat(tojson | test("x|y|z")))]`, `[` + large + `]`},
		{`"a" * 8000 | [match("(.*z)?"; "g")]`, `1`}, {`"a" * 9000 | split("(.*z)?"; null)`, `1`}, {`"a" * 60000 | test("(?:a?){900}z")`, `1`},
		{`[range(9999) | "a"] as $p | [range(9999) | null | getpath($p)]`, `1`}, {`[range(9999) | "a"] as $p | [range(999) | path(getpath($p))]`, `null`},
		{`"9" * 900000 | tonumber`, `1`}, {`"[" + "9" * 900000 + "]" | fromjson`, `1`}, {`("a" * 99999) as $s | [range(9999) | $s[{"start": 1}]]`, `1`},
		{`[range(9999) | getpath([[1]])]`, `[` + large + `]`},
		{`[combinations]`, `[[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2],[1,2]]`},
	} {
		expression, err := json.Marshal(map[string]any{"Fn::Jq": []any{"All", test.script, test.input}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := template.TryROS(string(expression), "", template.ROSProperties, rosScope(), nil); err == nil {
			t.Errorf("%s went on to its end", test.script)
		}
	}
}

// TestROSJqMatches checks that patterns find the same matches as in jq, even if this package does the matching itself.
func TestROSJqMatches(t *testing.T) {
	tryROS(t, []rosRow{
		{
			expression: `{"Fn::Jq":["First","[match(\"(?<x>.)(?<y>b)?\";\"g\") | [.offset, .length, .string, (.captures[] | .name, .offset, .length, .string)]]","\"ä€b\""]}`,
			want:       `[[0,1,"ä","x",0,1,"ä","y",-1,0,null],[1,2,"€b","x",1,1,"€","y",2,1,"b"]]`,
		},
		{expression: `{"Fn::Jq":["First","[match(\"\";\"g\").offset]","\"ä€\""]}`, want: `[0,1,2]`},
		{expression: `{"Fn::Jq":["First","[match(\"^|A|$\";\"gi\") | [.offset, .string]]","\"aba\""]}`, want: `[[0,""],[2,"a"]]`},
		{expression: `{"Fn::Jq":["First","[match(\"b.c\";\"gm\").offset], [match(\"b.c\";\"g\").offset]","\"ab\\nc\""]}`, want: `[1]`},
		{expression: `{"Fn::Jq":["All","split(\", *\";null), split(\"B\";\"i\"), split(\"\";\"\")","\"a,  b\""]}`, want: `[["a","b"],["a,  ",""],["a",","," "," ","b"]]`},
		{expression: `{"Fn::Jq":["First","gsub(\"(?<l>[a-z])(?<d>[0-9]*)\";.d + .l)","\"a12-b3c\""]}`, want: `"12a-3bc"`},
		{expression: `{"Fn::Jq":["First","[match(\"a\";\"gx\")]","\"a\""]}`, err: "flag"},
		{expression: `{"Fn::Jq":["First","[match(\"(\";\"g\")]","\"a\""]}`, err: "regular expression"},
		{expression: `{"Fn::Jq":["First","[match(1;\"g\")]","\"a\""]}`, err: "cannot be applied"},
	})
}

// TestROSJqSearchesLongTexts checks that a long text is searched if no pattern reads it again and again.
func TestROSJqSearchesLongTexts(t *testing.T) {
	for _, script := range []string{
		`"ab c, " * 9000 | [match("(?<word>[a-z]+)"; "g")] | length`, `"ab c, " * 9000 | [splits(", *")] | length`, `"ab c  d" * 9000 | split("[ ]+"; null) | length`,
	} {
		if _, err := template.TryROS(`{"Fn::Jq":["First","`+strings.ReplaceAll(script, `"`, `\"`)+`",null]}`, "", template.ROSProperties, rosScope(), nil); err != nil {
			t.Errorf("%s: %v", script, err)
		}
	}
}

// TestROSJqKeysAreNotSecret checks that keys, which are shown, are not made from secrets.
func TestROSJqKeysAreNotSecret(t *testing.T) {
	secret := `{"Fn::Join":["",["{\"a\":{\"k\":\"",{"Ref":"Secret"},"\"}}"]]}`
	tryROS(t, []rosRow{
		{expression: `{"Fn::Jq":["First",".a | {(.k): 1}",` + secret + `]}`, err: "key"},
		{expression: `{"Fn::Jq":["First","[{x: {(.a.k[1:3]): 1}}]",` + secret + `]}`, err: "key"},
		{expression: `{"Fn::Jq":["First","{a, x: .a.k}",` + secret + `]}`, want: `{"a":{"k":"hidden"},"x":"hidden"}`},
		{expression: `{"Fn::Jq":["First","{(.n): .s}",{"n":"open","s":{"Ref":"Secret"}}]}`, want: `{"open":"hidden"}`},
		{expression: `{"Fn::Jq":["First","{(.s): .n}",{"n":"open","s":{"Ref":"Secret"}}]}`, err: "key"},
		{expression: `{"Fn::Jq":["First",{"Fn::Sub":"{${Secret}: 1}"},"{}"]}`, err: "key"},
		{expression: `{"Fn::MemberListToMap":["Name","Value",[{"Fn::Sub":".member.0.Name=${Secret}"},".member.0.Value=x"]]}`, err: "secret"},
		{expression: `{"Fn::MemberListToMap":["Name","Value",[".member.0.Name=x",{"Fn::Sub":".member.0.Value=${Secret}"}]]}`, want: `{"x":"hidden"}`},
	})
}

// TestROSJqIsDeterministic checks that a script gives the same result each time, even if it exceeds its limits.
func TestROSJqIsDeterministic(t *testing.T) {
	var first string
	for range 20 {
		got, err := template.TryROS(`{"Fn::Jq":["All","[.. | to_entries?], (try (. as $x | keys | map($x[.])) catch .), group_by(.a)?",{"Ref":"Json"}]}`,
			"", template.ROSProperties, rosScope(), nil)
		text := got.String()
		if err != nil {
			text = err.Error()
		}
		if first == "" {
			first = text
		}
		if text != first {
			t.Fatalf("%s\nand then\n%s", first, text)
		}
	}
}
