package s3api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/wire"
)

// TestStackTags tests a bucket of a stack, whose CloudFormation tags no client can change.
func TestStackTags(t *testing.T) {
	d := newDoor(t, 0)
	stack := "arn:aws:cloudformation:" + region + ":" + account + ":stack/Shop/1"
	bucket := registry.Item[registry.Bucket]{
		Scope: registry.Scope{Account: account, Region: region}, Name: "things", Owner: registry.OwnerOf(wire.StackID(stack), "Things", "r"),
	}
	if _, err := d.objects.Make(t.Context(), bucket); err != nil {
		t.Fatal(err)
	}
	tag := func(key, value string) string { return "<Tag><Key>" + key + "</Key><Value>" + value + "</Value></Tag>" }
	system := tag("aws:cloudformation:logical-id", "Things") + tag("aws:cloudformation:stack-id", stack) + tag("aws:cloudformation:stack-name", "Shop")
	holds := func(want string) {
		t.Helper()
		if got := d.do(t, asked{method: http.MethodGet, path: "/things?tagging"}); !strings.Contains(got.body, "<TagSet>"+want+"</TagSet>") {
			t.Errorf("the tags are %d %s, want %s", got.status, got.body, want)
		}
	}
	put := func(tags string) answered {
		t.Helper()
		return d.do(t, asked{method: http.MethodPut, path: "/things?tagging", body: "<Tagging><TagSet>" + tags + "</TagSet></Tagging>"})
	}
	holds(system)
	if got := put(system + tag("own", "1")); got.status != http.StatusNoContent { // like a handler that adds one
		t.Errorf("PutBucketTagging: %v", got)
	}
	holds(system + tag("own", "1"))
	if got := put(tag("aws:cloudformation:stack-name", "Other")); got.status != http.StatusBadRequest || got.message != "System tags cannot be added/updated by requester" {
		t.Errorf("PutBucketTagging of a system tag: %v", got)
	}
	if got := d.do(t, asked{method: http.MethodDelete, path: "/things?tagging"}); got.status != http.StatusNoContent {
		t.Errorf("DeleteBucketTagging: %v", got)
	}
	holds(system)
}

// TestVersionID tests the version of an object in a bucket with versioning.
func TestVersionID(t *testing.T) {
	d := newDoor(t, 0)
	d.make(t, "things", account)
	version := func(header map[string]string) string {
		t.Helper()
		got := d.do(t, asked{method: http.MethodPut, path: "/things/a", body: "x", headers: header})
		if got.status != http.StatusOK {
			t.Fatalf("PutObject: %v", got)
		}
		return got.header.Get("X-Amz-Version-Id")
	}
	if got := version(nil); got != "" {
		t.Errorf("without versioning the version is %q", got)
	}
	enabled := "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
	if got := d.do(t, asked{method: http.MethodPut, path: "/things?versioning", body: enabled}); got.status != http.StatusOK {
		t.Fatalf("PutBucketVersioning: %v", got)
	}
	if got := version(nil); got != "null" {
		t.Errorf("the version of an object is %q, want null", got)
	}
	if got := version(map[string]string{"X-Amz-Copy-Source": "/things/a", "X-Amz-Metadata-Directive": "REPLACE"}); got != "null" {
		t.Errorf("the version of a copy is %q, want null", got)
	}
	if got := d.do(t, asked{method: http.MethodDelete, path: "/things/a?versionId=null"}); got.status != http.StatusNoContent {
		t.Errorf("DeleteObject: %v", got)
	}
}
