package template

import (
	"github.com/pintle-dev/pintle/internal/language/value"
)

func rosJSONNamed(name string) (function, bool) {
	switch name {
	case "Fn::GetJsonValue":
		g := signature{name: name, usage: "[key, JSON text]", wants: []want{wantText, wantAny}, least: 2}
		return g.function(rosAnywhere, func(e *evaluation, a arguments) (value.Value, error) {
			object, err := a.fromJSON(e, 1)
			if err != nil {
				return value.Value{}, err
			}
			if object.Kind() != value.Map && !object.IsNull() {
				return value.Value{}, a.fail(e, "argument 2 is not a JSON object")
			}
			v, _ := object.Get(a.text(0))
			return v, nil
		})
	case "Fn::Jq":
		return jqFunction()
	}
	return function{}, false
}

// fromJSON returns an argument that is JSON in a text, or already parsed. The empty text is null.
func (a arguments) fromJSON(e *evaluation, i int) (value.Value, error) {
	v := a.values[i]
	if v.Kind() != value.String {
		return v, nil
	}
	if v.Text() == "" {
		return value.Value{}, nil
	}
	if err := e.spend(a.at, 2*len(v.Text())); err != nil {
		return value.Value{}, err
	}
	read, err := value.Parse([]byte(v.Text()))
	if err != nil || deeper(read, MaxDepth) {
		return value.Value{}, a.fail(e, "argument %d is not JSON, or nests deeper than %d levels", i+1, MaxDepth)
	}
	if err := e.spend(a.at, extent(read)); err != nil {
		return value.Value{}, err
	}
	return read.Tainted(v.Secrecy()), nil
}
