package aliyun_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

// life is the life cycle of a resource of a type.
type life struct {
	resourceType string
	// first, changed and replaced are properties. changed updates first in place, and replaced replaces the resource.
	// changed is empty for a type without in-place updates.
	first, changed, replaced string
	// id is the physical ID, or empty for a generated one.
	id string
	// attributes are the values of Fn::GetAtt with first.
	attributes map[string]string
	// look describes the object with an ID, or returns "" if it does not exist.
	look func(w *world, id string) string
	// is and becomes are the descriptions with first and with changed.
	is, becomes string
}

// keyID is the ID of the key that the resource X of the stack S creates.
const keyID = "LTAI" + "5tR7K3I7US2E2XE2V6NM"

const layerARN = "acs:fc:cn-hangzhou:0000123456789012:layers/l/versions/1"

const source = `"Code": {"SourceCode": "def handler(event, context): pass"}`

func lives(t *testing.T) []life {
	record := func(resourceType, first, changed, replaced, id string, attributes map[string]string) life {
		return life{
			resourceType: resourceType, first: first, changed: changed, replaced: replaced, id: id, attributes: attributes,
			look: recorded(resourceType, home),
		}
	}
	identity := func(resourceType, first, changed, replaced, id string, attributes map[string]string) life {
		l := record(resourceType, first, changed, replaced, id, attributes)
		l.look = recorded(resourceType, identities)
		return l
	}
	return []life{
		{
			resourceType: "ALIYUN::FC::Function",
			first: `"ServiceName": "s", "FunctionName": "f", "Handler": "index.handler", "Runtime": "python3.10", ` + source +
				`, "EnvironmentVariables": {"WORD": {"Ref": "Secret"}, "ON": true}`,
			changed: `"ServiceName": "s", "FunctionName": "f", "Handler": "main.handler", "Runtime": "nodejs20", "Timeout": 60, "MemorySize": "256",
				"Code": {"SourceCode": "ignored", "ZipFile": "` + archive(t, "main.js", "exports.handler = 1") + `"}, "Description": null`,
			replaced: `"ServiceName": "t", "FunctionName": "f", "Handler": "index.handler", "Runtime": "python3.10", ` + source,
			id:       "f",
			attributes: map[string]string{
				"ARN": "acs:fc:cn-hangzhou:0000123456789012:services/s/functions/f", "FunctionName": "f", "ServiceName": "s",
				"FunctionId": "c2158ac3-df87-5797-9a89-49020e85e058", "ServiceId": "0d102ab3-682b-5465-8502-0c40986ee820",
			},
			look: running("services/s/functions/"),
			is:   "python3.10 index.handler 3 128 map[ON:true WORD:hunter2&more] [WORD]", becomes: "nodejs20 main.handler 60 256 map[] []",
		},
		{
			resourceType: "ALIYUN::FC3::Function",
			first:        `"FunctionName": "f", "Handler": "index.handler", "Runtime": "nodejs20", "Cpu": 0.35, "Code": {"SourceCode": "exports.handler = 1"}`,
			changed:      `"FunctionName": "f", "Handler": "index.handler", "Runtime": "python3", "Timeout": 86400, ` + source + `, "LogConfig": {"Project": "p"}`,
			replaced:     `"FunctionName": "g", "Handler": "index.handler", "Runtime": "python3", ` + source,
			id:           "f",
			attributes: map[string]string{
				"ARN": "acs:fc:cn-hangzhou:0000123456789012:functions/f", "FunctionName": "f", "FunctionId": "c2158ac3-df87-5797-9a89-49020e85e058",
			},
			look: running("functions/"),
			is:   "nodejs20 index.handler 3 128 map[] []", becomes: "python3 index.handler 86400 128 map[] []",
		},
		{
			resourceType: "ALIYUN::FC::Layer",
			first:        `"LayerName": "l", "CompatibleRuntime": ["python3.10"], "Code": {"ZipFile": "` + archive(t, "python/a.py", "") + `"}`,
			replaced:     `"LayerName": "m", "CompatibleRuntime": ["python3.10"], "Code": {"ZipFile": "` + archive(t, "python/a.py", "") + `"}`,
			id:           layerARN,
			attributes:   map[string]string{"Arn": layerARN, "LayerName": "l", "Version": "1"},
			look: func(w *world, _ string) string {
				list, err := w.catalog.Layers.List(w.ctx, home, "l:", 10) // a crash leaves a number unused
				w.must(err)
				var runtimes []string
				for _, l := range list {
					runtimes = append(runtimes, l.Of.Runtimes...)
				}
				return strings.Join(runtimes, " ")
			},
			is: "python3.10",
		},
		{
			resourceType: "ALIYUN::OSS::Bucket",
			first:        `"BucketName": "my-bucket", "AccessControl": "public-read", "Tags": {"k": "v"}`,
			changed:      `"BucketName": "my-bucket", "AccessControl": "private", "DeletionForce": true`,
			replaced:     `"BucketName": "other-bucket"`,
			id:           "my-bucket",
			attributes: map[string]string{
				"Arn": "acs:oss:*:0000123456789012:my-bucket", "Name": "my-bucket", "DomainName": "my-bucket.oss-cn-hangzhou.aliyuncs.com",
				"InternalDomainName": "my-bucket.oss-cn-hangzhou-internal.aliyuncs.com",
			},
			look: func(w *world, id string) string {
				b, err := w.catalog.Buckets.Get(w.ctx, registry.Global, id)
				return found(w, fmt.Sprint(b.Of.Settings, b.Of.Tags), err)
			},
			is: "map[oss.acl:public-read] map[k:v]", becomes: "map[oss.acl:private] map[]",
		},
		record("ALIYUN::FC::Service", `"ServiceName":"svc","Tags":[{"Key":"k","Value":"v"}]`,
			`"ServiceName":"svc","LogConfig":{"Project":"p","Logstore":"l"}`, `"ServiceName":"other"`, "svc", map[string]string{
				"InternetAccess": "true", "LogProject": "", "Logstore": "", "Role": "", "ServiceId": "c2158ac3-df87-5797-9a89-49020e85e058",
				"ServiceName": "svc", "VpcId": "", "Tags": `[{"Key":"k","Value":"v"}]`,
			}),
		record("ALIYUN::FC::Trigger",
			`"FunctionName":"f","ServiceName":"s","TriggerConfig":{"enable":"true"},"TriggerName":"t","TriggerType":"timer"`,
			`"FunctionName":"f","ServiceName":"s","TriggerConfig":{},"TriggerName":"t","TriggerType":"timer"`,
			`"FunctionName":"f","ServiceName":"s","TriggerConfig":{},"TriggerName":"u","TriggerType":"timer"`, "s/f/t", map[string]string{
				"FunctionName": "f", "ServiceName": "s", "TriggerName": "t", "TriggerId": "c2158ac3-df87-5797-9a89-49020e85e058",
				"UrlInternet": "https://0000123456789012.cn-hangzhou.fc.aliyuncs.com/2016-08-15/proxy/s/f/",
				"UrlIntranet": "https://0000123456789012.cn-hangzhou-internal.fc.aliyuncs.com/2016-08-15/proxy/s/f/",
			}),
		record("ALIYUN::MNS::Queue", `"QueueName":"q"`, `"QueueName":"q","DelaySeconds":"5"`, `"QueueName":"r"`, "q", map[string]string{
			"ARN": "acs:mns:cn-hangzhou:0000123456789012:queues/q", "ARN.WithSlash": "acs:mns:cn-hangzhou:0000123456789012:/queues/q",
			"QueueName": "q",
			"QueueUrl":  "http://0000123456789012.mns.cn-hangzhou.aliyuncs.com/queues/q",
		}),
		record("ALIYUN::MNS::Topic", `"TopicName":"t"`, `"TopicName":"t","LoggingEnabled":"true"`, `"TopicName":"r"`, "t", map[string]string{
			"ARN": "acs:mns:cn-hangzhou:0000123456789012:topics/t", "ARN.WithSlash": "acs:mns:cn-hangzhou:0000123456789012:/topics/t",
			"TopicName": "t",
			"TopicUrl":  "http://0000123456789012.mns.cn-hangzhou.aliyuncs.com/topics/t",
		}),
		identity("ALIYUN::RAM::Role", `"RoleName":"Mine","AssumeRolePolicyDocument":{"Version":"1"}`,
			`"RoleName":"Mine","AssumeRolePolicyDocument":{"Version":"2"}`, `"RoleName":"Mine","AssumeRolePolicyDocument":{"Version":"1"},"Description":"d"`,
			"Mine", map[string]string{"Arn": "acs:ram::0000123456789012:role/mine", "RoleId": "311886007119877278", "RoleName": "Mine"}),
		identity("ALIYUN::RAM::ManagedPolicy", `"PolicyName":"p"`, `"PolicyName":"p","PolicyDocument":{"Version":"1"}`, `"PolicyName":"q"`, "p",
			map[string]string{"PolicyName": "p"}),
		identity("ALIYUN::RAM::User", `"UserName":"u"`, `"UserName":"u","Policies":[]`, `"UserName":"u","Email":"a@b"`, "u", map[string]string{
			"CreateDate": "2026-11-22T01:02:03Z", "LastLoginDate": "", "UserId": "311886007119877278", "UserName": "u",
		}),
		identity("ALIYUN::RAM::AccessKey", `"UserName":"u"`, ``, `"UserName":"v"`, keyID, map[string]string{
			"AccessKeyId": keyID, "AccessKeySecret": "UHUPW2ZCKKKGN5UYUEOPAAJACTVTVK", "Status": "Active",
		}),
		identity("ALIYUN::RAM::AttachPolicyToRole", `"PolicyName":"p","PolicyType":"System","RoleName":"r"`, ``,
			`"PolicyName":"p","PolicyType":"System","RoleName":"s"`, "", map[string]string{}),
		identity("ALIYUN::RAM::AttachPolicyToUser", `"PolicyName":"p","PolicyType":"System","UserName":"r"`, ``,
			`"PolicyName":"p","PolicyType":"System","UserName":"s"`, "", map[string]string{}),
		record("ALIYUN::SLS::Project", `"Name":"logs"`, ``, `"Name":"more"`, "logs", map[string]string{"Name": "logs"}),
		record("ALIYUN::SLS::Logstore", `"LogstoreName":"all","ProjectName":"logs"`, `"LogstoreName":"all","ProjectName":"logs","TTL":"7"`,
			`"LogstoreName":"all","ProjectName":"more"`, "logs/all", map[string]string{"LogstoreName": "all", "ProjectName": "logs"}),
		record("ALIYUN::ROS::AutoEnableService", `"ServiceName":"FC"`, ``, `"ServiceName":"MNS"`, "", map[string]string{"ServiceName": "FC"}),
	}
}

// prepare creates the service of functions.
func (w *world) prepare() { w.make("Service", "ALIYUN::FC::Service", `"ServiceName": "s"`) }

// TestLives creates, updates and deletes a resource of each type. Each request is served twice.
func TestLives(t *testing.T) {
	all := lives(t)
	for _, l := range all {
		t.Run(l.resourceType, func(t *testing.T) { l.live(newWorld(t)) })
	}
	if len(all) != len(newWorld(t).types.Names()) {
		t.Errorf("there are %d lives of %d types", len(all), len(newWorld(t).types.Names()))
	}
}

func (l life) live(w *world) {
	t := w.t
	w.prepare()
	if l.is == "" {
		l.is, l.becomes = "{"+l.first+"}", "{"+l.changed+"}"
	}
	made := w.serve(w.request(wire.Create, "X", l.resourceType, l.first, "", ""))
	id := string(made.PhysicalID)
	if diff := cmp.Diff(l.attributes, attributes(made)); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if l.id != "" && id != l.id || len(id) < len(l.id) || id == "" {
		t.Errorf("the id is %s", id)
	}
	schema := w.types.Schema(l.resourceType)
	for name := range l.attributes {
		if !schema.HasAttribute(name) {
			t.Errorf("the attribute %s is not in the schema", name)
		}
	}
	if got := l.look(w, id); got != l.is {
		t.Errorf("there is %s, want %s", got, l.is)
	}
	change := func(to string) native.Change {
		c, _ := schema.Change(w.parse(l.resourceType, l.first), w.parse(l.resourceType, to))
		return c
	}
	if change(l.replaced) != native.Replaces {
		t.Error("what cannot be changed is changed in place")
	}
	last := l.first
	if l.changed != "" {
		if change(l.changed) != native.InPlace {
			t.Error("what can be changed is not changed in place")
		}
		w.serve(w.request(wire.Update, "X", l.resourceType, l.changed, l.first, id))
		if got := l.look(w, id); got != l.becomes {
			t.Errorf("there is %s, want %s", got, l.becomes)
		}
		last = l.changed
		missing := w.request(wire.Update, "X", l.resourceType, l.changed, l.first, "no-such-thing")
		w.fails(missing, "could not be found")
	}
	// A Delete of another resource removes nothing. A Delete of the resource removes everything.
	w.serve(w.request(wire.Delete, "Y", l.resourceType, last, "", id))
	if l.look(w, id) == "" {
		t.Error("another resource has removed it")
	}
	w.serve(w.request(wire.Delete, "X", l.resourceType, last, "", id))
	if got := l.look(w, id); got != "" {
		t.Errorf("after its delete there is %s", got)
	}
}

// TestCrashes kills the program at every write of a create, an update and a delete. After the request is served
// again, the state is the same as without the crash.
func TestCrashes(t *testing.T) {
	died := 0
	for _, l := range lives(t) {
		if l.is == "" {
			l.is, l.becomes = "{"+l.first+"}", "{"+l.changed+"}"
		}
		for _, kind := range []wire.RequestType{wire.Create, wire.Update, wire.Delete} {
			for _, after := range []bool{false, true} {
				for at := 1; ; at++ {
					fired := false
					t.Run(fmt.Sprintf("%s of %s, at write %d, on disk %t", kind, l.resourceType, at, after), func(t *testing.T) {
						fired = l.crash(newWorld(t), kind, at, after)
					})
					if !fired {
						break
					}
					died++
				}
			}
		}
	}
	if died < 70 {
		t.Errorf("the program died only %d times", died)
	}
}

// crash reports whether there was a write to crash at.
func (l life) crash(w *world, kind wire.RequestType, at int, after bool) bool {
	t := w.t
	if kind == wire.Update && l.changed == "" {
		return false
	}
	w.prepare()
	id, want := "", l.is
	r := w.request(wire.Create, "X", l.resourceType, l.first, "", "")
	if kind != wire.Create {
		id = string(w.serve(r).PhysicalID)
		r = w.request(kind, "X", l.resourceType, l.first, "", id)
	}
	switch kind {
	case wire.Update:
		r, want = w.request(kind, "X", l.resourceType, l.changed, l.first, id), l.becomes
	case wire.Delete:
		want = ""
	case wire.Create, wire.Read, wire.Plan:
	}
	w.rows.left, w.rows.after = at, after
	_, err := w.types.Serve(w.ctx, r)
	fired := w.rows.dead
	if fired != (err != nil) {
		t.Errorf("dead %t, error %v", fired, err)
	}
	w.rows.left, w.rows.dead = 0, false
	again := w.serve(r)
	if kind == wire.Create {
		id = string(again.PhysicalID)
	}
	if got := l.look(w, id); got != want {
		t.Errorf("there is %q, want %q", got, want)
	}
	w.serve(w.request(wire.Delete, "X", l.resourceType, l.first, "", id))
	if got := l.look(w, id); got != "" {
		t.Errorf("after its delete there is %q", got)
	}
	return fired
}
