package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/pintle-dev/pintle/internal/api/rosclient"
)

// foreignWords are words of AWS, which say nothing to the users of a stack of ROS.
var foreignWords = regexp.MustCompile(`AWS|CloudFormation|Lambda|\bSNS\b|\bS3\b|[Pp]resigned|Step Functions|--region|UPDATE_ROLLBACK|CAPABILITY_|` +
	`arn:aws|us-east-1|LogResult|CloudWatch|\bSQS\b|\bIAM\b|\bCDK\b`)

// TestWordsOfROS makes stacks of ROS fail in many ways and searches every text about them for words of AWS: API responses,
// output of the command line, and pages of the console.
func TestWordsOfROS(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "--run-functions", "--unknown-types", "record")
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
		if reported, ok := err.(*rosclient.Error); ok { //nolint:errorlint // it is never wrapped
			look(action, reported.Message+" | "+reported.Recommend)
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
	for name := range stacks {
		commands := [][]string{{"describe", name}}
		if name == "fails" || name == "wait" || name == "nestedfails" {
			commands = append(commands, []string{"events", name}, []string{"describe", name, "--output", "json"}, []string{"cancel", name}, []string{"rollback", name}, []string{"continue", name})
		}
		for _, args := range commands {
			look("pintle "+strings.Join(args, " "), ownCommand(t, dir, args...))
		}
	}
	texts := map[string]string{}
	var deploys errgroup.Group
	deploys.SetLimit(4)
	var writing sync.Mutex
	for name, resources := range cases {
		if name == "foreign" {
			continue
		}
		file := filepath.Join(t.TempDir(), "template.json")
		text := `{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {` + strings.ReplaceAll(resources, `"ServiceName": "`, `"ServiceName": "cli-`) + `}}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		deploys.Go(func() error {
			for _, args := range [][]string{{"validate", file}, {"deploy"}} {
				if args[0] == "deploy" {
					args = append(args, "--template", file, "--stack", "cli-"+name)
				}
				text := ownCommand(t, dir, args...)
				writing.Lock()
				texts[fmt.Sprint("pintle ", strings.Join(args, " "), " (", len(texts), ")")] = text
				writing.Unlock()
			}
			return nil
		})
	}
	_ = deploys.Wait() // they return no errors
	for what, text := range texts {
		look(what, text)
	}
	for _, name := range []string{"fails", "wait", "depends"} {
		file := filepath.Join(t.TempDir(), "template.json")
		if err := os.WriteFile(file, []byte(`{"ROSTemplateFormatVersion": "2015-09-01", "Resources": {`+cases[name]+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"deploy", "--dry-run", "--template", file, "--stack", "cli-" + name}, {"deploy", "--dry-run", "--template", file, "--stack", "new-" + name}, {"delete", "cli-" + name}} {
			look("pintle "+strings.Join(args, " "), ownCommand(t, dir, args...))
		}
	}
	pages := consolePages(t, dir)
	for address, text := range pages {
		look(address, text)
	}
	if len(pages) < 3*len(stacks) {
		t.Errorf("only %d pages of the console were read", len(pages))
	}
	t.Logf("%d texts of %d stacks were read", seen, len(stacks))
}

// ownCommand runs a pintle command as a client of the server on a data directory, and returns its output, even if it fails.
func ownCommand(t *testing.T, data string, args ...string) string {
	t.Helper()
	if args[0] != "validate" {
		args = append(args, "--data", data)
		if args[0] != "console" {
			args = append(args, "--dialect", "ros")
		}
	}
	cmd := exec.CommandContext(t.Context(), "pintle", args...)
	cmd.Dir = filepath.Dir(data)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Errorf("pintle %q: %v", args, err)
	}
	if len(out) == 0 {
		t.Errorf("pintle %q printed nothing", args)
	}
	return string(out)
}

// randomFields matches the values of a form's hidden fields, which are random and can contain any word.
var randomFields = regexp.MustCompile(`(<input type="hidden" name="(?:token|once)" value=")[^"]*`)

// linksOf matches the links of a page of the console.
var linksOf = regexp.MustCompile(`(?:href|src)="([^"#]+)`)

// consolePages signs in to the console and returns every page that can be reached from the first one, without random
// fields, by its address.
func consolePages(t *testing.T, data string) map[string]string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	first, err := url.Parse(strings.TrimSpace(ownCommand(t, data, "console")))
	if err != nil {
		t.Fatal(err)
	}
	root, _, _ := strings.Cut(first.Path, "sign-in")
	pages := map[string]string{}
	for open := []*url.URL{first}; len(open) > 0; {
		at := open[0]
		open = open[1:]
		if _, visited := pages[at.String()]; visited || !strings.HasPrefix(at.Path, root) || strings.Contains(at.Path, "/static/") || at.Host != first.Host {
			continue
		}
		reply, err := browser.Get(at.String())
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.LimitReader(reply.Body, 8<<20))
		_ = reply.Body.Close() // read to its end
		if err != nil {
			t.Fatal(err)
		}
		pages[at.String()] = randomFields.ReplaceAllString(string(text), "$1")
		if reply.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", at, reply.Status)
		}
		for _, found := range linksOf.FindAllStringSubmatch(string(text), -1) {
			if to, err := reply.Request.URL.Parse(html.UnescapeString(found[1])); err == nil {
				open = append(open, to)
			}
		}
	}
	return pages
}
