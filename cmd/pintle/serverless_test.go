package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestServerlessByMacro deploys a template of the Serverless Application Model with the macro of docs/macros.md.
func TestServerlessByMacro(t *testing.T) {
	libraries, python := filepath.Join(require.Deployers(t), "sam"), require.Tool(t, "python3")
	macro := regexp.MustCompile("(?s)```python\n(# sam.py\n.*?)```").FindStringSubmatch(page(t, "docs/macros.md"))
	if macro == nil {
		t.Fatal("docs/macros.md has no sam.py")
	}
	env, err := json.Marshal(map[string]string{"PYTHONPATH": libraries})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"sam.py":      macro[1],
		"pintle.yaml": "stack: s\nmacros: {Sam: {run: ./sam.py, env: " + string(env) + "}}\nunknownTypes: record\n",
		"template.yaml": `Transform: Sam
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
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s runs the macro and the function", python)
	pintleIn(t, dir, 0, "deploy", "--run-functions")
	if got := pintleIn(t, dir, 0, "outputs", "s", "Path"); got != "/a\n" {
		t.Errorf("the output is %q, want /a", got)
	}
	pintleIn(t, dir, 0, "delete", "--run-functions")
}
