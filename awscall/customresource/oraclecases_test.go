package customresource_test

import (
	"strings"

	"github.com/pintle-dev/pintle"
)

// oracleCase is one event and the expected differences of the answers.
type oracleCase struct {
	name    string
	kind    pintle.RequestType // Create if empty; the physical ID of others is "old"
	calls   m                  // the properties Create, Update and Delete
	objects bool               // sends calls as objects; otherwise as JSON text, like the CDK
	replies []canned           // from AWS, one per request
	differ  []difference
}

// difference is an expected difference in one place.
type difference struct {
	at, cdk, ours string
	why           why
}

// call makes the call of a case; more has further members.
func call(service, action string, parameters m, more ...m) m {
	c := m{"service": service, "action": action}
	if parameters != nil {
		c["parameters"] = parameters
	}
	for _, one := range more {
		for name, v := range one {
			c[name] = v
		}
	}
	return c
}

func create(service, action string, parameters m, more ...m) m {
	return m{"Create": call(service, action, parameters, more...)}
}

func answers1(body string) []canned { return []canned{{body: body}} }

func failure(status int, header map[string]string, body string) []canned {
	return []canned{{status: status, header: header, body: body}}
}

const parameter = `{"Parameter":{"Name":"/a","Value":"v","Version":7,"LastModifiedDate":1.7637e9,"ARN":"arn:p"}}`

var parameterCall = call("SSM", "getParameter", m{"Name": "/a"})

var oracleCases = []oracleCase{
	// Parameters.
	{name: "numbers that are text", calls: create("SSM", "describeParameters", m{"MaxResults": "5"}), replies: answers1(`{}`)},
	{name: "numbers with spaces around", calls: create("SSM", "describeParameters", m{"MaxResults": " 5 "}), replies: answers1(`{}`)},
	{name: "a number in exponents", calls: create("SSM", "describeParameters", m{"MaxResults": "1e1"}), replies: answers1(`{}`)},
	{name: "a hexadecimal number", calls: create("SSM", "describeParameters", m{"MaxResults": "0x10"}), replies: answers1(`{}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, MaxResults 16; attributes region`, `"FAILED" "Pintle::CreateFailed" "ssm DescribeParameters: parameter MaxResults: it has to be a whole number, and is text that does not read so or does not fit 32 bits"`, javaScript}}},
	{name: "empty text for a number", calls: create("SSM", "describeParameters", m{"MaxResults": ""}), replies: answers1(`{}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, MaxResults 0; attributes region`, `"FAILED" "Pintle::CreateFailed" "ssm DescribeParameters: parameter MaxResults: it has to be a whole number, and is empty text or does not fit 32 bits"`, javaScript}}},
	{name: "text that is not a number", calls: create("SSM", "describeParameters", m{"MaxResults": "many"}), replies: answers1(`{}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, MaxResults "many"; attributes region`, `"FAILED" "Pintle::CreateFailed" "ssm DescribeParameters: parameter MaxResults: it has to be a whole number, and is text that does not read so or does not fit 32 bits"`, refused}}},
	{name: "a fraction for a whole number", calls: create("SSM", "describeParameters", m{"MaxResults": "5.5"}), replies: answers1(`{}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, MaxResults 5.5; attributes region`, `"FAILED" "Pintle::CreateFailed" "ssm DescribeParameters: parameter MaxResults: it has to be a whole number, and is text that does not read so or does not fit 32 bits"`, refused}}},
	{name: "fractions", calls: create("APIGateway", "createUsagePlan", m{"name": "n", "throttle": m{"rateLimit": "10.5", "burstLimit": "20"}, "quota": m{"limit": 5, "period": "DAY"}}), replies: answers1(`{"id":"u","throttle":{"rateLimit":10.5,"burstLimit":20}}`)},
	{name: "booleans that are text", calls: create("SSM", "getParameter", m{"Name": "/a", "WithDecryption": "true"}), replies: answers1(parameter),
		differ: []difference{{"request 1: body.WithDecryption", `"true"`, `true`, coerced}}},
	{name: "booleans", calls: create("SSM", "getParameter", m{"Name": "/a", "WithDecryption": true}), replies: answers1(parameter)},
	{name: "a number for text", calls: create("SSM", "putParameter", m{"Name": "/a", "Value": 5}), replies: answers1(`{"Version":1,"Tier":"Standard"}`),
		differ: []difference{{"request 1: body.Value", `5`, `"5"`, coerced}}},
	{name: "an object for text", calls: create("IAM", "createRole", m{"RoleName": "r", "AssumeRolePolicyDocument": m{"Version": "2012-10-17"}}), replies: answers1(`<CreateRoleResponse><CreateRoleResult/></CreateRoleResponse>`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, Action CreateRole, AssumeRolePolicyDocument [object Object], RoleName r, Version 2010-05-08; attributes region`, `"FAILED" "Pintle::CreateFailed" "iam CreateRole: parameter AssumeRolePolicyDocument: it has to be a string, and is an object"`, refused}}},
	{name: "bytes are text as it is", calls: create("KMS", "encrypt", m{"KeyId": "k", "Plaintext": "Grüße", "EncryptionContext": m{"a": "b"}}), replies: answers1(`{"CiphertextBlob":"AQID","KeyId":"arn:k"}`),
		differ: []difference{{"Data CiphertextBlob", anything, `"\x01\x02\x03"`, memory}}},
	{name: "bytes of a number", calls: create("KMS", "encrypt", m{"KeyId": "k", "Plaintext": 42}), replies: answers1(`{"KeyId":"arn:k"}`)},
	{name: "bytes in base64 are not decoded", calls: create("KMS", "decrypt", m{"KeyId": "k", "CiphertextBlob": "AQID"}), replies: answers1(`{"KeyId":"arn:k"}`)},
	{name: "bytes inside", calls: create("Lambda", "createFunction", m{"FunctionName": "f", "Role": "arn:r", "Runtime": "provided.al2023", "Handler": "h", "Timeout": "30",
		"Code": m{"ZipFile": "zip"}, "Environment": m{"Variables": m{"A": "1", "B": "2"}}, "Layers": []any{"arn:l"}, "Publish": true}), replies: answers1(`{"FunctionName":"f","CodeSize":3,"Layers":[],"Timeout":30}`)},
	{name: "bytes in a union and lists of bytes", calls: create("DynamoDB", "putItem", m{"TableName": "t", "Item": m{"id": m{"S": "1"}, "n": m{"N": "5"}, "b": m{"B": "bytes"}, "bs": m{"BS": []any{"a", "bb"}},
		"l": m{"L": []any{m{"BOOL": true}, m{"NULL": true}, m{"M": m{"x": m{"SS": []any{"y"}}}}}}}}), replies: answers1(`{}`)},
	{name: "numbers for the text that numbers are in DynamoDB", calls: create("DynamoDB", "putItem", m{"TableName": "t", "Item": m{"n": m{"N": 5}}}), replies: answers1(`{}`),
		differ: []difference{{"request 1: body.Item.n.N", `""`, `"5"`, coerced}}},
	{name: "a payload of bytes", calls: create("Lambda", "invoke", m{"FunctionName": "f", "InvocationType": "RequestResponse", "Payload": `{"a":"ü"}`}),
		replies: []canned{{header: map[string]string{"X-Amz-Executed-Version": "$LATEST"}, body: `{"ok":true,"text":"ü"}`}}},
	{name: "a date as text", calls: create("SSM", "createActivation", m{"IamRole": "r", "ExpirationDate": "2026-11-21T10:00:00Z", "RegistrationLimit": "2"}), replies: answers1(`{"ActivationId":"a"}`)},
	{name: "a date with an offset and fractions", calls: create("SSM", "createActivation", m{"IamRole": "r", "ExpirationDate": "2026-11-21T10:00:00.250+02:00"}), replies: answers1(`{}`)},
	{name: "a day", calls: create("SSM", "createActivation", m{"IamRole": "r", "ExpirationDate": "2026-11-21"}), replies: answers1(`{}`)},
	{name: "a date as milliseconds", calls: create("SSM", "createActivation", m{"IamRole": "r", "ExpirationDate": 1763719200000}), replies: answers1(`{}`)},
	{name: "a date as milliseconds in text", calls: create("SSM", "createActivation", m{"IamRole": "r", "ExpirationDate": "1763719200000"}), replies: answers1(`{}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, ExpirationDate "1763719200000", IamRole "r"; attributes region`, `"FAILED" "Pintle::CreateFailed" "ssm CreateActivation: parameter ExpirationDate: it has to be a time, and is text that does not read so; write it as 2006-01-02T15:04:05Z, or as milliseconds since 1970"`, refused}}},
	{name: "a date in words", calls: create("SSM", "createActivation", m{"IamRole": "r", "ExpirationDate": "Nov 21, 2026 10:00 GMT"}), replies: answers1(`{}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, ExpirationDate 1795255200, IamRole "r"; attributes region`, `"FAILED" "Pintle::CreateFailed" "ssm CreateActivation: parameter ExpirationDate: it has to be a time, and is text that does not read so; write it as 2006-01-02T15:04:05Z, or as milliseconds since 1970"`, javaScript}}},
	{name: "text that is not a date", calls: create("SSM", "createActivation", m{"IamRole": "r", "ExpirationDate": "soon"}), replies: answers1(`{}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, ExpirationDate "soon", IamRole "r"; attributes region`, `"FAILED" "Pintle::CreateFailed" "ssm CreateActivation: parameter ExpirationDate: it has to be a time, and is text that does not read so; write it as 2006-01-02T15:04:05Z, or as milliseconds since 1970"`, refused}}},
	{name: "a date in EC2", calls: create("EC2", "describeSpotPriceHistory", m{"StartTime": "2026-11-21T10:00:00Z", "InstanceTypes": []any{"m5.large"}, "MaxResults": "3"}),
		replies: answers1(`<DescribeSpotPriceHistoryResponse><requestId>r</requestId><nextToken/><spotPriceHistorySet/></DescribeSpotPriceHistoryResponse>`)},
	{name: "dates in a header and in XML", calls: create("S3", "putBucketLifecycleConfiguration", m{"Bucket": "bucket", "LifecycleConfiguration": m{"Rules": []any{m{"ID": "x", "Status": "Enabled",
		"Filter": m{"Prefix": "p/"}, "Expiration": m{"Date": "2026-11-21T00:00:00Z"}}, m{"ID": "y", "Status": "Disabled", "Filter": m{"And": m{"Prefix": "q", "Tags": []any{m{"Key": "k", "Value": "v"}}}},
		"Transitions": []any{m{"Days": "30", "StorageClass": "GLACIER"}}}}}}), replies: answers1(``)},
	{name: "a date in a header", calls: create("S3", "getObject", m{"Bucket": "bucket", "Key": "k", "IfModifiedSince": "2026-11-21T10:00:00Z", "PartNumber": "1"}), replies: answers1(`text`)},
	{name: "members that are not there", calls: create("SSM", "getParameter", m{"Name": "/a", "Colour": "red"}), replies: answers1(parameter)},
	{name: "members in another case", calls: create("SSM", "getParameter", m{"Name": "/a", "withDecryption": true}), replies: answers1(parameter)},
	{name: "nulls", calls: create("SSM", "putParameter", m{"Name": "/a", "Value": "v", "Description": nil, "Tags": []any{m{"Key": "k", "Value": nil}, nil}}), replies: answers1(`{}`)},
	{name: "empty lists, objects and texts", calls: create("SSM", "putParameter", m{"Name": "/a", "Value": "", "Tags": []any{}}), replies: answers1(`{}`)},
	{name: "empty lists and objects in a form", calls: create("IAM", "createPolicy", m{"PolicyName": "p", "PolicyDocument": "{}", "Tags": []any{}}), replies: answers1(`<CreatePolicyResponse><CreatePolicyResult><Policy><Arn>arn:p</Arn></Policy></CreatePolicyResult></CreatePolicyResponse>`)},
	{name: "no parameters", calls: create("STS", "getCallerIdentity", nil), replies: answers1(`<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>arn:a</Arn><UserId>u</UserId><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)},
	{name: "lists and objects in a form", calls: create("SES", "sendEmail", m{"Source": "a@example.test", "Destination": m{"ToAddresses": []any{"b@example.test", "c@example.test"}},
		"Message": m{"Subject": m{"Data": "Grüße & mehr"}, "Body": m{"Text": m{"Data": "x=y", "Charset": "UTF-8"}}}}), replies: answers1(`<SendEmailResponse><SendEmailResult><MessageId>id</MessageId></SendEmailResult></SendEmailResponse>`)},
	{name: "maps in a form", calls: create("SNS", "createTopic", m{"Name": "t", "Attributes": m{"DisplayName": "d", "FifoTopic": true}, "Tags": []any{m{"Key": "a", "Value": "b"}}}), replies: answers1(`<CreateTopicResponse><CreateTopicResult><TopicArn>arn:t</TopicArn></CreateTopicResult></CreateTopicResponse>`)},
	{name: "numbers in a map of texts", calls: create("SQS", "createQueue", m{"QueueName": "q", "Attributes": m{"DelaySeconds": "5"}, "tags": m{"a": "b"}}), replies: answers1(`{"QueueUrl":"https://sqs.eu-west-1.amazonaws.com/123456789012/q"}`)},
	{name: "EC2's lists, numbers and booleans", calls: create("EC2", "runInstances", m{"ImageId": "ami", "MinCount": "1", "MaxCount": 2, "SecurityGroupIds": []any{"a", "b"}, "DryRun": true,
		"BlockDeviceMappings": []any{m{"DeviceName": "/dev/sda1", "Ebs": m{"VolumeSize": "8", "DeleteOnTermination": false}}}, "TagSpecifications": []any{m{"ResourceType": "instance", "Tags": []any{m{"Key": "k", "Value": "v"}}}},
		"ClientToken": "mine", "UserData": "data"}), replies: answers1(`<RunInstancesResponse><reservationId>r</reservationId><instancesSet><item><instanceId>i-1</instanceId><ebsOptimized>false</ebsOptimized><amiLaunchIndex>0</amiLaunchIndex><launchTime>2026-11-21T10:00:00.000Z</launchTime></item></instancesSet></RunInstancesResponse>`)},
	{name: "tokens", calls: create("EC2", "createVolume", m{"AvailabilityZone": "z", "Size": "1"}), replies: answers1(`<CreateVolumeResponse><volumeId>v</volumeId><size>1</size><encrypted>true</encrypted></CreateVolumeResponse>`)},
	{name: "XML in Route 53", calls: create("Route53", "changeResourceRecordSets", m{"HostedZoneId": "/hostedzone/Z1", "ChangeBatch": m{"Comment": "a < b", "Changes": []any{m{"Action": "UPSERT",
		"ResourceRecordSet": m{"Name": "a.example.test", "Type": "A", "TTL": "60", "ResourceRecords": []any{m{"Value": "192.0.2.1"}, m{"Value": "192.0.2.2"}}}}}}}),
		replies: answers1(`<ChangeResourceRecordSetsResponse><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status><SubmittedAt>2026-11-21T10:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>`)},
	{name: "numbers and booleans in a query", calls: create("Route53", "listHostedZones", m{"MaxItems": "2", "Marker": "a/b c"}), replies: answers1(`<ListHostedZonesResponse><HostedZones/><IsTruncated>false</IsTruncated><MaxItems>2</MaxItems></ListHostedZonesResponse>`)},
	{name: "lists in a query", calls: create("Lambda", "untagResource", m{"Resource": "arn:aws:lambda:eu-west-1:123456789012:function:f", "TagKeys": []any{"a", "b&c"}}), replies: []canned{{status: 204}}},
	{name: "JSON in the path", calls: create("APIGateway", "updateStage", m{"restApiId": "api", "stageName": "a b", "patchOperations": []any{m{"op": "replace", "path": "/x", "value": "y"}}}), replies: answers1(`{"stageName":"a b","cacheClusterEnabled":false,"methodSettings":{"*/*":{"cachingEnabled":true,"throttlingRateLimit":0.5}},"createdDate":1763719200}`)},
	{name: "an object in S3", calls: create("S3", "putObject", m{"Bucket": "bucket", "Key": "folder/file 1+é.txt", "Body": "Grüße", "Metadata": m{"A": "1", "b": "2"}, "ContentType": "text/plain", "Expires": "2026-11-21T10:00:00Z", "BucketKeyEnabled": "true"}),
		replies: []canned{{header: map[string]string{"ETag": `"e"`}}}},
	{name: "XML that needs a checksum in S3", calls: create("S3", "putBucketTagging", m{"Bucket": "bucket", "Tagging": m{"TagSet": []any{m{"Key": "a", "Value": "<&>"}}}}), replies: []canned{{status: 204}}},
	{name: "a bucket", calls: create("S3", "createBucket", m{"Bucket": "bucket"}), replies: []canned{{header: map[string]string{"Location": "/bucket"}}}},
	{name: "XML in CloudFront", calls: create("CloudFront", "createInvalidation", m{"DistributionId": "D", "InvalidationBatch": m{"CallerReference": 1, "Paths": m{"Quantity": "1", "Items": []any{"/*"}}}}),
		replies: []canned{{status: 201, header: map[string]string{"Location": "https://x"}, body: `<Invalidation><Id>I</Id><Status>InProgress</Status><CreateTime>2026-11-21T10:00:00Z</CreateTime><InvalidationBatch><Paths><Quantity>1</Quantity><Items><Path>/*</Path></Items></Paths><CallerReference>1</CallerReference></InvalidationBatch></Invalidation>`}}},
	{name: "a missing member of the path", calls: create("Lambda", "getFunction", m{}), replies: answers1(`{}`),
		differ: []difference{{"Reason", `"No value provided for input HTTP label: FunctionName."`, `"lambda GetFunction: parameter FunctionName: it is part of the request's address and has to be given"`, words}}},
	{name: "more than one of a union", calls: create("DynamoDB", "putItem", m{"TableName": "t", "Item": m{"n": m{"N": "5", "S": "x"}}}), replies: answers1(`{}`)},
	{name: "text for a list", calls: create("SSM", "getParameters", m{"Names": "one"}), replies: answers1(`{}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, Names "one"; attributes region`, `"FAILED" "Pintle::CreateFailed" "ssm GetParameters: parameter Names: it has to be a list, and is text that does not read so"`, refused}}},

	{name: "a queue", calls: create("SQS", "sendMessage", m{"QueueUrl": endpoint + "/123456789012/q", "MessageBody": "x", "DelaySeconds": "5", "MessageAttributes": m{"a": m{"DataType": "Binary", "BinaryValue": "b"}}}), replies: answers1(`{"MessageId":"id","MD5OfMessageBody":"9dd4e461268c8034f5c8564e155c67a6"}`)},
	{name: "objects that are deleted", calls: create("S3", "deleteObjects", m{"Bucket": "bucket", "Delete": m{"Objects": []any{m{"Key": "a&b"}, m{"Key": "c", "VersionId": "1"}}, "Quiet": "true"}}), replies: answers1(`<DeleteResult/>`)},
	{name: "filters of EC2", calls: create("EC2", "describeInstances", m{"Filters": []any{m{"Name": "tag:a", "Values": []any{"x", 1, true}}}}), replies: answers1(`<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i</instanceId><sourceDestCheck>true</sourceDestCheck></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`)},

	// Names.
	{name: "a service of the SDK v3", calls: create("@aws-sdk/client-ssm", "GetParameterCommand", m{"Name": "/a"}), replies: answers1(parameter)},
	{name: "a service in small letters", calls: create("ssm", "getparameter", m{"Name": "/a"}), replies: answers1(parameter)},
	{name: "Command after a small letter", calls: create("SSM", "getParameterCommand", m{"Name": "/a"}), replies: answers1(parameter),
		differ: []difference{{whole, `"FAILED" "log-stream" "Unable to find command named: GetParameterCommandCommand for action: GetParameterCommand in service package @aws-sdk/client-ssm"`, `"SUCCESS" "Logical"; request 1, Name "/a"; attributes Parameter.ARN Parameter.Name Parameter.Value Parameter.Version region`, names}}},
	{name: "an action that ends with Command", calls: create("SSM", "sendCommand", m{"DocumentName": "d"}), replies: answers1(`{"Command":{"CommandId":"c"}}`)},
	{name: "an action that ends with Command, large", calls: create("SSM", "SendCommand", m{"DocumentName": "d"}), replies: answers1(`{"Command":{"CommandId":"c"}}`)},
	{name: "an action that ends with Command twice", calls: create("SSM", "SendCommandCommand", m{"DocumentName": "d"}), replies: answers1(`{"Command":{"CommandId":"c"}}`)},
	{name: "an unknown action", calls: create("SSM", "getParametre", m{"Name": "/a"})},
	{name: "an unknown service", calls: create("SSN", "getParameter", m{"Name": "/a"})},
	{name: "an unknown service is not ignored", calls: create("SSN", "getParameter", nil, m{"ignoreErrorCodesMatching": ".*"})},

	// Responses.
	{name: "scalars, lists and nulls", calls: create("SSM", "getParameters", m{"Names": []any{"a"}}), replies: answers1(`{"Parameters":[{"Name":"a","Version":1,"Value":null,"LastModifiedDate":1763719200.5},{"Name":"b","Version":2}],"InvalidParameters":[]}`)},
	{name: "missing members of a response", calls: create("SSM", "getParameter", m{"Name": "/a"}), replies: answers1(`{"Parameter":{"Value":"v","Colour":"red"},"More":1}`)},
	{name: "numbers in a response", calls: create("DynamoDB", "describeTable", m{"TableName": "t"}), replies: answers1(`{"Table":{"TableSizeBytes":9007199254740993,"ItemCount":0,"CreationDateTime":1763719200.123,"AttributeDefinitions":[],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"TableStatus":"ACTIVE"}}`),
		differ: []difference{{"Data Table.TableSizeBytes", `9007199254740992`, `9007199254740993`, precise}}},
	{name: "bytes in a response", calls: create("DynamoDB", "getItem", m{"TableName": "t", "Key": m{"id": m{"S": "1"}}}), replies: answers1(`{"Item":{"a":{"B":"R3LDvMOfZQ=="},"b":{"S":"x"},"c":{"BOOL":false},"d":{"NULL":true},"e":{"N":"1.50"},"f":{"L":[]},"g":{"M":{"x.y":{"S":"z"}}}}}`),
		differ: []difference{{"Data Item.a.B", anything, `"Grüße"`, memory}}},
	{name: "bytes in a response that are not text", calls: create("S3", "getObject", m{"Bucket": "bucket", "Key": "k"}), replies: []canned{{header: map[string]string{"Content-Type": "application/octet-stream"}, body: "a\xff\xc3b\xe2\x82c"}}},
	{name: "a byte order mark", calls: create("S3", "getObject", m{"Bucket": "bucket", "Key": "k"}), replies: answers1("\ufeffa")},
	{name: "headers in a response", calls: create("S3", "headObject", m{"Bucket": "bucket", "Key": "k"}), replies: []canned{{header: map[string]string{"ETag": `"e"`, "Last-Modified": "Sat, 21 Nov 2026 10:00:00 GMT", "X-Amz-Meta-Colour": "red", "X-Amz-Missing-Meta": "0",
		"X-Amz-Delete-Marker": "false", "Content-Type": "text/plain", "X-Amz-Version-Id": "null"}}}},
	{name: "lists in XML", calls: create("S3", "listObjectsV2", m{"Bucket": "bucket", "MaxKeys": "2", "Prefix": "a&b/"}), replies: answers1(`<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><Prefix></Prefix><KeyCount>2</KeyCount><MaxKeys>2</MaxKeys><IsTruncated>false</IsTruncated><Contents><Key>a&amp;b</Key><LastModified>2026-11-21T10:00:00.000Z</LastModified><Size>5</Size><ChecksumAlgorithm>CRC32</ChecksumAlgorithm></Contents><Contents><Key> c </Key><Size>0</Size></Contents></ListBucketResult>`)},
	{name: "lists and maps in the XML of a form", calls: create("SNS", "getTopicAttributes", m{"TopicArn": "arn:t"}), replies: answers1(`<GetTopicAttributesResponse><GetTopicAttributesResult><Attributes><entry><key>Policy</key><value>{"a":1}</value></entry><entry><key>Empty</key><value></value></entry></Attributes></GetTopicAttributesResult></GetTopicAttributesResponse>`)},
	{name: "booleans and numbers in XML", calls: create("IAM", "listRoles", nil), replies: answers1(`<ListRolesResponse><ListRolesResult><IsTruncated>true</IsTruncated><Marker>m</Marker><Roles><member><RoleName>r</RoleName><MaxSessionDuration>3600</MaxSessionDuration><CreateDate>2026-11-21T10:00:00Z</CreateDate><AssumeRolePolicyDocument>%7B%22Version%22%3A%222012-10-17%22%7D</AssumeRolePolicyDocument></member></Roles></ListRolesResult></ListRolesResponse>`)},
	{name: "S3 response that is the root element", calls: create("S3", "getBucketLocation", m{"Bucket": "bucket"}), replies: answers1(`<?xml version="1.0"?><LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/">eu-west-1</LocationConstraint>`)},
	{name: "an empty response", calls: create("SSM", "deleteParameter", m{"Name": "/a"}), replies: answers1(``)},
	{name: "an error behind a good status", calls: create("S3", "copyObject", m{"Bucket": "bucket", "Key": "k", "CopySource": "other/k"}), replies: answers1(`<Error><Code>SlowDown</Code><Message>Slow.</Message></Error>`),
		differ: []difference{{"PhysicalResourceId", `"log-stream"`, `"Logical"`, undecided}}},

	{name: "nulls in lists and maps", calls: create("Lambda", "getFunctionConfiguration", m{"FunctionName": "f", "Qualifier": "1"}), replies: answers1(`{"FunctionName":null,"Layers":[null,{"Arn":"arn:l"}],"Environment":{"Variables":{"A":null,"B":""}}}`)},
	{name: "a member that a union does not have", calls: create("DynamoDB", "getItem", m{"TableName": "t", "Key": m{"id": m{"S": "1"}}}), replies: answers1(`{"Item":{"a":{"ZZ":"x"},"b":{"S":"y"}}}`),
		differ: []difference{{"Data Item.a.ZZ", `"x"`, `(absent)`, newer}}},
	{name: "an object with a checksum", calls: create("S3", "getObject", m{"Bucket": "bucket", "Key": "k"}), replies: []canned{{header: map[string]string{"X-Amz-Checksum-Crc32": "qK2r7A==", "X-Amz-Checksum-Type": "FULL_OBJECT"}, body: "object"}}},
	{name: "object of another type", calls: create("S3", "getObject", m{"Bucket": "bucket", "Key": "k"}), replies: []canned{{header: map[string]string{"X-Amz-Checksum-Crc32": "AAAAAA=="}, body: "object"}},
		differ: []difference{{"PhysicalResourceId", `"log-stream"`, `"Logical"`, undecided}, {"Reason", `"Checksum mismatch: expected \"AAAAAA==\" but received \"qK2r7A==\" in response header \"x-amz-checksum-crc32\"."`, `"s3 GetObject: HOST: the CRC32 of the object differs from the one that S3 reports"`, words}}},
	{name: "an object without bytes", calls: create("S3", "getObject", m{"Bucket": "bucket", "Key": "k"}), replies: answers1(``)},

	// Attributes for the template.
	{name: "one path", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"outputPath": "Parameter.V"}), replies: answers1(parameter)},
	{name: "paths", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"outputPaths": []any{"Parameter.ARN", "region"}}), replies: answers1(parameter)},
	{name: "both", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"outputPath": "Parameter.ARN", "outputPaths": []any{"Parameter.Value"}}), replies: answers1(parameter)},
	{name: "no paths", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"outputPaths": []any{}}), replies: answers1(parameter)},
	{name: "an empty path", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"outputPath": "", "outputPaths": []any{"Parameter.Value"}}), replies: answers1(parameter)},
	{name: "the version of an API", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"apiVersion": "2014-11-06"}), replies: answers1(parameter)},
	{name: "a region", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"region": "us-west-2"}), replies: answers1(parameter)},
	{name: "region of a global service", calls: create("Route53", "getHostedZone", m{"Id": "Z"}, m{"region": "us-west-2"}), replies: answers1(`<GetHostedZoneResponse><HostedZone><Id>/hostedzone/Z</Id></HostedZone></GetHostedZoneResponse>`)},
	{name: "data that is not logged", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"logApiResponseData": false}), replies: answers1(parameter)},
	{name: "too many parameters", calls: create("SSM", "getParameter", m{"Name": "/a"}), replies: answers1(`{"Parameter":{"Name":"/a","Value":"` + strings.Repeat("x", 4000) + `"}}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, Name "/a"; attributes Parameter.Name Parameter.Value region`, `"FAILED" "Logical" "the response has 3 attributes, which make the answer 4244 bytes long; 4096 are allowed: choose the attributes that are needed by outputPaths, such as \"outputPaths\": [\"Parameter.Name\"]"; request 1, Name "/a"`, tooLong}}},

	// Physical IDs.
	{name: "an ID", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"physicalResourceId": m{"id": "fixed"}}), replies: answers1(parameter)},
	{name: "an ID of the response", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"physicalResourceId": m{"responsePath": "Parameter.ARN"}, "outputPaths": []any{"Parameter.Value"}}), replies: answers1(parameter)},
	{name: "an ID that is a number", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"physicalResourceId": m{"responsePath": "Parameter.Version"}}), replies: answers1(parameter),
		differ: []difference{{"PhysicalResourceId", `7`, `"7"`, textID}}},
	{name: "an ID that is not there", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"physicalResourceId": m{"responsePath": "Parameter.Arn"}}), replies: answers1(parameter),
		differ: []difference{{whole, `"SUCCESS" (absent) "OK"; request 1, Name "/a"; attributes Parameter.ARN Parameter.Name Parameter.Value Parameter.Version region`, `"FAILED" "Pintle::CreateFailed" "the call succeeded, but its response has no Parameter.Arn for the physical ID; it has Parameter.ARN, Parameter.Name, Parameter.Value, Parameter.Version; what the call made stays, as it cannot be named"; request 1, Name "/a"`, missingID}}},
	{name: "an ID that is the version of the API", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"apiVersion": "2014-11-06", "physicalResourceId": m{"responsePath": "apiVersion"}}), replies: answers1(parameter)},
	{name: "an ID that is the region", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"physicalResourceId": m{"responsePath": "region"}}), replies: answers1(parameter)},
	{name: "a Create without an ID has the Update's", calls: m{"Create": parameterCall, "Update": call("SSM", "getParameter", m{}, m{"physicalResourceId": m{"id": "u"}})}, replies: answers1(parameter)},
	{name: "or the Delete's", calls: m{"Create": parameterCall, "Delete": call("SSM", "getParameter", m{}, m{"physicalResourceId": m{"id": "d"}})}, replies: answers1(parameter)},
	{name: "an Update keeps the ID", kind: pintle.Update, calls: m{"Create": call("SSM", "getParameter", nil, m{"physicalResourceId": m{"id": "c"}}), "Update": parameterCall}, replies: answers1(parameter)},
	{name: "an Update with an ID", kind: pintle.Update, calls: m{"Update": call("SSM", "getParameter", m{"Name": "PHYSICAL:RESOURCEID:"}, m{"physicalResourceId": m{"id": "new"}})}, replies: answers1(parameter)},
	{name: "an Update with an ID of the response", kind: pintle.Update, calls: m{"Update": call("SSM", "getParameter", m{"Name": "PHYSICAL:RESOURCEID:"}, m{"physicalResourceId": m{"responsePath": "Parameter.Name"}})}, replies: answers1(parameter)},
	{name: "a Delete has the ID", kind: pintle.Delete, calls: m{"Delete": call("SSM", "deleteParameter", m{"Name": "PHYSICAL:RESOURCEID:"})}, replies: answers1(`{}`),
		differ: []difference{{"Data region", `"eu-west-1"`, `(absent)`, deleted}}},
	{name: "Delete with a separate ID", kind: pintle.Delete, calls: m{"Delete": call("SSM", "deleteParameter", m{"Name": "PHYSICAL:RESOURCEID:"}, m{"physicalResourceId": m{"id": "d"}})}, replies: answers1(`{}`),
		differ: []difference{{"Data region", `"eu-west-1"`, `(absent)`, deleted}, {"PhysicalResourceId", `"d"`, `"old"`, deleted}}},
	{name: "the attributes of a Delete", kind: pintle.Delete, calls: m{"Delete": parameterCall}, replies: answers1(parameter),
		differ: []difference{{"Data Parameter.ARN", `"arn:p"`, `(absent)`, deleted}, {"Data Parameter.Name", `"/a"`, `(absent)`, deleted}, {"Data Parameter.Value", `"v"`, `(absent)`, deleted}, {"Data Parameter.Version", `7`, `(absent)`, deleted}, {"Data region", `"eu-west-1"`, `(absent)`, deleted}}},
	{name: "the ID inside", kind: pintle.Update, calls: m{"Update": call("SSM", "putParameter", m{"Name": "x PHYSICAL:RESOURCEID:", "Value": "PHYSICAL:RESOURCEID:", "Tags": []any{m{"Key": "PHYSICAL:RESOURCEID:"}}})}, replies: answers1(`{"Version":2}`)},
	{name: "a Create without a call", calls: m{"Update": parameterCall}, replies: answers1(parameter),
		differ: []difference{{whole, `"SUCCESS" "Logical"`, `"SUCCESS" "Logical"; request 1, Name "/a"; attributes Parameter.ARN Parameter.Name Parameter.Value Parameter.Version region`, createUpdate}}},
	{name: "an Update without a call", kind: pintle.Update, calls: m{"Create": parameterCall}},
	{name: "a Delete without a call", kind: pintle.Delete, calls: m{"Create": parameterCall}},
	{name: "calls that are objects", objects: true, calls: m{"Create": parameterCall}, replies: answers1(parameter),
		differ: []difference{{whole, `"FAILED" "log-stream" "\"[object Object]\" is not valid JSON"`, `"SUCCESS" "Logical"; request 1, Name "/a"; attributes Parameter.ARN Parameter.Name Parameter.Value Parameter.Version region`, objects}}},
	{name: "call that is not JSON", calls: m{"Create": "{"},
		differ: []difference{{"Reason", anything, `"Create: it is not a JSON object of a call, nor the text of one"`, words}}},

	// Errors.
	{name: "an error", calls: create("SSM", "getParameter", m{"Name": "/a"}), replies: failure(400, nil, `{"__type":"com.amazonaws.ssm#ParameterNotFound","Message":"There is none."}`)},
	{name: "an error of an Update", kind: pintle.Update, calls: m{"Update": parameterCall}, replies: failure(400, nil, `{"__type":"ParameterNotFound","message":"There is none."}`)},
	{name: "an error of a Delete", kind: pintle.Delete, calls: m{"Delete": parameterCall}, replies: failure(400, nil, `{"__type":"ParameterNotFound","message":"There is none."}`)},
	{name: "error without a message", calls: create("SSM", "getParameter", m{"Name": "/a"}), replies: failure(400, nil, `{"__type":"ParameterNotFound"}`)},
	{name: "an error of EC2", calls: create("EC2", "describeVpcs", m{"VpcIds": []any{"vpc-1"}}), replies: failure(400, nil, `<Response><Errors><Error><Code>InvalidVpcID.NotFound</Code><Message>No vpc-1.</Message></Error></Errors><RequestID>r</RequestID></Response>`)},
	{name: "an error of a proxy", calls: create("SSM", "getParameter", m{"Name": "/a"}), replies: failure(503, nil, `<html>busy</html>`),
		differ: []difference{{"PhysicalResourceId", `"log-stream"`, `"Logical"`, undecided}, {"Reason", anything, `"503 Service Unavailable (ssm GetParameter: UnknownError)"`, words}}},
	{name: "an error that is not in the model", calls: create("Lambda", "getFunction", m{"FunctionName": "f"}), replies: failure(403, map[string]string{"X-Amzn-Errortype": "AccessDeniedException:http://x/"}, `{"Message":"No."}`)},
	{name: "an ignored error of JSON", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"ignoreErrorCodesMatching": "NotFound"}), replies: failure(400, nil, `{"__type":"ParameterNotFound"}`)},
	{name: "an error that is not ignored", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"ignoreErrorCodesMatching": "^NotFound"}), replies: failure(400, nil, `{"__type":"ParameterNotFound","message":"None."}`)},
	{name: "an ignored error of REST-JSON", calls: create("Lambda", "getFunction", m{"FunctionName": "f"}, m{"ignoreErrorCodesMatching": "^ResourceNotFoundException$"}), replies: failure(404, map[string]string{"X-Amzn-Errortype": "ResourceNotFoundException"}, `{"Message":"No."}`)},
	{name: "an ignored error of a form, by its shape", calls: create("IAM", "getRole", m{"RoleName": "r"}, m{"ignoreErrorCodesMatching": "^NoSuchEntityException$"}), replies: failure(404, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchEntity</Code><Message>No r.</Message></Error></ErrorResponse>`)},
	{name: "an ignored error of a form, by its code", calls: create("IAM", "getRole", m{"RoleName": "r"}, m{"ignoreErrorCodesMatching": "^NoSuchEntity$"}), replies: failure(404, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchEntity</Code><Message>No r.</Message></Error></ErrorResponse>`)},
	{name: "an ignored error of a form that is not in the model", calls: create("IAM", "getRole", m{"RoleName": "r"}, m{"ignoreErrorCodesMatching": "^AccessDenied$"}), replies: failure(403, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>No.</Message></Error></ErrorResponse>`)},
	{name: "an ignored error of SQS", calls: create("SQS", "getQueueAttributes", m{"QueueUrl": endpoint + "/123456789012/q", "AttributeNames": []any{"All"}}, m{"ignoreErrorCodesMatching": "^QueueDoesNotExist$"}),
		replies: failure(400, map[string]string{"X-Amzn-Query-Error": "AWS.SimpleQueueService.NonExistentQueue;Sender"}, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"No q."}`)},
	{name: "an ignored error of SNS", calls: create("SNS", "getTopicAttributes", m{"TopicArn": "arn:t"}, m{"ignoreErrorCodesMatching": "^NotFoundException$"}), replies: failure(404, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>NotFound</Code><Message>No t.</Message></Error></ErrorResponse>`)},
	{name: "an ignored error of S3", calls: create("S3", "getObject", m{"Bucket": "bucket", "Key": "k"}, m{"ignoreErrorCodesMatching": "^NoSuchKey$"}), replies: failure(404, nil, `<Error><Code>NoSuchKey</Code><Message>No k.</Message></Error>`)},
	{name: "an ignored error without a body", calls: create("S3", "headObject", m{"Bucket": "bucket", "Key": "k"}, m{"ignoreErrorCodesMatching": "^NotFound$"}), replies: failure(404, nil, ``)},
	{name: "an error without a body", calls: create("S3", "headObject", m{"Bucket": "bucket", "Key": "k"}), replies: failure(404, nil, ``),
		differ: []difference{{"Reason", `"UnknownError"`, `"404 Not Found (s3 HeadObject: NotFound)"`, words}}},
	{name: "an ignored error of Route 53", calls: create("Route53", "getHostedZone", m{"Id": "Z"}, m{"ignoreErrorCodesMatching": "^NoSuchHostedZone$"}), replies: failure(404, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchHostedZone</Code><Message>No Z.</Message></Error></ErrorResponse>`)},
	{name: "an ignored error of EC2", calls: create("EC2", "describeVpcs", nil, m{"ignoreErrorCodesMatching": "InvalidVpcID\\.NotFound"}), replies: failure(400, nil, `<Response><Errors><Error><Code>InvalidVpcID.NotFound</Code><Message>No.</Message></Error></Errors></Response>`)},
	{name: "an unknown action is ignored", calls: create("SSM", "getParametre", nil, m{"ignoreErrorCodesMatching": ".*"})},
	{name: "an error is ignored by a look-ahead", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"ignoreErrorCodesMatching": "^(?!Access)"}), replies: failure(400, nil, `{"__type":"ParameterNotFound"}`),
		differ: []difference{{whole, `"SUCCESS" "Logical" "OK"; request 1, Name "/a"`, "\"FAILED\" \"Pintle::CreateFailed\" \"Create: ignoreErrorCodesMatching is not a supported regular expression (without look-arounds and back references): error parsing regexp: invalid or unsupported Perl syntax: `(?!`\"", lookAround}}},
	{name: "an ignored error and a response path", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"ignoreErrorCodesMatching": ".*", "physicalResourceId": m{"responsePath": "Parameter.ARN"}}), replies: failure(400, nil, `{"__type":"ParameterNotFound"}`),
		differ: []difference{{whole, `"SUCCESS" (absent) "OK"; request 1, Name "/a"`, `"FAILED" "Pintle::CreateFailed" "Create: physicalResourceId.responsePath cannot be used with ignoreErrorCodesMatching: an error that is ignored has no response"`, ignoredPath}}},

	// Roles.
	{name: "a role", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"assumedRoleArn": "arn:aws:iam::1:role/r", "physicalResourceId": m{"id": "a/b c:d"}}), replies: append(answers1(assumed), canned{body: parameter})},
	{name: "a role with an external ID, in a region", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"assumedRoleArn": "arn:aws:iam::1:role/r", "externalId": "e", "region": "us-west-2", "physicalResourceId": m{"id": strings.Repeat("long", 30)}}), replies: append(answers1(assumed), canned{body: parameter})},
	{name: "external ID without a role", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"externalId": "e"}),
		differ: []difference{{"Reason", `"ExternalId can only be provided when assumedRoleArn is specified"`, `"Create: ExternalId can only be provided when assumedRoleArn is specified"`, words}}},
	{name: "a role that may not be assumed", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"assumedRoleArn": "arn:aws:iam::1:role/r"}), replies: failure(403, nil, denied),
		differ: []difference{{"Reason", `"You may not."`, `"the role cannot be assumed: You may not. (sts AssumeRole: AccessDenied)"`, words}}},
	{name: "a role that may not be assumed, and is ignored by its code", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"assumedRoleArn": "arn:aws:iam::1:role/r", "ignoreErrorCodesMatching": "^AccessDenied$"}), replies: failure(403, nil, denied)},
	{name: "a role that may not be assumed, and is ignored", calls: create("SSM", "getParameter", m{"Name": "/a"}, m{"assumedRoleArn": "arn:aws:iam::1:role/r", "ignoreErrorCodesMatching": ".*"}), replies: failure(403, nil, denied)},
}

const (
	assumed = `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`
	denied  = `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>You may not.</Message></Error></ErrorResponse>`
)
