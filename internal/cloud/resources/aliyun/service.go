package aliyun

import (
	"context"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// serviceType is ALIYUN::FC::Service.
var serviceType = resources.RecordType{
	Table: resources.Table{
		Name: "ALIYUN::FC::Service", Dialect: wire.ROS,
		Texts:    "Description Role ServiceName",
		Truths:   "DeletionForce InternetAccess",
		Lists:    "Tags VpcBindings",
		Objects:  "LogConfig NasConfig OssMountConfig TracingConfig VpcConfig",
		Required: "ServiceName", Replaces: "ServiceName",
		Attributes: "InternetAccess LogProject Logstore Role ServiceId ServiceName Tags VpcId",
		Named:      "ServiceName", Longest: fcNameLength, Letters: fcLetters,
	},
	ID: called("ServiceName"),
	Attributes: func(c *resources.Call, id string, made registry.Item[registry.Record], _ time.Time) []string {
		internet := "true"
		if c.Text("InternetAccess") != "" {
			internet = c.Text("InternetAccess")
		}
		return []string{
			"InternetAccess", internet, "LogProject", c.Text("LogConfig", "Project"), "Logstore", c.Text("LogConfig", "Logstore"),
			"Role", c.Text("Role"), "ServiceId", uniqueID(made.Owner), "ServiceName", id, "VpcId", c.Text("VpcConfig", "VpcId"),
		}
	},
}

// serviceRecord returns the record name of a service.
func serviceRecord(name string) string { return serviceType.Name + "/" + name }

// service makes services, which are records. It does not remove one that has functions.
type service struct {
	resources.Maker
	things *registry.Catalog
}

// Create implements [resources.Maker].
func (t service) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	return tagged(c)(t.Maker.Create(ctx, c))
}

// Update implements [resources.Maker].
func (t service) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	return tagged(c)(t.Maker.Update(ctx, c))
}

// Remove implements [resources.Maker].
func (t service) Remove(ctx context.Context, c *resources.Call) error {
	mine, err := resources.Own(ctx, c, t.things.Records, c.Place, serviceRecord(c.Physical()))
	if err != nil || !mine {
		return err
	}
	functions := registry.FCService(c.Physical())
	there, err := t.things.Functions.List(ctx, c.Place, functions, 1)
	if err != nil {
		return err
	}
	if len(there) > 0 && strings.HasPrefix(there[0].Name, functions) {
		return resources.Reasonf("ServiceNotEmpty: service '%s' still has functions", c.Physical())
	}
	return t.Maker.Remove(ctx, c)
}

// tagged adds the tags to the attributes of a result.
func tagged(c *resources.Call) func(native.Result, error) (native.Result, error) {
	return func(r native.Result, err error) (native.Result, error) {
		if err != nil {
			return r, err
		}
		r.Attributes = r.Attributes.With("Tags", value.Items(c.At("Tags").Items()...))
		return r, nil
	}
}
