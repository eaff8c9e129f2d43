package template_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/jq"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// rosScope returns the scope in which the ROS expressions below are evaluated.
func rosScope() *template.Scope {
	s := template.NewScope(map[string]value.Value{
		"Text": value.Str("text"), "Secret": value.Str("hidden").Tainted(value.OfParameter), "Empty": value.Str(""),
		"Number": value.Num("3"), "Yes": value.Boolean(true), "No": value.Boolean(false),
		"Zones": value.Strs("a", "b", "c"), "Commas": value.Str("10.0.0.1, 10.0.0.2 ,10.0.0.3"), "Nothing": {},
		"Json": parseJSON(`{"key":{"n":10000000},"list":[1,2.50,null]}`), "Digits": value.Str("0042"),
		"SecretNumber": value.Num("7").Tainted(value.OfParameter), "SecretExpression": value.Str("1+x").Tainted(value.OfParameter),
	}, map[string]bool{"Holds": true, "Fails": false}, template.Pseudo{Region: "cn-hangzhou"})
	s.Outside = template.Outside{
		Now:   "2021-04-07T08:15:10Z",
		Zones: map[string][]string{"cn-beijing": {"cn-beijing-h", "cn-beijing-k"}},
		StackOutputs: map[string]value.Value{
			template.StackOutput{Stack: "other", Output: "Id", Region: "cn-hangzhou"}.Key():  value.Str("i-1"),
			template.StackOutput{Stack: "other", Output: "List", Region: "cn-beijing"}.Key(): value.Strs("x", "y"),
		},
	}
	return s
}

func parseJSON(text string) value.Value {
	v, err := value.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

const rosMappings = `{"Regions":{"hangzhou":{"32":"m-1","64":64},"beijing":{"32":"m-2"}}}`

// rosResources has one resource, R.
type rosResources struct{}

func (rosResources) PhysicalID(id string) (value.Value, bool) {
	return value.Str("id-" + id), id == "R"
}

func (rosResources) Attribute(_, name string) (value.Value, error) {
	switch name {
	case "Outputs":
		return parseJSON(`[{"PublicIpAddress":["1.2.3.4"],"Port":8080},{"PublicIpAddress":[],"Port":null}]`), nil
	case "Data":
		return value.Str(`{"1":["1111","2222"],"n":1.50}`), nil
	case "Secret":
		return value.SecretStr("hidden"), nil
	case "Lists":
		return parseJSON(`[["a"],["b",null,"c"]]`), nil
	}
	return value.Str(name), nil
}

// rosRow is an expression and the JSON of its value, "" for no value. If err is set, it is part of the error's text.
type rosRow struct {
	expression, want, err string
	// parsed says that the error comes from the parser instead of a function.
	parsed bool
}

func tryROS(t *testing.T, rows []rosRow) {
	t.Helper()
	for _, row := range rows {
		got, err := template.TryROS(row.expression, rosMappings, template.ROSProperties, rosScope(), rosResources{})
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("%s\n= %s, %v\nwant the error %q", row.expression, got.JSON(), err, row.err)
				continue
			}
			var one *template.Error
			if !errors.As(err, &one) || one.Code == "" && !row.parsed {
				t.Errorf("%s: the error has no code: %#v", row.expression, err)
			}
			if strings.Contains(err.Error(), "hidden") {
				t.Errorf("%s: the error shows a secret: %v", row.expression, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.expression, err)
			continue
		}
		want := row.want
		if want == "" {
			want = "null"
		}
		if string(got.JSON()) != want {
			t.Errorf("%s\n= %s\nwant %s", row.expression, got.JSON(), want)
		}
		if strings.Contains(row.expression, "Nowhere") { // the parser rejects it
			continue
		}
		if again, err := readBack(row.expression); err != nil || string(again.JSON()) != `{"P":`+want+`}` && (want != "null" || len(again.Members()) > 0) {
			t.Errorf("%s\n= %s, %v in a record that was read back\nwant %s", row.expression, again.JSON(), err, want)
		}
	}
}

// readBack evaluates an expression in a resource that was stored and read back.
func readBack(expression string) (value.Value, error) {
	var parameters strings.Builder
	scope := rosScope()
	scope.Language = template.ROS
	for _, name := range slices.Sorted(maps.Keys(scope.Parameters)) {
		fmt.Fprintf(&parameters, `%q:{"Type":"String"},`, name)
	}
	parsed, err := template.ParseROS(`{"ROSTemplateFormatVersion":"2015-09-01","Parameters":{`+strings.TrimSuffix(parameters.String(), ",")+`},
		"Conditions":{"Holds":true,"Fails":false},"Mappings":`+rosMappings+`,
		"Resources":{"R":{"Type":"Custom::R"},"Tried":{"Type":"Custom::T","Properties":{"P":`+expression+`}}}}`, template.Limits{})
	if err != nil {
		return value.Value{}, err
	}
	stored, err := json.Marshal(parsed.Resource("Tried"))
	if err != nil {
		return value.Value{}, err
	}
	var read template.Resource
	if err := json.Unmarshal(stored, &read); err != nil {
		return value.Value{}, err
	}
	return template.Evaluate(read.Properties, scope, rosResources{})
}

func TestROSReferences(t *testing.T) {
	tryROS(t, []rosRow{
		{expression: `{"Ref":"Text"}`, want: `"text"`},
		{expression: `{"Ref":"R"}`, want: `"id-R"`},
		{expression: `{"Ref":"Nowhere"}`, err: "Nowhere"},
		{expression: `{"Ref":["Text"]}`, err: "References must be"},
		{expression: `{"Fn::GetAtt":["R","Outputs"]}`, want: `[{"PublicIpAddress":["1.2.3.4"],"Port":8080},{"PublicIpAddress":[],"Port":null}]`},
		{expression: `{"Fn::GetAtt":"R.Id"}`, want: `"Id"`},
		{expression: `{"Fn::GetAtt":["R"]}`, err: "Fn::GetAtt"},
		{expression: `{"Fn::Base64":"x"}`, err: "use Fn::Base64Encode"},
		{expression: `{"Fn::ListJoin":[["x"]]}`, err: "Fn::ListMerge"},
		{expression: `{"Fn::TransformNamespace":["Condition","M.",{"Ref":"Text"}]}`, err: "without modules"},
		{expression: `{"Fn::GetStackOutPut":["a","b"]}`, err: "write Fn::GetStackOutput"},
		{expression: `{"Fn::Nonsense":"x"}`, err: "Fn::Nonsense is not supported"},
		{expression: `{"Fn::Transform":{"Name":"x"}}`, err: "section Transform"},
		{expression: `{"Fn::Str":"x","Other":1}`, err: "must be the only key", parsed: true},
	})
}

func TestROSTexts(t *testing.T) {
	tryROS(t, []rosRow{
		{expression: `{"Fn::Sub":"${Text}-${ALL}"}`, err: "ALL"},
		{expression: `{"Fn::Sub":"${Text}-${R}-${R.Id}-${!Text}-$x-${"}`, want: `"text-id-R-Id-${Text}-$x-${"`},
		{expression: `{"Fn::Sub":["${A} ${B} ${C} ${D} ${Text}",{"A":1,"B":true,"C":{"k":[1.0]},"D":null}]}`, want: `"1 true {\"k\":[1.0]}  text"`},
		{expression: `{"Fn::Sub":["${A}",{"A":{"Fn::Join":["",["x",{"Ref":"Number"}]]}}]}`, want: `"x3"`},
		{expression: `{"Fn::Sub":["${A-1[0]}",{"A-1[0]":"x"}]}`, want: `"x"`},
		{expression: `{"Fn::Sub":"${HOME DIR}"}`, err: "write ${!HOME DIR}"},
		{expression: `{"Fn::Sub":"${}"}`, err: "names no variable"},
		{expression: `{"Fn::Sub":["x"]}`, err: "Fn::Sub takes"},
		{expression: `{"Fn::Sub":["x",["y"]]}`, err: "Fn::Sub takes"},
		{expression: `{"Fn::Sub":{"Ref":"Text"}}`, err: "Fn::Sub takes"},

		{expression: `{"Fn::Join":[",",["a","b","c"]]}`, want: `"a,b,c"`},
		{expression: `{"Fn::Join":["",[]]}`, want: `""`},
		{expression: `{"Fn::Join":["-",["a",1.50,true,null,{"Ref":"Nothing"},""]]}`, want: `"a-1.50-true-"`},
		{expression: `{"Fn::Join":[{"Ref":"Text"},{"Ref":"Zones"}]}`, want: `"atextbtextc"`},
		{expression: `{"Fn::Join":[",",{"Ref":"Text"}]}`, err: "argument 2 is not a list"},
		{expression: `{"Fn::Join":[",","a"]}`, err: "argument 2 is not a list"},
		{expression: `{"Fn::Join":[",",["a",["b"]]]}`, err: "item 2 of the list is not a text"},
		{expression: `{"Fn::Join":[["x"],["a"]]}`, err: "argument 1 is not a text"},
		{expression: `{"Fn::Join":[","]}`, err: "here are 1 arguments"},
		{expression: `{"Fn::Join":"x"}`, err: "here is not a list"},

		{expression: `{"Fn::Split":[";","foo; bar; achoo"]}`, want: `["foo"," bar"," achoo"]`},
		{expression: `{"Fn::Split":[",",""]}`, want: `[""]`},
		{expression: `{"Fn::Split":[",",{"Ref":"Commas"}]}`, want: `["10.0.0.1"," 10.0.0.2 ","10.0.0.3"]`},
		{expression: `{"Fn::Split":["\n","a\nb"]}`, want: `["a","b"]`},
		{expression: `{"Fn::Split":["","ab"]}`, err: "the delimiter is empty"},
		{expression: `{"Fn::Split":[",",["a"]]}`, err: "argument 2 is not a text"},

		{expression: `{"Fn::Replace":[{"print":"echo"},"print hello, print"]}`, want: `"echo hello, echo"`},
		{expression: `{"Fn::Replace":[{"a":"b","b":"a"},"abab"]}`, want: `"baba"`},
		{expression: `{"Fn::Replace":[{"a":"1","ab":"2","abc":null},"a ab abc ax"]}`, want: `"1 2 2c 1x"`},
		{expression: `{"Fn::Replace":[{"aa":"a"},"aaaa"]}`, want: `"aa"`},
		{expression: `{"Fn::Replace":[{"x":7,"y":true},"x y z"]}`, want: `"7 true z"`},
		{expression: `{"Fn::Replace":[{"ros-notify":{"Fn::GetAtt":["R","Cli"]}},{"Fn::Join":["",["cmd=","ros-notify -d"]]}]}`, want: `"cmd=Cli -d"`},
		{expression: `{"Fn::Replace":[{},"x"]}`, want: `"x"`},
		{expression: `{"Fn::Replace":[{"":"x"},"x"]}`, err: "the old text must not be empty"},
		{expression: `{"Fn::Replace":[{"x":["y"]},"x"]}`, err: "the new one must be a text"},
		{expression: `{"Fn::Replace":["x","x"]}`, err: "argument 1 is not a map"},

		{expression: `{"Fn::Indent":["[client]\nport=1\n",1]}`, want: `"  [client]\n  port=1\n"`},
		{expression: `{"Fn::Indent":["a\n\nb",2,4]}`, want: `"        a\n\n        b"`},
		{expression: `{"Fn::Indent":["a\nb",1,2,false]}`, want: `"a\n  b"`},
		{expression: `{"Fn::Indent":["a\nb",1,null,"True"]}`, want: `"  a\n  b"`},
		{expression: `{"Fn::Indent":["a",0]}`, want: `"a"`},
		{expression: `{"Fn::Indent":["a",21]}`, err: "from 0 to 20"},
		{expression: `{"Fn::Indent":["a",1,5]}`, err: "from 0 to 4"},
		{expression: `{"Fn::Indent":["a",1,2,"maybe"]}`, err: "neither true nor false"},
		{expression: `{"Fn::Indent":["a"]}`, err: "here are 1 arguments"},

		{expression: `{"Fn::Str":123456}`, want: `"123456"`},
		{expression: `{"Fn::Str":10000000}`, want: `"10000000"`},
		{expression: `{"Fn::Str":1.50}`, want: `"1.50"`},
		{expression: `{"Fn::Str":true}`, want: `"true"`},
		{expression: `{"Fn::Str":{"a":[1,{"Ref":"Text"}]}}`, want: `"{\"a\":[1,\"text\"]}"`},
		{expression: `{"Fn::Str":{"Ref":"Nothing"}}`, want: `""`},
		{expression: `{"Fn::Base64Encode":"string to encode"}`, want: `"c3RyaW5nIHRvIGVuY29kZQ=="`},
		{expression: `{"Fn::Base64Encode":{"Ref":"Number"}}`, want: `"Mw=="`},
		{expression: `{"Fn::Base64Encode":["x"]}`, err: "takes a text"},
		{expression: `{"Fn::Base64Decode":"c3RyaW5nIHRvIGVuY29kZQ=="}`, want: `"string to encode"`},
		{expression: `{"Fn::Base64Decode":"c3Ry\nYW=="}`, want: `"stra"`},
		{expression: `{"Fn::Base64Decode":"!"}`, err: "in Base64"},
		{expression: `{"Fn::Base64Decode":"/w=="}`, err: "not an encoded text"},
	})
}

func TestROSLists(t *testing.T) {
	tryROS(t, []rosRow{
		{expression: `{"Fn::Select":["1",["apples","grapes","oranges"]]}`, want: `"grapes"`},
		{expression: `{"Fn::Select":[-1,["apples","grapes"]]}`, want: `"grapes"`},
		{expression: `{"Fn::Select":[-3,["apples","grapes"]]}`, want: `""`},
		{expression: `{"Fn::Select":[2,["apples","grapes"]]}`, want: `""`},
		{expression: `{"Fn::Select":["1:3",[1,2,3,4,5]]}`, want: `[2,3]`},
		{expression: `{"Fn::Select":["::2",[1,2,3,4,5]]}`, want: `[1,3,5]`},
		{expression: `{"Fn::Select":["5:0:-2",[1,2,3,4,5]]}`, want: `[5,3]`},
		{expression: `{"Fn::Select":["::-1",[1,2,3]]}`, want: `[3,2,1]`},
		{expression: `{"Fn::Select":["-2:",[1,2,3]]}`, want: `[2,3]`},
		{expression: `{"Fn::Select":[":-1",[1,2,3]]}`, want: `[1,2]`},
		{expression: `{"Fn::Select":["7:9",[1,2,3]]}`, want: `[]`},
		{expression: `{"Fn::Select":["-9:-7",[1,2,3]]}`, want: `[]`},
		{expression: `{"Fn::Select":["::9223372036854775807",[1,2,3]]}`, want: `[1]`},
		{expression: `{"Fn::Select":["::-9223372036854775808",[1,2,3]]}`, want: `[3]`},
		{expression: `{"Fn::Select":["::0",[1]]}`, err: "not a slice"},
		{expression: `{"Fn::Select":["1:2:3:4",[1]]}`, err: "not a slice"},
		{expression: `{"Fn::Select":["a:b",[1]]}`, err: "not a slice"},
		{expression: `{"Fn::Select":["x",[1]]}`, err: "not a list index"},
		{expression: `{"Fn::Select":["key1",{"key1":"grapes","key2":"mangoes"}]}`, want: `"grapes"`},
		{expression: `{"Fn::Select":["key3",{"key1":"grapes"}]}`, want: `""`},
		{expression: `{"Fn::Select":["key3",{"key1":"grapes"},null]}`},
		{expression: `{"Fn::Select":["0",{"Ref":"Commas"}]}`, want: `"10.0.0.1"`},
		{expression: `{"Fn::Select":["1",{"Ref":"Commas"}]}`, want: `"10.0.0.2"`},
		{expression: `{"Fn::Select":["0",{"Ref":"Empty"}]}`, want: `""`},
		{expression: `{"Fn::Select":["0",{"Ref":"Nothing"}]}`, want: `""`},
		{expression: `{"Fn::Select":[{"Ref":"Number"},["a","b","c","d"]]}`, want: `"d"`},
		{expression: `{"Fn::Select":[1,["a",null,"c"]]}`},
		{expression: `{"Fn::Select":["0:3",["a",{"Ref":"ALIYUN::NoValue"},"c"]]}`, want: `["a","c"]`},
		{expression: `{"Fn::Select":[0,[["a",{"Ref":"Nothing"},"b"]]]}`, want: `["a","b"]`},
		{expression: `{"Fn::Select":[0,{"Ref":"Number"}]}`, err: "neither a list nor a map"},
		{expression: `{"Fn::Select":[0]}`, err: "here are 1 arguments"},

		{expression: `{"Fn::Index":["b",{"Ref":"Zones"}]}`, want: `1`},
		{expression: `{"Fn::Index":["z",{"Ref":"Zones"}]}`},
		{expression: `{"Fn::Index":[2,[1.0,2.0]]}`, want: `1`},
		{expression: `{"Fn::Index":[{"a":1,"b":2},[{"b":2,"a":1}]]}`, want: `0`},
		{expression: `{"Fn::Index":["a","abc"]}`, err: "argument 2 is not a list"},

		{expression: `{"Fn::Length":{"key1":"v1","key2":"v2"}}`, want: `2`},
		{expression: `{"Fn::Length":[1,2,3]}`, want: `3`},
		{expression: `{"Fn::Length":"länge"}`, want: `5`},
		{expression: `{"Fn::Length":{"Ref":"Zones"}}`, want: `3`},
		{expression: `{"Fn::Length":{"Ref":"Number"}}`, err: "a text, a list or a map"},

		{expression: `{"Fn::ListMerge":[["a"],{"Ref":"Zones"},[]]}`, want: `["a","a","b","c"]`},
		{expression: `{"Fn::ListMerge":{"Fn::GetAtt":["R","Lists"]}}`, want: `["a","b","c"]`},
		{expression: `{"Fn::ListMerge":[["a"],"b"]}`, err: "argument 2 is not a list"},
		{expression: `{"Fn::ListMerge":[]}`, err: "here are 0 arguments"},

		{expression: `{"Fn::FindInMap":["Regions","hangzhou","64"]}`, want: `64`},
		{expression: `{"Fn::FindInMap":["Regions",{"Fn::Join":["",["hang","zhou"]]},{"Fn::Str":32}]}`, want: `"m-1"`},
		{expression: `{"Fn::FindInMap":["Regions","hangzhou","16"]}`, err: "Unable to get mapping", parsed: true},
		{expression: `{"Fn::FindInMap":["Regions",{"Ref":"Text"},"16"]}`, err: "Unable to get mapping"},
		{expression: `{"Fn::FindInMap":["Regions","hangzhou"]}`, err: "Fn::FindInMap takes"},
		{expression: `{"Fn::FindInMap":["Regions","hangzhou",["x"]]}`, err: "argument 3 is not a text"},
	})
}

func TestROSMaps(t *testing.T) {
	tryROS(t, []rosRow{
		{
			expression: `{"Fn::MergeMapToList":[{"a":["a1","a2"]},{"b":["b1","b2","b3"]},{"c":[1]}]}`,
			want:       `[{"a":"a1","b":"b1","c":1},{"a":"a2","b":"b2","c":1},{"a":"a2","b":"b3","c":1}]`,
		},
		{expression: `{"Fn::MergeMapToList":[{"a":[1],"b":[2]}]}`, want: `[{"a":1,"b":2}]`},
		{expression: `{"Fn::MergeMapToList":[{"a":[]},{"b":[1]}]}`, want: `[{"b":1}]`},
		{expression: `{"Fn::MergeMapToList":[{"a":[]}]}`, want: `[]`},
		{expression: `{"Fn::MergeMapToList":[{"a":"x"}]}`, err: "in argument 1 is not a list"},
		{expression: `{"Fn::MergeMapToList":[["a"]]}`, err: "argument 1 is not a map"},

		{expression: `{"Fn::SelectMapList":["k",[{"j":1,"x":2},{"k":3},{"k":"v"}]]}`, want: `[3,"v"]`},
		{expression: `{"Fn::SelectMapList":["k",[]]}`, want: `[]`},
		{expression: `{"Fn::SelectMapList":["k",["x"]]}`, err: "item 1 of the list is not a map"},

		{expression: `{"Fn::MergeMap":[{"image":{"api":{"tag":1}},"n":1},{"image":{"api":{"repo":"r"},"web":{}},"n":2}]}`, want: `{"image":{"api":{"tag":1,"repo":"r"},"web":{}},"n":2}`},
		{expression: `{"Fn::MergeMap":[{"a":1},"x"]}`, err: "argument 2 is not a map"},

		{
			expression: `{"Fn::MemberListToMap":["Name","Value",[".member.0.Name=a",".member.0.Value=b=c",".member.10.Name=d",".member.2.Value=f",".member.2.Name=e","member.3.Value=x"]]}`,
			want:       `{"a":"b=c","e":"f"}`,
		},
		{expression: `{"Fn::MemberListToMap":["Name","Value",["x"]]}`, err: "item 1 of the list is not of that form"},
		{expression: `{"Fn::MemberListToMap":["Name","Value",[".member.x.Name=a"]]}`, err: "not of that form"},
	})
}

func TestROSNumbers(t *testing.T) {
	tryROS(t, []rosRow{
		{expression: `{"Fn::Add":[{"Product":"ROS"},{"Fn":"Add"}]}`, want: `{"Product":"ROS","Fn":"Add"}`},
		{expression: `{"Fn::Add":[{"a":1},{"a":2}]}`, want: `{"a":2}`},
		{expression: `{"Fn::Add":[[1,2],["x"]]}`, want: `[1,2,"x"]`},
		{expression: `{"Fn::Add":[1,{"Ref":"Number"},"10"]}`, want: `14`},
		{expression: `{"Fn::Add":[0.1,0.2]}`, want: `0.3`},
		{expression: `{"Fn::Add":[1,2.0]}`, want: `3.0`},
		{expression: `{"Fn::Add":[9007199254740993,1]}`, want: `9007199254740994`},
		{expression: `{"Fn::Add":[1e7,0]}`, want: `10000000.0`},
		{expression: `{"Fn::Add":[1,[2]]}`, err: "number 2 of the list is not a number"},
		{expression: `{"Fn::Add":[[1],2]}`, err: "argument 2 is not a list"},
		{expression: `{"Fn::Add":[{"a":1},[2]]}`, err: "argument 2 is not a map"},
		{expression: `{"Fn::Add":[true,false]}`, err: "the first is none of them"},
		{expression: `{"Fn::Add":["x","y"]}`, err: "not a number"},
		{expression: `{"Fn::Add":[1,"1e999999999"]}`, err: "too large"},
		{expression: `{"Fn::Add":[1]}`, err: "here are 1 arguments"},

		{expression: `{"Fn::Avg":[1,[1,2,6.0]]}`, want: `3.0`},
		{expression: `{"Fn::Avg":[1,["1","2","6.0"]]}`, want: `3.0`},
		{expression: `{"Fn::Avg":[2,[1,1,2]]}`, want: `1.33`},
		{expression: `{"Fn::Avg":[0,[1,2]]}`, want: `2`},
		{expression: `{"Fn::Avg":[0,[-1,-2]]}`, want: `-2`},
		{expression: `{"Fn::Avg":[1,[]]}`, err: "there is no number"},
		{expression: `{"Fn::Avg":[-1,[1]]}`, err: "from 0 to 30"},
		{expression: `{"Fn::Avg":["x",[1]]}`, err: "argument 1 is not a number"},

		{expression: `{"Fn::Max":[1.1,2,3]}`, want: `3`},
		{expression: `{"Fn::Min":[1.1,2,3]}`, want: `1.1`},
		{expression: `{"Fn::Max":["10","9"]}`, want: `"10"`},
		{expression: `{"Fn::Min":[-0.5,"-1"]}`, want: `"-1"`},
		{expression: `{"Fn::Max":[]}`, err: "here are 0 arguments"},
		{expression: `{"Fn::Max":["x"]}`, err: "argument 1 is not a number"},
		{expression: `{"Fn::Max":{"Ref":"Zones"}}`, err: "argument 1 is not a number"},

		{expression: `{"Fn::Calculate":["(2+3)/2*3-1",1]}`, want: `5`},
		{expression: `{"Fn::Calculate":["(2.0+3)/2*3-1",1]}`, want: `6.5`},
		{expression: `{"Fn::Calculate":["({1}+3)/2*3-1",1,[3,5,6]]}`, want: `11`},
		{expression: `{"Fn::Calculate":["({0}+{1})%3",0,[5,6]]}`, want: `2`},
		{expression: `{"Fn::Calculate":["{0}-1",0,[{"Ref":"Number"}]]}`, want: `2`},
		{expression: `{"Fn::Calculate":["-7/2",0]}`, want: `-4`},
		{expression: `{"Fn::Calculate":["7//-2",0]}`, want: `-4`},
		{expression: `{"Fn::Calculate":["-7%3",0]}`, want: `2`},
		{expression: `{"Fn::Calculate":["7%-3",0]}`, want: `-2`},
		{expression: `{"Fn::Calculate":["7.5//2",2]}`, want: `3.0`},
		{expression: `{"Fn::Calculate":["-2**2",0]}`, want: `-4`},
		{expression: `{"Fn::Calculate":["2**3**2",0]}`, want: `512`},
		{expression: `{"Fn::Calculate":["2**-1",2]}`, want: `0.5`},
		{expression: `{"Fn::Calculate":["--3 + +4",0]}`, want: `7`},
		{expression: `{"Fn::Calculate":["2 ** 100",0]}`, want: `1267650600228229401496703205376`},
		{expression: `{"Fn::Calculate":["1/3.0",4]}`, want: `0.3333`},
		{expression: `{"Fn::Calculate":["2.5+0",0]}`, want: `3`},
		{expression: `{"Fn::Calculate":["1e3*2",1]}`, want: `2000.0`},
		{expression: `{"Fn::Calculate":["10**10**10",0]}`, err: "too large"},
		{expression: `{"Fn::Calculate":["(9**5000)**9",0]}`, err: "too large"},
		{expression: `{"Fn::Calculate":["1/0",0]}`, err: "divides by zero"},
		{expression: `{"Fn::Calculate":["1%0",0]}`, err: "divides by zero"},
		{expression: `{"Fn::Calculate":["0**-1",0]}`, err: "divides by zero"},
		{expression: `{"Fn::Calculate":["2**0.5",0]}`, err: "not a whole number"},
		{expression: `{"Fn::Calculate":["{3}",0,[1]]}`, err: "not the index"},
		{expression: `{"Fn::Calculate":["{-1}",0,[1]]}`, err: "not the index"},
		{expression: `{"Fn::Calculate":["{0",0,[1]]}`, err: "not the index"},
		{expression: `{"Fn::Calculate":["1 2",0]}`, err: "unexpected"},
		{expression: `{"Fn::Calculate":["(1",0]}`, err: "ends too early"},
		{expression: `{"Fn::Calculate":["",0]}`, err: "ends too early"},
		{expression: `{"Fn::Calculate":["__import__('os')",0]}`, err: "unexpected"},
		{expression: `{"Fn::Calculate":["1.2.3",0]}`, err: "unexpected"},
		{expression: `{"Fn::Calculate":["1",-1]}`, err: "from 0 to 30"},
		{expression: `{"Fn::Calculate":["1"]}`, err: "here are 1 arguments"},
		{expression: `{"Fn::Calculate":[{"Ref":"SecretExpression"},0]}`, err: "the expression cannot be calculated"},
		{expression: `{"Fn::Calculate":["` + strings.Repeat("(", 100) + `1",0]}`, err: "nests deeper"},
		{expression: `{"Fn::Calculate":["` + strings.Repeat("1+", 3000) + `1",0]}`, err: "longer than"},
	})
}

func TestROSLogic(t *testing.T) {
	tryROS(t, []rosRow{
		{expression: `{"Fn::If":["Holds","yes",{"Ref":"Nowhere"}]}`, want: `"yes"`},
		{expression: `{"Fn::If":["Fails","yes",{"Ref":"Nothing"}]}`},
		{expression: `{"Fn::If":["Fails","yes",null]}`},
		{expression: `{"Fn::If":["Unknown","yes","no"]}`, err: "Unknown"},
		{expression: `{"Fn::If":[{"Fn::Equals":[1,1]},"yes","no"]}`, err: "by its name"},
		{expression: `{"Fn::If":["Holds","yes"]}`, err: "Fn::If takes"},

		{expression: `{"Fn::Equals":["a","a"]}`, want: `true`},
		{expression: `{"Fn::Equals":["a","b"]}`, want: `false`},
		{expression: `{"Fn::Equals":[true,{"Ref":"Yes"}]}`, want: `true`},
		{expression: `{"Fn::Equals":["true",{"Ref":"Yes"}]}`, want: `true`},
		{expression: `{"Fn::Equals":[3.0,{"Ref":"Number"}]}`, want: `true`},
		{expression: `{"Fn::Equals":["3.0",{"Ref":"Number"}]}`, want: `false`},
		{expression: `{"Fn::Equals":[null,{"Ref":"Nothing"}]}`, want: `true`},
		{expression: `{"Fn::Equals":[null,{"Ref":"Empty"}]}`, want: `false`},
		{expression: `{"Fn::Equals":[{},{"Ref":"Json"}]}`, want: `false`},
		{expression: `{"Fn::Equals":[[1,{"a":2}],[1.0,{"a":"2"}]]}`, want: `true`},
		{expression: `{"Fn::Equals":[[1],[1,2]]}`, want: `false`},
		{expression: `{"Fn::Equals":["a"]}`, err: "here are 1 arguments"},

		{expression: `{"Fn::And":["Holds",{"Fn::Equals":["a","a"]}]}`, want: `true`},
		{expression: `{"Fn::And":["Holds","Fails",{"Fn::Equals":[{"Ref":"Nowhere"},1]}]}`, want: `false`},
		{expression: `{"Fn::And":["Holds"]}`, err: "two or more conditions"},
		{expression: `{"Fn::And":["Holds","Unknown"]}`, err: "Unknown is not in the Conditions"},
		{expression: `{"Fn::And":["Holds",5]}`, err: "A condition is true, false"},
		{expression: `{"Fn::Or":["Fails","Holds"]}`, want: `true`},
		{expression: `{"Fn::Or":["Fails",{"Fn::Not":"Holds"}]}`, want: `false`},
		{expression: `{"Fn::Not":"Holds"}`, want: `false`},
		{expression: `{"Fn::Not":["Fails"]}`, want: `true`},
		{expression: `{"Fn::Not":{"Fn::Equals":["a","b"]}}`, want: `true`},
		{expression: `{"Fn::Not":{"Ref":"No"}}`, want: `true`},
		{expression: `{"Fn::Not":{"Ref":"Text"}}`, err: "must be true or false"},
		{expression: `{"Fn::Not":["Holds","Fails"]}`, err: "one condition"},
		{expression: `{"Fn::Not":[]}`, err: "one condition"},

		{expression: `{"Fn::Any":[true,false]}`, want: `true`},
		{expression: `{"Fn::Any":[0,0,"",null,"false","0",[],{},0.0]}`, want: `false`},
		{expression: `{"Fn::Any":[1,1]}`, want: `true`},
		{expression: `{"Fn::Any":{"Ref":"Zones"}}`, want: `true`},
		{expression: `{"Fn::Any":[]}`, err: "here are 0 arguments"},

		{expression: `{"Fn::Contains":[[1,2,3],3]}`, want: `true`},
		{expression: `{"Fn::Contains":[[1,2,3],4]}`, want: `false`},
		{expression: `{"Fn::Contains":[[null,""],{"Ref":"Nothing"}]}`, want: `true`},
		{expression: `{"Fn::Contains":[[""],{"Ref":"Nothing"}]}`, want: `false`},
		{expression: `{"Fn::Contains":["abc","a"]}`, err: "argument 1 is not a list"},
		{expression: `{"Fn::EachMemberIn":[[1,2,3],[1,2,3,3,4]]}`, want: `true`},
		{expression: `{"Fn::EachMemberIn":[[1,2,3],[1,2,4]]}`, want: `false`},
		{expression: `{"Fn::EachMemberIn":[[],[1]]}`, want: `true`},
		{expression: `{"Fn::EachMemberIn":[["a"],{"Ref":"Zones"}]}`, want: `true`},

		{expression: `{"Fn::MatchPattern":["[a-z]+","adb"]}`, want: `true`},
		{expression: `{"Fn::MatchPattern":["[a-z]+","12b"]}`, want: `false`},
		{expression: `{"Fn::MatchPattern":["[a-z]+","b12"]}`, want: `true`},
		{expression: `{"Fn::MatchPattern":["^[a-z]+$","b12"]}`, want: `false`},
		{expression: `{"Fn::MatchPattern":["^(?=.*[0-9])[a-z].*","b12"]}`, want: `true`},
		{expression: `{"Fn::MatchPattern":["a|b","xb"]}`, want: `false`},
		{expression: `{"Fn::MatchPattern":["[a-z]{999}.{900}",{"Fn::Join":["",["` + strings.Repeat("a", 16000) + `"]]}]}`, want: `true`},
		{expression: `[` + strings.Repeat(`{"Fn::MatchPattern":["([a-z]{90}){11}",{"Fn::Join":["",["`+strings.Repeat("a", 16000)+`"]]}]},`, 200) + `1]`, err: "maximum allowed"},
		{expression: `{"Fn::MatchPattern":["[","x"]}`, err: "cannot be checked here"},
		{expression: `{"Fn::MatchPattern":[{"Fn::Str":"("},"x"]}`, err: "cannot be checked here"},
		{expression: `{"Fn::MatchPattern":["x",["x"]]}`, err: "argument 2 is not a text"},
	})
}

func TestROSConditions(t *testing.T) {
	for _, row := range []rosRow{
		{expression: `{"Fn::Equals":[1,"1"]}`, want: "true"},
		{expression: `{"Fn::And":["Holds",{"Fn::Or":["Fails",{"Fn::Not":"Fails"}]}]}`, want: "true"},
		{expression: `{"Fn::If":["Fails",{"Fn::Equals":[1,1]},{"Fn::Equals":[1,2]}]}`, want: "false"},
		{expression: `{"Fn::If":["Fails",true,false]}`, want: "false"},
		{expression: `{"Ref":"Yes"}`, want: "true"},
		{expression: `{"Fn::Jq":["First",".key.n > 1",{"Ref":"Json"}]}`, want: "true"},
		{expression: `{"Fn::Equals":[{"Fn::Length":{"Ref":"Zones"}},3]}`, want: "true"},
		{expression: `{"Fn::MatchPattern":["t","text"]}`, want: "true"},
		{expression: `true`, want: "true"},
		{expression: `"Holds"`, err: "A condition is true, false"},
		{expression: `{"Fn::If":["Fails","Holds","Fails"]}`, err: "A condition is true, false"},
		{expression: `{"Condition":"Holds"}`, err: "A condition is true, false"},
		{expression: `{"Fn::GetAtt":["R","Id"]}`, err: "cannot be used in Conditions"},
		{expression: `{"Fn::Equals":[{"Fn::GetStackOutput":["a","b"]},1]}`, err: "cannot be used in Conditions"},
		{expression: `{"Ref":"Zones"}`, err: "must be true or false"},
	} {
		got, err := template.TryROS(row.expression, rosMappings, template.ROSConditions, rosScope(), nil)
		switch {
		case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)):
			t.Errorf("%s = %s, %v, want the error %q", row.expression, got.JSON(), err, row.err)
		case row.err == "" && (err != nil || got.Text() != row.want):
			t.Errorf("%s = %s, %v, want %s", row.expression, got.JSON(), err, row.want)
		}
	}
}

func TestROSJSON(t *testing.T) {
	tryROS(t, []rosRow{
		{expression: `{"Fn::GetJsonValue":["1",{"Fn::GetAtt":["R","Data"]}]}`, want: `["1111","2222"]`},
		{expression: `{"Fn::GetJsonValue":["n",{"Fn::GetAtt":["R","Data"]}]}`, want: `1.50`},
		{expression: `{"Fn::GetJsonValue":["x",{"Fn::GetAtt":["R","Data"]}]}`},
		{expression: `{"Fn::GetJsonValue":["key",{"Ref":"Json"}]}`, want: `{"n":10000000}`},
		{expression: `{"Fn::GetJsonValue":["key",{"Ref":"Empty"}]}`},
		{expression: `{"Fn::GetJsonValue":["key","no json"]}`, err: "is not JSON"},
		{expression: `{"Fn::GetJsonValue":["key","[1]"]}`, err: "not a JSON object"},
		{expression: `{"Fn::GetJsonValue":["key","` + strings.Repeat("[", 100) + `"]}`, err: "is not JSON"},
		{expression: `{"Fn::GetJsonValue":["key"]}`, err: "here are 1 arguments"},
	})
}

func TestROSTime(t *testing.T) {
	tryROS(t, []rosRow{
		{expression: `{"Fn::FormatTime":"%Y-%m-%d %H:%M:%S"}`, want: `"2021-04-07 08:15:10"`},
		{expression: `{"Fn::FormatTime":["%Y-%m-%d %H:%M:%S %z %Z","Asia/Shanghai"]}`, want: `"2021-04-07 16:15:10 +0800 CST"`},
		{expression: `{"Fn::FormatTime":["%y %I %a %A %b %B %j %p %U %w %W %x %X %c %f"]}`, want: `"21 08 Wed Wednesday Apr April 097 AM 14 3 14 04/07/21 08:15:10 Wed Apr  7 08:15:10 2021 000000"`},
		{expression: `{"Fn::FormatTime":"%é%Y"}`, want: `"%é2021"`},
		{expression: `{"Fn::FormatTime":["%Z","localtime"]}`, err: "not a time zone"},
		{expression: `{"Fn::FormatTime":["%Z","posix/Asia/Shanghai"]}`, err: "not a time zone"},
		{expression: `{"Fn::FormatTime":"100%% %Q %"}`, want: `"100% %Q %"`},
		{expression: `{"Fn::FormatTime":{"Ref":"Text"}}`, want: `"text"`},
		{expression: `{"Fn::FormatTime":["%Y","Mars/Olympus"]}`, err: "not a time zone"},
		{expression: `{"Fn::FormatTime":["%Y","Local"]}`, err: "not a time zone"},
		{expression: `{"Fn::FormatTime":["%Y","../../etc/passwd"]}`, err: "not a time zone"},
		{expression: `{"Fn::FormatTime":{"a":"b"}}`, err: "argument 1 is not a text"},
		{expression: `{"Fn::FormatTime":[]}`, err: "here are 0 arguments"},
	})
	s := rosScope()
	s.Outside.Now = ""
	if _, err := template.TryROS(`{"Fn::FormatTime":"%Y"}`, "", template.ROSProperties, s, nil); err == nil {
		t.Error("an unknown time was formatted")
	}
}

func TestROSNetwork(t *testing.T) {
	tryROS(t, []rosRow{
		{
			expression: `{"Fn::Cidr":["192.168.0.0/24",6,5]}`,
			want:       `["192.168.0.0/27","192.168.0.32/27","192.168.0.64/27","192.168.0.96/27","192.168.0.128/27","192.168.0.160/27"]`,
		},
		{expression: `{"Fn::Cidr":["10.0.0.0/8",257,8]}`, err: "1 to 256"},
		{expression: `{"Fn::GetAZs":{"Fn::Str":"cn-beijing"}}`, want: `["cn-beijing-h","cn-beijing-k"]`},
		{expression: `{"Fn::GetAZs":""}`, want: `["cn-hangzhou-a","cn-hangzhou-b","cn-hangzhou-c"]`},
		{expression: `{"Fn::GetAZs":"cn-shanghai"}`, want: `["cn-shanghai-a","cn-shanghai-b","cn-shanghai-c"]`},
		{expression: `{"Fn::GetAZs":"No Region"}`, err: "not a region name"},
		{expression: `{"Fn::GetAZs":["x"]}`, err: "takes a region"},
		{expression: `{"Fn::MarketplaceImage":"cmjj0200"}`, err: "in a parameter instead"},
		{expression: `{"Fn::GetStackOutput":["other","Id"]}`, want: `"i-1"`},
		{expression: `{"Fn::GetStackOutput":["other","List","cn-beijing"]}`, want: `["x","y"]`},
		{expression: `{"Fn::GetStackOutput":["other","Missing"]}`},
		{expression: `{"Fn::GetStackOutput":[{"Ref":"Empty"},"Id"]}`},
		{expression: `{"Fn::GetStackOutput":[{"Ref":"Secret"},"Id"]}`, err: "NoEcho"},
		{expression: `{"Fn::GetStackOutput":[{"Fn::GetAtt":["R","Id"]},"Id"]}`, err: "depend on a resource"},
		{expression: `{"Fn::GetStackOutput":["other"]}`, err: "here are 1 arguments"},
		{expression: `{"Fn::GetStackOutput":{"StackName":"x","OutputName":"y"}}`, err: "here is not a list"},
		{expression: `{"Fn::GetStackOutput":["a\u0000","b"]}`, err: "control characters"},
	})
}

// TestROSSecrets checks that values computed from a secret are secret, and that conditions on a secret are not.
func TestROSSecrets(t *testing.T) {
	for expression, want := range map[string]string{
		`{"Fn::Join":["-",["a",{"Ref":"Secret"}]]}`:                                               `"****"`,
		`{"Fn::Sub":["${A}",{"A":{"k":{"Ref":"Secret"}}}]}`:                                       `"****"`,
		`{"Fn::Split":["d",{"Ref":"Secret"}]}`:                                                    `["****","****","****"]`,
		`{"Fn::Replace":[{"x":{"Ref":"Secret"}},"xyz"]}`:                                          `"****"`,
		`{"Fn::Replace":[{"x":"y"},{"Ref":"Secret"}]}`:                                            `"****"`,
		`{"Fn::Str":{"a":{"Ref":"SecretNumber"}}}`:                                                `"****"`,
		`{"Fn::Base64Encode":{"Ref":"Secret"}}`:                                                   `"****"`,
		`{"Fn::Base64Decode":{"Fn::Base64Encode":{"Ref":"Secret"}}}`:                              `"****"`,
		`{"Fn::Indent":[{"Ref":"Secret"},1]}`:                                                     `"****"`,
		`{"Fn::Select":[0,["a",{"Ref":"Secret"}]]}`:                                               `"a"`,
		`{"Fn::Select":["1",["a",{"Ref":"Secret"}]]}`:                                             `"****"`,
		`{"Fn::Select":[{"Ref":"SecretNumber"},["a"]]}`:                                           `"****"`,
		`{"Fn::Select":["::",["a",{"Ref":"Secret"}]]}`:                                            `["a","****"]`,
		`{"Fn::ListMerge":[["a"],[{"Ref":"Secret"}]]}`:                                            `["a","****"]`,
		`{"Fn::Add":[1,{"Ref":"SecretNumber"}]}`:                                                  `"****"`,
		`{"Fn::Add":[[1],[{"Ref":"SecretNumber"}]]}`:                                              `[1,"****"]`,
		`{"Fn::Avg":[1,[1,{"Ref":"SecretNumber"}]]}`:                                              `"****"`,
		`{"Fn::Max":[1,{"Ref":"SecretNumber"}]}`:                                                  `"****"`,
		`{"Fn::Calculate":["{0}*2",0,[{"Ref":"SecretNumber"}]]}`:                                  `"****"`,
		`{"Fn::GetJsonValue":["a",{"Fn::Str":{"a":{"Ref":"Secret"}}}]}`:                           `"****"`,
		`{"Fn::Jq":["First",".[0]",[{"Ref":"Secret"}]]}`:                                          `"****"`,
		`{"Fn::Jq":["All",".[]|length",["a",{"Ref":"Secret"}]]}`:                                  `["****","****"]`,
		`{"Fn::MergeMapToList":[{"a":[1,{"Ref":"Secret"}]}]}`:                                     `[{"a":1},{"a":"****"}]`,
		`{"Fn::SelectMapList":["a",[{"a":{"Ref":"Secret"}},{"a":1}]]}`:                            `["****",1]`,
		`{"Fn::MergeMap":[{"a":1},{"b":{"Ref":"Secret"}}]}`:                                       `{"a":1,"b":"****"}`,
		`{"Fn::Index":[{"Ref":"Secret"},["a","hidden"]]}`:                                         `"****"`,
		`{"Fn::Equals":[{"Ref":"Secret"},"hidden"]}`:                                              `true`,
		`{"Fn::Length":[{"Ref":"Secret"}]}`:                                                       `1`,
		`{"Fn::Length":{"Ref":"Secret"}}`:                                                         `"****"`,
		`{"Fn::FormatTime":{"Ref":"Secret"}}`:                                                     `"****"`,
		`{"Fn::MemberListToMap":["N","V",[".member.0.N=k",{"Fn::Sub":".member.0.V=${Secret}"}]]}`: `{"k":"****"}`,
	} {
		got, err := template.TryROS(expression, rosMappings, template.ROSProperties, rosScope(), rosResources{})
		if err != nil || got.String() != want {
			t.Errorf("%s\n= %s, %v\nwant %s", expression, got, err, want)
		}
	}
}

// TestROSFunctionsAreDocumented checks that docs/ros-functions.md lists every ROS function, and every jq function.
func TestROSFunctionsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/ros-functions.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range template.ROSFunctions() {
		if !template.IsROSFunction(name) {
			t.Errorf("%s is listed, and is no function", name)
		}
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s is not documented", name)
		}
	}
	_, list, _ := strings.Cut(string(text), "Pintle supports these parts of jq")
	words := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(" \n`,", r) })
	for _, name := range jq.Functions() {
		if !slices.Contains(words, name) {
			t.Errorf("the function %s of jq is not documented", name)
		}
	}
}

// TestROSWorkCounts checks that slow functions count accordingly, so that a declaration ends soon: 8 MiB are some
// seconds at most.
func TestROSWorkCounts(t *testing.T) {
	small := func(n int, format string) string {
		var list strings.Builder
		for i := range n {
			fmt.Fprintf(&list, format+",", i+1)
		}
		return "[" + list.String() + "0]"
	}
	text := strings.Repeat("a", 16<<10)
	for _, test := range []struct {
		expression string
		least      int
	}{
		{`{"Fn::Avg":[0,` + small(100, "%de-1000") + `]}`, 40_000},
		{`{"Fn::Max":` + small(100, "%de-1000") + `}`, 40_000},
		{`{"Fn::Calculate":["` + strings.Repeat("3**8000%7+", 100) + `1",0]}`, 80_000},
		{`{"Fn::Calculate":["` + strings.Repeat("{0}*", 4) + `1",0,[1e-1000]]}`, 1_000},
		{`{"Fn::EachMemberIn":[` + small(100, "%d0e-1000") + `,` + small(100, "%de-999") + `]}`, 50_000},
		{`{"Fn::MatchPattern":["(?:a?){300}z","` + text + `"]}`, 150_000},
		{`{"Fn::Jq":["First",".","1"]}`, 2_000},
		{`{"Fn::Jq":["First","` + strings.Repeat(" ", 8000) + `.","1"]}`, 30_000},
	} {
		work, err := template.ROSWork(test.expression, rosScope())
		if err != nil || work < test.least {
			t.Errorf("%.80s counts %d, %v, want %d at least", test.expression, work, err, test.least)
		}
	}
}

// TestROSPatternsAreTriedWithinBounds checks that not all patterns and scripts of a large template are tried out when
// it is read.
func TestROSPatternsAreTriedWithinBounds(t *testing.T) {
	calls := strings.Repeat(`{"Fn::MatchPattern":["(a|b|c|d|e|f){900}","a"]},{"Fn::Jq":["First",". as [$x] | $x","1"]},`, 300)
	start := `{"ROSTemplateFormatVersion":"2015-09-01","Resources":{"R":{"Type":"Custom::R","Properties":{"ServiceToken":"web:http://127.0.0.1/","Parameters":{"P":[`
	if _, err := template.ParseROS(start+calls+`{"Fn::Jq":["First","(","1"]}]}}}}}`, template.Limits{}); err != nil {
		t.Errorf("what is beyond the bounds was tried out: %v", err)
	}
	if _, err := template.ParseROS(start+`{"Fn::Jq":["First","(","1"]}]}}}}}`, template.Limits{}); err == nil {
		t.Error("what is within the bounds was not tried out")
	}
}

func TestROSNumbersAreEqual(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"1", "1.0", true}, {"10", "1e1", true}, {"-0", "0.0", true}, {"0e5", "0", true}, {"-1", "1", false}, {"1e-400", "2e-400", false},
		{"10e-401", "1e-400", true}, {"9007199254740993", "9007199254740992", false}, {"100e400", "1E+402", true}, {"1e400", "-1e400", false},
		{"1e9999", "1e9999", true}, {"1e9999", "10e9998", false}, {"0.10", "1e-1", true}, {"1.5", "15e-1", true},
	} {
		got, err := template.TryROS(`{"Fn::Equals":[`+test.a+`,`+test.b+`]}`, "", template.ROSProperties, rosScope(), nil)
		if err != nil || (got.Text() == "true") != test.same {
			t.Errorf("%s = %s: %v, %v", test.a, test.b, got, err)
		}
	}
}
