package bundle_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/author/bundle"
	"github.com/pintle-dev/pintle/internal/language/template"
)

const leaf = "Resources: {C: {Type: Custom::C, Properties: {ServiceToken: p}}}\n"

func files(all map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := all[path]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}
}

// opened returns the template that is packed as the TemplateURL of a resource.
func opened(t *testing.T, text, logical string) string {
	t.Helper()
	parsed, err := template.LanguageOf(text).Parse(text, template.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	inner, err := fetch.Open(parsed.Resource(logical).Properties.Get("TemplateURL").Text())
	if err != nil {
		t.Fatalf("%s has no template: %v\n%s", logical, err, text)
	}
	return inner
}

func TestPack(t *testing.T) {
	tests := map[string]string{
		"plain":       "Resources:\n  A:\n    Type: AWS::CloudFormation::Stack\n    Properties:\n      TemplateURL: sub/child.yaml  # here\n",
		"quoted":      "Resources:\r\n  A:\r\n    Type: AWS::CloudFormation::Stack\r\n    Properties: {TemplateURL: 'sub/child.yaml', Tags: []}\r\n",
		"file":        "Resources: {Ä: {Type: Custom::X}, A: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: file:sub/child.yaml}}}",
		"json":        `{"Resources": {"A": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "sub/child.yaml"}}}}`,
		"json, lines": "{\"Resources\": {\"A\": {\"Type\": \"AWS::CloudFormation::Stack\",\n \"Properties\": {\"TemplateURL\":\n  \"sub\\/child.yaml\"}}}}",
		"ros":         "ROSTemplateFormatVersion: '2015-09-01'\nResources: {A: {Type: 'ALIYUN::ROS::Stack', Properties: {TemplateURL: sub/child.yaml}}}",
		"two": "Resources: {A: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: sub/child.yaml}}, " +
			"B: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: \"./sub/child.yaml\"}}}",
	}
	read := files(map[string]string{"d/sub/child.yaml": leaf})
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "file" {
				text = strings.Replace(text, "Ä: {Type: Custom::X}, ", "B: {Type: Custom::X, Metadata: {Ä: ö}, Properties: {ServiceToken: p}}, ", 1)
			}
			packed, err := bundle.Pack(text, "d/template.yaml", read)
			if err != nil {
				t.Fatal(err)
			}
			if got := opened(t, packed, "A"); got != leaf {
				t.Errorf("A holds %q", got)
			}
			if again, err := bundle.Pack(packed, "d/template.yaml", read); err != nil || again != packed {
				t.Errorf("what is packed is packed again: %v\n%s", err, again)
			}
		})
	}
}

func TestPackNested(t *testing.T) {
	child := "Resources: {B: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: leaf.yaml}}}"
	packed, err := bundle.Pack("Resources: {A: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: sub/child.yaml}}}", "template.yaml",
		files(map[string]string{"sub/child.yaml": child, "sub/leaf.yaml": leaf}))
	if err != nil {
		t.Fatal(err)
	}
	if got := opened(t, opened(t, packed, "A"), "B"); got != leaf {
		t.Errorf("the innermost is %q", got)
	}
}

func TestPackLeaves(t *testing.T) {
	for _, text := range []string{
		"Resources: {A: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: https://b.s3.amazonaws.com/k}}}",
		"Resources: {A: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: s3://b/k}}}",
		"Resources: {A: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: !Sub 'https://${AWS::Region}/k'}}}",
		"Resources: {A: {Type: Custom::A, Properties: {ServiceToken: p, TemplateURL: child.yaml}}}",
		"Resources: {A: {Type",
	} {
		if packed, err := bundle.Pack(text, "t", files(nil)); err != nil || packed != text {
			t.Errorf("%s: %v\nbecame %s", text, err, packed)
		}
	}
}

func TestPackErrors(t *testing.T) {
	nest := func(url string) string {
		return "Resources: {A: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: " + url + "}}}"
	}
	all := map[string]string{"self.yaml": nest("self.yaml"), "large.yaml": leaf + strings.Repeat("#", bundle.MaxBytes)}
	for url, want := range map[string]string{
		"none.yaml":  "t.yaml:1:77: TemplateURL: file does not exist",
		"self.yaml":  "self.yaml:1:77: the template nests itself: t.yaml, self.yaml, self.yaml",
		"large.yaml": "t.yaml:1:77: large.yaml and its nested templates have 1000065 bytes, 1000000 are allowed",
		"|\n  x":     "",
	} {
		_, err := bundle.Pack(nest(url), "t.yaml", files(all))
		if want == "" {
			continue // no template
		}
		var placed *bundle.Error
		if !errors.As(err, &placed) || err.Error() != want {
			t.Errorf("%s: error %v, want %s", url, err, want)
		}
	}
}

func FuzzPack(f *testing.F) {
	f.Add("Resources:\n  A:\n    Type: AWS::CloudFormation::Stack\n    Properties:\n      TemplateURL: c\n")
	f.Add(`{"Resources": {"A": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "c"}}}}`)
	f.Add("Resources: {A: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: 'it''s'}}}")
	f.Fuzz(func(t *testing.T, text string) {
		packed, err := bundle.Pack(text, "t", func(string) ([]byte, error) { return []byte(leaf), nil })
		if err != nil || packed == text {
			return
		}
		if _, err := template.Parse(packed); err != nil {
			t.Errorf("what was a template is none: %v\n%s\n%s", err, text, packed)
		}
	})
}

// TestPackReadsOnce has files that name the next one many times over.
func TestPackReadsOnce(t *testing.T) {
	reads := 0
	read := func(path string) ([]byte, error) {
		if reads++; reads > 100 {
			t.Fatal("files are read again and again")
		}
		depth := len(filepath.Base(path))
		text := "Resources:\n"
		for i := range 6 {
			if depth == 6 {
				text += fmt.Sprintf("  R%d: {Type: Custom::A}\n", i)
			} else {
				text += fmt.Sprintf("  R%d: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: %s}}\n", i, strings.Repeat("x", depth+1))
			}
		}
		return []byte(text), nil
	}
	text, err := read("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Pack(string(text), "x", read); err != nil {
		t.Fatal(err)
	}
}
