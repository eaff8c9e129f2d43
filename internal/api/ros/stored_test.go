package ros_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestTemplates tests all actions on a stored template.
func TestTemplates(t *testing.T) {
	w := newWorld(t)
	one, two := plain(`"N": 1`), plain(`"N": 2`)
	id := w.call("CreateTemplate", "TemplateName", "shop", "Description", "first", "TemplateBody", one, "Tags.1.Key", "a", "Tags.1.Value", "b")["TemplateId"].(string)
	got := w.call("GetTemplate", "TemplateId", id, "IncludeTags", "Enabled")
	if got["TemplateBody"] != one || got["TemplateName"] != "shop" || got["Description"] != "first" || got["TemplateVersion"] != "v1" ||
		got["ShareType"] != "Private" || got["OwnerId"] != account || got["TemplateId"] != id || len(got["Tags"].([]any)) != 1 || got["CreateTime"] == "" {
		t.Errorf("%v", got)
	}

	// A different body creates a new version. The same body or only a new name does not.
	for _, c := range []struct{ version, body string }{{"v2", two}, {"v2", two}, {"v3", one}} {
		if got := w.call("UpdateTemplate", "TemplateId", id, "TemplateBody", c.body); got["TemplateVersion"] != c.version || got["TemplateId"] != id {
			t.Errorf("%v, want %s", got, c.version)
		}
	}
	w.call("UpdateTemplate", "TemplateId", strings.ToUpper(id), "TemplateName", "store", "Description", "")
	for version, body := range map[string]string{"": one, "v1": one, "v2": two, "v3": one} {
		got := w.call("GetTemplate", "TemplateId", id, "TemplateVersion", version)
		if got["TemplateBody"] != body || got["TemplateName"] != "store" || got["Description"] != "" || got["Tags"] != nil {
			t.Errorf("version %q: %v", version, got)
		}
	}
	if got := names(w.call("ListTemplateVersions", "TemplateId", id)["Versions"], "TemplateVersion"); got != "v3 v2 v1" {
		t.Error(got)
	}
	page := w.call("ListTemplateVersions", "TemplateId", id, "MaxResults", "2")
	if got := names(page["Versions"], "TemplateVersion"); got != "v3 v2" {
		t.Error(got)
	}
	page = w.call("ListTemplateVersions", "TemplateId", id, "MaxResults", "2", "NextToken", page["NextToken"].(string))
	if got := names(page["Versions"], "TemplateVersion"); got != "v1" || page["NextToken"] != nil {
		t.Errorf("%s, then %v", got, page["NextToken"])
	}

	other := w.call("CreateTemplate", "TemplateName", "other", "TemplateBody", one)["TemplateId"].(string)
	if got := w.call("ListTemplates"); got["TotalCount"] != 2.0 || byKey(got["Templates"], "TemplateName", "TemplateId")["other"] != other {
		t.Error(got)
	}
	if got := w.call("ListTemplates", "TemplateName", "store", "Tag.1.Key", "a"); got["TotalCount"] != 1.0 || names(got["Templates"], "TemplateVersion") != "v3" {
		t.Error(got)
	}

	// Stacks, change sets and previews use stored templates.
	stack := w.call("CreateStack", "StackName", "s", "TemplateId", id, "TemplateVersion", "v2")["StackId"].(string)
	if r := w.succeed("x"); !strings.Contains(string(r.Body.Properties.JSON()), `"N":2`) {
		t.Errorf("the provider got %s", r.Body.Properties.JSON())
	}
	w.call("UpdateStack", "StackId", stack, "TemplateId", id)
	w.succeed("x")
	w.call("PreviewStack", "StackName", "p", "TemplateId", id)
	w.call("ValidateTemplate", "TemplateId", id)

	w.call("TagResources", "ResourceType", "template", "ResourceId.1", id, "ResourceId.2", other, "Tag.1.Key", "c", "Tag.1.Value", "d")
	w.call("UntagResources", "ResourceType", "template", "ResourceId.1", id, "TagKey.1", "a")
	if got := names(w.call("ListTagResources", "ResourceType", "template", "ResourceId.1", id)["TagResources"], "TagKey"); got != "c" {
		t.Error(got)
	}

	w.call("DeleteTemplate", "TemplateId", id)
	for _, action := range []string{"GetTemplate", "DeleteTemplate", "ListTemplateVersions", "UpdateTemplate"} {
		if got := w.refused(action, "TemplateId", id); got != "404 TemplateNotFound: The Tempalte ("+id+") could not be found." { //nolint:misspell // the service's
			t.Errorf("%s: %s", action, got)
		}
	}
	if got := w.status(stack); got != "UPDATE_COMPLETE" {
		t.Error(got)
	}
}

func TestTemplateRefusals(t *testing.T) {
	w := newWorld(t)
	id := w.call("CreateTemplate", "TemplateName", "shop", "TemplateBody", plain(""))["TemplateId"].(string)
	const missing = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	for _, c := range []struct {
		action string
		pairs  []string
		want   string
	}{
		{"GetTemplateEstimateCost", []string{"TemplateBody", plain("")}, "400 NotSupported: GetTemplateEstimateCost is not supported."},
		{"GenerateTemplatePolicy", []string{"TemplateBody", plain("")}, "400 NotSupported: "},
		{"CreateTemplate", []string{"TemplateBody", plain("")}, "400 MissingParameter: The input parameter TemplateName should be specified."},
		{"CreateTemplate", []string{"TemplateName", "a"}, "400 MissingParameter: One of the input parameters TemplateBody, "},
		{"CreateTemplate", []string{"TemplateName", "a", "TemplateBody", "{}"}, "400 InvalidTemplateVersion: "},
		{"CreateTemplate", []string{"TemplateName", "a", "TemplateBody", strings.Repeat(" ", 524289)}, "400 InvalidParameter: "},
		{"CreateTemplate", []string{"TemplateName", "a b", "TemplateBody", plain("")}, "400 InvalidParameter: "},
		{"CreateTemplate", []string{"TemplateName", "a", "TemplateBody", plain(""), "ResourceGroupId", "r g"}, "400 InvalidParameter: "},
		{"UpdateTemplate", []string{"TemplateId", id, "TemplateBody", "{}"}, "400 InvalidTemplateVersion: "},
		{"UpdateTemplate", []string{"TemplateId", id, "IsDraft", "true"}, "400 NotSupported: "},
		{"UpdateTemplate", []string{"TemplateId", missing, "TemplateBody", plain("")}, "404 TemplateNotFound: "},
		{"GetTemplate", []string{"TemplateId", id, "TemplateVersion", "v2"}, "404 TemplateNotFound: The Tempalte (" + id + ") with version (v2) "}, //nolint:misspell // the service's
		{"GetTemplate", []string{"TemplateId", id, "TemplateVersion", "v0"}, "404 TemplateNotFound: "},
		{"GetTemplate", []string{"TemplateId", id, "TemplateVersion", "last"}, "404 TemplateNotFound: "},
		{"CreateStack", []string{"StackName", "s", "TemplateId", missing}, "404 TemplateNotFound: "},
		{"CreateStack", []string{"StackName", "s", "TemplateId", id, "TemplateBody", "{}"}, "400 InvalidParameter: "},
		{"ListTemplateVersions", []string{"TemplateId", id, "NextToken", "9"}, "400 InvalidParameter: "},
		{"TagResources", []string{"ResourceType", "template", "ResourceId.1", id, "ResourceId.2", missing, "Tag.1.Key", "a"},
			"400 InvalidParameter: The specified parameter ResourceIds is invalid, the template " + missing + " does not exist."},
	} {
		if got := w.refused(c.action, c.pairs...); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %.60s: %s, want %s", c.action, c.pairs, got, c.want)
		}
	}
}

// TestTemplateVersions checks that concurrent updates keep all versions, up to a hundred.
func TestTemplateVersions(t *testing.T) {
	w := newWorld(t)
	id := w.call("CreateTemplate", "TemplateName", "shop", "TemplateBody", plain(`"N": 0`))["TemplateId"].(string)
	var wait sync.WaitGroup
	for i := 1; i < 100; i++ {
		wait.Go(func() { w.ask("UpdateTemplate", "TemplateId", id, "TemplateBody", plain(fmt.Sprintf(`"N": %d`, i))) })
	}
	wait.Wait()
	bodies := map[any]bool{}
	for i := 1; i <= 100; i++ {
		bodies[w.call("GetTemplate", "TemplateId", id, "TemplateVersion", fmt.Sprintf("v%d", i))["TemplateBody"]] = true
	}
	if len(bodies) != 100 {
		t.Errorf("%d of 100 bodies were kept", len(bodies))
	}
	more := []string{"TemplateId", id, "TemplateBody", plain(`"N": 100`)}
	if got := w.refused("UpdateTemplate", more...); !strings.HasPrefix(got, "400 InvalidParameter: ") {
		t.Error(got)
	}
	got := w.call("UpdateTemplate", append(more, "RotateStrategy", "DeleteOldestNonSharedVersionWhenLimitExceed")...)
	if got["TemplateVersion"] != "v101" {
		t.Error(got)
	}
	if got := w.refused("GetTemplate", "TemplateId", id, "TemplateVersion", "v1"); !strings.HasPrefix(got, "404 TemplateNotFound: ") {
		t.Error(got)
	}
}
