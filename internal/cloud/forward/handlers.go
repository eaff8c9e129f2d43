package forward

import (
	"net/url"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/awsapi/names"
	"github.com/pintle-dev/pintle/internal/base/functionenv"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// HandlerEndpoint is the endpoint of a service for handlers.
type HandlerEndpoint struct {
	// URL is the URL of the endpoint.
	URL string
	// Profile is the profile with the credentials of the rule, or empty.
	Profile string
}

// HandlerEndpoints returns the endpoints at which handlers find the forwarded resources, by the AWS SDK's variable of
// the service, such as AWS_ENDPOINT_URL_SQS. The first rule with a type of a service decides. A rule for AWS sets
// nothing, because the SDK knows AWS's own endpoints. A service that this program has ([functionenv.Services]) is
// included only if no type of it stays with this program.
func HandlerEndpoints(rules []Rule) map[string]HandlerEndpoint {
	found := map[string]HandlerEndpoint{}
	seen := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		for _, pattern := range r.Types {
			parts := strings.Split(pattern, "::")
			if len(parts) != 3 || seen[parts[1]] {
				continue
			}
			seen[parts[1]] = true
			if r.ofAWS() {
				continue
			}
			variables := variablesOf(parts[1])
			if slices.ContainsFunc(variables, emulated) && !wholly(rules, parts[1], r) {
				continue
			}
			for _, variable := range variables {
				if _, taken := found[variable]; !taken {
					found[variable] = HandlerEndpoint{strings.TrimSuffix(r.Endpoint, "/"), r.Profile}
				}
			}
		}
	}
	return found
}

// emulated reports whether a variable is that of a service that this program has.
func emulated(variable string) bool {
	return slices.Contains(functionenv.Services(), strings.TrimPrefix(variable, functionenv.EndpointPrefix))
}

// ofAWS reports whether the endpoint of a rule is AWS. A URL of AWS is that of CloudFormation only.
func (r *Rule) ofAWS() bool {
	u, err := url.Parse(r.Endpoint)
	if r.Endpoint == AWS || err != nil {
		return true
	}
	host := "." + strings.ToLower(u.Hostname())
	return slices.ContainsFunc([]string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"}, func(domain string) bool {
		return strings.HasSuffix(host, domain)
	})
}

// wholly reports whether all types of a service that this program provides are forwarded to the endpoint of a rule.
func wholly(rules []Rule, service string, r *Rule) bool {
	for _, name := range native.CloudTypes("AWS::" + service + "::") {
		i := slices.IndexFunc(rules, func(other Rule) bool { return other.Matches(name) })
		if i < 0 || rules[i].Endpoint != r.Endpoint {
			return false
		}
	}
	return true
}

// variablesOf returns the endpoint variables of the services whose resources a service of CloudFormation has, such as
// StepFunctions. It returns none for unknown services.
func variablesOf(service string) []string {
	ids, known := sdkServices[service]
	if !known {
		ids = []string{service}
	}
	var list []string
	for _, id := range ids {
		if s, ok := names.ByID(id); ok {
			list = append(list, s.EndpointVariable())
		}
	}
	if service == "Events" { // older clients have this name for EventBridge
		list = append(list, functionenv.EndpointPrefix+"CLOUDWATCH_EVENTS")
	}
	return list
}

// sdkServices are the IDs of the AWS SDK's services by the service in resource types, where that is not the only ID
// without its spaces. Source: AWS CloudFormation Template Reference, resource types; botocore's service IDs.
var sdkServices = map[string][]string{
	"APS":                    {"amp"},
	"AmazonMQ":               {"mq"},
	"ApiGatewayV2":           {"ApiGatewayV2", "ApiGatewayManagementApi"},
	"AppConfig":              {"AppConfig", "AppConfigData"},
	"Bedrock":                {"Bedrock", "Bedrock Runtime", "Bedrock Agent", "Bedrock Agent Runtime", "Bedrock Data Automation", "Bedrock Data Automation Runtime"},
	"BedrockAgentCore":       {"Bedrock AgentCore", "Bedrock AgentCore Control"},
	"CE":                     {"Cost Explorer"},
	"CUR":                    {"Cost and Usage Report Service"},
	"Cases":                  {"ConnectCases"},
	"Cassandra":              {"Keyspaces"},
	"CertificateManager":     {"ACM"},
	"CloudFront":             {"CloudFront", "CloudFront KeyValueStore"},
	"CloudTrail":             {"CloudTrail", "CloudTrail Data"},
	"Cognito":                {"Cognito Identity", "Cognito Identity Provider", "Cognito Sync"},
	"Config":                 {"Config Service"},
	"DMS":                    {"Database Migration Service"},
	"DirectoryService":       {"Directory Service", "Directory Service Data"},
	"DynamoDB":               {"DynamoDB", "DynamoDB Streams"},
	"Elasticsearch":          {"Elasticsearch Service"},
	"EventSchemas":           {"schemas"},
	"Events":                 {"EventBridge"},
	"HealthImaging":          {"Medical Imaging"},
	"InspectorV2":            {"Inspector2"},
	"IoT":                    {"IoT", "IoT Data Plane", "IoT Jobs Data Plane"},
	"IoTCoreDeviceAdvisor":   {"IotDeviceAdvisor"},
	"IoTEvents":              {"IoT Events", "IoT Events Data"},
	"KinesisFirehose":        {"Firehose"},
	"KinesisVideo":           {"Kinesis Video", "Kinesis Video Archived Media", "Kinesis Video Media", "Kinesis Video Signaling"},
	"Lex":                    {"Lex Models V2", "Lex Runtime V2"},
	"Logs":                   {"CloudWatch Logs"},
	"MSK":                    {"Kafka"},
	"MediaPackage":           {"MediaPackage", "MediaPackage Vod"},
	"MediaStore":             {"MediaStore", "MediaStore Data"},
	"OpenSearchService":      {"OpenSearch"},
	"PaymentCryptography":    {"Payment Cryptography", "Payment Cryptography Data"},
	"Personalize":            {"Personalize", "Personalize Events", "Personalize Runtime"},
	"RDS":                    {"RDS", "RDS Data"},
	"Redshift":               {"Redshift", "Redshift Data"},
	"RedshiftServerless":     {"Redshift Serverless", "Redshift Data"},
	"RefactorSpaces":         {"Migration Hub Refactor Spaces"},
	"Route53RecoveryControl": {"Route53 Recovery Control Config"},
	"S3":                     {"S3", "S3 Control"},
	"SDB":                    {"SimpleDB"},
	"SES":                    {"SES", "SESv2", "MailManager"},
	"SMSVOICE":               {"Pinpoint SMS Voice V2"},
	"SSO":                    {"SSO Admin"},
	"SageMaker":              {"SageMaker", "SageMaker Runtime", "SageMaker FeatureStore Runtime", "SageMaker Metrics"},
	"StepFunctions":          {"SFN"},
	"SystemsManagerSAP":      {"Ssm Sap"},
	"Timestream":             {"Timestream Write", "Timestream Query"},
	"Wisdom":                 {"Wisdom", "QConnect"},
}
