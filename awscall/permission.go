package awscall

import "strings"

// Permissions returns the IAM actions that a call needs, e.g. "s3:ListBucket" for S3's ListObjectsV2. Most have the
// names of service and action. Exceptions are known for widely used services only, so use the result as a starting
// point: only IAM is authoritative. The result does not include permissions that an action needs for another service,
// such as passing a role. The error is an [UnknownServiceError] or an [UnknownActionError].
func (c *Client) Permissions(service, action string) ([]string, error) {
	s, name, err := c.find(service, action)
	if err != nil {
		return nil, err
	}
	m := s.shapes.Model
	prefix := m.Metadata.SigningName
	if prefix == "" {
		prefix = m.Metadata.EndpointPrefix
	}
	if other := permissionPrefixes[s.entry.Name]; other != "" {
		prefix = other
	}
	if prefix == "apigateway" { // its actions are the verbs of HTTP
		return []string{prefix + ":" + m.Operations[name].HTTP.Method}, nil
	}
	names := permissionNames[s.entry.Name+":"+name]
	if names == "" {
		names = name
	}
	var out []string
	for word := range strings.FieldsSeq(names) {
		if !strings.Contains(word, ":") {
			word = prefix + ":" + word
		}
		out = append(out, word)
	}
	return out, nil
}

// permissionPrefixes are the prefixes that differ from the names in signatures, by the names of the models.
var permissionPrefixes = map[string]string{
	"cloudwatch": "cloudwatch", "cloudcontrol": "cloudformation", "iot-data": "iot", "iot-jobs-data": "iotjobsdata",
	"iotevents-data": "iotevents", "iotsecuretunneling": "iot", "resourcegroupstaggingapi": "tag", "sso": "sso",
}

// permissionNames are the permissions that differ from the name of the action.
var permissionNames = map[string]string{
	"dynamodb:BatchExecuteStatement": "PartiQLSelect PartiQLInsert PartiQLUpdate PartiQLDelete",
	"dynamodb:ExecuteStatement":      "PartiQLSelect PartiQLInsert PartiQLUpdate PartiQLDelete",
	"dynamodb:ExecuteTransaction":    "PartiQLSelect PartiQLInsert PartiQLUpdate PartiQLDelete",
	"dynamodb:TransactGetItems":      "GetItem",
	"dynamodb:TransactWriteItems":    "ConditionCheckItem DeleteItem PutItem UpdateItem",

	"kms:ReEncrypt": "ReEncryptFrom ReEncryptTo",

	"lambda:Invoke":                   "InvokeFunction",
	"lambda:InvokeAsync":              "InvokeFunction",
	"lambda:InvokeWithResponseStream": "InvokeFunction",

	"s3:CompleteMultipartUpload":                     "PutObject",
	"s3:CopyObject":                                  "GetObject PutObject",
	"s3:CreateMultipartUpload":                       "PutObject",
	"s3:DeleteBucketAnalyticsConfiguration":          "PutAnalyticsConfiguration",
	"s3:DeleteBucketCors":                            "PutBucketCORS",
	"s3:DeleteBucketEncryption":                      "PutEncryptionConfiguration",
	"s3:DeleteBucketIntelligentTieringConfiguration": "PutIntelligentTieringConfiguration",
	"s3:DeleteBucketInventoryConfiguration":          "PutInventoryConfiguration",
	"s3:DeleteBucketLifecycle":                       "PutLifecycleConfiguration",
	"s3:DeleteBucketMetricsConfiguration":            "PutMetricsConfiguration",
	"s3:DeleteBucketOwnershipControls":               "PutBucketOwnershipControls",
	"s3:DeleteBucketReplication":                     "PutReplicationConfiguration",
	"s3:DeleteBucketTagging":                         "PutBucketTagging",
	"s3:DeleteObjects":                               "DeleteObject",
	"s3:DeletePublicAccessBlock":                     "PutBucketPublicAccessBlock",
	"s3:GetBucketAccelerateConfiguration":            "GetAccelerateConfiguration",
	"s3:GetBucketAnalyticsConfiguration":             "GetAnalyticsConfiguration",
	"s3:GetBucketCors":                               "GetBucketCORS",
	"s3:GetBucketEncryption":                         "GetEncryptionConfiguration",
	"s3:GetBucketIntelligentTieringConfiguration":    "GetIntelligentTieringConfiguration",
	"s3:GetBucketInventoryConfiguration":             "GetInventoryConfiguration",
	"s3:GetBucketLifecycle":                          "GetLifecycleConfiguration",
	"s3:GetBucketLifecycleConfiguration":             "GetLifecycleConfiguration",
	"s3:GetBucketMetricsConfiguration":               "GetMetricsConfiguration",
	"s3:GetBucketNotificationConfiguration":          "GetBucketNotification",
	"s3:GetBucketReplication":                        "GetReplicationConfiguration",
	"s3:GetObjectLockConfiguration":                  "GetBucketObjectLockConfiguration",
	"s3:GetPublicAccessBlock":                        "GetBucketPublicAccessBlock",
	"s3:HeadBucket":                                  "ListBucket",
	"s3:HeadObject":                                  "GetObject",
	"s3:ListBucketAnalyticsConfigurations":           "GetAnalyticsConfiguration",
	"s3:ListBucketIntelligentTieringConfigurations":  "GetIntelligentTieringConfiguration",
	"s3:ListBucketInventoryConfigurations":           "GetInventoryConfiguration",
	"s3:ListBucketMetricsConfigurations":             "GetMetricsConfiguration",
	"s3:ListBuckets":                                 "ListAllMyBuckets",
	"s3:ListMultipartUploads":                        "ListBucketMultipartUploads",
	"s3:ListObjectVersions":                          "ListBucketVersions",
	"s3:ListObjects":                                 "ListBucket",
	"s3:ListObjectsV2":                               "ListBucket",
	"s3:ListParts":                                   "ListMultipartUploadParts",
	"s3:PutBucketAccelerateConfiguration":            "PutAccelerateConfiguration",
	"s3:PutBucketAnalyticsConfiguration":             "PutAnalyticsConfiguration",
	"s3:PutBucketCors":                               "PutBucketCORS",
	"s3:PutBucketEncryption":                         "PutEncryptionConfiguration",
	"s3:PutBucketIntelligentTieringConfiguration":    "PutIntelligentTieringConfiguration",
	"s3:PutBucketInventoryConfiguration":             "PutInventoryConfiguration",
	"s3:PutBucketLifecycle":                          "PutLifecycleConfiguration",
	"s3:PutBucketLifecycleConfiguration":             "PutLifecycleConfiguration",
	"s3:PutBucketMetricsConfiguration":               "PutMetricsConfiguration",
	"s3:PutBucketNotificationConfiguration":          "PutBucketNotification",
	"s3:PutBucketReplication":                        "PutReplicationConfiguration",
	"s3:PutObjectLockConfiguration":                  "PutBucketObjectLockConfiguration",
	"s3:PutPublicAccessBlock":                        "PutBucketPublicAccessBlock",
	"s3:SelectObjectContent":                         "GetObject",
	"s3:UploadPart":                                  "PutObject",
	"s3:UploadPartCopy":                              "GetObject PutObject",

	"sns:PublishBatch": "Publish",

	"sqs:ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
	"sqs:DeleteMessageBatch":           "DeleteMessage",
	"sqs:SendMessageBatch":             "SendMessage",
}
