package awscall

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
)

func TestPermissions(t *testing.T) {
	c, err := New(Config{Region: "eu-west-1", Credentials: aws.AnonymousCredentials{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ service, action, want string }{
		{"S3", "putBucketLifecycleConfiguration", "s3:PutLifecycleConfiguration"},
		{"Lambda", "invoke", "lambda:InvokeFunction"},
		{"SSM", "getParameter", "ssm:GetParameter"},
		{"@aws-sdk/client-sfn", "StartExecutionCommand", "states:StartExecution"},
		{"StepFunctions", "startExecution", "states:StartExecution"},
		{"CloudWatchLogs", "deleteLogGroup", "logs:DeleteLogGroup"},
		{"CloudWatch", "putMetricData", "cloudwatch:PutMetricData"},
		{"ELBv2", "describeLoadBalancers", "elasticloadbalancing:DescribeLoadBalancers"},
		{"CognitoIdentityServiceProvider", "adminCreateUser", "cognito-idp:AdminCreateUser"},
		{"SESV2", "createEmailIdentity", "ses:CreateEmailIdentity"},
		{"APIGateway", "updateStage", "apigateway:PATCH"},
		{"ApiGatewayV2", "createApi", "apigateway:POST"},
		{"s3", "copyObject", "s3:GetObject s3:PutObject"},
		{"ResourceGroupsTaggingAPI", "getResources", "tag:GetResources"},
	} {
		got, err := c.Permissions(test.service, test.action)
		if err != nil {
			t.Errorf("%s:%s: %v", test.service, test.action, err)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s:%s (-want +got):\n%s", test.service, test.action, diff)
		}
	}
	if _, err := c.Permissions("ssm", "nothing"); !IsUnknown(err) {
		t.Errorf("an action that is not: %v", err)
	}
	// A misspelt key would have no effect.
	for key := range permissionNames {
		service, action, _ := strings.Cut(key, ":")
		if s, name, err := c.Name(service, action); err != nil || s+":"+name != key {
			t.Errorf("%s is %s:%s, %v", key, s, name, err)
		}
	}
	for service := range permissionPrefixes {
		if s, err := c.shared.service(service); err != nil || s.entry.Name != service {
			t.Errorf("there is no model %s", service)
		}
	}
}
