package ros_test

import (
	"strings"
	"testing"
)

func TestResourceGroups(t *testing.T) {
	w := newWorld(t)
	body := plain(`"Group": {"Ref": "ALIYUN::ResourceGroupId"}`)
	id := w.call("CreateStack", "StackName", "shop", "TemplateBody", body, "ResourceGroupId", "rg-one")["StackId"].(string)
	if got, _ := w.succeed("a").Body.Properties.Get("Group"); got.Text() != "rg-one" {
		t.Errorf("the provider gets %s", got)
	}
	w.create("other", "")
	in := func(group string) string {
		return names(w.call("ListStacks", "ResourceGroupId", group)["Stacks"], "StackName")
	}
	if got := w.call("GetStack", "StackId", id)["ResourceGroupId"]; got != "rg-one" || in("rg-one") != "shop" || in("rg-two") != "" {
		t.Errorf("%v %q %q", got, in("rg-one"), in("rg-two"))
	}
	w.call("MoveResourceGroup", "ResourceType", "stack", "ResourceId", id, "NewResourceGroupId", "rg-two")
	stack := w.call("GetStack", "StackId", id)
	pseudo := byKey(stack["Parameters"], "ParameterKey", "ParameterValue")["ALIYUN::ResourceGroupId"]
	if stack["ResourceGroupId"] != "rg-two" || stack["Status"] != "CREATE_COMPLETE" || pseudo != "rg-two" || in("rg-one") != "" || in("rg-two") != "shop" {
		t.Errorf("%v %q %q", stack, in("rg-one"), in("rg-two"))
	}
	more := plain(`"Group": {"Ref": "ALIYUN::ResourceGroupId"}, "More": 1`)
	w.call("UpdateStack", "StackId", id, "TemplateBody", more, "ResourceGroupId", "rg-two")
	if got, _ := w.succeed("a").Body.Properties.Get("Group"); got.Text() != "rg-two" {
		t.Errorf("the provider gets %s", got)
	}
	if got := w.refused("UpdateStack", "StackId", id, "TemplateBody", body, "ResourceGroupId", "rg-three"); got != "400 NotSupported: Another ResourceGroupId in an update is not supported." {
		t.Error(got)
	}
	set := w.call("CreateChangeSet", "ChangeSetName", "c", "ChangeSetType", "CREATE", "StackName", "later", "TemplateBody", body, "ResourceGroupId", "rg-one")
	w.call("ExecuteChangeSet", "ChangeSetId", set["ChangeSetId"].(string))
	if got, _ := w.succeed("b").Body.Properties.Get("Group"); got.Text() != "rg-one" {
		t.Errorf("the provider gets %s", got)
	}

	kept := w.call("CreateTemplate", "TemplateName", "t", "TemplateBody", body, "ResourceGroupId", "rg-one")["TemplateId"].(string)
	w.call("MoveResourceGroup", "ResourceType", "template", "ResourceId", kept, "NewResourceGroupId", "rg-two")
	listed := func(group string) string {
		return names(w.call("ListTemplates", "ResourceGroupId", group)["Templates"], "ResourceGroupId")
	}
	if got := listed("rg-two"); got != "rg-two" || listed("rg-one") != "" {
		t.Errorf("%q %q", got, listed("rg-one"))
	}

	const missing = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	for kind, want := range map[string]string{
		"stack": "404 StackNotFound:", "template": "404 TemplateNotFound:", "stackgroup": "400 InvalidParameter: The specified parameter ResourceId is invalid",
	} {
		got := w.refused("MoveResourceGroup", "ResourceType", kind, "ResourceId", missing, "NewResourceGroupId", "rg")
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", kind, got)
		}
	}
	w.call("DeleteStack", "StackId", id)
	w.succeed("a")
	if got := w.refused("MoveResourceGroup", "ResourceType", "stack", "ResourceId", id, "NewResourceGroupId", "rg"); !strings.HasPrefix(got, "404 StackNotFound:") {
		t.Error(got)
	}
}

func TestTagsInUse(t *testing.T) {
	w := newWorld(t)
	w.create("shop", "", "Tags.1.Key", "team", "Tags.1.Value", "x", "Tags.2.Key", "cost", "Tags.2.Value", "1")
	w.create("other", "", "Tags.1.Key", "team", "Tags.1.Value", "y")
	w.call("CreateTemplate", "TemplateName", "t", "TemplateBody", plain(""), "Tags.1.Key", "kept", "Tags.1.Value", "z")
	for _, test := range []struct {
		want  string
		pairs []string
	}{
		{`["cost","kept","team"]`, nil},
		{`["cost","team"]`, []string{"ResourceType", "stack"}},
		{`["kept"]`, []string{"ResourceType", "template"}},
		{`[]`, []string{"ResourceType", "stackgroup"}},
		{`[]`, []string{"ResourceType", "stack", "RegionId", "cn-beijing"}},
	} {
		if got := mustJSON(w.call("ListTagKeys", test.pairs...)["Keys"]); got != test.want {
			t.Errorf("%v: %s", test.pairs, got)
		}
	}
	if got := mustJSON(w.call("ListTagValues", "ResourceType", "stack", "Key", "team")["Values"]); got != `["x","y"]` {
		t.Error(got)
	}
}
