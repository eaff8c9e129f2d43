package ros_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tags returns the tags of a stack from ListTagResources, which must equal those of GetStack.
func (w *world) tags(id string) string {
	w.t.Helper()
	list := w.call("ListTagResources", "ResourceType", "stack", "ResourceId.1", id)
	var pairs []string
	for _, item := range list["TagResources"].([]any) {
		tag := item.(object)
		if tag["ResourceId"] != id || tag["ResourceType"] != "stack" {
			w.t.Errorf("a tag of something else: %v", tag)
		}
		pairs = append(pairs, tag["TagKey"].(string)+"="+tag["TagValue"].(string))
	}
	shown := byKey(w.call("GetStack", "StackId", id)["Tags"], "Key", "Value")
	if list["NextToken"] != "" || len(shown) != len(pairs) {
		w.t.Errorf("next token %q, GetStack has %v", list["NextToken"], shown)
	}
	return strings.Join(pairs, " ")
}

// TestTags makes the calls of Terraform's alicloud_ros_stack: it creates a stack without tags and adds the tags later.
func TestTags(t *testing.T) {
	w := newWorld(t)
	id := w.create("s", `"N": 1`)
	before := w.call("GetStack", "StackId", id)
	step := func(want, action string, pairs ...string) {
		t.Helper()
		if reply := w.call(action, append(pairs, "ResourceType", "stack", "ResourceId.1", id)...); len(reply) != 1 {
			t.Errorf("more than a RequestId: %v", reply)
		}
		if got := w.tags(id); got != want {
			t.Errorf("%s %v: %s, want %s", action, pairs, got, want)
		}
	}
	step("team=x env=dev", "TagResources", "Tag.1.Key", "team", "Tag.1.Value", "x", "Tag.2.Key", "env", "Tag.2.Value", "dev")
	step("team=y env=dev empty=", "TagResources", "Tag.1.Key", "team", "Tag.1.Value", "y", "Tag.2.Key", "empty", "Tag.2.Value", "")
	step("team=y env=dev", "UntagResources", "TagKey.1", "empty", "TagKey.2", "unknown")
	step("env=dev", "UntagResources", "TagKey.1", "team", "All", "true")
	step("env=dev", "UntagResources")
	step("", "UntagResources", "All", "true")
	step("env=dev", "TagResources", "Tag.1.Key", "env", "Tag.1.Value", "dev")
	after := w.call("GetStack", "StackId", id)
	delete(before, "RequestId")
	delete(after, "RequestId")
	before["Tags"] = after["Tags"]
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("tagging changed more than tags:\n%s", diff)
	}

	// Updates keep the tags or set others, and a rollback restores them.
	if got := w.refused("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 1`)); !strings.Contains(got, "completely same stack") {
		t.Error(got)
	}
	w.call("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 2`))
	step("env=dev late=1", "TagResources", "Tag.1.Key", "late", "Tag.1.Value", "1")
	w.fail("no disk")
	w.succeed("a")
	if got := w.status(id) + " " + w.tags(id); got != "ROLLBACK_COMPLETE env=dev late=1" {
		t.Error(got)
	}
	w.call("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 3`), "Tags.1.Key", "own", "Tags.1.Value", "z")
	if got := w.tags(id); got != "own=z" {
		t.Error(got)
	}
	w.fail("no disk")
	w.succeed("a")
	if got := w.tags(id); got != "env=dev late=1" {
		t.Error(got)
	}
	w.call("UpdateStack", "StackId", id, "TemplateBody", plain(`"N": 3`))
	w.succeed("a")
	if got := w.status(id) + " " + w.tags(id); got != "UPDATE_COMPLETE env=dev late=1" {
		t.Error(got)
	}
	if list := w.call("ListStacks", "Tag.1.Key", "late", "Tag.1.Value", "1"); list["TotalCount"] != 1.0 {
		t.Error(list)
	}
	w.call("DeleteStack", "StackId", id)
	w.succeed("a")
	if got := w.refused("TagResources", "ResourceType", "stack", "ResourceId.1", id, "Tag.1.Key", "a", "Tag.1.Value", "b"); got !=
		"400 InvalidParameter: The specified parameter ResourceIds is invalid, the stack "+id+" does not exist." {
		t.Error(got)
	}
}

func TestTagRefusals(t *testing.T) {
	w := newWorld(t)
	id := w.create("s", "")
	var many []string
	for i := 1; i <= 20; i++ {
		many = append(many, fmt.Sprintf("Tag.%d.Key", i), fmt.Sprintf("k%d", i), fmt.Sprintf("Tag.%d.Value", i), "v")
	}
	w.call("TagResources", append(many, "ResourceType", "stack", "ResourceId.1", id)...)
	const nobody = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	for _, c := range []struct {
		action string
		pairs  []string
		want   string
	}{
		{"TagResources", []string{"RegionId", ""}, "400 MissingParameter: The input parameter RegionId should be specified. " +
			"The input parameter ResourceType should be specified. The input parameter ResourceId should be specified. " +
			"The input parameter Tag should be specified."},
		{"TagResources", []string{"ResourceType", "instance", "ResourceId.1", id, "Tag.1.Key", "a"},
			"400 InvalidParameter: The specified parameter ResourceType is invalid, it must be stack or stackgroup or template or templatescratch."},
		{"TagResources", []string{"ResourceType", "template", "ResourceId.1", nobody, "Tag.1.Key", "a"},
			"400 InvalidParameter: The specified parameter ResourceIds is invalid, the template " + nobody + " does not exist."},
		{"TagResources", []string{"ResourceType", "stack", "ResourceId.1", id, "ResourceId.2", nobody, "Tag.1.Key", "a"},
			"400 InvalidParameter: The specified parameter ResourceIds is invalid, the stack " + nobody + " does not exist."},
		{"TagResources", []string{"ResourceType", "stack", "ResourceId.1", id, "Tag.1.Key", "a", "Tag.2.Key", "a"},
			"400 Duplicate.TagKey: The Tag.N.Key contain duplicate key."},
		{"TagResources", []string{"ResourceType", "stack", "ResourceId.1", id, "Tag.1.Key", "acs:a"},
			"400 InvalidParameter: The specified parameter Tags is invalid, neither the key nor the value of a tag can begin with aliyun or acs:."},
		{"TagResources", []string{"ResourceType", "stack", "ResourceId.1", id, "Tag.1.Key", "a", "Tag.1.Value", "at http://b"},
			"400 InvalidParameter: The specified parameter Tags is invalid, neither the key nor the value of a tag can contain http:// or https://."},
		{"TagResources", []string{"ResourceType", "stack", "ResourceId.1", id, "Tag.1.Key", strings.Repeat("a", 129)},
			"400 InvalidParameter: The specified parameter Tag.1.Key is invalid, it must have at most 128 characters."},
		{"TagResources", []string{"ResourceType", "stack", "ResourceId.1", id, "Tag.1.Key", "k21"},
			"400 InvalidParameter: The specified parameter Tags is invalid, stack s would have 21 tags and can have 20 at most."},
		{"UntagResources", []string{"ResourceType", "stack", "ResourceId.1", id, "TagKey.1", "a", "TagKey.2", "a"},
			"400 Duplicate.TagKey: The Tag.N.Key contain duplicate key."},
		{"UntagResources", []string{"ResourceType", "stack", "ResourceId.1", nobody, "All", "true"},
			"400 InvalidParameter: The specified parameter ResourceIds is invalid, the stack " + nobody + " does not exist."},
		{"ListTagResources", []string{"ResourceType", "stack"},
			"400 MissingParameter: One of the input parameters ResourceIds,Tags should be specified."},
		{"ListTagResources", []string{"ResourceType", "stack", "Tag.1.Key", "k1", "NextToken", "nonsense"},
			"400 InvalidParameter: The specified parameter NextToken is invalid, it is not one that ListTagResources has returned for such a call."},
		{"ListTagResources", []string{"ResourceType", "stack", "Tag.1.Key", "k1", "NextToken", "c3RhY2sgOTk5"}, // of a missing stack
			"400 InvalidParameter: The specified parameter NextToken is invalid, it is not one that ListTagResources has returned for such a call."},
	} {
		if got := w.refused(c.action, c.pairs...); got != c.want {
			t.Errorf("%s %v:\n%s, want\n%s", c.action, c.pairs, got, c.want)
		}
	}
	if got := strings.Count(w.tags(id), "="); got != 20 {
		t.Errorf("%d tags after calls that were refused", got)
	}
}

// TestTagPages reads all pages of the stacks with a tag. Each stack is on exactly one page.
func TestTagPages(t *testing.T) {
	w := newWorld(t)
	want := map[string]bool{}
	for i := range 120 {
		body := `{"ROSTemplateFormatVersion": "2015-09-01"}`
		id := w.call("CreateStack", "StackName", "s"+strconv.Itoa(i), "TemplateBody", body)["StackId"].(string)
		if i%4 != 0 {
			w.call("TagResources", "ResourceType", "stack", "ResourceId.1", id, "Tag.1.Key", "team", "Tag.1.Value", "x")
			want[id] = true
		}
	}
	got, token, pages := map[string]bool{}, "", 0
	for {
		reply := w.call("ListTagResources", "ResourceType", "stack", "Tag.1.Key", "team", "NextToken", token)
		for _, item := range reply["TagResources"].([]any) {
			id := item.(object)["ResourceId"].(string)
			if got[id] {
				t.Errorf("%s is on two pages", id)
			}
			got[id] = true
		}
		pages++
		if token = reply["NextToken"].(string); token == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || pages != 2 {
		t.Errorf("%d pages (-want +got):\n%s", pages, diff)
	}
}
