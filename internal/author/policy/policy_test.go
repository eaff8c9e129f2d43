package policy_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/author/policy"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

func newConfig(t testing.TB, parameters map[string]string) policy.Config {
	t.Helper()
	client, err := awscall.New(awscall.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{}})
	if err != nil {
		t.Fatal(err)
	}
	return policy.Config{Client: client, Parameters: parameters, Providers: []string{"Calls"}}
}

func TestPolicy(t *testing.T) {
	const token = `"ServiceToken":{"Fn::GetAtt":["AWS679f53fac002430cb0da5b7982bd22872D164C4C","Arn"]}`
	one := func(properties string) string {
		return `{"Resources":{"R":{"Type":"Custom::AWS","Properties":{` + token + `,` + properties + `}}}}`
	}
	for _, test := range []struct {
		name, template string
		parameters     map[string]string
		actions, roles string
		open           bool
		rules          []project.Allow
	}{
		{name: "names that differ", template: `{"Resources":{
			"A":{"Type":"Custom::AWS","Properties":{` + token + `,"Create":"{\"service\":\"S3\",\"action\":\"putBucketLifecycleConfiguration\"}"}},
			"B":{"Type":"Custom::Other","Properties":{` + token + `,"Update":"{\"service\":\"Lambda\",\"action\":\"invoke\"}"}},
			"C":{"Type":"AWS::CloudFormation::CustomResource","Properties":{"ServiceToken":"arn:aws:lambda:us-east-1:1:function:Calls","Delete":{"service":"@aws-sdk/client-sfn","action":"StartExecutionCommand"}}},
			"Not":{"Type":"Custom::Thing","Properties":{"ServiceToken":"arn:aws:lambda:us-east-1:1:function:Other","Create":"{"}},
			"Function":{"Type":"AWS::Lambda::Function","Properties":{"Create":"{"}}}}`,
			actions: "lambda:InvokeFunction s3:PutLifecycleConfiguration states:StartExecution",
			rules:   []project.Allow{{Calls: "lambda:Invoke"}, {Calls: "s3:PutBucketLifecycleConfiguration"}, {Calls: "stepfunctions:StartExecution"}}},
		{name: "every request", template: one(`"Create":"{\"service\":\"SSM\",\"action\":\"putParameter\"}","Update":"{\"service\":\"SSM\",\"action\":\"putParameter\",\"region\":\"eu-west-1\"}","Delete":"{\"service\":\"SSM\",\"action\":\"deleteParameter\",\"region\":\"eu-west-1\"}"`),
			actions: "ssm:DeleteParameter ssm:PutParameter",
			rules:   []project.Allow{{Calls: "ssm:DeleteParameter", Regions: []string{"eu-west-1"}}, {Calls: "ssm:PutParameter"}}},
		{name: "joined, as the CDK writes references", template: one(`"Create":{"Fn::Join":["",["{\"service\":\"SSM\",\"action\":\"putParameter\",\"parameters\":{\"Name\":\"",{"Ref":"P"},"\",\"List\":",{"Ref":"L"},",\"Quote\":\"\\\"",{"Ref":"P"},"\"},\"region\":\"",{"Ref":"AWS::Region"},"\"}"]]}`),
			actions: "ssm:PutParameter", rules: []project.Allow{{Calls: "ssm:PutParameter"}}},
		{name: "a role", template: one(`"Create":"{\"service\":\"Route53\",\"action\":\"associateVPCWithHostedZone\",\"assumedRoleArn\":\"arn:aws:iam::210987654321:role/a/b\"}"`),
			roles: "arn:aws:iam::210987654321:role/a/b",
			rules: []project.Allow{{Calls: "route53:AssociateVPCWithHostedZone", Roles: []string{"arn:aws:iam::210987654321:role/a/b"}}}},
		{name: "a role in part", template: one(`"Create":{"Fn::Sub":"{\"service\":\"ssm\",\"action\":\"getParameter\",\"assumedRoleArn\":\"arn:${AWS::Partition}:iam::${AWS::AccountId}:role/r\"}"}`),
			roles: "arn:aws:iam::*:role/r", open: true,
			rules: []project.Allow{{Calls: "ssm:GetParameter", Roles: []string{"arn:aws:iam::*:role/r"}}}},
		{name: "a role by a parameter", template: one(`"Create":{"Fn::Sub":["{\"service\":\"ssm\",\"action\":\"getParameter\",\"assumedRoleArn\":\"arn:aws:iam::${A}:role/r\"}",{"A":{"Ref":"AWS::AccountId"}}]}`),
			parameters: map[string]string{"AWS::AccountId": "123456789012"},
			roles:      "arn:aws:iam::123456789012:role/r",
			rules:      []project.Allow{{Calls: "ssm:GetParameter", Roles: []string{"arn:aws:iam::123456789012:role/r"}}}},
		{name: "unknown role", template: one(`"Create":{"service":"ssm","action":"getParameter","assumedRoleArn":{"Fn::ImportValue":"x"}}`),
			roles: "arn:aws:iam::*:role/*", open: true,
			rules: []project.Allow{{Calls: "ssm:GetParameter", Roles: []string{"arn:aws:iam::*:role/*"}}}},
		{name: "both branches", template: one(`"Create":{"Fn::If":["C","{\"service\":\"ssm\",\"action\":\"getParameter\"}",{"Fn::If":["D","{\"service\":\"ssm\",\"action\":\"putParameter\"}",{"Ref":"AWS::NoValue"}]}]}`),
			actions: "ssm:GetParameter ssm:PutParameter", rules: []project.Allow{{Calls: "ssm:GetParameter"}, {Calls: "ssm:PutParameter"}}},
		{name: "YAML and a default", template: "Parameters: {S: {Type: String, Default: ssm}}\nResources:\n  R:\n    Type: Custom::AWS\n    Properties:\n      ServiceToken: !Ref Token\n      Create: !Sub '{\"service\":\"${S}\",\"action\":\"getParameter\",\"parameters\":{\"Name\":\"${!x}\"}}'\n",
			actions: "ssm:GetParameter", rules: []project.Allow{{Calls: "ssm:GetParameter"}}},
		{name: "none", template: `{"Resources":{}}`, rules: []project.Allow{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls, problems, err := policy.Read(test.template, newConfig(t, test.parameters))
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			var actions, roles []string
			for _, s := range policy.Statements(calls, []string{"*"}).Statement {
				if s.Action[0] == "sts:AssumeRole" {
					roles = append(roles, s.Resource...)
				} else {
					actions = append(actions, s.Action...)
				}
			}
			if got := strings.Join(actions, " "); got != test.actions {
				t.Errorf("actions %s, want %s", got, test.actions)
			}
			if got := strings.Join(roles, " "); got != test.roles {
				t.Errorf("roles %s, want %s", got, test.roles)
			}
			if len(calls) > 0 && calls[0].Open != test.open {
				t.Errorf("open is %v", calls[0].Open)
			}
			if diff := cmp.Diff(test.rules, policy.Rules(calls)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	const before = "Resources:\n  R:\n    Type: Custom::AWS\n    Properties:\n      "
	for _, test := range []struct{ property, want string }{
		{`Create: '{"service":"ssm","action":"getParametre"}'`, `Create: the AWS service ssm has no action "getParametre": did you mean GetParameter?`},
		{`Create: '{"service":"ssm"}'`, "Create: a call needs service and action"},
		{`Create: !Sub '{"service":"${S}","action":"a"}'`, "service and action have to be in the template itself"},
		{`Create: !ImportValue x`, "Create: it is not in the template itself"},
		{`Delete: '{secret'`, "Delete: it is not a JSON object of a call"},
	} {
		_, problems, err := policy.Read(before+test.property, newConfig(t, nil))
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, test.want) || problems[0].Line != 2 || problems[0].Column != 3 {
			t.Errorf("%s: %v, %v", test.property, err, problems)
		}
		for _, p := range problems {
			if strings.Contains(p.Text, "secret") || strings.Contains(p.Text, "\uE000") {
				t.Errorf("it shows what it should not: %q", p.Text)
			}
		}
	}
	for _, text := range []string{"", "[]", "{", "a: b", `{"Resources":[]}`} {
		if _, _, err := policy.Read(text, newConfig(t, nil)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"Resources":{"R":{"Type":"Custom::AWS","Properties":{"Create":{"Fn::Join":["",["{\"service\":\"SSM\",\"action\":\"",{"Ref":"P"},"\"}"]]}}}}}`)
	f.Add("Resources:\n  R:\n    Type: Custom::AWS\n    Properties:\n      ServiceToken: !GetAtt a.Arn\n      Create: !If [a, !Sub ['${b}', {b: c}], {service: ssm, action: getParameter}]\n")
	c := newConfig(f, nil)
	f.Fuzz(func(t *testing.T, text string) {
		calls, _, err := policy.Read(text, c)
		if err != nil {
			return
		}
		for _, s := range policy.Statements(calls, []string{"*"}).Statement {
			for _, action := range s.Action {
				if !strings.Contains(action, ":") || strings.Contains(action, "*") {
					t.Errorf("the action %q", action)
				}
			}
		}
	})
}
