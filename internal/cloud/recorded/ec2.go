package recorded

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// ec2Operations are the operations of EC2. Source: Amazon EC2 API Reference, version 2016-11-15, and its error codes.
var ec2Operations = map[string]operation{
	"DescribeAvailabilityZones":                     describeZones,
	"DescribeSecurityGroups":                        describeGroups,
	"AuthorizeSecurityGroupIngress":                 func(c *call) (object, error) { return authorize(c, "ingress") },
	"AuthorizeSecurityGroupEgress":                  func(c *call) (object, error) { return authorize(c, "egress") },
	"RevokeSecurityGroupIngress":                    func(c *call) (object, error) { return revoke(c, "ingress") },
	"RevokeSecurityGroupEgress":                     func(c *call) (object, error) { return revoke(c, "egress") },
	"DescribeVpcEndpointServiceConfigurations":      describeEndpointServices,
	"ModifyVpcEndpointServiceConfiguration":         modifyEndpointService,
	"StartVpcEndpointServicePrivateDnsVerification": verifyEndpointService,
}

const (
	vpcType             = "AWS::EC2::VPC"
	groupType           = "AWS::EC2::SecurityGroup"
	endpointServiceType = "AWS::EC2::VPCEndpointService"
	acceleratedType     = "AWS::GlobalAccelerator::EndpointGroup"
)

// Security groups that stacks do not declare have the ID of their VPC with one of these suffixes. Fn::GetAtt returns
// the first one, see native.StandIn.
const (
	defaultGroup     = ".DefaultSecurityGroup"
	acceleratorGroup = ".GlobalAccelerator"
	groupAttribute   = ".GroupId"
)

// maxRules is the maximum number of rules of a security group in one direction. Source: Amazon VPC quotas, the
// maximum that can be requested.
const maxRules = 1000

func describeZones(c *call) (object, error) {
	var zones []object
	for _, name := range c.api.Zones(c.place.Region) {
		zones = append(zones, object{
			"ZoneName": name, "ZoneId": name, "RegionName": c.place.Region, "State": "available", "ZoneType": "availability-zone",
			"GroupName": c.place.Region, "NetworkBorderGroup": c.place.Region, "OptInStatus": "opt-in-not-required",
		})
	}
	if names := texts(c.in, "ZoneNames"); len(names) > 0 {
		for _, name := range names {
			if !slices.Contains(c.api.Zones(c.place.Region), name) {
				return nil, awsapi.Refuse("InvalidParameterValue", "Invalid availability zone: [%.100s]", name)
			}
		}
		zones = slices.DeleteFunc(zones, func(z object) bool { return !slices.Contains(names, text(z, "ZoneName")) })
	}
	for _, filter := range items(c.in, "Filters") {
		members := map[string]string{"zone-name": "ZoneName", "state": "State", "region-name": "RegionName", "zone-type": "ZoneType", "zone-id": "ZoneId"}
		member, known := members[text(filter, "Name")]
		if !known {
			return nil, unknownFilter(filter)
		}
		zones = slices.DeleteFunc(zones, func(z object) bool { return !passes(filter, text(z, member)) })
	}
	return object{"AvailabilityZones": anys(zones)}, nil
}

func unknownFilter(filter object) error {
	return awsapi.Refuse("InvalidParameterValue", "The filter '%.100s' is invalid", text(filter, "Name"))
}

// passes reports whether a value matches a filter, whose values may contain the wildcards * and ?.
func passes(filter object, v string) bool {
	for _, pattern := range texts(filter, "Values") {
		pattern = strings.NewReplacer("[", `\[`, "/", "\x00").Replace(pattern)
		if ok, err := path.Match(pattern, strings.ReplaceAll(v, "/", "\x00")); err == nil && ok {
			return true
		}
	}
	return false
}

// rule is a rule of a security group for one peer.
type rule struct {
	Protocol    string
	From, To    *int64 `json:",omitempty"`
	Peer        string // cidr, cidr6, group or list
	Of          string
	Owner       string `json:",omitempty"` // of a group
	Description string `json:",omitempty"`
}

func (r rule) same(other rule) bool {
	port := func(p *int64) int64 {
		if p == nil || r.Protocol == "-1" {
			return -1
		}
		return *p
	}
	return r.Protocol == other.Protocol && r.Peer == other.Peer && r.Of == other.Of && port(r.From) == port(other.From) && port(r.To) == port(other.To)
}

// group is a security group, and the record to which its rules are attached.
type group struct {
	id, name, vpc, description string
	kind, owner                string
	rules                      rules
}

// rules are the rules of a group by direction.
type rules map[string][]rule

const rulesState = "rules"

// groupsOf returns the security groups of a record: those of a VPC, or the security group itself.
func (c *call) groupsOf(r record) ([]group, error) {
	kind, _, _ := strings.Cut(r.Name, "/")
	self := rule{Protocol: "-1", Peer: "group", Of: r.id + defaultGroup, Owner: c.place.Account}
	all := rule{Protocol: "-1", Peer: "cidr", Of: "0.0.0.0/0"}
	if kind == vpcType {
		list := []group{{
			id: r.id + defaultGroup, name: "default", vpc: r.id, description: "default VPC security group", kind: kind, owner: r.id,
			rules: rules{"ingress": {self}, "egress": {all}},
		}}
		if err := r.state(rulesState+defaultGroup, &list[0].rules); err != nil {
			return nil, err
		}
		// Global Accelerator creates a group in a VPC with its first endpoint there. The record does not contain the
		// VPC, so every VPC gets one.
		accelerated, err := c.all(acceleratedType)
		if err != nil || len(accelerated) == 0 {
			return list, err
		}
		more := group{
			id: r.id + acceleratorGroup, name: "GlobalAccelerator", vpc: r.id, description: "GlobalAccelerator configured SecurityGroup",
			kind: kind, owner: r.id, rules: rules{"egress": {all}},
		}
		return append(list, more), r.state(rulesState+acceleratorGroup, &more.rules)
	}
	g := group{
		id: r.id + groupAttribute, name: cmp.Or(text(r.properties, "GroupName"), r.id), vpc: text(r.properties, "VpcId"),
		description: text(r.properties, "GroupDescription"), kind: kind, owner: r.id, rules: rules{},
	}
	for direction, property := range map[string]string{"ingress": "SecurityGroupIngress", "egress": "SecurityGroupEgress"} {
		for _, declared := range items(r.properties, property) {
			g.rules[direction] = append(g.rules[direction], declaredRules(declared)...)
		}
	}
	if len(g.rules["egress"]) == 0 {
		g.rules["egress"] = []rule{all}
	}
	return []group{g}, r.state(rulesState+groupAttribute, &g.rules)
}

// declaredRules returns the rules in one item of a template.
func declaredRules(declared object) []rule {
	number := func(name string) *int64 {
		var n int64
		if _, err := fmt.Sscan(fmt.Sprint(declared[name]), &n); err != nil {
			return nil
		}
		return &n
	}
	r := rule{Protocol: fmt.Sprint(declared["IpProtocol"]), From: number("FromPort"), To: number("ToPort"), Description: text(declared, "Description")}
	var list []rule
	for _, peer := range [][2]string{
		{"cidr", "CidrIp"}, {"cidr6", "CidrIpv6"}, {"group", "SourceSecurityGroupId"}, {"group", "DestinationSecurityGroupId"},
		{"list", "SourcePrefixListId"}, {"list", "DestinationPrefixListId"},
	} {
		if of := text(declared, peer[1]); of != "" {
			r.Peer, r.Of = peer[0], of
			list = append(list, r)
		}
	}
	return list
}

// group finds a group by its ID, which may be the result of Ref or Fn::GetAtt.
func (c *call) group(id string) (group, error) {
	kind, owner := groupType, strings.TrimSuffix(id, groupAttribute)
	for _, suffix := range []string{defaultGroup, acceleratorGroup} {
		if vpc, ok := strings.CutSuffix(id, suffix); ok {
			kind, owner = vpcType, vpc
		}
	}
	r, err := c.get(kind, owner)
	if err == nil {
		var list []group
		if list, err = c.groupsOf(r); err != nil {
			return group{}, err
		}
		for _, g := range list {
			if kind == groupType || g.id == id {
				return g, nil
			}
		}
		err = registry.ErrNotFound
	}
	if errors.Is(err, registry.ErrNotFound) {
		return group{}, awsapi.Refuse("InvalidGroup.NotFound", "The security group '%.255s' does not exist", id)
	}
	return group{}, err
}

// groups returns all groups, sorted by ID.
func (c *call) groups() ([]group, error) {
	var list []group
	for _, kind := range []string{vpcType, groupType} {
		records, err := c.all(kind)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			of, err := c.groupsOf(r)
			if err != nil {
				return nil, err
			}
			list = append(list, of...)
		}
	}
	slices.SortFunc(list, func(a, b group) int { return cmp.Compare(a.id, b.id) })
	return list, nil
}

func describeGroups(c *call) (object, error) {
	var list []group
	if ids := texts(c.in, "GroupIds"); len(ids) > 0 {
		for _, id := range ids {
			g, err := c.group(id)
			if err != nil {
				return nil, err
			}
			list = append(list, g)
		}
	} else {
		var err error
		if list, err = c.groups(); err != nil {
			return nil, err
		}
	}
	if names := texts(c.in, "GroupNames"); len(names) > 0 {
		list = slices.DeleteFunc(list, func(g group) bool { return !slices.Contains(names, g.name) })
	}
	for _, filter := range items(c.in, "Filters") {
		of := map[string]func(group) string{
			"group-name": func(g group) string { return g.name }, "group-id": func(g group) string { return g.id },
			"vpc-id": func(g group) string { return g.vpc }, "description": func(g group) string { return g.description },
			"owner-id": func(group) string { return c.place.Account },
		}[text(filter, "Name")]
		if of == nil {
			return nil, unknownFilter(filter)
		}
		list = slices.DeleteFunc(list, func(g group) bool { return !passes(filter, of(g)) })
	}
	limit, _ := integer(c.in, "MaxResults")
	list, next, err := page(list, func(g group) string { return g.id }, text(c.in, "NextToken"), limit, 1000)
	if err != nil {
		return nil, awsapi.Refuse("InvalidParameterValue", "Invalid value for nextToken.")
	}
	var groups []object
	for _, g := range list {
		groups = append(groups, object{
			"GroupId": g.id, "GroupName": g.name, "VpcId": g.vpc, "Description": g.description, "OwnerId": c.place.Account,
			"SecurityGroupArn": c.arn("ec2", "security-group/"+g.id),
			"IpPermissions":    permissions(g.rules["ingress"]), "IpPermissionsEgress": permissions(g.rules["egress"]),
		})
	}
	out := object{"SecurityGroups": anys(groups)}
	if next != "" {
		out["NextToken"] = next
	}
	return out, nil
}

// permissions converts rules for output.
func permissions(list []rule) []any {
	var out []any
	for _, r := range list {
		p := object{"IpProtocol": r.Protocol}
		if r.From != nil {
			p["FromPort"] = *r.From
		}
		if r.To != nil {
			p["ToPort"] = *r.To
		}
		member, key := "IpRanges", "CidrIp"
		switch r.Peer {
		case "cidr6":
			member, key = "Ipv6Ranges", "CidrIpv6"
		case "group":
			member, key = "UserIdGroupPairs", "GroupId"
		case "list":
			member, key = "PrefixListIds", "PrefixListId"
		}
		peer := object{key: r.Of}
		if r.Description != "" {
			peer["Description"] = r.Description
		}
		if r.Owner != "" {
			peer["UserId"] = r.Owner
		}
		p[member] = []any{peer}
		out = append(out, p)
	}
	return out
}

// asked returns the rules in a call.
func asked(c *call) ([]rule, error) {
	list := items(c.in, "IpPermissions")
	if protocol := text(c.in, "IpProtocol"); protocol != "" {
		single := object{"IpProtocol": protocol, "FromPort": c.in["FromPort"], "ToPort": c.in["ToPort"]}
		if cidr := text(c.in, "CidrIp"); cidr != "" {
			single["IpRanges"] = []any{object{"CidrIp": cidr}}
		}
		list = append(list, single)
	}
	var rules []rule
	for _, p := range list {
		r := rule{Protocol: text(p, "IpProtocol")}
		if from, ok := integer(p, "FromPort"); ok {
			r.From = &from
		}
		if to, ok := integer(p, "ToPort"); ok {
			r.To = &to
		}
		for _, peer := range [][3]string{
			{"IpRanges", "cidr", "CidrIp"}, {"Ipv6Ranges", "cidr6", "CidrIpv6"}, {"UserIdGroupPairs", "group", "GroupId"}, {"PrefixListIds", "list", "PrefixListId"},
		} {
			for _, of := range items(p, peer[0]) {
				r.Peer, r.Of, r.Owner, r.Description = peer[1], text(of, peer[2]), text(of, "UserId"), text(of, "Description")
				rules = append(rules, r)
			}
		}
	}
	if len(rules) == 0 {
		return nil, awsapi.Refuse("MissingParameter", "The request must contain the parameter ipPermissions")
	}
	if len(rules) > maxRules {
		return nil, tooManyRules()
	}
	return rules, nil
}

func tooManyRules() error {
	return awsapi.Refuse("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
}

// changeRules changes the rules of a group in one direction.
func changeRules(c *call, direction string, change func([]rule) ([]rule, error)) error {
	g, err := c.group(text(c.in, "GroupId"))
	if err != nil {
		return err
	}
	suffix := groupAttribute
	if g.kind == vpcType {
		suffix = strings.TrimPrefix(g.id, g.owner)
	}
	_, err = c.change(g.kind, g.owner, func(r *record) error {
		list, err := c.groupsOf(*r)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(list, func(other group) bool { return other.id == g.id })
		if at < 0 {
			return registry.ErrNotFound
		}
		changed, err := change(slices.Clone(list[at].rules[direction]))
		if err != nil {
			return err
		}
		list[at].rules[direction] = changed
		return r.attach(rulesState+suffix, list[at].rules)
	})
	if errors.Is(err, registry.ErrNotFound) {
		return awsapi.Refuse("InvalidGroup.NotFound", "The security group '%.255s' does not exist", g.id)
	}
	return err
}

func authorize(c *call, direction string) (object, error) {
	wanted, err := asked(c)
	if err != nil {
		return nil, err
	}
	err = changeRules(c, direction, func(list []rule) ([]rule, error) {
		for _, r := range wanted {
			if slices.ContainsFunc(list, r.same) {
				return nil, awsapi.Refuse("InvalidPermission.Duplicate", "the specified rule \"peer: %.255s, %.20s\" already exists", r.Of, r.Protocol)
			}
			list = append(list, r)
		}
		if len(list) > maxRules {
			return nil, tooManyRules()
		}
		return list, nil
	})
	return object{"Return": true}, err
}

func revoke(c *call, direction string) (object, error) {
	unwanted, err := asked(c)
	if err != nil {
		return nil, err
	}
	err = changeRules(c, direction, func(list []rule) ([]rule, error) {
		for _, r := range unwanted {
			at := slices.IndexFunc(list, r.same)
			if at < 0 {
				return nil, awsapi.Refuse("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
			}
			list = slices.Delete(list, at, at+1)
		}
		return list, nil
	})
	return object{"Return": true}, err
}

// privateDNS is the private DNS name of an endpoint service.
type privateDNS struct{ Name, Verification, Value, State string }

const privateDNSState = "privateDNS"

// endpointService changes or reads the private DNS name of the endpoint service of a call.
func endpointService(c *call, id string, change func(*privateDNS)) (r record, dns privateDNS, err error) {
	r, err = c.change(endpointServiceType, strings.TrimSuffix(id, ".ServiceId"), func(r *record) error {
		dns = privateDNS{}
		if err := r.state(privateDNSState, &dns); err != nil {
			return err
		}
		change(&dns)
		return r.attach(privateDNSState, dns)
	})
	if errors.Is(err, registry.ErrNotFound) {
		err = awsapi.Refuse("InvalidVpcEndpointServiceId.NotFound", "The VpcEndpointService Id '%.255s' does not exist", id)
	}
	return r, dns, err
}

func modifyEndpointService(c *call) (object, error) {
	id, name := text(c.in, "ServiceId"), text(c.in, "PrivateDnsName")
	if len(name) > 255 {
		return nil, awsapi.Refuse("InvalidParameterValue", "The private DNS name has more than 255 characters.")
	}
	_, _, err := endpointService(c, id, func(dns *privateDNS) {
		switch {
		case flag(c.in, "RemovePrivateDnsName"):
			*dns = privateDNS{}
		case name != "" && name != dns.Name:
			sum := sha256.Sum256([]byte(id + " " + name))
			*dns = privateDNS{Name: name, Verification: fmt.Sprintf("_%x", sum[:10]), Value: fmt.Sprintf("vpce:%x", sum[10:20]), State: "pendingVerification"}
		}
	})
	return object{"Return": true}, err
}

func verifyEndpointService(c *call) (object, error) {
	_, _, err := endpointService(c, text(c.in, "ServiceId"), func(dns *privateDNS) {
		if dns.Name != "" {
			dns.State = "verified"
		}
	})
	return object{"ReturnValue": true}, err
}

func describeEndpointServices(c *call) (object, error) {
	if len(items(c.in, "Filters")) > 0 {
		return nil, unknownFilter(items(c.in, "Filters")[0])
	}
	var list []record
	for _, id := range texts(c.in, "ServiceIds") {
		r, err := c.get(endpointServiceType, strings.TrimSuffix(id, ".ServiceId"))
		if errors.Is(err, registry.ErrNotFound) {
			err = awsapi.Refuse("InvalidVpcEndpointServiceId.NotFound", "The VpcEndpointService Id '%.255s' does not exist", id)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		var err error
		if list, err = c.all(endpointServiceType); err != nil {
			return nil, err
		}
	}
	limit, _ := integer(c.in, "MaxResults")
	list, next, err := page(list, func(r record) string { return r.id }, text(c.in, "NextToken"), limit, 1000)
	if err != nil {
		return nil, awsapi.Refuse("InvalidParameterValue", "Invalid value for nextToken.")
	}
	var out []object
	for _, r := range list {
		var dns privateDNS
		if err := r.state(privateDNSState, &dns); err != nil {
			return nil, err
		}
		o := object{
			"ServiceId": r.id, "ServiceName": "com.amazonaws.vpce." + c.place.Region + "." + r.id, "ServiceState": "Available",
			"ServiceType": []any{object{"ServiceType": "Interface"}},
		}
		if dns.Name != "" {
			o["PrivateDnsName"] = dns.Name
			o["PrivateDnsNameConfiguration"] = object{"Name": dns.Verification, "Value": dns.Value, "Type": "TXT", "State": dns.State}
		}
		out = append(out, o)
	}
	answer := object{"ServiceConfigurations": anys(out)}
	if next != "" {
		answer["NextToken"] = next
	}
	return answer, nil
}
