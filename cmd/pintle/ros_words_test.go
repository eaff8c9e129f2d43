package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
)

// foreignWords are words of AWS, which say nothing to the users of a stack of ROS.
var foreignWords = regexp.MustCompile(`AWS|CloudFormation|Lambda|\bSNS\b|\bS3\b|[Pp]resigned|Step Functions|--region|UPDATE_ROLLBACK|CAPABILITY_`)

// TestWordsOfROS makes stacks of ROS fail in many ways and looks for words of AWS in every text that the API returns of them: errors and
// their remedies, previews, events, reasons and resources.
func TestWordsOfROS(t *testing.T) {
	s := serve(t, t.TempDir(), "--run-functions", "--unknown-types", "record")
	provider := newROSProvider(t)
	client, err := rosclient.New(rosclient.Config{
		Endpoint: s.url, Region: "cn-hangzhou",
		Keys: func(context.Context) (rosclient.Keys, error) { return rosclient.Keys{ID: "any", Secret: "any"}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	look := func(what, text string) {
		t.Helper()
		if seen++; foreignWords.MatchString(text) {
			t.Errorf("%s says %q: %s", what, foreignWords.FindString(text), text)
		}
	}
	call := func(action string, parameters url.Values, out any) error {
		err := client.Call(t.Context(), action, parameters, out)
		if told, ok := err.(*rosclient.Error); ok { //nolint:errorlint // it is never wrapped
			look(action, told.Message+" | "+told.Recommend)
		}
		return err
	}
	const fc = `"S": {"Type": "ALIYUN::FC::Service", "Properties": {"ServiceName": "%[1]s"}}, "F": {"Type": "ALIYUN::FC::Function", "DependsOn": "S",
		"Properties": {"ServiceName": "%[1]s", "FunctionName": "f", "Handler": %[2]q, "Runtime": %[3]q, "Timeout": 2, "Code": {%[4]s}}}`
	fcThing := func(name, handler, runtime, code string) string {
		return fmt.Sprintf(fc, name, handler, runtime, code) +
			`, "A": {"Type": "Custom::Thing", "Properties": {"ServiceToken": {"Fn::GetAtt": ["F", "ARN"]}, "Timeout": 4}}`
	}
	source := func(code string) string {
		text, _ := json.Marshal(code)
		return `"SourceCode": ` + string(text)
	}
	custom := func(token, more string) string {
		return `"A": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `", "Timeout": 2` + more + `}}`
	}
	resource := func(kind, properties string) string {
		return `"A": {"Type": "` + kind + `", "Properties": {` + properties + `}}`
	}
	cases := map[string]string{
		"fails":       custom("web:"+provider.URL, `, "Parameters": {"Fail": true}`),
		"attribute":   custom("web:"+provider.URL, "") + `, "B": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "web:` + provider.URL + `", "Parameters": {"X": {"Fn::GetAtt": ["A", "None"]}}}}`,
		"closed":      custom("web:http://127.0.0.1:1/", ""),
		"nothost":     custom("web:http://nowhere.invalid/", ""),
		"sync":        custom("web[sync]:"+provider.URL, ""),
		"syncclosed":  custom("web[sync]:http://127.0.0.1:1/", ""),
		"bare":        custom("http://127.0.0.1:1/", ""),
		"lambda":      custom("acs:fc:cn-hangzhou:1234567890123456:functions/none", ""),
		"queue":       custom("acs:mns:cn-hangzhou:1234567890123456:queues/none", ""),
		"topic":       custom("acs:mns:cn-hangzhou:1234567890123456:topics/none", ""),
		"nonsense":    custom("acs:oss:cn-hangzhou", ""),
		"word":        custom("Thing", ""),
		"optioned":    custom("web[later]:http://127.0.0.1:1/", ""),
		"long":        custom("web:http://127.0.0.1:1/"+strings.Repeat("x", 600), ""),
		"timeout":     custom("web:"+provider.URL, `, "Timeout": 99999`),
		"unknown":     resource("Custom::"+strings.Repeat("x", 80), `"ServiceToken": "web:`+provider.URL+`"`),
		"foreign":     resource("AWS::S"+"3::Bucket", ""),
		"nosuchtype":  resource("ALIYUN::ECS::Nothing", `"A": 1`),
		"sleep":       resource("ALIYUN::ROS::Sleep", `"CreateDuration": "x"`),
		"random":      resource("ALIYUN::RandomString", `"length": 0`),
		"wait":        `"H": {"Type": "ALIYUN::ROS::WaitConditionHandle"}, ` + resource("ALIYUN::ROS::WaitCondition", `"Handle": {"Ref": "H"}, "Timeout": 1`),
		"waitnothing": resource("ALIYUN::ROS::WaitCondition", `"Timeout": 1`),
		"nested":      resource("ALIYUN::ROS::Stack", `"TemplateBody": {"ROSTemplateFormatVersion": "2015-09-01", "Resources": {"A": 1}}`),
		"nestedfails": resource("ALIYUN::ROS::Stack", `"TemplateBody": {"ROSTemplateFormatVersion": "2015-09-01", "Resources": {`+custom("web:"+provider.URL, `, "Parameters": {"Fail": true}`)+`}}`),
		"nestedurl":   resource("ALIYUN::ROS::Stack", `"TemplateURL": "oss://none/t"`),
		"nestedhttp":  resource("ALIYUN::ROS::Stack", `"TemplateURL": "http://127.0.0.1:1/t"`),
		"nestedboth":  resource("ALIYUN::ROS::Stack", `"TemplateURL": "oss://none/t", "TemplateBody": {}`),
		"nestedid":    resource("ALIYUN::ROS::Stack", `"TemplateId": "none"`),
		"nestednone":  resource("ALIYUN::ROS::Stack", ""),
		"bucket":      resource("ALIYUN::OSS::Bucket", `"BucketName": "A_B"`),
		"bucketnone":  resource("ALIYUN::OSS::Bucket", ""),
		"queueprops":  resource("ALIYUN::MNS::Queue", `"QueueName": "a/b"`),
		"service":     resource("ALIYUN::FC::Service", `"ServiceName": "a b"`),
		"noservice":   resource("ALIYUN::FC::Function", `"ServiceName": "none", "FunctionName": "f", "Handler": "index.handler", "Runtime": "python3", "Code": {"SourceCode": "x"}`),
		"trigger":     resource("ALIYUN::FC::Trigger", `"ServiceName": "none", "FunctionName": "f", "TriggerName": "t", "TriggerType": "http", "TriggerConfig": {}`),
		"layer":       resource("ALIYUN::FC::Layer", `"LayerName": "l", "Code": {"OssBucketName": "none", "OssObjectName": "x"}, "CompatibleRuntime": ["python3"]`),
		"ram":         resource("ALIYUN::RAM::Role", ""),
		"java":        fcThing("java", "a.B::c", "java11", `"ZipFile": "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA=="`),
		"php":         fcThing("php", "index.handler", "php7.2", source("x")),
		"dotnet":      fcThing("dotnet", "A::B::C", "dotnetcore2.1", `"ZipFile": "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA=="`),
		"norun":       fcThing("norun", "index.handler", "cobol", source("x")),
		"custom":      fcThing("custom", "index.handler", "custom", `"ZipFile": "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA=="`),
		"nohandler":   fcThing("nohandler", "handler", "python3.10", source("x")),
		"syntax":      fcThing("syntax", "index.handler", "python3.10", source("def handler(")),
		"import":      fcThing("import", "index.handler", "python3.10", source("import no_such_module")),
		"nofunction":  fcThing("nofunction", "index.other", "python3.10", source("def handler(e, c): pass")),
		"raises":      fcThing("raises", "index.handler", "python3.10", source("def handler(e, c): raise Exception('broken')")),
		"exits":       fcThing("exits", "index.handler", "python3.10", source("import os\ndef handler(e, c): os._exit(3)")),
		"silent":      fcThing("silent", "index.handler", "python3.10", source("def handler(e, c): pass")),
		"hangs":       fcThing("hangs", "index.handler", "python3.10", source("import time\ndef handler(e, c): time.sleep(60)")),
		"node":        fcThing("node", "index.handler", "nodejs16", source("exports.handler = async () => { throw new Error('broken') }")),
		"nodesyntax":  fcThing("nodesyntax", "index.handler", "nodejs16", source("exports.handler = (")),
		"noobject":    fcThing("noobject", "index.handler", "python3.10", `"OssBucketName": "none", "OssObjectName": "code.zip"`),
		"nocode":      fcThing("nocode", "index.handler", "python3.10", ""),
		"container":   fcThing("container", "index.handler", "custom-container", ""),
		"fc3":         resource("ALIYUN::FC3::Function", `"FunctionName": "g", "Handler": "h", "Runtime": "cobol", "Code": {"ZipFile": "x"}`),
		"depends":     `"A": {"Type": "Custom::Thing", "DependsOn": "None", "Properties": {"ServiceToken": "web:x"}}`,
		"function":    custom("web:"+provider.URL, `, "Parameters": {"X": {"Fn::ImportValue": "y"}}`),
		"circular":    `"A": {"Type": "ALIYUN::ROS::Sleep", "DependsOn": "B", "Properties": {}}, "B": {"Type": "ALIYUN::ROS::Sleep", "DependsOn": "A", "Properties": {}}`,
	}
	stacks := map[string]string{}
	for name, resources := range cases {
		given := url.Values{"TemplateBody": {`{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {` + resources + `}}`}}
		if name == "foreign" {
			continue // it names AWS itself
		}
		_ = call("ValidateTemplate", given, nil)
		given.Set("StackName", name)
		var preview json.RawMessage
		_ = call("PreviewStack", given, &preview)
		look(name+": PreviewStack", string(preview))
		var made struct{ StackId string }
		if call("CreateStack", given, &made) == nil {
			stacks[name] = made.StackId
		}
	}
	if len(stacks) < 15 {
		t.Errorf("only %d stacks were begun", len(stacks))
	}
	read := func(name, id string) {
		for _, action := range []string{"GetStack", "ListStackEvents", "ListStackResources", "GetTemplateSummary"} {
			var reply json.RawMessage
			if err := call(action, url.Values{"StackId": {id}, "PageSize": {"50"}}, &reply); err != nil {
				t.Errorf("%s of %s: %v", action, name, err)
			}
			look(name+": "+action, string(reply))
		}
	}
	for name, id := range stacks {
		s.until(name+" has ended", func() bool {
			var stack struct{ Status string }
			return call("GetStack", url.Values{"StackId": {id}}, &stack) == nil && !strings.HasSuffix(stack.Status, "_IN_PROGRESS")
		})
		read(name, id)
		_ = call("UpdateStack", url.Values{"StackId": {id}, "TemplateBody": {`{"ROSTemplateFormatVersion": "2015-09-01"}`}}, nil)
		_ = call("ContinueCreateStack", url.Values{"StackId": {id}, "Mode": {"Recreate"}}, nil)
		_ = call("CancelUpdateStack", url.Values{"StackId": {id}}, nil)
	}
	t.Logf("%d texts of %d stacks were read", seen, len(stacks))
}
