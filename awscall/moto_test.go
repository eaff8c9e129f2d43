package awscall_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/mototest"
)

// TestMoto makes calls like the CDK's custom resource: one of every protocol, each using the results of the last.
func TestMoto(t *testing.T) {
	c := newClient(t, awscall.Config{Endpoint: mototest.New(t), Region: "us-east-1"})
	type m = map[string]any
	call := func(service, action string, params m) map[string]any {
		t.Helper()
		out, err := c.Call(t.Context(), service, action, params)
		if err != nil {
			t.Errorf("%s %s: %v", service, action, err)
			return map[string]any{}
		}
		return awscall.Flatten(out)
	}
	is := func(got map[string]any, want m) {
		t.Helper()
		some := m{}
		for name := range want {
			some[name] = got[name]
		}
		if diff := cmp.Diff(want, some); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	fails := func(service, action string, params m, code string) {
		t.Helper()
		_, err := c.Call(t.Context(), service, action, params)
		var failed *awscall.Error
		if !errors.As(err, &failed) || failed.Code != code {
			t.Errorf("%s %s: %v, want %s", service, action, err, code)
		}
	}

	call("SSM", "putParameter", m{"Name": "/a", "Value": "v", "Type": "String", "Overwrite": "true"})
	is(call("SSM", "getParameter", m{"Name": "/a"}), m{"Parameter.Value": "v", "Parameter.Version": int64(1), "Parameter.LastModifiedDate": nil})
	fails("SSM", "getParameter", m{"Name": "/none"}, "ParameterNotFound")

	call("S3", "createBucket", m{"Bucket": "bucket"})
	call("S3", "putObject", m{"Bucket": "bucket", "Key": "folder/a b+é.txt", "Body": "héllo", "Metadata": m{"k": "v"}})
	is(call("S3", "getObject", m{"Bucket": "bucket", "Key": "folder/a b+é.txt"}), m{"Body": "héllo", "Metadata.k": "v", "ContentLength": int64(6)})
	is(call("S3", "listObjectsV2", m{"Bucket": "bucket", "MaxKeys": "10"}), m{"Contents.0.Key": "folder/a b+é.txt", "KeyCount": int64(1), "IsTruncated": false})
	is(call("S3", "getBucketLocation", m{"Bucket": "bucket"}), m{})
	call("S3", "deleteObjects", m{"Bucket": "bucket", "Delete": m{"Objects": []any{m{"Key": "folder/a b+é.txt"}}}})
	fails("S3", "headObject", m{"Bucket": "bucket", "Key": "none"}, "NotFound")
	fails("S3", "getObject", m{"Bucket": "bucket", "Key": "none"}, "NoSuchKey")
	call("S3", "putBucketAcl", m{"Bucket": "bucket", "AccessControlPolicy": m{"Owner": m{"ID": "o"}, "Grants": []any{m{"Permission": "READ",
		"Grantee": m{"Type": "CanonicalUser", "ID": "o"}}}}})

	zone := call("Route53", "createHostedZone", m{"Name": "example.com", "CallerReference": "1", "VPC": m{"VPCRegion": "us-east-1", "VPCId": "vpc-1"}, "HostedZoneConfig": m{"PrivateZone": true}})
	id, _ := zone["HostedZone.Id"].(string)
	if !strings.HasPrefix(id, "/hostedzone/") {
		t.Errorf("zone %q", id)
	}
	call("Route53", "associateVPCWithHostedZone", m{"HostedZoneId": id, "VPC": m{"VPCRegion": "us-east-1", "VPCId": "vpc-2"}})
	is(call("Route53", "getHostedZone", m{"Id": id}), m{"HostedZone.Name": "example.com.", "VPCs.1.VPCId": "vpc-2", "HostedZone.Config.PrivateZone": true})
	is(call("Route53", "listHostedZones", m{"MaxItems": 5}), m{"HostedZones.0.Id": id})

	is(call("SES", "verifyDomainIdentity", m{"Domain": "example.com"}), m{})
	role := call("IAM", "createRole", m{"RoleName": "r", "AssumeRolePolicyDocument": `{"Version":"2012-10-17","Statement":[]}`})
	arn, _ := role["Role.Arn"].(string)
	assumed := call("STS", "assumeRole", m{"RoleArn": arn, "RoleSessionName": "s", "DurationSeconds": "900"})
	if assumed["Credentials.AccessKeyId"] == nil {
		t.Error("no credentials")
	}

	call("DynamoDB", "createTable", m{"TableName": "t", "BillingMode": "PAY_PER_REQUEST", "KeySchema": []any{m{"AttributeName": "id", "KeyType": "HASH"}},
		"AttributeDefinitions": []any{m{"AttributeName": "id", "AttributeType": "S"}}})
	call("DynamoDB", "putItem", m{"TableName": "t", "Item": m{"id": m{"S": "1"}, "n": m{"N": "2"}, "b": m{"B": "bytes"}}})
	is(call("DynamoDB", "getItem", m{"TableName": "t", "Key": m{"id": m{"S": "1"}}}), m{"Item.n.N": "2", "Item.b.B": "bytes"})

	topic, _ := call("SNS", "createTopic", m{"Name": "topic"})["TopicArn"].(string)
	queue := call("SQS", "createQueue", m{"QueueName": "queue", "Attributes": m{"VisibilityTimeout": 5}})
	call("SQS", "sendMessage", m{"QueueUrl": queue["QueueUrl"], "MessageBody": "hello"})
	is(call("SQS", "receiveMessage", m{"QueueUrl": queue["QueueUrl"]}), m{"Messages.0.Body": "hello"})
	call("SNS", "publish", m{"TopicArn": topic, "Message": "x", "MessageAttributes": m{"a": m{"DataType": "String", "StringValue": "b"}}})
	fails("SQS", "getQueueUrl", m{"QueueName": "none"}, "QueueDoesNotExist")
	fails("SNS", "getTopicAttributes", m{"TopicArn": "arn:aws:sns:us-east-1:123456789012:none"}, "NotFoundException")

	vpc, _ := call("EC2", "createVpc", m{"CidrBlock": "10.0.0.0/16", "TagSpecifications": []any{m{"ResourceType": "vpc", "Tags": []any{m{"Key": "k", "Value": "v"}}}}})["Vpc.VpcId"].(string)
	is(call("EC2", "describeVpcs", m{"VpcIds": []any{vpc}}), m{"Vpcs.0.CidrBlock": "10.0.0.0/16", "Vpcs.0.Tags.0.Key": "k", "Vpcs.0.IsDefault": false})
	fails("EC2", "describeVpcs", m{"VpcIds": []any{"vpc-none"}}, "InvalidVpcID.NotFound")

	api, _ := call("APIGateway", "createRestApi", m{"name": "api"})["id"].(string)
	is(call("APIGateway", "getRestApi", m{"restApiId": api}), m{"name": "api"})
	key, _ := call("KMS", "createKey", m{})["KeyMetadata.KeyId"].(string)
	cipher, err := c.Call(t.Context(), "KMS", "encrypt", m{"KeyId": key, "Plaintext": "text"})
	if err != nil {
		t.Fatal(err)
	}
	is(call("KMS", "decrypt", m{"CiphertextBlob": cipher["CiphertextBlob"]}), m{"Plaintext": "text"})
	call("CloudWatch", "putMetricAlarm", m{"AlarmName": "a", "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": "1", "MetricName": "m", "Namespace": "n", "Period": "60", "Statistic": "Sum", "Threshold": "1.5"})
	call("CloudWatchLogs", "createLogGroup", m{"logGroupName": "g"})
	call("CloudWatchLogs", "putRetentionPolicy", m{"logGroupName": "g", "retentionInDays": "7"})
	is(call("CloudWatchLogs", "describeLogGroups", m{}), m{"logGroups.0.retentionInDays": int64(7)})
	is(call("RDS", "describeDBInstances", m{}), m{})
	is(call("ELBv2", "describeLoadBalancers", m{}), m{})
	is(call("CloudFront", "listDistributions", m{"MaxItems": "10"}), m{"DistributionList.MaxItems": int64(100)})
}
