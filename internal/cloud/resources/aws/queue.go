package aws

import (
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
)

// queueTable is the table of queues, which are only recorded. Messages for them go to another SQS.
var queueTable = resources.Table{
	Name:       "AWS::SQS::Queue",
	Identifier: "QueueUrl",
	Texts:      "DeduplicationScope FifoThroughputLimit KmsMasterKeyId QueueName",
	Numbers: "DelaySeconds KmsDataKeyReusePeriodSeconds MaximumMessageSize MessageRetentionPeriod ReceiveMessageWaitTimeSeconds " +
		"VisibilityTimeout",
	Truths:    "ContentBasedDeduplication FifoQueue SqsManagedSseEnabled",
	Lists:     "Tags",
	Documents: "RedriveAllowPolicy RedrivePolicy",
	Replaces:  "FifoQueue QueueName", Attributes: "Arn QueueName QueueUrl",
}

// Parts of a queue name. Source: SQS, CreateQueue.
const (
	maxQueueName = 80
	fifoSuffix   = ".fifo"
)

func queueURL(c *resources.Call) string {
	name := c.Text("QueueName")
	switch {
	case name != "":
	case c.Text("FifoQueue") == "true":
		name = c.Name("", maxQueueName-len(fifoSuffix)) + fifoSuffix
	default:
		name = c.Name("", maxQueueName)
	}
	return queueURLOf(c, name)
}

// earlierQueue reports whether an ID is a name, as in earlier versions that did not know the type.
func earlierQueue(id string) bool { return !strings.Contains(id, "/") }

func queueURLOf(c *resources.Call, name string) string {
	return "https://sqs." + c.Place.Region + "." + domain(c) + "/" + c.Place.Account + "/" + name
}

func queueAttributes(c *resources.Call, id string, _ registry.Item[registry.Record], _ time.Time) []string {
	name := id[strings.LastIndexByte(id, '/')+1:]
	if earlierQueue(id) {
		id = queueURLOf(c, name)
	}
	return []string{"Arn", c.ARN("sqs", name), "QueueName", name, "QueueUrl", id}
}
