package builtin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEndpoints compares the endpoints with those that the AWS SDK's own clients use.
func TestEndpoints(t *testing.T) {
	const file = `
[default]
endpoint_url = http://file
services = here
[profile single]
services = here
[profile ignoring]
endpoint_url = http://file
services = here
ignore_configured_endpoint_urls = true
[services here]
s3 =
  endpoint_url = http://file-s3
elastic_load_balancing_v2 =
  endpoint_url = http://file-elbv2
`
	for _, test := range []struct {
		name      string
		variables map[string]string
		forAll    string
		own       map[string]string
	}{
		{name: "the file", forAll: "http://file", own: map[string]string{"s3": "http://file-s3", "elbv2": "http://file-elbv2"}},
		{name: "a profile", variables: map[string]string{"AWS_PROFILE": "single"}, own: map[string]string{"s3": "http://file-s3", "elbv2": "http://file-elbv2"}},
		{name: "environment overrides the file", variables: map[string]string{"AWS_ENDPOINT_URL": "http://all", "AWS_ENDPOINT_URL_S3": "http://s3"},
			forAll: "http://all", own: map[string]string{"s3": "http://s3"}},
		{name: "service variable overrides the file", variables: map[string]string{"AWS_ENDPOINT_URL_S3": "http://s3"},
			forAll: "http://file", own: map[string]string{"s3": "http://s3", "elbv2": "http://file-elbv2"}},
		{name: "names of variables", variables: map[string]string{
			"AWS_CONFIG_FILE":                               "/dev/null",
			"AWS_ENDPOINT_URL_S3":                           "http://a",
			"AWS_ENDPOINT_URL_DYNAMODB":                     "http://b",
			"AWS_ENDPOINT_URL_API_GATEWAY":                  "http://c",
			"AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2":    "http://d",
			"AWS_ENDPOINT_URL_SECRETS_MANAGER":              "http://e",
			"AWS_ENDPOINT_URL_ROUTE_53":                     "http://f",
			"AWS_ENDPOINT_URL_COGNITO_IDENTITY_PROVIDER":    "http://g",
			"AWS_ENDPOINT_URL_SSM":                          "",
			"AWS_ENDPOINT_URL_NOTHING":                      "http://h",
			"AWS_ENDPOINT_URL_SECRETSMANAGER":               "http://i", // the SDKs require an underscore between words
			"AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2_OR": "http://j",
		}, own: map[string]string{"s3": "http://a", "dynamodb": "http://b", "apigateway": "http://c", "elbv2": "http://d", "secretsmanager": "http://e",
			"route53": "http://f", "cognito-idp": "http://g"}},
		{name: "ignored by the environment", variables: map[string]string{"AWS_ENDPOINT_URL": "http://all", "AWS_ENDPOINT_URL_S3": "http://s3", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}},
		{name: "ignored by the file", variables: map[string]string{"AWS_PROFILE": "ignoring", "AWS_ENDPOINT_URL": "http://all", "AWS_ENDPOINT_URL_S3": "http://s3"}},
		{name: "not ignored after all", variables: map[string]string{"AWS_PROFILE": "ignoring", "AWS_ENDPOINT_URL": "http://all", "AWS_ENDPOINT_URL_S3": "http://s3", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false"},
			forAll: "http://all", own: map[string]string{"s3": "http://s3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			surroundings(t, file, test.variables)
			got, err := AWS{Region: "eu-west-1"}.configuration(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Endpoints) == 0 {
				got.Endpoints = nil
			}
			if got.Endpoint != test.forAll {
				t.Errorf("got %q for all, want %q", got.Endpoint, test.forAll)
			}
			if diff := cmp.Diff(test.own, got.Endpoints); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestVariants(t *testing.T) {
	for _, test := range []struct {
		file            string
		variables       map[string]string
		fips, dualStack bool
	}{
		{},
		{variables: map[string]string{"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "True"}, fips: true, dualStack: true},
		{file: "[default]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\n", fips: true, dualStack: true},
		{file: "[default]\nuse_fips_endpoint = true\nuse_dualstack_endpoint = true\n", variables: map[string]string{"AWS_USE_FIPS_ENDPOINT": "false"}, dualStack: true},
	} {
		surroundings(t, test.file, test.variables)
		got, err := AWS{Region: "eu-west-1"}.configuration(t.Context())
		if err != nil || got.FIPS != test.fips || got.DualStack != test.dualStack {
			t.Errorf("%q %v: %t, %t, %v", test.file, test.variables, got.FIPS, got.DualStack, err)
		}
	}
}

// TestEndpointCalled checks that each service is called at its endpoint.
func TestEndpointCalled(t *testing.T) {
	all, own := newServices(t, parameter), newServices(t, parameter)
	surroundings(t, "", map[string]string{"AWS_ENDPOINT_URL": all.url, "AWS_ENDPOINT_URL_SECRETS_MANAGER": own.url})
	client, err := AWS{Region: "eu-west-1"}.client(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range [][2]string{{"SSM", "getParameter"}, {"SecretsManager", "getSecretValue"}} {
		if _, err := client.Call(t.Context(), call[0], call[1], m{"Name": "a", "SecretId": "a"}); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"OWN eu-west-1 ssm GetParameter"}, all.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"OWN eu-west-1 secretsmanager GetSecretValue"}, own.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEndpointRefused checks that the error about an invalid endpoint names its source and service, but not its URL.
func TestEndpointRefused(t *testing.T) {
	surroundings(t, "", map[string]string{"AWS_ENDPOINT_URL_API_GATEWAY": "http://user:pass@here"})
	_, err := AWS{Region: "eu-west-1"}.client(t.Context(), "")
	if err == nil || !strings.HasPrefix(err.Error(), "AWS configuration of the server: ") || !strings.Contains(err.Error(), "apigateway: an endpoint is a URL") || strings.Contains(err.Error(), "pass") {
		t.Errorf("got %v", err)
	}
}
