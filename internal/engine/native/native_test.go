package native_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const stackID = wire.StackID("arn:aws:cloudformation:eu-west-1:123456789012:stack/signal/0f1e")

func registry(t testing.TB) *native.Registry {
	t.Helper()
	types, err := native.CloudFormation(native.Config{SignalURL: func(key responseurl.ResponseKey, region string) (string, error) {
		if key.LogicalID == "Bad" {
			return "", errors.New("no such host")
		}
		return "https://example.com/signal/" + strings.ReplaceAll(key.String(), "|", "%7C") + "?X-Amz-Signature=" + region, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func object(members ...string) value.Value {
	v := value.Object()
	for i := 0; i < len(members); i += 2 {
		v = v.With(members[i], value.Str(members[i+1]))
	}
	return v
}

func request(kind wire.RequestType, resourceType string) *store.Request {
	return &store.Request{ID: "r-1", Logical: "H", Type: kind, Body: &store.RequestBody{
		StackID: stackID, Region: "eu-west-1", ResourceType: resourceType, Properties: object(),
	}}
}

// awaiting returns the Create of a WaitCondition that waits for signals to a handle.
func awaiting(handle wire.LogicalID) *store.Request {
	r := request(wire.Create, "AWS::CloudFormation::WaitCondition")
	r.Body.Await = &store.Await{Count: 1, Handle: handle}
	return r
}

func TestServe(t *testing.T) {
	types := registry(t)
	for _, test := range []struct {
		name string
		r    *store.Request
		want native.Result
	}{
		{"metadata", request(wire.Create, "AWS::CDK::Metadata"), native.Result{PhysicalID: "signal-H-AKmeS3GAy7Zo"}},
		{"metadata, updated", request(wire.Update, "AWS::CDK::Metadata"), native.Result{}},
		{"handle", request(wire.Create, native.WaitConditionHandle), native.Result{
			PhysicalID: wire.PhysicalID("https://example.com/signal/" + stackID + "%7CH%7Cr-1"),
			Ref:        value.SecretStr("https://example.com/signal/" + string(stackID) + "%7CH%7Cr-1?X-Amz-Signature=eu-west-1"),
		}},
		{"handle, deleted", request(wire.Delete, native.WaitConditionHandle), native.Result{}},
		{"condition", request(wire.Create, "AWS::CloudFormation::WaitCondition"), native.Result{PhysicalID: wire.PhysicalID(stackID + "/H")}},
		{"condition of a handle", awaiting("Ready"), native.Result{PhysicalID: wire.PhysicalID(stackID + "/Ready")}},
		{"condition, deleted", request(wire.Delete, "AWS::CloudFormation::WaitCondition"), native.Result{}},
	} {
		for range 2 { // serving it again has the same result
			got, err := types.Serve(t.Context(), test.r)
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" || got.Ref.HasSecret() != test.want.Ref.HasSecret() {
				t.Errorf("%s: error %v, (-want +got):\n%s", test.name, err, diff)
			}
		}
	}
	bad := request(wire.Create, native.WaitConditionHandle)
	bad.Logical = "Bad"
	if _, err := types.Serve(t.Context(), bad); err == nil || err.Error() != "make the URL of the handle: no such host" {
		t.Errorf("error %v", err)
	}
	for _, name := range []string{"AWS::CloudFormation::StackSet", "Custom::Thing::More", "AWS::S3", "AWS::S3::Bucket::Policy", "AWS::S3::", "A::S3::Bucket"} {
		if _, err := types.Serve(t.Context(), request(wire.Create, name)); err == nil || !strings.Contains(err.Error(), "is not native") {
			t.Errorf("a type that is not there: %v", err)
		}
		if types.Schema(name) != nil {
			t.Errorf("%s has a schema", name)
		}
	}
	var none *native.Registry
	if _, err := none.Serve(t.Context(), request(wire.Create, "AWS::S3::Bucket")); err == nil || !strings.Contains(err.Error(), "is not native") {
		t.Errorf("a registry that is not there: %v", err)
	}
}

func TestRecord(t *testing.T) {
	types := registry(t)
	schema := types.Schema("AWS::S3::Bucket")
	if schema == nil || !schema.Recorded || !schema.HasAttribute("Anything") {
		t.Fatalf("schema %+v", schema)
	}
	wanted, err := types.Declare("AWS::S3::Bucket", native.Declaration{
		StackID: stackID, Properties: object("Anything", "x"), CreationPolicy: object("ResourceSignal", "x"),
	})
	if diff := cmp.Diff(native.Wanted{Timeout: native.DefaultTimeout}, wanted); err != nil || diff != "" {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
	if change, reason := schema.Change(object("A", "1"), object("A", "2")); change != native.InPlace || reason != "" {
		t.Errorf("a change is %v %q", change, reason)
	}
	got, err := types.Serve(t.Context(), request(wire.Create, "AWS::S3::Bucket"))
	if err != nil || !strings.HasPrefix(string(got.PhysicalID), "signal-H-") {
		t.Errorf("served %+v, error %v", got, err)
	}
	if got, err := types.Serve(t.Context(), request(wire.Update, "AWS::S3::Bucket")); err != nil || got.PhysicalID != "" {
		t.Errorf("served %+v, error %v", got, err)
	}
	for attribute, want := range map[string]string{
		"Arn":         "arn:aws:s3:eu-west-1:123456789012:bucket/signal-H-1",
		"ClusterArn":  "arn:aws:s3:eu-west-1:123456789012:bucket/signal-H-1",
		"DomainName":  "signal-H-1.DomainName",
		"Outputs.Key": "signal-H-1.Outputs.Key",
	} {
		if got := native.StandIn(stackID, "AWS::S3::Bucket", "signal-H-1", attribute); got.Text() != want || got.HasSecret() {
			t.Errorf("%s is %s", attribute, got)
		}
	}
}

// TestRecordsOfAlibabaCloud checks that an Alibaba Cloud type without a provider is a record in ROS templates only.
func TestRecordsOfAlibabaCloud(t *testing.T) {
	types, err := native.New()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]wire.Dialect{
		"ALIYUN::OSS::Bucket": wire.ROS, "ALIYUN::ROS::AutoEnableService": wire.ROS, "AWS::S3::Bucket": wire.CloudFormation, "Mine::Own::Thing": wire.CloudFormation,
		"DATASOURCE::ECS::Images": wire.ROS, "ALIYUN::ROS::StackGroup": wire.ROS, "ALIYUN::ROS::MergePay": wire.ROS,
	} {
		if s := types.Schema(name); s == nil || !s.Recorded || s.Dialect != want {
			t.Errorf("the schema of %s is %+v", name, s)
		}
	}
	for _, name := range []string{"ALIYUN::ROS::Stack", "ALIYUN::ROS::CustomResource", "MODULE::ACS::OOS", "Custom::A::B", "ALIYUN::RandomString"} {
		if s := types.Schema(name); s != nil {
			t.Errorf("%s is recorded", name)
		}
	}
	const id = "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"
	for attribute, want := range map[string]string{"Arn": "acs:oss:::bucket/b", "ARN": "acs:oss:::bucket/b", "DomainName": "b.DomainName"} {
		if got := native.StandIn(id, "ALIYUN::OSS::Bucket", "b", attribute); got.Text() != want {
			t.Errorf("%s is %s", attribute, got)
		}
	}
	for _, c := range [][3]string{
		{"ALIYUN::ECS::InstanceGroup", "PrivateIps", `["b.PrivateIps"]`},
		{"ALIYUN::ECS::InstanceGroup", "InstanceIds", `["b.InstanceIds"]`},
		{"ALIYUN::ECS::AssignIpv6Addresses", "Ipv6Addresses", `["b.Ipv6Addresses"]`},
		{"ALIYUN::REDIS::Whitelist", "SecurityIps", `"b.SecurityIps"`},
		{"ALIYUN::ECS::Disk", "Status", `"b.Status"`},
		{"ALIYUN::CS::App", "Services", `"b.Services"`},
		{"ALIYUN::CS::ManagedKubernetesCluster", "Nodes", `[{"InstanceId":"b.InstanceId"}]`},
		{"ALIYUN::FC::Application", "Output", `{}`},
		{"ALIYUN::VPC::EIPSegment", "EipAddresses", `[{"AllocationId":"b.AllocationId","IpAddress":"b.IpAddress"}]`},
		{"DATASOURCE::ECS::Disk", "DiskNums", `"b.DiskNums"`},
		{"DATASOURCE::ECS::Disk", "IOPS", `"b.IOPS"`},
	} {
		if got := native.StandIn(id, c[0], "b", c[1]); string(got.JSON()) != c[2] {
			t.Errorf("%s of %s is %s, want %s", c[1], c[0], got.JSON(), c[2])
		}
	}
	for attribute, want := range map[string]string{
		"InstanceIds": `["b.InstanceIds"]`, "HostNames": `["b.HostNames"]`, "Disks": "[{}]", "Address": `"b.Address"`, "Status": `"b.Status"`,
	} {
		if got := native.StandIn(id, "DATASOURCE::ECS::Instances", "b", attribute); string(got.JSON()) != want {
			t.Errorf("%s of a data source is %s", attribute, got)
		}
	}
	if got := native.RecordedOnly(wire.ROS, []string{"A", "B"}); got != "Recorded only: nothing is created in Alibaba Cloud for A, B" {
		t.Error(got)
	}
	many := []string{"A", "B", "C", "D", "E", "F", "G"}
	if got := native.RecordedOnly(wire.CloudFormation, many); got != "Recorded only: nothing is created in AWS for A, B, C, D, E and 2 more types" {
		t.Error(got)
	}
	r := request(wire.Create, "ALIYUN::OSS::Bucket")
	r.Body.StackID, r.Body.StackName = id, "shop"
	if got := native.MadeUpName(r, 0); !strings.HasPrefix(got, "shop-H-") {
		t.Errorf("the name %s", got)
	}
}

// kind is a type of a dialect.
type kind struct{ schema native.Schema }

func (k kind) Schema() *native.Schema { return &k.schema }

func (kind) Serve(context.Context, *store.Request) (native.Result, error) {
	return native.Result{}, nil
}

func TestNamesOf(t *testing.T) {
	types, err := native.New(kind{native.Schema{Name: "B"}}, kind{native.Schema{Name: "R", Dialect: wire.ROS}}, kind{native.Schema{Name: "A"}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[wire.Dialect][]string{wire.CloudFormation: types.NamesOf(wire.CloudFormation), wire.ROS: types.NamesOf(wire.ROS)}
	if diff := cmp.Diff(map[wire.Dialect][]string{wire.CloudFormation: {"A", "B"}, wire.ROS: {"R"}}, got); diff != "" {
		t.Error(diff)
	}
}

// faulty panics, or has the name of another type.
type faulty struct{ name string }

func (f faulty) Schema() *native.Schema { return &native.Schema{Name: f.name} }

func (faulty) Serve(context.Context, *store.Request) (native.Result, error) { panic("out of cheese") }

func TestFaultyTypes(t *testing.T) {
	types, err := native.New(faulty{"A"}, faulty{"B"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = types.Serve(t.Context(), request(wire.Create, "A"))
	broken, ok := errors.AsType[*native.PanicError](err)
	if !ok || broken.Type != "A" || !strings.HasPrefix(broken.Cause, "a string, which is left out") || !strings.Contains(broken.Stack, "faulty") ||
		strings.Contains(err.Error(), "cheese") {
		t.Errorf("error %v", err)
	}
	if _, ended, err := types.Awaited("A", store.Await{}, nil, value.Value{}, false); !ended || err == nil {
		t.Errorf("a type that waits for nothing: ended %t, error %v", ended, err)
	}
	if diff := cmp.Diff([]string{"A", "B"}, types.Names()); diff != "" {
		t.Error(diff)
	}
	if _, err := native.New(faulty{"A"}, faulty{"A"}); err == nil {
		t.Error("two types have one name")
	}
	if _, err := native.CloudFormation(native.Config{}); err == nil {
		t.Error("nobody makes URLs")
	}
}

func TestDeclareWaitCondition(t *testing.T) {
	types := registry(t)
	url := "https://example.com:8443/signal/deep/signal/" + strings.ReplaceAll(string(stackID), ":", "%3A") + "%7CH%7Cr-1?X-Amz-Signature=1"
	signal := func(members ...string) value.Value {
		return value.Object(value.Member{Key: "ResourceSignal", Value: object(members...)})
	}
	handle := &store.Await{Count: 1, Handle: "H", From: "r-1"}
	for _, test := range []struct {
		name               string
		properties, policy value.Value
		want               native.Wanted
		problem            string
	}{
		{"handle", object("Handle", url, "Timeout", "0"), value.Value{}, native.Wanted{Await: handle}, ""},
		{"longest", object("Handle", url, "Timeout", "43200", "Count", "1000"), value.Value{},
			native.Wanted{Timeout: 12 * time.Hour, Await: &store.Await{Count: 1000, Handle: "H", From: "r-1"}}, ""},
		{"default policy", object(), signal(), native.Wanted{Timeout: 5 * time.Minute, Await: &store.Await{Count: 1}}, ""},
		{"policy", object(), signal("Count", "3", "Timeout", "PT1H30M10S"),
			native.Wanted{Timeout: 90*time.Minute + 10*time.Second, Await: &store.Await{Count: 3}}, ""},
		{"twelve hours", object(), signal("Timeout", "PT720M"), native.Wanted{Timeout: 12 * time.Hour, Await: &store.Await{Count: 1}}, ""},
		{"negative", object("Handle", url, "Timeout", "-1"), value.Value{}, native.Wanted{}, "Value of property Timeout must be from 0 to 43200"},
		{"many", object("Handle", url, "Timeout", "1", "Count", "1001"), value.Value{}, native.Wanted{}, "Value of property Count must be from 0 to 1000"},
		{"no handle", object("Timeout", "1"), value.Value{}, native.Wanted{}, "Property validation failure: [The property {/Handle} is required]"},
		{"other stack", object("Handle", strings.Replace(url, "0f1e", "0f1f", 1), "Timeout", "1"), value.Value{}, native.Wanted{},
			"Value of property Handle must be the Ref of a AWS::CloudFormation::WaitConditionHandle of the same stack"},
		{"policy of another kind", object(), object("AutoScalingCreationPolicy", "x"), native.Wanted{}, "CreationPolicy must have a ResourceSignal, an object"},
		{"policy with more", object(), signal().With("StartFleet", object()), native.Wanted{}, "CreationPolicy: Encountered unsupported property StartFleet"},
		{"signal with more", object(), signal("Wait", "1"), native.Wanted{}, "CreationPolicy: Encountered unsupported property Wait"},
	} {
		got, err := types.Declare("AWS::CloudFormation::WaitCondition", native.Declaration{
			StackID: stackID, Properties: test.properties, CreationPolicy: test.policy,
		})
		switch {
		case test.problem != "":
			if err == nil || err.Error() != test.problem {
				t.Errorf("%s: error %v, want %s", test.name, err, test.problem)
			}
		case err != nil:
			t.Errorf("%s: error %v", test.name, err)
		default:
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	}
}

func TestInvalidTimeouts(t *testing.T) {
	types := registry(t)
	for _, text := range []string{"", "PT", "P1D", "PT1", "PT1X", "PT-1S", "PT1S1M", "PT13H", "PT12H1S", "PT99999999999999999999H", "pt1m", "PT1M ", "300"} {
		policy := value.Object(value.Member{Key: "ResourceSignal", Value: object("Timeout", text)})
		_, err := types.Declare("AWS::CloudFormation::WaitCondition", native.Declaration{Properties: object(), CreationPolicy: policy})
		if err == nil || !strings.Contains(err.Error(), "ISO 8601") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func FuzzDeclare(f *testing.F) {
	types := registry(f)
	f.Add("https://example.com/signal/arn:aws:x|H|r", "60", "1", "PT5M")
	f.Add("%zz", "-0", "1e3", "PT1H1M1S")
	f.Fuzz(func(t *testing.T, handle, timeout, count, wait string) {
		for _, d := range []native.Declaration{
			{StackID: stackID, Properties: object("Handle", handle, "Timeout", timeout, "Count", count)},
			{StackID: stackID, Properties: object(), CreationPolicy: value.Object(value.Member{
				Key: "ResourceSignal", Value: object("Count", count, "Timeout", wait),
			})},
		} {
			wanted, err := types.Declare("AWS::CloudFormation::WaitCondition", d)
			if err == nil && (wanted.Timeout < 0 || wanted.Timeout > 12*time.Hour || wanted.Await.Count < 0 || wanted.Await.Count > native.MaxSignals) {
				t.Errorf("%v comes to %+v", d, wanted)
			}
		}
	})
}

func TestSchemaKinds(t *testing.T) {
	kinds, err := native.New(kindly{})
	if err != nil {
		t.Fatal(err)
	}
	list, truth := value.Strs("a"), value.Str("true")
	for _, test := range []struct {
		name  string
		v     value.Value
		wrong string
	}{
		{"Text", list, "of type String"}, {"Integer", truth, "of type Integer"}, {"Truth", list, "of type Boolean"},
		{"Truth", value.Str("yes"), "of type Boolean"}, {"List", truth, "a list"}, {"Object", list, "an object"}, {"Document", list, "an object, or its text as JSON"},
		{"Text", value.Num("1"), ""}, {"Integer", value.Num("5"), ""}, {"Truth", truth, ""}, {"List", list, ""}, {"Object", object(), ""},
		{"Document", object(), ""}, {"Document", value.Str("{}"), ""},
	} {
		want := ""
		if test.wrong != "" {
			want = "Value of property " + test.name + " must be " + test.wrong
		}
		wanted, err := kinds.Declare("Test::Kindly", native.Declaration{Properties: value.Object(value.Member{Key: test.name, Value: test.v})})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || err == nil && wanted.Timeout != native.DefaultTimeout {
			t.Errorf("%s %s: %q, want %q", test.name, test.v, got, want)
		}
	}
}

// TestNormal checks that values in a document keep their types.
func TestNormal(t *testing.T) {
	in, err := value.Parse([]byte(`{"Integer": 5, "List": [true], "Object": {"A": 1.50}, "Document": {"A": 1.50, "B": [true, {"C": 1}]}, "Unknown": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Integer":"5","List":["true"],"Object":{"A":"1.50"},"Document":{"A":1.50,"B":[true,{"C":1}]},"Unknown":"1"}`
	if got := string(kindly{}.Schema().Normal(in).JSON()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(kindly{}.Schema().Normal(value.Object(value.Member{Key: "Document", Value: value.Num("1")})).JSON()); got != `{"Document":"1"}` {
		t.Errorf("a document that is none: %s", got)
	}
}

// kindly has a property of every kind.
type kindly struct{ faulty }

func (kindly) Schema() *native.Schema {
	return &native.Schema{Name: "Test::Kindly", Properties: []native.Property{
		{Name: "Text"}, {Name: "Integer", Kind: native.Integer, Max: 5}, {Name: "Truth", Kind: native.Truth},
		{Name: "List", Kind: native.List}, {Name: "Object", Kind: native.Object}, {Name: "Document", Kind: native.Document},
	}}
}

// TestKeep checks that a record is kept under its resource's ID, and that an error fails the request.
func TestKeep(t *testing.T) {
	var kept []string
	failure := errors.New("the store is full")
	types, err := native.CloudFormation(native.Config{
		SignalURL: func(responseurl.ResponseKey, string) (string, error) { return "", nil },
		Keep: func(_ context.Context, r *store.Request, id wire.PhysicalID) error {
			kept = append(kept, string(r.Type)+" "+r.Body.ResourceType+" "+string(id))
			return failure
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	create := request(wire.Create, "AWS::EC2::VPC")
	if _, err := types.Serve(t.Context(), create); !errors.Is(err, failure) {
		t.Errorf("a create ended with %v, want %v", err, failure)
	}
	failure = nil
	made, err := types.Serve(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := types.Serve(t.Context(), request(wire.Delete, "AWS::CDK::Metadata")); err != nil {
		t.Fatal(err)
	}
	want := "Create AWS::EC2::VPC " + string(made.PhysicalID)
	if !slices.Equal(kept, []string{want, want}) {
		t.Errorf("kept %q, want %q twice", kept, want)
	}
	zone := native.StandIn(stackID, "AWS::Route53::HostedZone", "zone", "NameServers")
	if len(zone.Items()) != 4 || zone.Items()[0].Text() != native.NameServers("zone")[0] {
		t.Errorf("the name servers are %s", zone)
	}
}
