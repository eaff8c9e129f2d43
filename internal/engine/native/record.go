package native

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pintle-dev/pintle/internal/language/dynamic"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// record is a type that Pintle does not provide. The engine stores its declarations, and Serve does nothing. Any
// property may be declared.
type record struct{ schema Schema }

// recordTypes has a line for each AWS type whose schema says more: its name, the property whose value identifies a resource, or "-",
// and the properties whose change replaces a resource. Source: the schemas of the CloudFormation registry for us-east-1, as cfn-lint
// contains them.
//
//go:embed recordtypes.txt
var recordTypes string

// knownRecords are the records with a line in [recordTypes], by their name.
var knownRecords = sync.OnceValue(func() map[string]*record {
	all := map[string]*record{}
	for line := range strings.Lines(recordTypes) {
		words := strings.Fields(line)
		r := &record{Schema{Name: words[0], Recorded: true}}
		if words[1] != "-" {
			r.schema.RecordedName = words[1]
		}
		for _, name := range words[2:] {
			r.schema.Properties = append(r.schema.Properties, Property{Name: name, Change: Replaces})
		}
		all[words[0]] = r
	}
	return all
})

// listAttributes has a line for each AWS type with attributes that are lists of scalars: its name and the attributes.
// Source: as for [recordTypes].
//
//go:embed listattributes.txt
var listAttributes string

// knownLists are the attributes of [listAttributes], by the type.
var knownLists = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(listAttributes) {
		words := strings.Fields(line)
		all[words[0]] = words[1:]
	}
	return all
})

// IsList reports whether an attribute of an AWS type is a list, as its schema says.
func IsList(resourceType, attribute string) bool {
	return slices.Contains(knownLists()[resourceType], attribute)
}

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
	if known := knownRecords()[name]; known != nil {
		return known
	}
	return &record{Schema{Name: name, Dialect: dialectOf(name), Recorded: true}}
}

// Replacing returns the changed properties of an AWS type whose change replaces a resource, sorted. It returns nil if there are none,
// or if the schema of the type is unknown.
func Replacing(resourceType string, before, after value.Value) []string {
	known := knownRecords()[resourceType]
	if known == nil {
		return nil
	}
	var names []string
	for _, p := range known.schema.Properties {
		was, _ := before.Get(p.Name)
		is, _ := after.Get(p.Name)
		if !was.Equal(is) {
			names = append(names, p.Name)
		}
	}
	return names
}

// dialectOf returns the dialect whose templates may declare a type without a provider.
func dialectOf(name string) wire.Dialect {
	if strings.HasPrefix(name, aliyunPrefix) || strings.HasPrefix(name, dataSourcePrefix) {
		return wire.ROS
	}
	return wire.CloudFormation
}

// Schema implements [Type].
func (r *record) Schema() *Schema { return &r.schema }

// Serve implements [Type].
func (r *record) Serve(_ context.Context, request *store.Request) (Result, error) {
	if request.Type != wire.Create {
		return Result{}, nil
	}
	return Result{PhysicalID: recordID(&r.schema, request)}, nil
}

// recordID returns the physical ID of a recorded resource that a request creates: its declared name, if that identifies resources of
// the type and is not a secret, otherwise a generated name.
func recordID(s *Schema, r *store.Request) wire.PhysicalID {
	if s.RecordedName != "" {
		name, _ := r.Body.Properties.Get(s.RecordedName)
		if name.Kind() == value.String && name.Text() != "" && len(name.Text()) <= wire.MaxPhysicalID && name.Secrets() == nil && !dynamic.Has(name) {
			return wire.PhysicalID(name.Text())
		}
	}
	return wire.PhysicalID(MadeUpName(r, 0))
}

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
