package native

import (
	"slices"
	"strings"
)

// cloud lists the types of the local cloud. Some of them run code from templates, so a server that must not run such
// code has none of them.
var cloud = []string{
	"ALIYUN::FC3::Function",
	"ALIYUN::FC::Function",
	"ALIYUN::FC::Layer",
	"ALIYUN::FC::Service",
	"ALIYUN::FC::Trigger",
	"ALIYUN::MNS::Queue",
	"ALIYUN::MNS::Topic",
	"ALIYUN::OSS::Bucket",
	"ALIYUN::RAM::AccessKey",
	"ALIYUN::RAM::AttachPolicyToRole",
	"ALIYUN::RAM::AttachPolicyToUser",
	"ALIYUN::RAM::ManagedPolicy",
	"ALIYUN::RAM::Role",
	"ALIYUN::RAM::User",
	"ALIYUN::ROS::AutoEnableService",
	"ALIYUN::SLS::Logstore",
	"ALIYUN::SLS::Project",
	"AWS::ECR::Repository",
	"AWS::Events::Rule",
	"AWS::IAM::ManagedPolicy",
	"AWS::IAM::Policy",
	"AWS::IAM::Role",
	"AWS::KMS::Alias",
	"AWS::KMS::Key",
	"AWS::Lambda::EventInvokeConfig",
	"AWS::Lambda::Function",
	"AWS::Lambda::LayerVersion",
	"AWS::Lambda::Permission",
	"AWS::Lambda::Version",
	"AWS::Logs::LogGroup",
	"AWS::S3::Bucket",
	"AWS::S3::BucketPolicy",
	"AWS::SNS::Subscription",
	"AWS::SNS::Topic",
	"AWS::SNS::TopicPolicy",
	"AWS::SQS::Queue",
	"AWS::SSM::Parameter",
	"AWS::SecretsManager::ResourcePolicy",
	"AWS::SecretsManager::RotationSchedule",
	"AWS::SecretsManager::Secret",
	"AWS::SecretsManager::SecretTargetAttachment",
	"AWS::StepFunctions::StateMachine",
}

// InCloud reports whether a type belongs to the local cloud, even if a registry does not have it. A caller whose
// registry lacks the type can then explain how to enable it.
func InCloud(name string) bool {
	_, found := slices.BinarySearch(cloud, name)
	return found
}

// CloudTypes returns the types of the local cloud whose names have a prefix, such as AWS::SNS::, sorted. The caller owns
// the list.
func CloudTypes(prefix string) []string {
	var list []string
	for _, name := range cloud {
		if strings.HasPrefix(name, prefix) {
			list = append(list, name)
		}
	}
	return list
}
