package forward

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/base/awsapi/names"
)

// TestHandlerEndpoints derives the variables of the AWS SDKs from rules.
func TestHandlerEndpoints(t *testing.T) {
	const url = "http://127.0.0.1:4566"
	for name, test := range map[string]struct {
		rules []string
		want  string // the ends of the variables
	}{
		"one service":   {[]string{"AWS::SQS::*=" + url}, "SQS"},
		"one type":      {[]string{"AWS::DynamoDB::Table=" + url}, "DYNAMODB DYNAMODB_STREAMS"},
		"version 2":     {[]string{"AWS::ElasticLoadBalancingV2::*=" + url}, "ELASTIC_LOAD_BALANCING_V2"},
		"spaces":        {[]string{"AWS::ApiGateway::*=" + url}, "API_GATEWAY"},
		"several":       {[]string{"AWS::Cognito::UserPool=" + url}, "COGNITO_IDENTITY COGNITO_IDENTITY_PROVIDER COGNITO_SYNC"},
		"other names":   {[]string{"AWS::StepFunctions::*,AWS::Events::*,AWS::Logs::*,AWS::CertificateManager::*=" + url}, "ACM CLOUDWATCH_EVENTS CLOUDWATCH_LOGS EVENTBRIDGE SFN"},
		"emulated":      {[]string{"AWS::SNS::*,AWS::SecretsManager::*,AWS::SSM::Parameter=" + url}, "SECRETS_MANAGER SNS SSM"},
		"one emulated":  {[]string{"AWS::SNS::Topic,AWS::S3::BucketPolicy,AWS::Lambda::Alias=" + url}, ""},
		"two endpoints": {[]string{"AWS::SNS::Topic=" + url, "AWS::SNS::*=http://127.0.0.1:1"}, ""},
		"two rules":     {[]string{"AWS::SNS::Topic=" + url, "AWS::SNS::*=" + url}, "SNS"},
		"aws":           {[]string{"AWS::SQS::*=aws"}, ""},
		"aws first":     {[]string{"AWS::SQS::Queue=aws", "AWS::SQS::*=" + url}, ""},
		"URLs of AWS":   {[]string{"AWS::SQS::*=https://cloudformation.eu-west-1.amazonaws.com", "AWS::KMS::*=https://cloudformation.eu-west-1.api.aws"}, ""},
		"unknown":       {[]string{"AWS::Test::*=" + url}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var rules []Rule
			for _, text := range test.rules {
				r, err := ParseRule(text)
				if err != nil {
					t.Fatal(err)
				}
				rules = append(rules, r)
			}
			var got []string
			for variable, e := range HandlerEndpoints(rules) {
				if e.URL != url {
					t.Errorf("%s is at %q", variable, e.URL)
				}
				got = append(got, strings.TrimPrefix(variable, "AWS_ENDPOINT_URL_"))
			}
			slices.Sort(got)
			if diff := cmp.Diff(strings.Fields(test.want), got, cmp.Transformer("empty", func(list []string) string { return strings.Join(list, " ") })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSDKServices finds every service of the table among the services of the AWS SDK, and no entry that its name implies.
func TestSDKServices(t *testing.T) {
	for _, service := range slices.Sorted(maps.Keys(sdkServices)) {
		ids := sdkServices[service]
		for _, id := range ids {
			if s, ok := names.ByID(id); !ok || s.ID != id {
				t.Errorf("%s: the AWS SDK has no service %q", service, id)
			}
		}
		if s, ok := names.ByID(service); ok && len(ids) == 1 && ids[0] == s.ID {
			t.Errorf("%s: the entry is redundant", service)
		}
	}
}
