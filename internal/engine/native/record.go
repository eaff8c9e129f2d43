package native

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// record is a type that Pintle does not provide. The engine stores its declarations, and Serve does nothing. Any
// property may be declared, and every change is made in place.
type record struct{ schema Schema }

// recordable matches the names of types that can be records. Source: CloudFormation, RegisterType, TypeName.
var recordable = regexp.MustCompile(`^[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}$`)

// unrecordable are prefixes of types that cannot be records: the types of CloudFormation itself, which act on stacks,
// the modules of ROS, and custom types, which have a provider.
var unrecordable = [...]string{"AWS::CloudFormation::", "MODULE::", wire.CustomTypePrefix}

// served are types of ROS that cannot be records because Pintle or a provider serves them.
var served = [...]string{
	"ALIYUN::ROS::CustomResource", "ALIYUN::ROS::Sleep", "ALIYUN::ROS::Stack", "ALIYUN::ROS::WaitCondition", ROSWaitConditionHandle,
}

// The prefixes of the types of Alibaba Cloud, which only ROS templates may declare. A data source reads existing
// resources.
const (
	aliyunPrefix     = "ALIYUN::"
	dataSourcePrefix = "DATASOURCE::"
)

// recordNamed returns a record of the type, or nil if the type cannot be a record.
func recordNamed(name string) Type {
	if !recordable.MatchString(name) || slices.Contains(served[:], name) {
		return nil
	}
	for _, prefix := range unrecordable {
		if strings.HasPrefix(name, prefix) && !InCloud(name) {
			return nil
		}
	}
	return record{Schema{Name: name, Dialect: dialectOf(name), Recorded: true}}
}

// dialectOf returns the dialect whose templates may declare a type without a provider.
func dialectOf(name string) wire.Dialect {
	if strings.HasPrefix(name, aliyunPrefix) || strings.HasPrefix(name, dataSourcePrefix) {
		return wire.ROS
	}
	return wire.CloudFormation
}

// Schema implements [Type].
func (r record) Schema() *Schema { return &r.schema }

// Serve implements [Type].
func (record) Serve(context.Context, *store.Request) (Result, error) { return Result{}, nil }

// maxRecordedTypes is the number of types that [RecordedOnly] names.
const maxRecordedTypes = 5

// RecordedOnly returns a text that says that the resources of types are only records.
func RecordedOnly(dialect wire.Dialect, types []string) string {
	text := "Recorded only: nothing is created in " + CloudName(dialect) + " for "
	if more := len(types) - maxRecordedTypes; more > 0 {
		return text + strings.Join(types[:maxRecordedTypes], ", ") + " and " + strconv.Itoa(more) + " more types"
	}
	return text + strings.Join(types, ", ")
}

// CloudName returns the usual name of a dialect's cloud.
func CloudName(dialect wire.Dialect) string {
	if dialect == wire.ROS {
		return "Alibaba Cloud"
	}
	return "AWS"
}

// StandIn returns the value that Fn::GetAtt reads from a recorded resource, whose real attributes are unknown. It is
// always the same for a resource. In CloudFormation, a name that ends in Arn returns text in the form of an ARN, and
// any other name the physical ID, a dot and the name. For types of ROS see [template.ROSStandIn].
func StandIn(stack wire.StackID, resourceType string, id wire.PhysicalID, attribute string) value.Value {
	parts := strings.Split(strings.ToLower(resourceType), "::")
	switch {
	case resourceType == "AWS::Route53::HostedZone" && attribute == "NameServers":
		var servers []value.Value
		for _, server := range NameServers(string(id)) {
			servers = append(servers, value.Str(server))
		}
		return value.Items(servers...)
	case dialectOf(resourceType) == wire.ROS:
		return template.ROSStandIn(resourceType, string(id), attribute)
	case strings.HasSuffix(attribute, "Arn"):
		if arn, err := wire.ParseStackARN(stack); err == nil && len(parts) == 3 {
			return value.Str(strings.Join([]string{"arn", wire.Partition(arn.Region), parts[1], arn.Region, arn.Account, parts[2] + "/" + string(id)}, ":"))
		}
	}
	return value.Str(string(id) + "." + attribute)
}

// NameServers returns the four name servers of a recorded hosted zone. They are always the same for a zone and do not
// exist.
func NameServers(zone string) []string {
	sum := sha256.Sum256([]byte(zone))
	var servers []string
	for i, domain := range []string{"com", "net", "org", "co.uk"} {
		servers = append(servers, fmt.Sprintf("ns-%d.awsdns-%02d.%s", 512*i+int(sum[2*i])*2, sum[2*i+1]%64, domain))
	}
	return servers
}
