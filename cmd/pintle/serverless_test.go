package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestServerless deploys, changes and deletes a stack from a template of the Serverless Application Model.
func TestServerless(t *testing.T) {
	require.Tool(t, "python3")
	t.Setenv("PYTHONPATH", filepath.Join(require.Deployers(t), "sam")) // which includes the translator
	dir := t.TempDir()
	const template = `Transform: AWS::Serverless-2016-10-31
Parameters: {Name: {Type: String, Default: a}}
Globals: {Function: {Runtime: python3.12, Timeout: 30}}
Resources:
  Handler:
    Type: AWS::Serverless::Function
    Properties:
      Handler: index.handler
      InlineCode: |
        import cfnresponse
        def handler(event, context):
            cfnresponse.send(event, context, cfnresponse.SUCCESS, {"Path": "/" + event["ResourceProperties"]["Name"]}, "note")
  Note: {Type: Custom::Note, Properties: {ServiceToken: !GetAtt Handler.Arn, Name: !Ref Name}}
Outputs: {Path: {Value: !GetAtt Note.Path}}
`
	for name, text := range map[string]string{"pintle.yaml": "stack: s\n", "template.yaml": template} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pintleIn(t, dir, 0, "deploy", "--run-functions")
	pintleIn(t, dir, 0, "deploy", "--run-functions", "--parameter", "Name=b")
	if got := pintleIn(t, dir, 1, "deploy", "--dry-run", "--run-functions"); !strings.Contains(got, "known only when its macros have run: [AWS::Serverless-2016-10-31]") {
		t.Errorf("a dry run prints %q", got)
	}
	if got := pintleIn(t, dir, 0, "outputs", "s", "Path"); got != "/b\n" {
		t.Errorf("the output is %q, want /b", got)
	}
	pintleIn(t, dir, 0, "delete", "--run-functions")
}
