package cdk_test

import (
	"strings"
	"testing"
)

// TestWebsite deploys BucketDeployments, which Pintle implements itself.
func TestWebsite(t *testing.T) {
	a := newApp(t, "website")
	out := a.deploys(nil)["Website"]
	bucket := out["BucketName"]
	if out["Deployed"] != "arn:aws:s3:::"+bucket || !strings.HasSuffix(out["Archive"], ".zip") {
		t.Errorf("outputs %v", out)
	}
	get := func(key string) map[string]string {
		t.Helper()
		got, err := a.cloud.call("s3", "getObject", map[string]any{"Bucket": bucket, "Key": key})
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		return got
	}
	holds := func(want ...string) {
		t.Helper()
		got, err := a.cloud.call("s3", "listObjectsV2", map[string]any{"Bucket": bucket})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for name, key := range got {
			if strings.HasPrefix(name, "Contents.") && strings.HasSuffix(name, ".Key") {
				keys = append(keys, key)
			}
		}
		if strings.Join(sorted(keys), "\n") != strings.Join(sorted(want), "\n") {
			t.Errorf("the bucket holds %q, want %q", sorted(keys), sorted(want))
		}
	}
	below := func(prefix string) []string {
		return []string{"archive/" + out["Archive"], prefix + "config.json", prefix + "hello.txt", prefix + "img/logo.svg",
			prefix + "index.html", prefix + "style.css"}
	}
	holds(below("web/static/")...)
	if got := get("web/static/index.html"); got["ContentType"] != "text/html" || got["CacheControl"] != "max-age=3600" || got["Metadata.owner"] != "kitchen" {
		t.Errorf("the page is %v", got)
	}
	if got := get("web/static/config.json")["Body"]; got != `{"bucket":"arn:aws:s3:::`+bucket+`","quoted":"a \"word\""}` {
		t.Errorf("the configuration is %s", got)
	}
	says := func(key, text string) {
		t.Helper()
		if got := get(key)["Body"]; got != "Hello from "+bucket+": "+text {
			t.Errorf("%s is %q", key, got)
		}
	}
	says("web/static/hello.txt", "first")

	if out := a.does(nil, "deploy", "--all", "--require-approval", "never"); !strings.Contains(out, "no changes") {
		t.Errorf("cdk deploy again:\n%s", out)
	}
	a.deploys([]string{"text=second"})
	says("web/static/hello.txt", "second")
	a.deploys([]string{"text=third"}, "--hotswap")
	a.deploys([]string{"text=fourth"}, "--hotswap") // with the same request ID
	says("web/static/hello.txt", "fourth")
	holds(below("web/static/")...)

	a.fails("is not a zip file", []string{"text=fifth", "wrong=true"})
	a.cloud.stands("Website", "UPDATE_ROLLBACK_COMPLETE")
	says("web/static/hello.txt", "second") // the last contents of the stack

	a.deploys([]string{"prefix=other", "text=sixth"})
	holds(below("other/")...)
	says("other/hello.txt", "sixth")
	a.destroys() // including the bucket, which must be empty
	a.cloud.gone("Website")
}
