package main

import (
	"context"
	"encoding/json"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/awscall"
)

// secretStack is a stack as the CDK writes one with a secretsmanager.Secret, a function and a parameter that read it.
const secretStack = `{"Resources": {
	"Login": {"Type": "AWS::SecretsManager::Secret", "DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete", "Properties": {"Description": "DESCRIPTION",
		"GenerateSecretString": {"SecretStringTemplate": "{\"username\":\"admin\"}", "GenerateStringKey": "password", "PasswordLength": 40, "ExcludePunctuation": true}}},
	"Reader": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "reader", "Runtime": "nodejs24.x", "Handler": "index.handler", "Role": "r",
		"Code": {"ZipFile": "exports.handler = async () => process.env.PASSWORD.length"}, "Description": "DESCRIPTION",
		"Environment": {"Variables": {"PASSWORD": {"Fn::Join": ["", ["{{resolve:secretsmanager:", {"Ref": "Login"}, ":SecretString:password::}}"]]}}}}},
	"Copy": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/copy", "Type": "String", "Description": "DESCRIPTION",
		"Value": {"Fn::Sub": "user=admin;password={{resolve:secretsmanager:${Login}:SecretString:password}}"}}}},
	"Outputs": {"Copied": {"Value": {"Fn::GetAtt": ["Copy", "Value"]}}, "ARN": {"Value": {"Ref": "Login"}}}}`

// The value of a secret that native types use is in no answer but those of the services that hold it, and nowhere on disk in clear.
func TestSecretsOfNativeTypes(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "--audit-log", filepath.Join(dir, "audit.log"))
	client := s.client()
	s.create("secret", secretStack)
	if status := s.settled("secret"); status != types.StackStatusCreateComplete {
		t.Fatalf("%s\n%s", status, describe(t, s, "secret"))
	}
	calls, err := awscall.New(awscall.Config{
		Region: "us-east-1", Endpoint: s.url, MaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	call := func(service, action string, in map[string]any) map[string]any {
		t.Helper()
		out, err := calls.Call(t.Context(), service, action, in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	metrics := func() string {
		response, err := http.Get(s.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response.Status, err)
		}
		return string(text)
	}
	stacks, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("secret")})
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]string{}
	for _, o := range stacks.Stacks[0].Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	var login struct{ Username, Password string }
	text, _ := call("secretsmanager", "GetSecretValue", map[string]any{"SecretId": outputs["ARN"]})["SecretString"].(string)
	if err := json.Unmarshal([]byte(text), &login); err != nil || login.Username != "admin" || len(login.Password) != 40 {
		t.Fatalf("the secret is %q, %v", text, err)
	}
	if got := call("ssm", "GetParameter", map[string]any{"Name": "/copy"})["Parameter"].(map[string]any)["Value"]; got != "user=admin;password="+login.Password {
		t.Errorf("the parameter is %v", got)
	}
	function := call("lambda", "GetFunctionConfiguration", map[string]any{"FunctionName": "reader"})
	if got := function["Environment"].(map[string]any)["Variables"].(map[string]any)["PASSWORD"]; got != login.Password {
		t.Errorf("the function's variable is %v", got)
	}

	seen := describe(t, s, "secret")
	add := func(answer any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		seen += string(text)
	}
	if _, err = client.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("secret"), ChangeSetName: aws.String("c"), TemplateBody: aws.String(strings.ReplaceAll(secretStack, "DESCRIPTION", "new")),
	}); err != nil {
		t.Fatal(err)
	}
	add(client.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{
		StackName: aws.String("secret"), ChangeSetName: aws.String("c"), IncludePropertyValues: aws.Bool(true),
	}))
	add(client.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: aws.String("secret")}))
	add(calls.Call(t.Context(), "secretsmanager", "DescribeSecret", map[string]any{"SecretId": outputs["ARN"]}))
	add(calls.Call(t.Context(), "secretsmanager", "ListSecrets", nil))
	add(calls.Call(t.Context(), "secretsmanager", "ListSecretVersionIds", map[string]any{"SecretId": outputs["ARN"]}))

	// The value changes but the reference does not, so the next update delivers only the other changes.
	call("secretsmanager", "PutSecretValue", map[string]any{"SecretId": outputs["ARN"], "SecretString": `{"username": "admin", "password": "hunter2-rotated"}`})
	update := func(description string) error {
		_, err := client.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
			StackName: aws.String("secret"), TemplateBody: aws.String(strings.ReplaceAll(secretStack, "DESCRIPTION", description)),
		})
		return err
	}
	if err := update("DESCRIPTION"); err == nil || !strings.Contains(err.Error(), "No updates are to be performed") {
		t.Errorf("an update without changes: %v", err)
	}
	if err := update("second"); err != nil {
		t.Fatal(err)
	}
	if status := s.settled("secret"); status != types.StackStatusUpdateComplete {
		t.Errorf("%s\n%s", status, describe(t, s, "secret"))
	}
	if got := call("ssm", "GetParameter", map[string]any{"Name": "/copy"})["Parameter"].(map[string]any)["Value"]; got != "user=admin;password=hunter2-rotated" {
		t.Errorf("after the update the parameter is %v", got)
	}
	if got := call("secretsmanager", "GetSecretValue", map[string]any{"SecretId": outputs["ARN"]})["SecretString"]; !strings.Contains(got.(string), "hunter2-rotated") {
		t.Errorf("an update of the description has changed the secret: %v", got)
	}
	pages := s.pages(t)
	for _, want := range []string{"Login", "Copy", "Change sets"} {
		if !strings.Contains(pages, want) {
			t.Errorf("no page of the console shows %s", want)
		}
	}
	seen += describe(t, s, "secret") + metrics() + pages
	s.kill()
	s.start()
	seen += describe(t, s, "secret")
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String("secret")}); err != nil {
		t.Fatal(err)
	}
	s.until("the stack is deleted", func() bool {
		_, err := s.client().DescribeStacks(context.Background(), &cloudformation.DescribeStacksInput{StackName: aws.String("secret")})
		return err != nil
	})
	if _, err := calls.Call(t.Context(), "secretsmanager", "DescribeSecret", map[string]any{"SecretId": outputs["ARN"]}); err == nil {
		t.Error("the secret is still there")
	}
	s.kill()

	places := map[string]string{"API": seen, "log": s.output()}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		places[filepath.Base(path)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, text := range places {
		for _, secret := range []string{login.Password, "hunter2-rotated"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", place, secret)
			}
		}
	}
	if !strings.Contains(places["audit.log"], "UpdateStack") {
		t.Errorf("the audit log is %s", places["audit.log"])
	}
	if len(places) < 5 {
		t.Errorf("only %d places were searched", len(places))
	}
	if !strings.Contains(seen, `"OutputKey":"Copied","OutputValue":"****`) {
		t.Errorf("the output is not masked:\n%s", seen)
	}
}

// pages returns all pages of the console that lead from its first one, as one text.
func (s *served) pages(t *testing.T) (text string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	link, err := exec.CommandContext(t.Context(), "pintle", "console", "--data", s.dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`href="(/console/[^"#]*)`)
	to, seen := []string{strings.TrimSpace(string(link))}, map[string]bool{}
	for len(to) > 0 && len(seen) < 200 {
		next := to[0]
		to = to[1:]
		if seen[next] {
			continue
		}
		seen[next] = true
		response, err := browser.Get(next)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		text += next + "\n" + string(page)
		for _, found := range links.FindAllStringSubmatch(string(page), -1) {
			if path := html.UnescapeString(found[1]); !strings.Contains(path, "/events/stream") {
				to = append(to, s.url+path)
			}
		}
	}
	return text
}
