package cloudformation_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/api/fetch"
)

// TestTemplateByURL passes a template that is longer than a call to every call that accepts one.
func TestTemplateByURL(t *testing.T) {
	text := func(mark string) string {
		return fmt.Sprintf(`{"Description": "%s", "Parameters": {"P": {"Type": "String", "Default": "%s"}}, "Resources": {"C": {`+
			`"Type": "Custom::Thing", "Properties": {"ServiceToken": "%s", "P": {"Ref": "P"}}}}}%s`, mark, mark, token, strings.Repeat(" ", 60_000))
	}
	texts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, text(strings.TrimPrefix(r.URL.Path, "/")))
	}))
	t.Cleanup(texts.Close)
	at := func(mark string) *string { return aws.String(texts.URL + "/" + mark) }
	w, ctx, name := newWorld(t), t.Context(), aws.String("stack")

	w.create(&sdk.CreateStackInput{StackName: name, TemplateURL: at("one")})
	_, err := w.client.UpdateStack(ctx, &sdk.UpdateStackInput{StackName: name, TemplateURL: at("two")})
	w.must(err)
	w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
	_, err = w.client.CreateChangeSet(ctx, &sdk.CreateChangeSetInput{StackName: name, ChangeSetName: aws.String("set"), TemplateURL: at("three")})
	w.must(err)
	set, err := w.client.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{StackName: name, ChangeSetName: aws.String("set")})
	w.must(err)
	if set.Status != types.ChangeSetStatusCreateComplete || len(set.Changes) != 1 {
		t.Errorf("the change set is %s with %d changes", set.Status, len(set.Changes))
	}
	checked, err := w.client.ValidateTemplate(ctx, &sdk.ValidateTemplateInput{TemplateURL: at("four")})
	w.must(err)
	summary, err := w.client.GetTemplateSummary(ctx, &sdk.GetTemplateSummaryInput{TemplateURL: at("five")})
	w.must(err)
	if *checked.Description != "four" || *summary.Description != "five" {
		t.Errorf("got %q and %q", *checked.Description, *summary.Description)
	}
	kept, err := w.client.GetTemplate(ctx, &sdk.GetTemplateInput{StackName: name})
	w.must(err)
	if *kept.TemplateBody != text("two") {
		t.Errorf("the stack has %.40q", *kept.TemplateBody)
	}
}

// TestTemplateInURL passes a URL that contains a template, as Pintle's commands do, and another URL of that length.
func TestTemplateInURL(t *testing.T) {
	var random strings.Builder // a text that stays long when it is compressed
	for range 500 {
		random.WriteString(rand.Text())
	}
	text := fmt.Sprintf(`{"Metadata": {"Random": "%s"}, "Resources": {"C": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "%s"}}}}`, random.String(), token)
	sealed := fetch.Seal("template.json", text)
	w, ctx, name := newWorld(t), t.Context(), aws.String("stack")
	w.create(&sdk.CreateStackInput{StackName: name, TemplateURL: &sealed})
	kept, err := w.client.GetTemplate(ctx, &sdk.GetTemplateInput{StackName: name})
	w.must(err)
	if *kept.TemplateBody != text {
		t.Errorf("the stack has %.40q", *kept.TemplateBody)
	}
	for url, want := range map[string]string{
		"https://example.com/" + strings.Repeat("x", len(sealed)): "at 'templateURL' failed to satisfy constraint: Member must have length less than or equal to 5120",
		sealed[:len(sealed)-8]: "TemplateURL is a data URL that does not contain a complete template",
	} {
		if _, err := w.client.ValidateTemplate(ctx, &sdk.ValidateTemplateInput{TemplateURL: &url}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %v, want %s", url, err, want)
		}
	}
}
