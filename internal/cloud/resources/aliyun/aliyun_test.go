package aliyun_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources/aliyun"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// TestTypesWithoutACloud checks that a type without its dependencies can be declared, and that requests for it fail
// with the reason. Every type is a ROS type, and is known to be emulated.
func TestTypesWithoutACloud(t *testing.T) {
	types, err := native.New(aliyun.Types(aliyun.Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range types.Names() {
		if !native.InCloud(name) {
			t.Errorf("%s is not known to be of the cloud", name)
		}
		if got := types.Schema(name).Dialect; got != wire.ROS {
			t.Errorf("%s is of %s", name, got)
		}
		for _, kind := range []wire.RequestType{wire.Create, wire.Update, wire.Delete} {
			_, err := types.Serve(t.Context(), &store.Request{ID: "r", Logical: "X", Type: kind, Body: &store.RequestBody{
				Dialect: "ros", StackID: stackID, Account: account, Region: region, ResourceType: name,
			}})
			if err == nil || err.Error() != "local cloud emulation is off: start the server with --dev or --run-functions" {
				t.Errorf("%s of %s: %v", kind, name, err)
			}
		}
	}
	if len(types.Names()) != 17 {
		t.Errorf("there are %d types", len(types.Names()))
	}
}

// TestDeclarations checks that invalid declarations are refused with ROS's text, without a value.
func TestDeclarations(t *testing.T) {
	w := newWorld(t)
	const function = "ALIYUN::FC::Function"
	begin := `"ServiceName": "s", "FunctionName": "f", "Handler": "index.handler", "Runtime": "python3"`
	for _, test := range []struct{ resourceType, properties, want string }{
		{function, begin + `, "Timeout": 86400, "MemorySize": null, "Description": null`, ""},
		{function, begin + `, "TimeOut": 5`, "Unknown Property TimeOut"},
		{function, `"ServiceName": "s", "FunctionName": "f", "Handler": "index.handler", "Runtime": null`, "Property Runtime not assigned"},
		{function, begin + `, "Timeout": 86401`, "Property Timeout: the value must be from 1 to 86400"},
		{function, begin + `, "Timeout": "soon"`, "Property Timeout: the value must be of type Integer"},
		{function, begin + `, "Timeout": {"Ref": "Secret"}`, "Property Timeout: the value must be of type Integer"},
		{function, begin + `, "Code": "text"`, "Property Code: the value must be an object"},
		{function, strings.Replace(begin, `"f"`, `"9f"`, 1), "Property FunctionName: the value must be 1 to 128 characters that match ^[A-Za-z_][A-Za-z0-9_-]*$"},
		{function, strings.Replace(begin, `"f"`, `""`, 1), "Property FunctionName: the value must not be empty"},
		{function, strings.Replace(begin, `"f"`, `{"Ref": "Secret"}`, 1), "Property FunctionName: the value must not be a secret: names are shown"},
		{"ALIYUN::ROS::AutoEnableService", `"ServiceName": "EMR", "ServiceParameters": {"WorkspaceId": "w-1"}`, ""},
		{"ALIYUN::FC::Trigger", `"ServiceName": "s", "FunctionName": "f", "TriggerName": "t", "TriggerType": "timer", "TriggerConfig": {"enable": true}`, ""},
		{"ALIYUN::FC::Trigger", `"ServiceName": "s", "FunctionName": "f", "TriggerName": "t", "TriggerType": "timer"`, "Property TriggerConfig not assigned"},
		{"ALIYUN::FC::Service", `"ServiceName": "s", "Tags": {}`, "Property Tags: the value must be a list"},
		{"ALIYUN::FC::Service", `"ServiceName": "s", "InternetAccess": "maybe"`, "Property InternetAccess: the value must be of type Boolean"},
		{"ALIYUN::FC3::Function", `"FunctionName": "f", "Handler": "h.h", "Runtime": "custom", "ServiceName": "s"`, "Unknown Property ServiceName"},
		{"ALIYUN::MNS::Queue", `"QueueName": "a_b"`, "Property QueueName: the value must be 1 to 256 characters that match ^[A-Za-z0-9][A-Za-z0-9-]*$"},
		{"ALIYUN::RAM::Role", `"RoleName": "r"`, "Property AssumeRolePolicyDocument not assigned"},
		{"ALIYUN::RAM::Role", `"RoleName": "r", "AssumeRolePolicyDocument": {}, "MaxSessionDuration": 60`, "Property MaxSessionDuration: the value must be from 3600 to 43200"},
	} {
		_, err := w.types.Declare(test.resourceType, native.Declaration{StackID: stackID, Properties: w.parse(test.resourceType, test.properties)})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %s: %q, want %q", test.resourceType, test.properties, got, test.want)
		}
	}
}

// TestTexts checks that errors in a template's text have its position, and that null means a missing property.
func TestTexts(t *testing.T) {
	parsed, err := template.ParseROS(`{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"S": {"Type": "ALIYUN::FC::Service",
		"Properties": {"ServiceName": "s", "Description": null, "Roll": "r"}}}}`, template.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	problems := newWorld(t).types.Schema("ALIYUN::FC::Service").Check(parsed.Resources[0])
	if len(problems) != 1 || problems[0].Text != "Unknown Property Roll" || problems[0].Line != 2 {
		t.Errorf("problems %+v", problems)
	}
}

// TestRefusals tests errors that only a Create can find.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.prepare()
	w.put("strange", "k", registry.Scope{Account: "0000999999999999", Region: region}, nil)
	function := func(change string) *store.Request {
		r := w.request(wire.Create, "F", "ALIYUN::FC::Function",
			`"ServiceName": "s", "FunctionName": "f", "Handler": "index.handler", "Runtime": "python3"`, "", "")
		for _, m := range w.parse("ALIYUN::FC::Function", change).Members() {
			r.Body.Properties = r.Body.Properties.With(m.Key, m.Value)
		}
		return r
	}
	for change, want := range map[string]string{
		``:                                "Property Code must have a SourceCode, a ZipFile, or an OssBucketName and an OssObjectName",
		`"Code": {"SourceCode": ""}`:      "Property Code.SourceCode: the value must be the text of the file index",
		`"Code": {"ZipFile": "no zip"}`:   "Property Code.ZipFile: the value must be a zip file in Base64",
		`"Code": {"ZipFile": "bm8gemlw"}`: "Could not unzip",
		`"Code": {"OssBucketName": "b"}`:  "Code must have both an OssBucketName and an OssObjectName",
		`"Code": {"OssBucketName": "no-such", "OssObjectName": "k"}`:  "NoSuchKey: there is no object k in a bucket no-such",
		`"Code": {"OssBucketName": "strange", "OssObjectName": "k"}`:  "AccessDenied: the bucket strange is another account's",
		`"CustomContainerConfig": {}`:                                 "functions from container images are not supported",
		`"Runtime": "java11", ` + source:                              "SourceCode works only with Node.js and Python runtimes",
		`"ServiceName": "none", ` + source:                            "ServiceNotFound: service 'none' does not exist",
		`"Runtime": "java11", "Code": {"ZipFile": "bm8gemlw"}`:        "the runtime java11 is not supported",
		`"ServiceName": "", ` + source:                                "Property ServiceName: the value must be 1 to 128 characters",
		`"MemorySize": 1, ` + source:                                  "the MemorySize must be from 128",
		`"Handler": "a b", ` + source:                                 "the Handler must be 1 to",
		`"EnvironmentVariables": {"FC_A": "x"}, ` + source:            "the environment variable FC_A is set by Function Compute",
		`"EnvironmentVariables": {"A-B": "x"}, ` + source:             `the environment variable "A-B" must be letters`,
		`"EnvironmentVariables": {"A": []}, ` + source:                "Property EnvironmentVariables: the value must be an object with String",
		`"Code": {"SourceCode": "` + strings.Repeat("x", 4097) + `"}`: "Property Code.SourceCode: the value must have at most 4096 characters, it has 4097",
	} {
		w.fails(function(change), want)
	}
	if list, err := w.catalog.Functions.List(w.ctx, home, "", 10); err != nil || len(list) > 0 {
		t.Errorf("functions are left: %v %v", list, err)
	}
}

// TestNamesInUse checks that an object of another resource is left unchanged, unless the resource allows it to
// exist.
func TestNamesInUse(t *testing.T) {
	w := newWorld(t)
	const role = "ALIYUN::RAM::Role"
	declared := `"RoleName":"r","AssumeRolePolicyDocument":{}`
	w.make("First", role, declared)
	w.fails(w.request(wire.Create, "Second", role, declared, "", ""), "r already exists in stack "+stackID)
	lenient := declared + `,"IgnoreExisting":true,"MaxSessionDuration":3600`
	made := w.serve(w.request(wire.Create, "Second", role, lenient, "", ""))
	if made.PhysicalID != "r" {
		t.Errorf("made %+v", made)
	}
	w.serve(w.request(wire.Update, "Second", role, lenient, declared, "r"))
	w.serve(w.request(wire.Delete, "Second", role, lenient, "", "r"))
	if got := recorded(role, identities)(w, "r"); got != "{"+declared+"}" {
		t.Errorf("there is %s", got)
	}
	w.prepare()
	function := `"ServiceName": "s", "FunctionName": "f", "Handler": "index.handler", "Runtime": "python3", ` + source
	w.make("F", "ALIYUN::FC::Function", function)
	w.fails(w.request(wire.Create, "G", "ALIYUN::FC::Function", function, "", ""), "f already exists in stack "+stackID)
	again := w.request(wire.Create, "F", "ALIYUN::FC::Function", function, "", "")
	again.ID = "another-request"
	w.fails(again, "f already exists: this resource has made it before, and it has to be deleted first")
	// A 3.0 function is another function, and so is one of another service.
	w.make("H", "ALIYUN::FC3::Function", strings.Replace(function, `"ServiceName": "s", `, "", 1))
}

// TestServiceWithFunctions checks that a service cannot be deleted while it has functions. Services with similar
// names do not matter.
func TestServiceWithFunctions(t *testing.T) {
	w := newWorld(t)
	w.prepare()
	w.make("Longer", "ALIYUN::FC::Service", `"ServiceName": "s2"`)
	of := func(service string) string {
		return `"ServiceName": "` + service + `", "FunctionName": "f", "Handler": "index.handler", "Runtime": "python3", ` + source
	}
	w.make("F", "ALIYUN::FC::Function", of("s"))
	w.make("G", "ALIYUN::FC::Function", of("s2"))
	remove := func() *store.Request {
		return w.request(wire.Delete, "Service", "ALIYUN::FC::Service", `"ServiceName": "s"`, "", "s")
	}
	w.fails(remove(), "ServiceNotEmpty: service 's' still has functions")
	w.serve(w.request(wire.Delete, "F", "ALIYUN::FC::Function", of("s"), "", "f"))
	w.serve(remove())
}

// TestOff checks that a server without emulation does not treat emulated resources as records, because it would then
// forget them.
func TestOff(t *testing.T) {
	w := newWorld(t)
	w.prepare()
	off := func(r *store.Request, recording bool) error { return aliyun.Off(w.catalog, recording)(w.ctx, r) }
	for _, l := range lives(t) {
		create := w.request(wire.Create, "X", l.resourceType, l.first, "", "")
		if err := off(create, false); !errors.Is(err, native.ErrAgain) {
			t.Errorf("the Create of %s does not wait for the cloud: %v", l.resourceType, err)
		}
		if err := off(create, true); err != nil {
			t.Errorf("the Create of %s is not recorded: %v", l.resourceType, err)
		}
		id := string(w.serve(create).PhysicalID)
		remove := w.request(wire.Delete, "X", l.resourceType, l.first, "", id)
		other := w.request(wire.Delete, "Y", l.resourceType, l.first, "", id)
		for _, recording := range []bool{false, true} {
			if err := off(remove, recording); !errors.Is(err, native.ErrAgain) {
				t.Errorf("the Delete of %s does not wait for the cloud: %v", l.resourceType, err)
			}
			if err := off(other, recording); err != nil {
				t.Errorf("the Delete of a record %s waits: %v", l.resourceType, err)
			}
		}
		w.serve(remove)
		if err := off(remove, false); err != nil {
			t.Errorf("the Delete of %s, which is gone: %v", l.resourceType, err)
		}
	}
}

// TestPlaces checks that a request without an account or region is refused, and that functions of several accounts
// are separate.
func TestPlaces(t *testing.T) {
	w := newWorld(t)
	r := w.request(wire.Create, "X", "ALIYUN::MNS::Queue", `"QueueName": "q"`, "", "")
	r.Body.Account = ""
	w.fails(r, "does not say in which account")
	for _, account := range []string{"0000000000000001", "0000000000000002"} {
		r := w.request(wire.Create, "X", "ALIYUN::FC3::Function", `"FunctionName": "f", "Handler": "index.handler", "Runtime": "python3", `+source, "", "")
		r.Body.Account = account
		if arn := attributes(w.serve(r))["ARN"]; arn != "acs:fc:cn-hangzhou:"+account+":functions/f" {
			t.Errorf("the ARN is %s", arn)
		}
		if _, err := w.catalog.Functions.Get(w.ctx, registry.Scope{Account: account, Region: region}, "functions/f"); err != nil {
			t.Error(err)
		}
	}
}
