package endpoint_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/awscall/internal/endpoint"
)

func TestResolveRefuses(t *testing.T) {
	_, partitions := open(t)
	wrap := func(conditions, rest string) string {
		return `{"parameters":{"Region":{"type":"string"}},"rules":[{"conditions":[` + conditions + `],` + rest + `}]}`
	}
	const leaf = `"type":"endpoint","endpoint":{"url":"https://{Region}.example.com"}`
	for name, test := range map[string]struct{ rules, want string }{
		"no rules":         {`{}`, "there are none"},
		"an error":         {wrap("", `"type":"error","error":"Region {Region} is not served"`), "Region eu-west-1 is not served"},
		"unknown function": {wrap(`{"fn":"fly","argv":[]}`, leaf), "the function fly is not known"},
		"too few":          {wrap(`{"fn":"isSet","argv":[]}`, leaf), "isSet has 0 arguments, not 1"},
		"unknown kind":     {wrap("", `"type":"door"`), `a rule of type "door"`},
		"no text":          {wrap("", strings.Replace(`"type":"endpoint","endpoint":{"url":"https://{X}"}`, "X", "Nothing", 1)), "Nothing has no text"},
		"a brace":          {wrap("", `"type":"endpoint","endpoint":{"url":"https://{Region"}`), "a brace stands alone"},
		"no rule applies":  {wrap(`{"fn":"not","argv":[{"ref":"Region"}]}`, leaf), "no endpoint rule applies"},
		"too deep":         {wrap(strings.Repeat(`{"fn":"not","argv":[`, 300)+"true"+strings.Repeat(`]}`, 300), leaf), "nested too deep"},
	} {
		r, err := endpoint.Parse([]byte(test.rules))
		if err == nil {
			_, err = r.Resolve(partitions, map[string]any{"Region": "eu-west-1"})
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// No rule set makes Resolve panic or loop forever.
func FuzzResolve(f *testing.F) {
	bundle, partitions := open(f)
	for _, e := range bundle.Entries() {
		if e.Name == "ssm" || e.Name == "sts" || e.Name == "s3control" {
			rules, err := bundle.Rules(e)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(rules), "eu-west-1", "arn:aws:s3:::x")
		}
	}
	f.Add(`{"rules":[{"type":"endpoint","conditions":[{"fn":"substring","argv":[{"ref":"A"},0,1,true],"assign":"x"},{"fn":"parseURL","argv":["{x}"]}],"endpoint":{"url":{"fn":"uriEncode","argv":["{A}"]}}}],"parameters":{"A":{"type":"string"}}}`, "é", "b")
	f.Fuzz(func(t *testing.T, rules, region, bucket string) {
		r, err := endpoint.Parse([]byte(rules))
		if err != nil {
			return
		}
		_, _ = r.Resolve(partitions, map[string]any{"Region": region, "A": region, "Bucket": bucket, "UseFIPS": false, "UseDualStack": true, "Endpoint": bucket}) // either result is valid
	})
}
