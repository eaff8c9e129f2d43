package aliyun

import (
	"regexp"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/wire"
)

// mnsName is the maximum length of a queue or topic name. Source: ROS, ALIYUN::MNS::Queue and ALIYUN::MNS::Topic.
const mnsName = 256

// mnsLetters matches queue and topic names. The service requires that a topic name begins with a letter, which is not
// checked here.
var mnsLetters = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

// queueType and topicType are only recorded. Messages sent to their ARNs go to a local provider with that name.
var (
	queueType = resources.RecordType{
		Table: resources.Table{
			Name: "ALIYUN::MNS::Queue", Dialect: wire.ROS,
			Texts: "QueueName",
			Numbers: "DelaySeconds:0-604800 MaximumMessageSize:1024-65536 MessageRetentionPeriod:60-604800 PollingWaitSeconds:0-30 " +
				"VisibilityTimeout:1-43200",
			Truths: "LoggingEnabled", Lists: "Tags", Objects: "DlqPolicy",
			Required: "QueueName", Replaces: "QueueName", Attributes: "ARN ARN.WithSlash QueueName QueueUrl",
			Named: "QueueName", Longest: mnsName, Letters: mnsLetters,
		},
		ID: called("QueueName"), Attributes: mnsAttributes("queues", "QueueName", "QueueUrl"),
	}
	topicType = resources.RecordType{
		Table: resources.Table{
			Name: "ALIYUN::MNS::Topic", Dialect: wire.ROS,
			Texts: "TopicName", Numbers: "MaximumMessageSize:1024-65536", Truths: "LoggingEnabled", Lists: "Tags",
			Required: "TopicName", Replaces: "TopicName", Attributes: "ARN ARN.WithSlash TopicName TopicUrl",
			Named: "TopicName", Longest: mnsName, Letters: mnsLetters,
		},
		ID: called("TopicName"), Attributes: mnsAttributes("topics", "TopicName", "TopicUrl"),
	}
)

// mnsAttributes returns the attributes of a queue or a topic. ARN and ARN.WithSlash are the two service tokens of the
// same one.
func mnsAttributes(kind, name, url string) func(*resources.Call, string, registry.Item[registry.Record], time.Time) []string {
	return func(c *resources.Call, id string, _ registry.Item[registry.Record], _ time.Time) []string {
		return []string{
			"ARN", c.ARN("mns", kind+"/"+id), "ARN.WithSlash", c.ARN("mns", "/"+kind+"/"+id), name, id,
			url, "http://" + c.Place.Account + ".mns." + c.Place.Region + ".aliyuncs.com/" + kind + "/" + id,
		}
	}
}
