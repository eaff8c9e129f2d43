package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/wire"
)

// TestROSSheet compares a whole server with the known facts about the protocol of ROS, subject by subject: a real engine, real
// requests over sockets, and the API through which a client sees the results.
func TestROSSheet(t *testing.T) {
	newROSSheet(t).run(t, []rosSubject{
		{"request/fields of each type", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Timeout": 60, "Parameters": {"N": 1}`))
			r.update("UPDATE_COMPLETE", r.template(`"Timeout": 60, "Parameters": {"N": 2}`))
			r.done("DELETE_COMPLETE", "DeleteStack")
			common := []string{"CallerId", "IntranetResponseURL", "LogicalResourceId", "RegionId", "RequestId", "RequestType",
				"ResourceOwnerId", "ResourceProperties", "ResourceType", "ResponseURL", "StackId", "StackName"}
			want := [][]string{
				common,
				slices.Sorted(slices.Values(append([]string{"OldResourceProperties", "PhysicalResourceId"}, common...))),
				slices.Sorted(slices.Values(append([]string{"PhysicalResourceId"}, common...))),
			}
			var got [][]string
			for _, a := range r.requests() {
				got = append(got, slices.Sorted(maps.Keys(a.fields)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				r.Error(diff)
			}
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Delete "one" {"N":2}`)
		}},
		{"request/forms of the fields", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			a := r.requests()[0]
			for name, form := range map[string]string{
				"StackId": `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, "RequestId": `^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$`,
				"ResourceOwnerId": `^[0-9]{16}$`, "CallerId": `^[0-9]{16,18}$`, "RegionId": `^cn-beijing$`, "StackName": "^" + r.name + "$",
				"ResourceType": `^Custom::Row$`, "LogicalResourceId": `^R$`, "RequestType": `^Create$`,
				"ResponseURL":         `^http://127\.0\.0\.1:[0-9]+/ros/response\?.*expire=[0-9]+.*signature=[0-9a-f]{40}`,
				"IntranetResponseURL": `^http://127\.0\.0\.1:[0-9]+/ros/response\?.*signature=[0-9a-f]{40}`,
			} {
				if text := a.text(name); !regexp.MustCompile(form).MatchString(text) {
					r.Errorf("%s is %q, want %s", name, text, form)
				}
			}
			if a.text("ResourceOwnerId") != "0000000000000000" { // as documented for accounts
				r.Errorf("the account is %s", a.text("ResourceOwnerId"))
			}
			r.sent(`Create  {}`) // no Parameters
		}},
		{"request/types of Parameters survive", says(goesWell), func(r *rosRow) {
			const given = `{"n":1,"f":1.50,"t":true,"s":"1","l":[1,"a",[false]],"m":{"k":"","o":{}}}`
			r.create("CREATE_COMPLETE", r.template(`"Parameters": `+given))
			r.sent("Create  " + given)
		}},
		{"request/HTTP", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"HttpConfig": {"Headers": {"X-Own": "yes"}}`))
			a := r.requests()[0]
			if a.method != http.MethodPost || a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Own") != "yes" {
				r.Errorf("%s with %v", a.method, a.header)
			}
		}},
		{"request/form", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"HttpConfig": {"ContentType": "application/x-www-form-urlencoded"}, "Parameters": {"N": 1.5, "T": "a&b"}`))
			if a := r.requests()[0]; a.header.Get("Content-Type") != "application/x-www-form-urlencoded" || a.text("StackName") != r.name {
				r.Errorf("%v: %s", a.header, a.raw)
			}
			r.sent(`Create  {"N":1.5,"T":"a&b"}`)
		}},
		{"request/another ContentType", says(goesWell), func(r *rosRow) {
			r.refuses(r.template(`"HttpConfig": {"ContentType": "text/plain"}`), "ContentType")
		}},
		{"request/unsigned without SignKey", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			a := r.requests()[0]
			for _, name := range []string{"Authorization", "Signature", "Webhook-Signature", "X-Acs-Signature"} {
				if a.header.Get(name) != "" || a.fields[name] != nil {
					r.Errorf("it has a %s", name)
				}
			}
		}},
		{"request/SignKey", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"HttpConfig": {"SignKey": "key", "Headers": {"X-B": "2", "X-A": "1"}}, "Parameters": {"L": ["é", 1.50, {}]}`))
			a := r.requests()[0]
			signing := wire.ROSSigning{Key: "key", URL: strings.TrimPrefix(r.token(""), "web:"), Headers: map[string]string{"X-A": "1", "X-B": "2"}}
			if err := signing.Verify([]byte(a.raw), time.Now()); err != nil {
				r.Errorf("%v: %s", err, a.fields["Signature"])
			}
			if signing.Key = "other"; signing.Verify([]byte(a.raw), time.Now()) == nil {
				r.Error("it is signed with any key")
			}
		}},
		{"request/a URL that is no web token", says(goesWell), func(r *rosRow) {
			r.refuses(r.template(fmt.Sprintf(`"ServiceToken": %q`, r.sheet.provider.URL)), "web:")
		}},
		{"request/a token of AWS", says(goesWell), func(r *rosRow) {
			r.refuses(r.template(`"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:f"`), "ARN of AWS")
		}},
		{"request/a Create is not sent again", func(int, rosAsked) rosAnswer { return rosAnswer{status: 500} }, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"Timeout": 60`), "DisableRollback", "true")
			r.sent(`Create  {}`)
		}},
		{"request/an idempotent Create is", func(n int, _ rosAsked) rosAnswer {
			if n == 1 {
				return rosAnswer{status: 500}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(fmt.Sprintf(`"ServiceToken": %q`, r.token("[idempotent]"))))
			r.sent(`Create  {}`, `Create  {}`)
			if asked := r.requests(); asked[0].text("RequestId") != asked[1].text("RequestId") {
				r.Error("the RequestId is another one")
			}
		}},
		{"request/a Create that may have come is not sent again", func(int, rosAsked) rosAnswer { return rosAnswer{broken: true} }, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"Timeout": 60`), "DisableRollback", "true")
			r.sent(`Create  {}`)
		}},
		{"request/an idempotent Create that may have come is", breaksFirst(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(fmt.Sprintf(`"ServiceToken": %q`, r.token("[sync,idempotent]"))))
			r.sent(`Create  {}`, `Create  {}`)
		}},
		{"request/Delete is always sent again", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{status: 500}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.done("DELETE_COMPLETE", "DeleteStack")
			r.sent(`Create  {}`, `Delete "one" {}`, `Delete "one" {}`)
		}},
		{"request/Update is always sent again", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{status: 500}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Parameters": {"N": 1}`))
			r.update("UPDATE_COMPLETE", r.template(`"Parameters": {"N": 2}`))
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Update "one" {"N":2} | {"N":1}`)
		}},

		{"response/POST and no other", says(``), func(r *rosRow) {
			if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", r.template(``)); code != "" {
				r.Fatal(code, message)
			}
			r.sheet.until("the provider was asked", func() bool { return len(r.requests()) == 1 })
			a := r.requests()[0]
			good, to := r.sheet.document(a, goesWell), a.text("ResponseURL")
			if code, text := r.sheet.answer(http.MethodPut, to, good); code != http.StatusMethodNotAllowed || !strings.Contains(text, "POST") {
				r.Errorf("PUT: %d %s", code, text)
			}
			broken := regexp.MustCompile(`signature=[0-9a-f]{4}`).ReplaceAllString(to, "signature=0000")
			if code, _ := r.sheet.answer(http.MethodPost, broken, good); code != http.StatusForbidden {
				r.Errorf("a broken signature: %d", code)
			}
			if code, text := r.sheet.answer(http.MethodPost, a.text("IntranetResponseURL"), good); code != http.StatusOK || !json.Valid([]byte(text)) {
				r.Errorf("POST: %d %s", code, text)
			}
			r.rests("CREATE_COMPLETE")
			if code, text := r.sheet.answer(http.MethodPost, to, r.sheet.document(a, goesBad)); code != http.StatusOK || !json.Valid([]byte(text)) {
				r.Errorf("twice: %d %s", code, text)
			}
			r.rests("CREATE_COMPLETE")
		}},
		{"response/Status", says(`"Status": "DONE", "PhysicalResourceId": "one"`), refused("InvalidResponse")},
		{"response/Reason with FAILED", says(`"Status": "FAILED"`), refused("InvalidResponse: resources.R: ")},
		{"response/FAILED needs no id", says(goesBad), refused("CustomResourceFailed: resources.R: no luck")},
		{"response/id with SUCCESS", says(`"Status": "SUCCESS"`), refused("InvalidResponse")},
		{"response/id of 255 bytes", says(`"Status": "SUCCESS", "PhysicalResourceId": "` + strings.Repeat("i", 255) + `"`), accepted},
		{"response/id of 256 bytes", says(`"Status": "SUCCESS", "PhysicalResourceId": "` + strings.Repeat("i", 256) + `"`), refused("InvalidResponse")},
		// The URL identifies the request, so these answers count too.
		{"response/StackId is no copy", says(goesWell + `, "StackId": "8acc3dcd-cf48-4fa1-863e-7c767b61fe42"`), accepted},
		{"response/LogicalResourceId is no copy", says(goesWell + `, "LogicalResourceId": "Other"`), accepted},
		{"response/RequestId is no copy", says(goesWell + `, "RequestId": "B288A0BE-D927-4888-B0F7-B35EF84B6E6F"`), accepted},
		{"response/4096 bytes", sized(4096), accepted},
		{"response/more than 4096 bytes", sized(4097), refused("InvalidResponse")},
		{"response/Data of any type", says(goesWell + `, "Data": {"z": 3.5, "l": [1, true]}`), func(r *rosRow) {
			stack := r.create("CREATE_COMPLETE", r.template(``, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["R", "l"]}}}`))
			r.output(stack, `[1,true]`)
			stack = r.update("UPDATE_COMPLETE", r.template(``, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["R", "Outputs"]}}}`))
			r.output(stack, `{"z":3.5,"l":[1,true]}`)
		}},
		{"response/NoEcho does not exist", says(goesWell + `, "NoEcho": true, "Data": {"z": "seen"}`), func(r *rosRow) {
			stack := r.create("CREATE_COMPLETE", r.template(``, `"Outputs": {"O": {"Value": {"Fn::GetAtt": ["R", "z"]}}}`))
			r.output(stack, "seen")
		}},
		{"response/Ref is the id", says(goesWell), func(r *rosRow) {
			r.output(r.create("CREATE_COMPLETE", r.template(``, `"Outputs": {"O": {"Value": {"Ref": "R"}}}`)), "one")
		}},
		{"response/sync", func(int, rosAsked) rosAnswer { return rosAnswer{members: goesWell, inBody: true} }, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(fmt.Sprintf(`"ServiceToken": %q, "Timeout": 60`, r.token("[sync]"))))
		}},
		{"response/a body without sync is none", func(int, rosAsked) rosAnswer {
			return rosAnswer{members: goesWell, inBody: true}
		}, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"Timeout": 1`), "DisableRollback", "true")
			if why := r.failure(); !strings.HasPrefix(why, "Timeout: resources.R: ") {
				r.Error(why)
			}
		}},
		{"response/sync without a document", func(int, rosAsked) rosAnswer { return rosAnswer{status: 200} }, refusedInBody("DeliveryFailed: resources.R: ")},
		{"response/sync with what is no document", func(int, rosAsked) rosAnswer { return rosAnswer{raw: "<p>done</p>"} }, refusedInBody("DeliveryFailed: resources.R: ")},
		{"response/sync with another status", func(int, rosAsked) rosAnswer {
			return rosAnswer{status: 404, members: goesWell, inBody: true}
		}, refusedInBody("DeliveryFailed: resources.R: ")},
		{"response/sync that fails", func(int, rosAsked) rosAnswer {
			return rosAnswer{members: goesBad, inBody: true}
		}, refusedInBody("CustomResourceFailed: resources.R: no luck")},
		{"response/sync, whatever the Timeout", says(``), func(r *rosRow) {
			release := make(chan struct{})
			r.sheet.mu.Lock()
			r.sheet.plays[r.name] = func(int, rosAsked) rosAnswer {
				<-release
				return rosAnswer{members: goesWell, inBody: true}
			}
			r.sheet.mu.Unlock()
			let := sync.OnceFunc(func() { close(release) })
			defer let()
			if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody",
				r.template(fmt.Sprintf(`"ServiceToken": %q, "Timeout": 1`, r.token("[sync]")))); code != "" {
				r.Fatal(code, message)
			}
			r.sheet.until("the provider was asked", func() bool { return len(r.requests()) == 1 })
			other := &rosRow{T: r.T, sheet: r.sheet, name: r.name + "-other"} // takes as long as its Timeout, and begins later
			r.sheet.mu.Lock()
			r.sheet.plays[other.name] = says(``)
			r.sheet.mu.Unlock()
			other.create("CREATE_FAILED", other.template(`"Timeout": 1`), "DisableRollback", "true")
			let()
			r.rests("CREATE_COMPLETE")
		}},

		{"semantics/a failed create is rolled back", func(_ int, a rosAsked) rosAnswer {
			if a.text("RequestType") == "Create" {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: `"Status": "SUCCESS", "PhysicalResourceId": null`} // as the official helper has it
		}, func(r *rosRow) {
			r.create("CREATE_ROLLBACK_COMPLETE", r.template(``))
			r.sent(`Create  {}`, `Delete  {}`)
		}},
		{"semantics/a Create that fails with an id", func(_ int, a rosAsked) rosAnswer {
			if a.text("RequestType") == "Create" {
				return rosAnswer{members: goesBad + `, "PhysicalResourceId": "error-1700000000000"`}
			}
			return rosAnswer{members: `"Status": "SUCCESS", "PhysicalResourceId": "error-1700000000000"`}
		}, func(r *rosRow) {
			r.create("CREATE_ROLLBACK_COMPLETE", r.template(``))
			r.sent(`Create  {}`, `Delete "error-1700000000000" {}`)
		}},
		{"semantics/DisableRollback and ContinueCreateStack", func(n int, _ rosAsked) rosAnswer {
			if n == 1 {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(``), "DisableRollback", "true")
			r.done("CREATE_COMPLETE", "ContinueCreateStack", "Mode", "Recreate")
		}},
		{"semantics/RecreatingResources", func(_ int, a rosAsked) rosAnswer {
			if a.text("LogicalResourceId") == "R" && a.text("RequestType") == "Create" && strings.Contains(a.raw, `"bad"`) {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			text := strings.Replace(r.template(`"Parameters": {"P": {"Ref": "P"}}`), `"Resources": {`, `"Parameters": {"P": {"Type": "String"}}, "Resources": {"First": {`+
				`"Type": "Custom::Row", "Properties": {"ServiceToken": "`+r.token("")+`"}}, `, 1)
			text = strings.Replace(text, `"R": {"Type"`, `"R": {"DependsOn": "First", "Type"`, 1)
			r.create("CREATE_FAILED", text, "DisableRollback", "true", "Parameters.1.ParameterKey", "P", "Parameters.1.ParameterValue", "bad")
			r.done("CREATE_COMPLETE", "ContinueCreateStack", "RecreatingResources.1", "First", "Parameters.1.ParameterKey", "P", "Parameters.1.ParameterValue", "good")
			r.sent(`Create  {}`, `Create  {"P":"bad"}`, `Delete "one" {}`, `Create  {}`, `Delete  {"P":"bad"}`, `Create  {"P":"good"}`)
		}},
		{"semantics/ContinueCreateStack without the failed resources", says(goesBad), func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(``), "DisableRollback", "true")
			r.done("CREATE_COMPLETE", "ContinueCreateStack", "Mode", "Ignore")
		}},
		{"semantics/DisableRollback of an update has no effect", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Parameters": {"N": 1}`))
			r.update("ROLLBACK_COMPLETE", r.template(`"Parameters": {"N": 2}`), "DisableRollback", "true")
		}},
		{"semantics/a failed update is rolled back, swapped", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Parameters": {"N": 1}`))
			r.update("ROLLBACK_COMPLETE", r.template(`"Parameters": {"N": 2}`))
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Update "one" {"N":1} | {"N":2}`)
		}},
		{"semantics/an id does not change", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{members: `"Status": "SUCCESS", "PhysicalResourceId": "two"`}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Parameters": {"N": 1}`))
			r.update("ROLLBACK_COMPLETE", r.template(`"Parameters": {"N": 2}`))
			if why := r.failure(); !strings.HasPrefix(why, "PhysicalResourceIdChanged: resources.R: ") {
				r.Error(why)
			}
			r.sent(`Create  {"N":1}`, `Update "one" {"N":2} | {"N":1}`, `Update "one" {"N":1} | {"N":2}`)
		}},
		{"semantics/a ServiceToken does not change", says(goesWell), func(r *rosRow) {
			other := r.template(fmt.Sprintf(`"ServiceToken": %q`, r.token("[idempotent]")))
			r.create("CREATE_COMPLETE", r.template(``))
			r.update("ROLLBACK_COMPLETE", other)
			r.sent(`Create  {}`)
			r.update("UPDATE_COMPLETE", other, "ReplacementOption", "Enabled")
			r.sent(`Create  {}`, `Delete "one" {}`, `Create  {}`) // the old one first
		}},
		{"semantics/TaintResources", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.update("UPDATE_COMPLETE", r.template(``), "TaintResources.1", "R")
			r.sent(`Create  {}`, `Delete "one" {}`, `Create  {}`)
		}},
		{"semantics/Update only on a change", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(`"Timeout": 60`))
			r.update("UPDATE_COMPLETE", r.template(`"Timeout": 61`))
			r.sent(`Create  {}`)
		}},
		{"semantics/the same stack", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			code, message := r.call("UpdateStack", "TemplateBody", r.template(``))
			if code != "NotSupported" || !strings.HasPrefix(message, "Update the completely same stack") {
				r.Errorf("%s: %s", code, message)
			}
			if code, message := r.call("UpdateStack", "TemplateBody", r.template(``), "DryRun", "true"); code != "" {
				r.Errorf("DryRun: %s: %s", code, message)
			}
		}},
		{"semantics/Timeout", says(``), func(r *rosRow) {
			r.create("CREATE_FAILED", r.template(`"Timeout": 1`), "DisableRollback", "true")
			if why := r.failure(); !strings.HasPrefix(why, "Timeout: resources.R: ") {
				r.Error(why)
			}
			a := r.requests()[0] // which may be answered late, in vain
			if code, text := r.sheet.answer(http.MethodPost, a.text("ResponseURL"), r.sheet.document(a, goesWell)); code != http.StatusOK {
				r.Errorf("late: %d %s", code, text)
			}
			r.rests("CREATE_FAILED")
		}},
		{"semantics/TimeoutInMinutes", says(goesWell), func(r *rosRow) {
			for _, minutes := range []string{"9", "1441"} {
				if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", r.template(``), "TimeoutInMinutes", minutes); code != "InvalidParameter" {
					r.Errorf("%s: %s: %s", minutes, code, message)
				}
			}
			r.create("CREATE_COMPLETE", r.template(``), "TimeoutInMinutes", "1440")
		}},
		{"semantics/Timeout out of range", says(goesWell), func(r *rosRow) {
			r.refuses(r.template(`"Timeout": 43201`), "43200")
		}},
		{"semantics/a Delete must succeed", func(n int, _ rosAsked) rosAnswer {
			if n == 2 {
				return rosAnswer{members: goesBad}
			}
			return rosAnswer{members: goesWell}
		}, func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.done("DELETE_FAILED", "DeleteStack")
			r.done("DELETE_COMPLETE", "DeleteStack")
		}},
		{"semantics/RetainResources", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.done("DELETE_COMPLETE", "DeleteStack", "RetainResources.1", "R")
			r.sent(`Create  {}`)
		}},
		{"semantics/RetainAllResources", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.done("DELETE_COMPLETE", "DeleteStack", "RetainAllResources", "true")
			r.sent(`Create  {}`)
		}},
		{"semantics/DeletionPolicy Retain", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", strings.Replace(r.template(``), `"Type"`, `"DeletionPolicy": "Retain", "Type"`, 1))
			r.done("DELETE_COMPLETE", "DeleteStack", "RetainAllResources", "false")
			r.sent(`Create  {}`)
		}},
		{"semantics/type name of 68 characters", says(goesWell), func(r *rosRow) {
			long := strings.Replace(r.template(``), "Custom::Row", "Custom::"+strings.Repeat("x", 60), 1)
			r.create("CREATE_COMPLETE", long)
		}},
		{"semantics/type name of 69 characters", says(goesWell), func(r *rosRow) {
			long := strings.Replace(r.template(``), "Custom::Row", "Custom::"+strings.Repeat("x", 61), 1)
			if code, _ := r.call("CreateStack", "StackName", r.name, "TemplateBody", long); code == "" {
				r.Error("it was taken")
			}
		}},
		{"semantics/a type does not change", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			other := strings.Replace(r.template(``), "Custom::Row", "Custom::Other", 1)
			if code, message := r.call("UpdateStack", "TemplateBody", other); code != "StackValidationFailed" {
				r.Errorf("%s: %s", code, message)
			}
			r.sent(`Create  {}`)
		}},
		{"semantics/a deleted stack is still described", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", r.template(``))
			r.done("DELETE_COMPLETE", "DeleteStack")
			if stack := r.rests("DELETE_COMPLETE"); stack.Name != r.name {
				r.Errorf("its name is %q", stack.Name)
			}
		}},
		{"semantics/an action while another one runs", says(``), func(r *rosRow) {
			if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", r.template(``)); code != "" {
				r.Fatal(code, message)
			}
			if code, _ := r.call("UpdateStack", "TemplateBody", r.template(`"Timeout": 61`)); code != "ActionInProgress" {
				r.Errorf("the code is %q", code)
			}
		}},
		{"semantics/the plain type", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", strings.Replace(r.template(``), "Custom::Row", "ALIYUN::ROS::CustomResource", 1))
		}},
		{"semantics/Parallelism", says(goesWell), func(r *rosRow) {
			counted := strings.Replace(r.template(``), `"Type"`, `"Count": 3, "Type"`, 1)
			r.create("CREATE_COMPLETE", counted, "Parallelism", "1")
			events, err := r.sheet.service.Events(r.Context(), r.id, "", func(stacks.Event) bool { return false })
			if err != nil {
				r.Fatal(err)
			}
			var got []string
			for _, e := range events {
				if e.Logical != r.name {
					got = append(got, e.Status)
				}
			}
			if diff := cmp.Diff(slices.Repeat([]string{"CREATE_IN_PROGRESS", "CREATE_COMPLETE"}, 3), got); diff != "" {
				r.Errorf("one after the other (-want +got):\n%s", diff)
			}
		}},
		{"semantics/a resource to come is INIT_COMPLETE", says(``), func(r *rosRow) {
			text := strings.Replace(r.template(``), `"Resources": {`, `"Resources": {"Later": {"DependsOn": "R", "Type": "Custom::Row", "Properties": {"ServiceToken": "`+
				r.token("")+`"}}, `, 1)
			if code, message := r.call("CreateStack", "StackName", r.name, "TemplateBody", text); code != "" {
				r.Fatal(code, message)
			}
			list, err := r.sheet.service.Resources(r.Context(), r.id)
			if err != nil || len(list) != 2 || list[0].Logical != "Later" || list[0].Status != "INIT_COMPLETE" || list[1].Status != "CREATE_IN_PROGRESS" {
				r.Errorf("%v %v", list, err)
			}
		}},
		{"semantics/Count makes names with an index", says(goesWell), func(r *rosRow) {
			r.create("CREATE_COMPLETE", strings.Replace(r.template(`"Parameters": {"I": {"Ref": "ALIYUN::Index"}}`), `"Type"`, `"Count": 2, "Type"`, 1))
			var names []string
			for _, a := range r.requests() {
				names = append(names, a.text("LogicalResourceId")+" "+compact(a.fields["ResourceProperties"]))
			}
			slices.Sort(names)
			if diff := cmp.Diff([]string{`R[0] {"I":0}`, `R[1] {"I":1}`}, names); diff != "" {
				r.Error(diff)
			}
		}},
	})
}

// refused checks that the answer to a Create makes it fail, with a reason that begins so.
func refused(reason string) func(r *rosRow) {
	return func(r *rosRow) {
		r.Helper()
		r.create("CREATE_FAILED", r.template(``), "DisableRollback", "true")
		if why := r.failure(); why == "" || !strings.HasPrefix(why, reason) {
			r.Errorf("the reason is %q, want %q", why, reason)
		}
		r.taken()
	}
}

// refusedInBody is refused of a provider that answers in its reply.
func refusedInBody(reason string) func(r *rosRow) {
	return func(r *rosRow) {
		r.Helper()
		r.create("CREATE_FAILED", r.template(fmt.Sprintf(`"ServiceToken": %q`, r.token("[sync]"))), "DisableRollback", "true")
		if why := r.failure(); !strings.HasPrefix(why, reason) {
			r.Errorf("the reason is %q, want %q", why, reason)
		}
	}
}

// accepted checks that the answer to a Create makes it succeed.
func accepted(r *rosRow) {
	r.Helper()
	r.create("CREATE_COMPLETE", r.template(``))
	r.taken()
}

// taken checks that the provider got an acknowledgement of its answer, which says nothing about whether the answer is accepted.
func (r *rosRow) taken() {
	r.Helper()
	id := r.requests()[0].text("RequestId")
	r.sheet.until("the provider knows", func() bool {
		r.sheet.mu.Lock()
		defer r.sheet.mu.Unlock()
		return r.sheet.posts[id] != ""
	})
	r.sheet.mu.Lock()
	defer r.sheet.mu.Unlock()
	if post := r.sheet.posts[id]; !strings.HasPrefix(post, "200 ") {
		r.Errorf("the answer was taken with %s", post)
	}
}
