package server_test

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/store"
)

// beyondCreate are cases of the corpus with an error that CreateStack does not report, and the reasons.
var beyondCreate = map[string]string{
	"exports_export-empty":     "outputs come after the resources, which have no provider here",
	"exports_export-of-secret": "outputs come after the resources, which have no provider here",
}

// TestCorpus sends the corpus of package template to a server. The answer to an invalid template names its first
// problem. A valid one becomes a stack, whose templates can be read back. The test fills the parameter store as a
// case says. It skips cases that need other stacks or zones; package template covers those.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("../language/template/testdata/corpus/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	w := newWorld(t, nil)
	client := cloudformation.New(w.client().Options(), func(o *cloudformation.Options) { o.Region = "eu-central-1" }) // the cases' region
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		archive, err := txtar.ParseFile(file)
		w.must(err)
		given := map[string]string{}
		for _, f := range archive.Files {
			given[f.Name] = string(f.Data)
		}
		if !w.furnish(given["account.json"]) || strings.TrimSpace(given["template"]) == "" {
			continue // an empty template cannot be sent
		}
		t.Run(name, func(t *testing.T) {
			stack := aws.String(strings.ReplaceAll(name, "_", "-"))
			_, err = client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
				StackName: stack, TemplateBody: aws.String(given["template"]), Parameters: inputs(t, given["parameters.json"]),
				Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand},
			})
			wrong, isWrong := given["error"]
			if isWrong && beyondCreate[name] == "" {
				first, _, _ := strings.Cut(wrong, "\n")
				if _, text, placed := strings.Cut(first, ": "); placed && strings.Trim(first[:strings.Index(first, ": ")], "0123456789:") == "" {
					first = text
				}
				if strings.HasPrefix(first, "Template error: Fn::Select cannot select ") { // AWS reports less: recorded answers, D3
					first = "Template error: Fn::Select requires a list argument with two elements: an integer index and a list"
				}
				apiErr, ok := errors.AsType[smithy.APIError](err)
				if err == nil { // an error found during evaluation fails the resource or the stack
					ok = slices.ContainsFunc(reasonsOf(t, client, stack), func(reason string) bool { return strings.HasPrefix(reason, strings.TrimSuffix(first, ".")) })
				} else {
					ok = ok && apiErr.ErrorCode() == "ValidationError" && apiErr.ErrorMessage() == first
				}
				if !ok {
					t.Errorf("CreateStack: %v\nwant %s", err, first)
				}
				return
			}
			if apiErr, ok := errors.AsType[smithy.APIError](err); ok && given["transforms.json"] != "" {
				if text := apiErr.ErrorMessage(); !strings.HasPrefix(text, "No transform named ") && !strings.Contains(text, "does not expand the transform") {
					t.Errorf("CreateStack: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			original, err := client.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: stack})
			w.must(err)
			if diff := cmp.Diff(given["template"], aws.ToString(original.TemplateBody)); diff != "" {
				t.Errorf("original (-want +got):\n%s", diff)
			}
			if want, transformed := given["processed.json"]; transformed {
				processed, err := client.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: stack, TemplateStage: types.TemplateStageProcessed})
				w.must(err)
				if diff := cmp.Diff(parsed(t, want), parsed(t, aws.ToString(processed.TemplateBody))); diff != "" {
					t.Errorf("processed (-want +got):\n%s", diff)
				}
			}
		})
	}
	for name := range beyondCreate {
		if !slices.Contains(files, "../language/template/testdata/corpus/"+name+".txtar") {
			t.Errorf("there is no case %s", name)
		}
	}
}

// furnish fills the parameter store as a case of the corpus requires. It returns false if the case requires more than
// that.
func (w *world) furnish(account string) bool {
	w.t.Helper()
	var has map[string]map[string]string
	if account != "" && json.Unmarshal([]byte(account), &has) != nil || len(has) > 1 || len(has) == 1 && has["stored"] == nil {
		return false
	}
	for name, text := range has["stored"] {
		p := store.Parameter{
			ParameterKey: store.ParameterKey{Account: sigv4.DefaultAccount, Region: "eu-central-1", Name: name},
			Type:         store.ParameterString, Value: text,
		}
		if strings.HasPrefix(text, "secret:") {
			p.Type = store.ParameterSecure
		}
		_, err := w.store.PutParameter(w.t.Context(), p, true)
		w.must(err)
	}
	return true
}

// reasonsOf returns the reasons in a stack's events.
func reasonsOf(t *testing.T, client *cloudformation.Client, stack *string) (list []string) {
	t.Helper()
	out, err := client.DescribeStackEvents(t.Context(), &cloudformation.DescribeStackEventsInput{StackName: stack})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out.StackEvents {
		list = append(list, aws.ToString(e.ResourceStatusReason))
	}
	return list
}

func inputs(t *testing.T, text string) (list []types.Parameter) {
	t.Helper()
	if text == "" {
		return nil
	}
	var texts map[string]string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		list = append(list, types.Parameter{ParameterKey: &name, ParameterValue: aws.String(texts[name])})
	}
	return list
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}
