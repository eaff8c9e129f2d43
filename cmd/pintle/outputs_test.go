package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

// TestSecretOutputs checks which callers see secret outputs of a server on each store, and that the audit list records each access
// without the values.
func TestSecretOutputs(t *testing.T) {
	onBothStores(t, testSecretOutputs)
}

func testSecretOutputs(t *testing.T, args ...string) {
	const secret = "hunter2-planted"
	dir := t.TempDir()
	data, log, keys := filepath.Join(dir, "data"), filepath.Join(dir, "audit.log"), filepath.Join(dir, "credentials")
	text := "[default]\naws_access_key_id = VIEWER\naws_secret_access_key = 0123456789abcdef\n" +
		"[operator]\naws_access_key_id = OPERATOR\naws_secret_access_key = 0123456789abcdef\npintle_console = operator\n"
	if err := os.WriteFile(keys, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, data, append(args, "--audit-log", log, "--credentials", keys)...)
	client := server.client()
	if _, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName: aws.String("s"), TemplateBody: aws.String(`{"Parameters": {"P": {"Type": "String", "NoEcho": true}},
			"Resources": {"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}},
			"Outputs": {"Secret": {"Value": {"Fn::Sub": "is ${P}"}}, "Plain": {"Value": "plain"}}}`),
		Parameters: []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: aws.String(secret)}},
	}); err != nil {
		t.Fatal(err)
	}
	server.until("the stack is created", func() bool {
		out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("s")})
		return err == nil && out.Stacks[0].StackStatus == types.StackStatusCreateComplete
	})
	run := func(key string, args ...string) string {
		cmd := exec.Command("pintle", append([]string{"outputs", "s"}, args...)...)
		cmd.Dir = dir
		if key == "" {
			cmd.Args = append(cmd.Args, "--data", data)
		} else {
			cmd.Args = append(cmd.Args, "--endpoint", server.url)
			cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+key, "AWS_SECRET_ACCESS_KEY=0123456789abcdef")
		}
		out, _ := cmd.CombinedOutput() // a refusal is an exit code
		return strings.TrimSpace(string(out))
	}
	const refused = "secret outputs are visible only to this server's own user"
	for _, test := range []struct {
		key  string
		args []string
		want string
	}{
		{"", []string{"Secret"}, "****"},
		{"", []string{"Secret", "--show-secrets"}, "is " + secret},
		{"OPERATOR", []string{"Secret", "--show-secrets"}, "is " + secret},
		{"OPERATOR", []string{"Plain", "--show-secrets"}, "plain"},
		{"VIEWER", []string{"Plain"}, "plain"},
		{"VIEWER", []string{"Secret", "--show-secrets"}, refused},
		{"unknown", []string{"Secret", "--show-secrets"}, refused},
	} {
		got := run(test.key, test.args...)
		if got != test.want && (test.want != refused || !strings.Contains(got, refused) || strings.Contains(got, secret)) {
			t.Errorf("%s %s: %s, want %s", test.key, test.args, got, test.want)
		}
	}

	var shown []string
	for _, line := range audited(t, log) {
		if strings.Contains(line, "ShowSecrets") {
			shown = append(shown, strings.Replace(line, "arn:", "", 1))
		}
	}
	for i := range shown { // of an ARN, only that it is there
		words := strings.Fields(shown[i])
		shown[i] = strings.Join(append(words[:3], words[4:]...), " ")
	}
	want := []string{
		"local operator ShowSecrets granted 200", "OPERATOR operator ShowSecrets granted 200", "OPERATOR operator ShowSecrets granted 200",
		"VIEWER operator ShowSecrets refused 403", "unknown operator ShowSecrets refused 403",
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
	list, err := exec.Command("pintle", "events", "s", "--audit", "--data", data).CombinedOutput()
	if err != nil || strings.Count(string(list), "secret outputs were shown: Secret, to access key ") != 2 {
		t.Errorf("the audit list has not two readings (%v):\n%s", err, list)
	}
	recorded, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"the audit log": string(recorded), "the audit list": string(list), "the server's log": server.output()} {
		if strings.Contains(text, secret) {
			t.Errorf("%s contains the secret:\n%s", where, text)
		}
	}
}
