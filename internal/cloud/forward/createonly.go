package forward

import (
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// createOnly are the properties whose change replaces a resource, separated by spaces. Pintle uses them only for
// endpoints that do not tell: ministack announces most replacements as Conditional, and moto none. Source:
// CloudFormation, resource type reference, "Update requires: Replacement".
var createOnly = map[string]string{
	"AWS::ApiGateway::Deployment":               "RestApiId",
	"AWS::ApiGateway::Resource":                 "ParentId PathPart RestApiId",
	"AWS::ApiGateway::Stage":                    "RestApiId StageName",
	"AWS::ApiGatewayV2::Api":                    "ProtocolType",
	"AWS::CertificateManager::Certificate":      "DomainName DomainValidationOptions SubjectAlternativeNames ValidationMethod",
	"AWS::Cognito::UserPoolClient":              "GenerateSecret UserPoolId",
	"AWS::DynamoDB::Table":                      "ImportSourceSpecification TableName",
	"AWS::EC2::NatGateway":                      "AllocationId ConnectivityType PrivateIpAddress SubnetId",
	"AWS::EC2::Route":                           "DestinationCidrBlock DestinationIpv6CidrBlock RouteTableId",
	"AWS::EC2::RouteTable":                      "VpcId",
	"AWS::EC2::SecurityGroup":                   "GroupDescription GroupName VpcId",
	"AWS::EC2::Subnet":                          "AvailabilityZone AvailabilityZoneId CidrBlock VpcId",
	"AWS::EC2::VPC":                             "CidrBlock Ipv4IpamPoolId",
	"AWS::EC2::VPCEndpoint":                     "ServiceName VpcEndpointType VpcId",
	"AWS::ECR::Repository":                      "EncryptionConfiguration RepositoryName",
	"AWS::ECS::Cluster":                         "ClusterName",
	"AWS::ElasticLoadBalancingV2::LoadBalancer": "Name Scheme Type",
	"AWS::ElasticLoadBalancingV2::TargetGroup":  "Name Port Protocol ProtocolVersion TargetType VpcId",
	"AWS::Events::EventBus":                     "Name",
	"AWS::Events::Rule":                         "Name",
	"AWS::IAM::InstanceProfile":                 "InstanceProfileName Path",
	"AWS::IAM::ManagedPolicy":                   "Description ManagedPolicyName Path",
	"AWS::IAM::Role":                            "Path RoleName",
	"AWS::IAM::User":                            "UserName",
	"AWS::KMS::Alias":                           "AliasName",
	"AWS::Kinesis::Stream":                      "Name",
	"AWS::KinesisFirehose::DeliveryStream":      "DeliveryStreamName DeliveryStreamType",
	"AWS::Lambda::Function":                     "FunctionName PackageType",
	"AWS::Logs::LogGroup":                       "LogGroupName",
	"AWS::RDS::DBSubnetGroup":                   "DBSubnetGroupName",
	"AWS::Route53::HostedZone":                  "Name",
	"AWS::Route53::RecordSet":                   "HostedZoneId HostedZoneName Name",
	"AWS::S3::Bucket":                           "BucketName ObjectLockEnabled",
	"AWS::SNS::Subscription":                    "Endpoint Protocol TopicArn",
	"AWS::SNS::Topic":                           "FifoTopic TopicName",
	"AWS::SQS::Queue":                           "FifoQueue QueueName",
	"AWS::SSM::Parameter":                       "Name",
	"AWS::SecretsManager::Secret":               "Name",
	"AWS::StepFunctions::StateMachine":          "StateMachineName StateMachineType",
}

// replacing returns the changed properties of a resource that are create-only.
func replacing(resourceType string, before, after value.Value) []string {
	var names []string
	for _, name := range strings.Fields(createOnly[resourceType]) {
		was, _ := before.Get(name)
		is, _ := after.Get(name)
		if !was.Equal(is) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
