package aliyun

import (
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/wire"
)

// triggerType is ALIYUN::FC::Trigger. It is only recorded: triggers never fire here, and their URLs are those of the
// real service.
var triggerType = resources.RecordType{
	Table: resources.Table{
		Name: "ALIYUN::FC::Trigger", Dialect: wire.ROS,
		Texts: "FunctionName InvocationRole Qualifier ServiceName SourceArn TriggerName TriggerType", Objects: "TriggerConfig",
		Required:   "FunctionName ServiceName TriggerConfig TriggerName TriggerType",
		Replaces:   "FunctionName ServiceName SourceArn TriggerName TriggerType",
		Attributes: "FunctionName ServiceName TriggerId TriggerName UrlInternet UrlIntranet",
		Named:      "TriggerName", Longest: fcNameLength, Letters: fcLetters,
	},
	ID: func(c *resources.Call) string {
		return c.Text("ServiceName") + "/" + c.Text("FunctionName") + "/" + c.Text("TriggerName")
	},
	Attributes: func(c *resources.Call, _ string, made registry.Item[registry.Record], _ time.Time) []string {
		attributes := []string{
			"FunctionName", c.Text("FunctionName"), "ServiceName", c.Text("ServiceName"), "TriggerId", uniqueID(made.Owner),
			"TriggerName", c.Text("TriggerName"),
		}
		url := func(host string) string {
			return "https://" + c.Place.Account + "." + c.Place.Region + host + ".fc.aliyuncs.com/2016-08-15/proxy/" +
				c.Text("ServiceName") + "/" + c.Text("FunctionName") + "/"
		}
		return append(attributes, "UrlInternet", url(""), "UrlIntranet", url("-internal"))
	},
}
