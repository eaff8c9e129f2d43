package cdk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestImport tests cdk import, cdk deploy --import-existing-resources, and imports with the AWS CLI during which the
// server is killed.
func TestImport(t *testing.T) {
	a := newApp(t, "import")
	a.deploys(nil)
	for _, call := range []struct {
		service, action string
		parameters      map[string]any
	}{
		{"S3", "createBucket", map[string]any{"Bucket": "import-photos", "CreateBucketConfiguration": map[string]any{"LocationConstraint": region}}},
		{"S3", "putObject", map[string]any{"Bucket": "import-photos", "Key": "k", "Body": "kept"}},
		{"CloudWatchLogs", "createLogGroup", map[string]any{"logGroupName": "import-log"}},
		{"SSM", "putParameter", map[string]any{"Name": "/import/cli", "Value": "kept", "Type": "String"}},
	} {
		if _, err := a.cloud.call(call.service, call.action, call.parameters); err != nil {
			t.Fatal(err)
		}
	}

	imported := []string{"import=1"}
	mapping := filepath.Join(a.dir, "mapping.json")
	if err := os.WriteFile(mapping, []byte(`{"Photos": {"BucketName": "import-photos"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := a.does(imported, "import", "--resource-mapping", mapping)
	if !strings.Contains(out, "✅  Import") {
		t.Errorf("cdk import:\n%s", out)
	}
	a.cloud.stands("Import", "IMPORT_COMPLETE")
	tags, err := a.cloud.call("S3", "getBucketTagging", map[string]any{"Bucket": "import-photos"})
	if err != nil || !strings.Contains(fmt.Sprint(tags), "aws:cloudformation:stack-name") {
		t.Errorf("the tags of the bucket are %v, %v", tags, err)
	}
	if out := a.does(imported, "diff", "--fail"); !strings.Contains(out, "There were no differences") {
		t.Errorf("cdk diff:\n%s", out)
	}

	a.fails("needs a DeletionPolicy of 'Retain'", []string{"import=1", "existing=destroy"}, "--import-existing-resources")
	a.deploys([]string{"import=1", "existing=retain"}, "--import-existing-resources")
	a.cloud.stands("Import", "UPDATE_COMPLETE")
	a.importsThroughKill()
	a.destroys()
	if _, err := a.cloud.call("S3", "headBucket", map[string]any{"Bucket": "import-photos"}); err != nil {
		t.Errorf("a bucket that is retained: %v", err)
	}
}

// TestImportRollbackReturnsResource rolls back an import. The bucket then has no stack tags, even after a kill, and another stack
// can import it.
func TestImportRollbackReturnsResource(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	client := c.cloudFormation()
	call := func(action string, parameters map[string]any) {
		t.Helper()
		if _, err := c.call("S3", action, parameters); err != nil {
			t.Fatal(err)
		}
	}
	makes := func(bucket string) {
		t.Helper()
		call("createBucket", map[string]any{"Bucket": bucket, "CreateBucketConfiguration": map[string]any{"LocationConstraint": region}})
	}
	imports := func(stack string, buckets ...string) {
		t.Helper()
		var resources []types.ResourceToImport
		var declared []string
		for i, bucket := range buckets {
			logical := fmt.Sprint("B", i)
			resources = append(resources, types.ResourceToImport{
				ResourceType: aws.String("AWS::S3::Bucket"), LogicalResourceId: &logical, ResourceIdentifier: map[string]string{"BucketName": bucket},
			})
			declared = append(declared, fmt.Sprintf(
				`%q: {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain", "Properties": {"BucketName": %q}}`, logical, bucket))
		}
		set, err := client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
			StackName: &stack, ChangeSetName: aws.String("import"), ChangeSetType: types.ChangeSetTypeImport, ResourcesToImport: resources,
			TemplateBody: aws.String(`{"Resources": {` + strings.Join(declared, ", ") + `}}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(buckets, "import-gone") { // deleted after the change set was created
			call("deleteBucket", map[string]any{"Bucket": "import-gone"})
		}
		if _, err := client.ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.Id}); err != nil {
			t.Fatal(err)
		}
	}
	tagged := func() bool {
		tags, err := c.call("S3", "getBucketTagging", map[string]any{"Bucket": "import-given"})
		return err == nil && strings.Contains(fmt.Sprint(tags), "aws:cloudformation:stack-name")
	}
	makes("import-given")
	makes("import-gone")
	imports("Failed", "import-given", "import-gone")
	c.kill()
	c.start()
	c.until("the import is rolled back", func() bool {
		out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("Failed")})
		return err == nil && out.Stacks[0].StackStatus == types.StackStatusImportRollbackComplete
	})
	c.until("the bucket is given back", func() bool { return !tagged() })
	imports("Second", "import-given")
	c.until("the other stack has the bucket", func() bool {
		out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("Second")})
		return err == nil && out.Stacks[0].StackStatus == types.StackStatusImportComplete && tagged()
	})
}

// importsThroughKill imports a parameter into a new stack with the AWS CLI, and kills the server during the import.
func (a *app) importsThroughKill() {
	a.t.Helper()
	cli := require.Tool(a.t, "aws")
	run := func(args ...string) string {
		a.t.Helper()
		cmd := exec.CommandContext(a.t.Context(), cli, append([]string{"cloudformation", "--endpoint-url", a.cloud.url, "--output", "text"}, args...)...)
		cmd.Env = append(a.command(nil).Env, "AWS_DEFAULT_REGION="+region, "AWS_MAX_ATTEMPTS=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			a.t.Fatalf("aws cloudformation %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("create-change-set", "--stack-name", "Cli", "--change-set-name", "import", "--change-set-type", "IMPORT",
		"--resources-to-import", `[{"ResourceType": "AWS::SSM::Parameter", "LogicalResourceId": "P", "ResourceIdentifier": {"Name": "/import/cli"}}]`,
		"--template-body", `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "DeletionPolicy": "Delete",
			"Properties": {"Name": "/import/cli", "Type": "String", "Value": "kept"}}}}`)
	run("wait", "change-set-create-complete", "--stack-name", "Cli", "--change-set-name", "import")
	run("execute-change-set", "--stack-name", "Cli", "--change-set-name", "import")
	a.cloud.kill()
	a.cloud.start()
	run("wait", "stack-import-complete", "--stack-name", "Cli")
	run("delete-stack", "--stack-name", "Cli")
	run("wait", "stack-delete-complete", "--stack-name", "Cli")
	if _, err := a.cloud.call("SSM", "getParameter", map[string]any{"Name": "/import/cli"}); err == nil {
		a.t.Error("an imported parameter is not deleted with its stack")
	}
}
