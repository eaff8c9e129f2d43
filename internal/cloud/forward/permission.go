package forward

import (
	"maps"
	"slices"
	"strings"
)

// Actions returns the IAM actions of the calls that the package makes, sorted. Source for those of drift detection:
// CloudFormation User Guide, "Detect drift on an entire CloudFormation stack", considerations.
func Actions() []string {
	return []string{
		"cloudformation:BatchDescribeTypeConfigurations", "cloudformation:ContinueUpdateRollback", "cloudformation:CreateChangeSet",
		"cloudformation:CreateStack", "cloudformation:DeleteChangeSet", "cloudformation:DeleteStack", "cloudformation:DescribeChangeSet",
		"cloudformation:DescribeStackEvents", "cloudformation:DescribeStackResources", "cloudformation:DescribeStacks",
		"cloudformation:DetectStackDrift", "cloudformation:DetectStackResourceDrift", "cloudformation:ExecuteChangeSet", "cloudformation:GetTemplate",
		"cloudformation:GetTemplateSummary", "cloudformation:TagResource", "cloudformation:UpdateStack",
		"cloudformation:ValidateTemplate", "sts:GetCallerIdentity",
	}
}

// services are the IAM prefixes of services whose prefix is not the name in CloudFormation in lower case. Source: AWS
// Service Authorization Reference.
var services = map[string]string{
	"AmazonMQ": "mq", "ApiGatewayV2": "apigateway", "ApplicationAutoScaling": "application-autoscaling", "CertificateManager": "acm",
	"Cognito": "cognito-idp", "EFS": "elasticfilesystem", "EMR": "elasticmapreduce", "ElasticLoadBalancingV2": "elasticloadbalancing",
	"Elasticsearch": "es", "KinesisFirehose": "firehose", "MSK": "kafka", "OpenSearchService": "es", "StepFunctions": "states",
}

// ServiceActions returns the IAM actions of all calls of the services of resource types, such as sqs:*, sorted. AWS
// makes some of them to create the resources.
func ServiceActions(types []string) []string {
	actions := map[string]bool{}
	for _, name := range types {
		parts := strings.Split(name, "::")
		if len(parts) != 3 {
			continue
		}
		prefix, other := services[parts[1]]
		if !other {
			prefix = strings.ToLower(parts[1])
		}
		actions[prefix+":*"] = true
	}
	return slices.Sorted(maps.Keys(actions))
}
