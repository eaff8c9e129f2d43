package template

import (
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// documented has the documented form of attributes by type and attribute, as JSON in which "*" stands for text.
//
// Sources: the return values of these types in the ROS reference, in packages ros-cdk-ecs 1.11.0 and ros-cdk-vpc
// 1.11.0, and in ros_resource_value_specs.json of aliyun/iac-code: all other attributes that it types follow the rules
// below. The members are those of ECS DescribeInvocationResults and DescribeInstances, ALB and NLB
// GetLoadBalancerAttribute, CS DescribeClusterNodes, SLB DescribeVServerGroupAttribute.
var documented = map[string]string{
	"ALIYUN::ALB::LoadBalancer ZoneMappings": zoneMappings,
	"ALIYUN::NLB::LoadBalancer ZoneMappings": zoneMappings,

	"ALIYUN::ECS::RunCommand InvokeResults":   invokeResults,
	"ALIYUN::ECS::RunCommand InvokeInstances": `[{"InstanceId": "*", "InvocationStatus": "Success"}]`,

	"ALIYUN::CS::AnyCluster Nodes":                  clusterNodes,
	"ALIYUN::CS::KubernetesCluster Nodes":           clusterNodes,
	"ALIYUN::CS::ManagedKubernetesCluster Nodes":    clusterNodes,
	"ALIYUN::CS::ServerlessKubernetesCluster Nodes": clusterNodes,
	"ALIYUN::ACS::Cluster Nodes":                    clusterNodes,

	"ALIYUN::FC::Application Output":       `{}`,
	"ALIYUN::OOS::Execution Outputs":       `{}`,
	"ALIYUN::OOS::Execution Counters":      `{}`,
	"DATASOURCE::AppFlow::Validation Data": `{}`,

	"ALIYUN::SLB::VServerGroup BackendServers":            backendServers,
	"ALIYUN::SLB::BackendServerAttachment BackendServers": backendServers,
	"ALIYUN::VPC::EIPSegment EipAddresses":                `[{"AllocationId": "*", "IpAddress": "*"}]`,

	"ALIYUN::REDIS::Whitelist SecurityIps":           `"*"`,
	"ALIYUN::RDS::DBInstanceSecurityIps SecurityIps": `"*"`,
	"ALIYUN::Memcache::Whitelist SecurityIps":        `"*"`,

	"DATASOURCE::CMS::Namespaces Namespaces":                  `["*"]`,
	"DATASOURCE::SLB::LoadBalancerTCPListeners ListenerPorts": `[80]`,
	"DATASOURCE::SLS::Logstores Logstores":                    `["*"]`,
	"DATASOURCE::VOD::Storages StorageLocations":              `["*"]`,

	"DATASOURCE::ECS::Instances Instances": `[{"InstanceId": "*", "InstanceName": "*", "PrivateIpAddress": ["*"], "PublicIpAddress": ["*"]}]`,
}

const (
	zoneMappings   = `[{"ZoneId": "*", "VSwitchId": "*", "LoadBalancerAddresses": [{"Address": "*"}]}]`
	invokeResults  = `[{"InstanceId": "*", "ExitCode": 0, "InvocationStatus": "Success", "Output": ""}]`
	clusterNodes   = `[{"InstanceId": "*"}]`
	backendServers = `[{"ServerId": "*"}]`
)

// The names of attributes of any type that are lists of texts, and those of data source attributes that end in s and
// are numbers.
var (
	textsNamed   = regexp.MustCompile(`([iI]ds|Ips|IPs|Arns|Names|Addresses)$`)
	numbersNamed = regexp.MustCompile(`(?i)(Days|Hours|Minutes|Seconds|Nums|Iops|Mbps|Connections)$`)
)

// ROSStandIn returns a stand-in for an attribute of a recorded ROS resource or of a data source. If the form of the
// attribute is documented, it has that form. Otherwise the name decides: a name that ends in Arn gives a text in the
// form of an ARN, and Ids, Ips, Arns, Names and Addresses give a list of one text. Another plural of a data source
// gives a list of one empty map. All other names give the ID, a dot and the name. The ARNs leave out the region and the
// account, which the ID of a stack does not contain.
func ROSStandIn(resourceType, id, attribute string) value.Value {
	text := value.Str(id + "." + attribute)
	if form, ok := documented[resourceType+" "+attribute]; ok {
		if v, err := value.Parse([]byte(form)); err == nil {
			return filled(v, id, attribute)
		}
	}
	parts := strings.Split(strings.ToLower(resourceType), "::")
	lower := strings.ToLower(attribute)
	switch {
	case strings.HasPrefix(resourceType, dataSource):
		switch {
		case textsNamed.MatchString(attribute):
			return value.Items(text)
		case strings.HasSuffix(attribute, "s") && !strings.HasSuffix(attribute, "ss") && !strings.HasSuffix(attribute, "us") &&
			!numbersNamed.MatchString(attribute):
			return value.Items(value.Object())
		}
	case strings.HasSuffix(lower, "arn") && len(parts) == 3:
		return value.Str("acs:" + parts[1] + ":::" + parts[2] + "/" + id)
	case textsNamed.MatchString(attribute):
		return value.Items(text)
	}
	return text
}

// filled replaces each "*" in a form by the ID, a dot and the name of the member, or of the attribute.
func filled(v value.Value, id, name string) value.Value {
	switch v.Kind() {
	case value.String:
		if v.Text() == "*" {
			return value.Str(id + "." + name)
		}
	case value.List:
		var items []value.Value
		for _, item := range v.Items() {
			items = append(items, filled(item, id, name))
		}
		return value.Items(items...)
	case value.Map:
		var members []value.Member
		for _, m := range v.Members() {
			members = append(members, value.Member{Key: m.Key, Value: filled(m.Value, id, m.Key)})
		}
		return value.Object(members...)
	case value.Null, value.Bool, value.Number:
	}
	return v
}
