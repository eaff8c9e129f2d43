package recorded

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
)

// route53Operations are the operations of Route 53. Source: Amazon Route 53 API Reference, version 2013-04-01.
var route53Operations = map[string]operation{
	"ListHostedZones":          listZones,
	"ListHostedZonesByName":    listZonesByName,
	"GetHostedZone":            getZone,
	"ListResourceRecordSets":   listRecordSets,
	"ChangeResourceRecordSets": changeRecordSets,
	"GetChange":                getChange,
}

const (
	zoneType      = "AWS::Route53::HostedZone"
	recordSetType = "AWS::Route53::RecordSet"
)

// maxRecordSets is the maximum number of record sets that calls create in a zone. It is our choice; the quota of AWS
// is 10,000.
const maxRecordSets = 1000

// recordSetsState holds the record sets that calls created in a zone, by [recordSet.key].
const recordSetsState = "recordSets"

// recordSet is a record set from a call.
type recordSet struct {
	Name, Type    string
	SetIdentifier string   `json:",omitempty"`
	TTL           int64    `json:",omitempty"`
	Values        []string `json:",omitempty"`
	// Rest holds the other members, with their API names.
	Rest object `json:",omitempty"`

	stack string // the record ID of a record set that a stack declares
}

func (s recordSet) key() string { return reversed(s.Name) + " " + s.Type + " " + s.SetIdentifier }

// domain normalizes a domain name as Route 53 does.
func domain(name string) string {
	name = strings.ToLower(name)
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	return name
}

// reversed returns a name with its labels in reverse order, by which Route 53 sorts.
func reversed(name string) string {
	labels := strings.Split(strings.TrimSuffix(domain(name), "."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

func zoneID(id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(id, "/"), "hostedzone/"), ".Id")
}

func (c *call) zone(id string) (record, error) {
	r, err := c.get(zoneType, zoneID(id))
	if errors.Is(err, registry.ErrNotFound) {
		err = missing(http.StatusNotFound, "NoSuchHostedZone", "No hosted zone found with ID: %.100s", zoneID(id))
	}
	return r, err
}

func (c *call) zoneOut(r record) object {
	_, private := r.properties["VPCs"]
	config := object{"PrivateZone": private}
	if comment := text(child(r.properties, "HostedZoneConfig"), "Comment"); comment != "" {
		config["Comment"] = comment
	}
	return object{"Id": "/hostedzone/" + r.id, "Name": domain(text(r.properties, "Name")), "CallerReference": r.Owner, "Config": config}
}

func getZone(c *call) (object, error) {
	r, err := c.zone(text(c.in, "Id"))
	if err != nil {
		return nil, err
	}
	sets, err := c.recordSets(r)
	if err != nil {
		return nil, err
	}
	zone := c.zoneOut(r)
	zone["ResourceRecordSetCount"] = int64(len(sets))
	out := object{"HostedZone": zone}
	var networks []object
	for _, vpc := range items(r.properties, "VPCs") {
		networks = append(networks, object{"VPCRegion": text(vpc, "VPCRegion"), "VPCId": text(vpc, "VPCId")})
	}
	if len(networks) > 0 {
		out["VPCs"] = anys(networks)
	} else {
		out["DelegationSet"] = object{"NameServers": anys(native.NameServers(r.id))}
	}
	return out, nil
}

// most returns the page size that a call requests.
func most(in object, limit int64) (int64, error) {
	n, set := integer(in, "MaxItems")
	switch {
	case !set:
		return limit, nil
	case n < 1:
		return 0, awsapi.Refuse("InvalidInput", "MaxItems must be at least 1.")
	}
	return min(n, limit), nil
}

func listZones(c *call) (object, error) {
	limit, err := most(c.in, 100)
	if err != nil {
		return nil, err
	}
	list, err := c.all(zoneType)
	if err != nil {
		return nil, err
	}
	if marker := zoneID(text(c.in, "Marker")); marker != "" {
		list = slices.DeleteFunc(list, func(r record) bool { return r.id < marker })
	}
	out := object{"IsTruncated": false, "MaxItems": limit}
	if marker := text(c.in, "Marker"); marker != "" {
		out["Marker"] = marker
	}
	if int64(len(list)) > limit {
		out["IsTruncated"], out["NextMarker"] = true, list[limit].id
		list = list[:limit]
	}
	zones := []any{}
	for _, r := range list {
		zones = append(zones, c.zoneOut(r))
	}
	out["HostedZones"] = zones
	return out, nil
}

func listZonesByName(c *call) (object, error) {
	limit, err := most(c.in, 100)
	if err != nil {
		return nil, err
	}
	list, err := c.all(zoneType)
	if err != nil {
		return nil, err
	}
	key := func(r record) string { return reversed(text(r.properties, "Name")) + " " + r.id }
	slices.SortFunc(list, func(a, b record) int { return cmp.Compare(key(a), key(b)) })
	out := object{"IsTruncated": false, "MaxItems": limit}
	if name := text(c.in, "DNSName"); name != "" {
		out["DNSName"] = name
		from := reversed(name) + " "
		if id := zoneID(text(c.in, "HostedZoneId")); id != "" {
			out["HostedZoneId"] = id
			from += id
		}
		list = slices.DeleteFunc(list, func(r record) bool { return key(r) < from })
	}
	if int64(len(list)) > limit {
		next := list[limit]
		out["IsTruncated"], out["NextDNSName"], out["NextHostedZoneId"] = true, domain(text(next.properties, "Name")), next.id
		list = list[:limit]
	}
	zones := []any{}
	for _, r := range list {
		zones = append(zones, c.zoneOut(r))
	}
	out["HostedZones"] = zones
	return out, nil
}

// recordSets returns the sorted record sets of a zone: its initial ones, those of stacks and those of calls.
func (c *call) recordSets(zone record) ([]recordSet, error) {
	name := domain(text(zone.properties, "Name"))
	servers := native.NameServers(zone.id)
	sets := map[string]recordSet{}
	for _, s := range []recordSet{
		{Name: name, Type: "NS", TTL: 172800, Values: servers},
		{Name: name, Type: "SOA", TTL: 900, Values: []string{servers[0] + ". awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"}},
	} {
		sets[s.key()] = s
	}
	attached := map[string]recordSet{}
	if err := zone.state(recordSetsState, &attached); err != nil {
		return nil, err
	}
	for key, s := range attached {
		sets[key] = s
	}
	declared, err := c.all(recordSetType)
	if err != nil {
		return nil, err
	}
	for _, r := range declared {
		of := zoneID(text(r.properties, "HostedZoneId"))
		if of != zone.id && (of != "" || domain(text(r.properties, "HostedZoneName")) != name) || r.Of.State[deletedState] != nil {
			continue
		}
		s := declaredSet(r)
		sets[s.key()] = s
	}
	list := make([]recordSet, 0, len(sets))
	for _, s := range sets {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b recordSet) int { return cmp.Compare(a.key(), b.key()) })
	return list, nil
}

// declaredSet parses a record set of a stack.
func declaredSet(r record) recordSet {
	s := recordSet{
		Name: domain(text(r.properties, "Name")), Type: text(r.properties, "Type"), SetIdentifier: text(r.properties, "SetIdentifier"),
		Values: texts(r.properties, "ResourceRecords"), stack: r.id,
	}
	s.TTL, _ = strconv.ParseInt(fmt.Sprint(r.properties["TTL"]), 10, 64) // 0 for an alias
	if alias := child(r.properties, "AliasTarget"); alias != nil {
		s.Rest = object{"AliasTarget": object{
			"HostedZoneId": text(alias, "HostedZoneId"), "DNSName": domain(text(alias, "DNSName")),
			"EvaluateTargetHealth": fmt.Sprint(alias["EvaluateTargetHealth"]) == "true",
		}}
	}
	return s
}

func (s recordSet) out() object {
	o := object{"Name": s.Name, "Type": s.Type}
	if s.SetIdentifier != "" {
		o["SetIdentifier"] = s.SetIdentifier
	}
	if len(s.Values) > 0 {
		o["TTL"] = s.TTL
		var values []object
		for _, v := range s.Values {
			values = append(values, object{"Value": v})
		}
		o["ResourceRecords"] = anys(values)
	}
	for name, v := range s.Rest {
		o[name] = whole(v)
	}
	return o
}

// whole converts the numbers in stored JSON to integers, as models require.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		return int64(v)
	case object:
		out := object{}
		for name, m := range v {
			out[name] = whole(m)
		}
		return out
	}
	return v
}

func listRecordSets(c *call) (object, error) {
	limit, err := most(c.in, 300)
	if err != nil {
		return nil, err
	}
	zone, err := c.zone(text(c.in, "HostedZoneId"))
	if err != nil {
		return nil, err
	}
	list, err := c.recordSets(zone)
	if err != nil {
		return nil, err
	}
	name, kind := text(c.in, "StartRecordName"), text(c.in, "StartRecordType")
	if name == "" && kind != "" {
		return nil, awsapi.Refuse("InvalidInput", "The input is not valid: a record type needs a record name.")
	}
	if name != "" {
		from := recordSet{Name: name, Type: kind, SetIdentifier: text(c.in, "StartRecordIdentifier")}.key()
		list = slices.DeleteFunc(list, func(s recordSet) bool { return s.key() < from })
	}
	out := object{"IsTruncated": false, "MaxItems": limit}
	if int64(len(list)) > limit {
		next := list[limit]
		out["IsTruncated"], out["NextRecordName"], out["NextRecordType"] = true, next.Name, next.Type
		if next.SetIdentifier != "" {
			out["NextRecordIdentifier"] = next.SetIdentifier
		}
		list = list[:limit]
	}
	sets := []any{}
	for _, s := range list {
		sets = append(sets, s.out())
	}
	out["ResourceRecordSets"] = sets
	return out, nil
}

// badChange returns the error for a batch that cannot be applied.
func badChange(format string, args ...any) error {
	return awsapi.Refuse("InvalidChangeBatch", "["+format+"]", args...)
}

// askedSet parses the record set of a change.
func askedSet(in object) recordSet {
	s := recordSet{Name: domain(text(in, "Name")), Type: text(in, "Type"), SetIdentifier: text(in, "SetIdentifier"), Rest: object{}}
	s.TTL, _ = integer(in, "TTL")
	for _, r := range items(in, "ResourceRecords") {
		s.Values = append(s.Values, text(r, "Value"))
	}
	for name, v := range in {
		if !slices.Contains([]string{"Name", "Type", "SetIdentifier", "TTL", "ResourceRecords"}, name) {
			s.Rest[name] = v
		}
	}
	return s
}

func sameValues(a, b recordSet) bool {
	return a.TTL == b.TTL && slices.Equal(slices.Sorted(slices.Values(a.Values)), slices.Sorted(slices.Values(b.Values)))
}

func changeRecordSets(c *call) (object, error) {
	zone, err := c.zone(text(c.in, "HostedZoneId"))
	if err != nil {
		return nil, err
	}
	changes := items(child(c.in, "ChangeBatch"), "Changes")
	switch {
	case len(changes) == 0:
		return nil, awsapi.Refuse("InvalidInput", "The change batch must have a change.")
	case len(changes) > 1000:
		return nil, badChange("Number of records limit of 1000 exceeded.")
	}
	var hidden, shown []string // record sets of stacks
	_, err = c.change(zoneType, zone.id, func(zone *record) error {
		hidden, shown = nil, nil
		list, err := c.recordSets(*zone)
		if err != nil {
			return err
		}
		sets := map[string]recordSet{}
		for _, s := range list {
			sets[s.key()] = s
		}
		attached := map[string]recordSet{}
		if err := zone.state(recordSetsState, &attached); err != nil {
			return err
		}
		name := domain(text(zone.properties, "Name"))
		for _, change := range changes {
			s := askedSet(child(change, "ResourceRecordSet"))
			there, exists := sets[s.key()]
			action := text(change, "Action")
			switch {
			case s.Type == "" || len(s.Name) > 1024:
				return awsapi.Refuse("InvalidInput", "A record set needs a name of at most 1024 characters and a type.")
			case s.Name != name && !strings.HasSuffix(s.Name, "."+name):
				return badChange("RRSet with DNS name %s is not permitted in zone %s", s.Name, name)
			case len(s.Values) == 0 && s.Rest["AliasTarget"] == nil:
				return badChange("Invalid Resource Record: the record set [name='%s', type='%s'] has neither records nor an alias", s.Name, s.Type)
			case action == "CREATE" && exists:
				return badChange("Tried to create resource record set [name='%s', type='%s'] but it already exists", s.Name, s.Type)
			case action == "DELETE" && !exists:
				return badChange("Tried to delete resource record set [name='%s', type='%s'] but it was not found", s.Name, s.Type)
			case action == "DELETE" && !sameValues(s, there):
				return badChange("Tried to delete resource record set [name='%s', type='%s'] but the values provided do not match the current values", s.Name, s.Type)
			case action == "DELETE":
				delete(sets, s.key())
				delete(attached, s.key())
				if there.stack != "" {
					hidden = append(hidden, there.stack)
				}
			case action == "CREATE" || action == "UPSERT":
				sets[s.key()], attached[s.key()] = s, s
				if there.stack != "" {
					shown = append(shown, there.stack)
				}
			default:
				return awsapi.Refuse("InvalidInput", "The action of a change is CREATE, UPSERT or DELETE.")
			}
		}
		if len(attached) > maxRecordSets {
			return badChange("Pintle keeps at most %d record sets of calls in a hosted zone", maxRecordSets)
		}
		return zone.attach(recordSetsState, attached)
	})
	if err != nil {
		return nil, err
	}
	// A record set of a stack that a call deletes or overwrites is not listed any more in its declared form.
	for _, id := range slices.Concat(hidden, shown) {
		if _, err := c.change(recordSetType, id, func(r *record) error { return r.attach(deletedState, true) }); err != nil && !errors.Is(err, registry.ErrNotFound) {
			return nil, err
		}
	}
	return object{"ChangeInfo": changeInfo(fmt.Sprintf("C%08X%s", c.now().Unix(), rand.Text()[:12]), c.now())}, nil
}

func changeInfo(id string, at time.Time) object {
	return object{"Id": "/change/" + id, "Status": "INSYNC", "SubmittedAt": at}
}

var changeForm = regexp.MustCompile(`^C([0-9A-F]{8})[A-Z2-7]{12}$`)

// getChange describes a change by its ID, which contains the time. All changes are in sync.
func getChange(c *call) (object, error) {
	id := strings.TrimPrefix(strings.TrimPrefix(text(c.in, "Id"), "/"), "change/")
	parts := changeForm.FindStringSubmatch(id)
	if parts == nil {
		return nil, missing(http.StatusNotFound, "NoSuchChange", "A change with the specified change ID does not exist.")
	}
	seconds, err := strconv.ParseInt(parts[1], 16, 64)
	if err != nil {
		return nil, err
	}
	return object{"ChangeInfo": changeInfo(id, time.Unix(seconds, 0))}, nil
}
