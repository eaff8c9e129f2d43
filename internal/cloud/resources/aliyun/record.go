package aliyun

import (
	"regexp"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/wire"
)

// records lists the resource types that Pintle only records, in addition to services: no client reads them, or no
// local service enforces them.
var records = []resources.RecordType{
	queueType, topicType,
	roleType, managedPolicyType, userType, accessKeyType, attachToRoleType, attachToUserType,
	projectType, logstoreType,
	enableType, triggerType,
}

// called returns a function that derives the physical ID from a required name property.
func called(property string) func(*resources.Call) string {
	return func(c *resources.Call) string { return c.Text(property) }
}

// madeUp returns a generated ID for a resource without a name.
func madeUp(c *resources.Call) string { return c.Name("", 0) }

// itself returns the ID as the only attribute.
func itself(attribute string) func(*resources.Call, string, registry.Item[registry.Record], time.Time) []string {
	return func(_ *resources.Call, id string, _ registry.Item[registry.Record], _ time.Time) []string {
		return []string{attribute, id}
	}
}

// The patterns of project and logstore names. Source: ROS, ALIYUN::SLS::Project and ALIYUN::SLS::Logstore.
var (
	projectLetters  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]+[a-z0-9]$`)
	logstoreLetters = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]+[a-z0-9]$`)
)

// logName is the maximum length of such a name.
const logName = 63

var projectType = resources.RecordType{
	Table: resources.Table{
		Name: "ALIYUN::SLS::Project", Dialect: wire.ROS,
		Texts: "DataRedundancyType Description Name ResourceGroupId", Lists: "Tags",
		Required: "Name", Replaces: "DataRedundancyType Description Name Tags", Attributes: "Name",
		Named: "Name", Longest: logName, Letters: projectLetters,
	},
	ID: called("Name"), Attributes: itself("Name"),
}

// logstoreType has IDs that include the project, because logstores in several projects may have the same name.
var logstoreType = resources.RecordType{
	Table: resources.Table{
		Name: "ALIYUN::SLS::Logstore", Dialect: wire.ROS,
		Texts:   "LogstoreName Mode ProjectName",
		Numbers: "MaxSplitShard:1-64 ShardCount:1-100 TTL:1-3650",
		Truths:  "AppendMeta AutoSplit EnableTracking PreserveStorage", Objects: "EncryptConf",
		Required: "LogstoreName ProjectName", Replaces: "LogstoreName ProjectName", Attributes: "LogstoreName ProjectName",
		Named: "LogstoreName", Longest: logName, Letters: logstoreLetters,
	},
	ID: func(c *resources.Call) string { return c.Text("ProjectName") + "/" + c.Text("LogstoreName") },
	Attributes: func(c *resources.Call, _ string, _ registry.Item[registry.Record], _ time.Time) []string {
		return []string{"LogstoreName", c.Text("LogstoreName"), "ProjectName", c.Text("ProjectName")}
	},
}

// enableType enables a cloud service. Several resources may enable the same one.
var enableType = resources.RecordType{
	Table: resources.Table{
		Name: "ALIYUN::ROS::AutoEnableService", Dialect: wire.ROS,
		Texts: "ServiceName", Objects: "ServiceParameters",
		Required: "ServiceName", Replaces: "ServiceName ServiceParameters", Attributes: "ServiceName",
	},
	ID: madeUp,
	Attributes: func(c *resources.Call, _ string, _ registry.Item[registry.Record], _ time.Time) []string {
		return []string{"ServiceName", c.Text("ServiceName")}
	},
}
