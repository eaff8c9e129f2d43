package events

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// TestPattern compares matches with the examples of the EventBridge User Guide, comparison operators.
func TestPattern(t *testing.T) {
	const event = `{"source": "aws.ec2", "detail-type": "state", "resources": ["arn:one", "arn:two"], "detail": {"state": "Running", "n": 3.0, "big": 300,
		"none": null, "on": true, "empty": "", "list": [], "ip": "10.0.0.7", "file": "dir/a.png", "c": {"d": "x"}, "objects": [{"k": 1}, {"k": 2}]}}`
	v, err := decode([]byte(event))
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]bool{
		`{"source": ["aws.ec2"]}`:                                                              true,
		`{"source": ["aws.s3", "aws.ec2"]}`:                                                    true,
		`{"source": ["aws.s3"]}`:                                                               false,
		`{"source": ["aws.ec2"], "detail": {"state": ["stopped"]}}`:                            false,
		`{"resources": ["arn:two"]}`:                                                           true,
		`{"detail": {"none": [null]}}`:                                                         true,
		`{"detail": {"absent": [null]}}`:                                                       false,
		`{"detail": {"on": [true]}}`:                                                           true,
		`{"detail": {"on": ["true"]}}`:                                                         false,
		`{"detail": {"empty": [""]}}`:                                                          true,
		`{"detail": {"n": [3]}}`:                                                               true,
		`{"detail": {"n": [{"numeric": ["=", 3]}]}}`:                                           true,
		`{"detail": {"n": [{"numeric": [">", 0, "<", 3]}]}}`:                                   false,
		`{"detail": {"big": [{"numeric": [">", 1e2, "<=", 300.0]}]}}`:                          true,
		`{"detail": {"state": [{"numeric": ["=", 3]}]}}`:                                       false,
		`{"detail": {"state": [{"prefix": "Run"}]}}`:                                           true,
		`{"detail": {"state": [{"prefix": "run"}]}}`:                                           false,
		`{"detail": {"state": [{"prefix": {"equals-ignore-case": "rUN"}}]}}`:                   true,
		`{"detail": {"file": [{"suffix": ".png"}]}}`:                                           true,
		`{"detail": {"file": [{"suffix": {"equals-ignore-case": ".PNG"}}]}}`:                   true,
		`{"detail": {"state": [{"equals-ignore-case": "running"}]}}`:                           true,
		`{"detail": {"file": [{"wildcard": "dir/*.png"}]}}`:                                    true,
		`{"detail": {"file": [{"wildcard": "*a*"}]}}`:                                          true,
		`{"detail": {"file": [{"wildcard": "dir/\\*.png"}]}}`:                                  false,
		`{"detail": {"file": [{"wildcard": "a.png"}]}}`:                                        false,
		`{"detail": {"ip": [{"cidr": "10.0.0.0/24"}]}}`:                                        true,
		`{"detail": {"ip": [{"cidr": "10.0.1.0/24"}]}}`:                                        false,
		`{"detail": {"state": [{"anything-but": "Running"}]}}`:                                 false,
		`{"detail": {"state": [{"anything-but": ["a", "b"]}]}}`:                                true,
		`{"detail": {"n": [{"anything-but": [3, 4]}]}}`:                                        false,
		`{"detail": {"state": [{"anything-but": {"prefix": "Run"}}]}}`:                         false,
		`{"detail": {"file": [{"anything-but": {"suffix": [".gif", ".jpg"]}}]}}`:               true,
		`{"detail": {"file": [{"anything-but": {"wildcard": "dir/*"}}]}}`:                      false,
		`{"detail": {"absent": [{"anything-but": "x"}]}}`:                                      false,
		`{"detail": {"absent": [{"exists": false}]}}`:                                          true,
		`{"detail": {"state": [{"exists": true}]}}`:                                            true,
		`{"detail": {"c": {"d": [{"exists": true}]}}}`:                                         true,
		`{"detail": {"c": [{"exists": true}]}}`:                                                false,
		`{"detail": {"absent": {"d": [{"exists": false}]}}}`:                                   true,
		`{"detail": {"objects": {"k": [2]}}}`:                                                  true,
		`{"detail": {"objects": {"k": [3]}}}`:                                                  false,
		`{"detail": {"$or": [{"state": ["x"]}, {"n": [3]}]}}`:                                  true,
		`{"detail": {"$or": [{"state": ["x"]}, {"n": [4]}]}}`:                                  false,
		`{"source": ["aws.ec2"], "$or": [{"detail-type": ["state"]}, {"detail-type": ["x"]}]}`: true,
	} {
		p, err := ParsePattern(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		if got := p.Matches(v.(map[string]any)); got != want {
			t.Errorf("%s: got %t", pattern, got)
		}
	}
}

func TestParsePatternRefuses(t *testing.T) {
	for _, pattern := range []string{
		``, `[]`, `"x"`, `{}`, `{"a": "x"}`, `{"a": []}`, `{"a": {}}`, `{"a": [["x"]]}`, `{"a": [{}]}`, `{"a": [{"prefix": 1}]}`, `{"a": [{"like": "x"}]}`,
		`{"a": [{"exists": "true"}]}`, `{"a": [{"numeric": [">"]}]}`, `{"a": [{"numeric": ["~", 1]}]}`, `{"a": [{"numeric": [">", "1"]}]}`,
		`{"a": [{"numeric": [">", 1e999]}]}`, `{"a": [{"wildcard": "a**b"}]}`, `{"a": [{"cidr": "10.0.0.0"}]}`, `{"a": [{"anything-but": []}]}`,
		`{"a": [{"anything-but": {"numeric": [">", 1]}}]}`, `{"$or": [{"a": ["x"]}]}`, `{"$or": {"a": ["x"]}}`, `{"a": ["x"]} {}`,
		`{"a": [{"prefix": "x", "suffix": "y"}]}`, strings.Repeat(`{"a":`, 60) + `["x"]` + strings.Repeat("}", 60), `{"a": ["` + strings.Repeat("x", maxPattern) + `"]}`,
	} {
		if _, err := ParsePattern(pattern); err == nil {
			t.Errorf("%.80s is taken", pattern)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	f.Add(`{"detail": {"$or": [{"state": ["x"]}, {"n": [{"numeric": [">", 0]}]}]}}`, `{"detail": {"state": "x", "n": [1, {"a": null}]}}`)
	f.Add(`{"a": [{"anything-but": {"wildcard": "*x*"}}, {"exists": false}]}`, `{"a": ["axb"]}`)
	f.Fuzz(func(_ *testing.T, pattern, event string) {
		p, err := ParsePattern(pattern)
		if err != nil {
			return
		}
		if v, err := decode([]byte(event)); err == nil {
			if object, ok := v.(map[string]any); ok {
				p.Matches(object)
			}
		}
	})
}

func TestPublish(t *testing.T) {
	w := newWorld(t)
	r, err := New(Config{Catalog: w.catalog, Send: w.send})
	w.must(err)
	w.put(r, withPattern("orders", `{"source": ["shop"], "detail": {"n": [{"numeric": [">", 1]}]}}`), `"order"`)
	w.put(r, withPattern("off", `{"source": ["shop"]}`), `"off"`)
	w.must(r.Enable(t.Context(), home, "off", false))
	results, err := r.Publish(t.Context(), home, []Entry{
		{Source: "shop", DetailType: "Order", Detail: `{"n": 2}`}, {Source: "shop", DetailType: "Order", Detail: `{"n": 1}`},
		{DetailType: "Order", Detail: `{}`}, {Source: "shop", DetailType: "Order", Detail: `[1]`}, {Source: "aws.ec2", DetailType: "x", Detail: `{}`},
		{Source: "shop", DetailType: "Order", Detail: `{}`, Bus: "other"},
	})
	w.must(err)
	var codes []string
	for _, result := range results {
		if (result.ID == "") == (result.Code == "") {
			t.Errorf("%+v has not one of an id and an error", result)
		}
		codes = append(codes, result.Code)
	}
	want := ",,InvalidArgument,MalformedDetail,NotAuthorizedForSourceException,ResourceNotFoundException"
	if got := strings.Join(codes, ","); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if sent := w.takes(); len(sent) != 1 || !strings.HasSuffix(sent[0], `User "order"`) {
		t.Errorf("sent %q", sent)
	}
	if _, err := r.Publish(t.Context(), home, nil); err == nil {
		t.Error("no entries are taken")
	}
	if _, err := r.Publish(t.Context(), home, []Entry{{Source: "s", DetailType: "d", Detail: strings.Repeat(" ", maxEntry)}}); err == nil {
		t.Error("entries that are too long are taken")
	}
}

func withPattern(name, pattern string) registry.Rule {
	return registry.Rule{Name: name, Pattern: pattern}
}
