package cdk_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestParameter tests AwsCustomResource.
func TestParameter(t *testing.T) {
	a := newApp(t, "parameter")
	stored := func(want string) {
		t.Helper()
		out, err := a.cloud.call("SSM", "getParameter", map[string]any{"Name": "/kitchen/oven"})
		if err != nil || out["Parameter.Value"] != want {
			t.Errorf("the parameter is %v %v, want %q", out, err, want)
		}
	}

	a.same(a.deploys(nil), outputs{"Parameters": {"Value": "180", "Version": "1", "Quietly": "cellar"}})
	stored("180")

	a.differs([]string{"value=200"}, "[~] Custom::AWS", "180", "200")
	stored("180")
	a.same(a.deploys([]string{"value=200"}), outputs{"Parameters": {"Value": "200", "Version": "2", "Quietly": "cellar"}})
	stored("200")

	a.fails("ParameterNotFound", []string{"value=220", "read=/kitchen/door"})
	a.cloud.stands("Parameters", "UPDATE_ROLLBACK_COMPLETE")
	stored("200")

	a.destroys()
	a.cloud.gone("Parameters")
	_, err := a.cloud.call("SSM", "getParameter", map[string]any{"Name": "/kitchen/oven"})
	if failed, ok := errors.AsType[*awscall.Error](err); !ok || failed.Code != "ParameterNotFound" {
		t.Errorf("the parameter after all: %v, want it gone", err)
	}
}

// TestFile tests functions that make calls themselves, in both languages.
func TestFile(t *testing.T) {
	a := newApp(t, "file")
	// writes returns the requests to the writer. It ignores how often the other function checked.
	writes := func() (list []string) {
		for _, e := range a.entries() {
			if e["type"] != "look" {
				key, _ := e["key"].(string)
				list = append(list, strings.TrimSpace(e["type"].(string)+" "+e["of"].(string)+" "+key))
			}
		}
		return list
	}
	wrote := func(want ...string) {
		t.Helper()
		// Independent resources are created concurrently.
		if got := writes(); strings.Join(sorted(got), "\n") != strings.Join(sorted(want), "\n") {
			t.Errorf("the writer saw %q, want %q", got, want)
		}
	}

	got := a.deploys(nil)["Files"]
	if got["Key"] != "recipes/bread.txt" || len(got["ETag"]) != 34 || !strings.HasPrefix(got["SecondKey"], "Second-") {
		t.Errorf("outputs %v", got)
	}
	wrote("Create First recipes/bread.txt", "Create Second")
	second := got["SecondKey"]

	change := []string{"text=rye, water, salt", "key=recipes/rye.txt"}
	a.differs(change, "[~] Custom::File ", "[~] Custom::FileCheck", "rye")
	got = a.deploys(change)["Files"]
	if got["Key"] != "recipes/rye.txt" || got["SecondKey"] != second {
		t.Errorf("outputs %v", got)
	}
	wrote("Update First recipes/rye.txt", "Delete First recipes/bread.txt")

	a.fails("Operation timed out", []string{"text=rye", "key=recipes/rye.txt", "wanted=wheat"})
	a.cloud.stands("Files", "UPDATE_ROLLBACK_COMPLETE")
	wrote("Update First recipes/rye.txt", "Update First recipes/rye.txt")

	a.destroys() // including the bucket, which must be empty
	a.cloud.gone("Files")
	wrote("Delete First recipes/rye.txt", "Delete Second")
}

// TestBucket tests a bucket that the CDK's own handlers configure and empty. They find no AWS SDK package.
func TestBucket(t *testing.T) {
	require.Tool(t, "python3")
	a := newApp(t, "bucket")
	got := a.deploys(nil)["Emptied"]
	bucket := got["BucketName"]
	prefix := func(want string) {
		t.Helper()
		got, err := a.cloud.call("s3", "getBucketNotificationConfiguration", map[string]any{"Bucket": bucket})
		if err != nil || got["LambdaFunctionConfigurations.0.Filter.Key.FilterRules.0.Value"] != want {
			t.Errorf("notifications %v (%v), want prefix %s", got, err, want)
		}
	}
	prefix("in/")
	a.deploys(nil)
	change := []string{"prefix=out/"}
	a.differs(change, "[~] Custom::S3BucketNotifications ", "out/")
	a.deploys(change)
	prefix("out/")
	for _, key := range []string{"out/a", "b"} {
		if _, err := a.cloud.call("s3", "putObject", map[string]any{"Bucket": bucket, "Key": key, "Body": "x"}); err != nil {
			t.Fatal(err)
		}
	}
	reported := map[string]any{"logGroupName": "/aws/lambda/" + got["FunctionName"], "filterPattern": `"told of"`}
	a.cloud.until("the function gets the event of the object", func() bool {
		events, err := a.cloud.call("cloudwatch-logs", "FilterLogEvents", reported)
		return err == nil && strings.HasSuffix(events["events.0.message"], "told of out/a") && events["events.1.message"] == ""
	})
	a.deploys(append(change, "keep=true")) // records in the tags that objects must be kept
	if got, err := a.cloud.call("s3", "listObjectsV2", map[string]any{"Bucket": bucket}); err != nil || got["KeyCount"] != "2" {
		t.Errorf("objects %v (%v), want both", got, err)
	}
	a.deploys(change)
	a.destroys()
	a.cloud.gone("Emptied")
	if _, err := a.cloud.call("s3", "headBucket", map[string]any{"Bucket": bucket}); err == nil {
		t.Error("the bucket is still there")
	}
}

// TestBootstrap tests the bootstrap stack. The CDK requires it in every account, but here only cdk gc needs it.
func TestBootstrap(t *testing.T) {
	a := newApp(t, "core")
	before := a.deploys(nil)
	a.does(nil, "bootstrap", "aws://000000000000/"+region)
	a.cloud.stands("CDKToolkit", "CREATE_COMPLETE")
	if out := a.does(nil, "bootstrap", "aws://000000000000/"+region); !strings.Contains(out, "no changes") {
		t.Errorf("cdk bootstrap again:\n%s", out)
	}
	after := a.deploys([]string{"seats=6"})
	if before["Tables"]["Name"] != "table-for-4" || after["Tables"]["Name"] != "table-for-6" {
		t.Errorf("outputs before %v and after %v", before, after)
	}
	if out := a.does([]string{"seats=6"}, "refactor", "--unstable=refactor", "--dry-run"); !strings.Contains(out, "Nothing to refactor") {
		t.Errorf("cdk refactor:\n%s", out)
	}
	a.collects()
}

// collects runs cdk gc, which deletes an object that no stack uses and leaves some of the others.
func (a *app) collects() {
	a.t.Helper()
	bucket := "cdk-hnb659fds-assets-000000000000-" + region
	objects := func() (keys []string) {
		a.t.Helper()
		list, err := a.cloud.call("s3", "listObjectsV2", map[string]any{"Bucket": bucket})
		if err != nil {
			a.t.Fatal(err)
		}
		for name, text := range list {
			if strings.HasSuffix(name, ".Key") {
				keys = append(keys, text)
			}
		}
		return sorted(keys)
	}
	used := objects()
	if len(used) == 0 {
		a.t.Fatal("no asset is stored")
	}
	if _, err := a.cloud.call("s3", "putObject", map[string]any{"Bucket": bucket, "Key": "unused.zip", "Body": "x"}); err != nil {
		a.t.Fatal(err)
	}
	out := a.does(nil, "gc", "--unstable=gc", "--type", "all", "--action", "full", "--confirm=false", "--created-buffer-days", "0",
		"--rollback-buffer-days", "0", "aws://000000000000/"+region)
	left := objects() // the code of the function, but no templates
	if len(left) == 0 || slices.ContainsFunc(left, func(key string) bool { return !slices.Contains(used, key) }) {
		a.t.Errorf("before cdk gc the assets were %v, and then %v\n%s", used, left, out)
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
