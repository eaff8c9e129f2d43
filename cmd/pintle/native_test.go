package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// signalAt PUTs a signal to the URL of a handle, as a script on a machine would.
func signalAt(url, id, data string) error {
	body := fmt.Sprintf(`{"Status": "SUCCESS", "UniqueId": %q, "Data": %q, "Reason": "done"}`, id, data)
	put, err := http.NewRequest(http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(put)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the handle answered %s", response.Status)
	}
	return nil
}

// A provider is given the URL of a handle and signals by it, early; the engine is killed after every signal that it
// acknowledged, and the condition still counts them all.
func TestWaitConditionThroughKills(t *testing.T) {
	p := newHTTPProvider(t)
	dir := t.TempDir()
	s := serve(t, dir)
	s.create("waits", `{"Resources": {
		"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
		"Starter": {"Type": "Custom::Starter", "Properties": {"ServiceToken": "`+p.URL+`", "URL": {"Ref": "Handle"}}},
		"Wait": {"Type": "AWS::CloudFormation::WaitCondition", "DependsOn": "Starter",
			"Properties": {"Handle": {"Ref": "Handle"}, "Timeout": "3600", "Count": 3}},
		"CDKMetadata": {"Type": "AWS::CDK::Metadata", "Properties": {"Analytics": "v2:deflate64:H4sIAAAAAAAA"}}},
		"Outputs": {"Data": {"Value": {"Fn::GetAtt": ["Wait", "Data"]}}}}`)
	s.until("the provider was asked", func() bool { return len(p.got()) == 1 })
	request := p.got()[0]
	properties, ok := request["ResourceProperties"].(map[string]any)
	url, isText := properties["URL"].(string)
	if !ok || !isText || !strings.HasPrefix(url, s.url+"/signal/") {
		t.Fatalf("the provider got %v", properties)
	}
	if err := signalAt(url, "early", "1"); err != nil {
		t.Fatal(err)
	}
	// A server that is killed before it has noted the delivery delivers again.
	s.until("it is on record that the provider was asked", func() bool {
		out, err := exec.Command("pintle", "describe", "waits", "--data", dir, "-o", "json").Output()
		return err == nil && strings.Contains(string(out), `"state": "waiting"`)
	})
	s.kill()
	s.start()
	if err := p.answer(request, nil); err != nil {
		t.Fatal(err)
	}
	s.until("the condition waits", func() bool {
		for _, e := range s.events("waits") {
			if aws.ToString(e.LogicalResourceId) == "Wait" && aws.ToString(e.ResourceStatusReason) == "Resource creation Initiated" {
				return true
			}
		}
		return false
	})
	s.kill()
	s.start()
	for _, id := range []string{"second", "early"} {
		if err := signalAt(url, id, "2"); err != nil {
			t.Fatal(err)
		}
	}
	s.kill()
	s.start()
	if err := signalAt(url, "third", "3"); err != nil {
		t.Fatal(err)
	}
	s.kill()
	s.start()
	if status := s.settled("waits"); status != types.StackStatusCreateComplete {
		t.Errorf("status %s", status)
	}
	out, err := s.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("waits")})
	if err != nil {
		t.Fatal(err)
	}
	if got := *out.Stacks[0].Outputs[0].OutputValue; got != `{"early":"1","second":"2","third":"3"}` {
		t.Errorf("Data is %s", got)
	}
	if n := len(p.got()); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}

	// Every caller with permission to describe the stack can signal. Other callers never see the signature.
	resources, err := s.client().DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: aws.String("waits")})
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, r := range resources.StackResources {
		kinds[*r.LogicalResourceId] = *r.ResourceType
		if *r.LogicalResourceId == "Handle" && *r.PhysicalResourceId != url {
			t.Errorf("the handle is shown as %s", *r.PhysicalResourceId)
		}
	}
	if kinds["Wait"] != "AWS::CloudFormation::WaitCondition" || kinds["CDKMetadata"] != "AWS::CDK::Metadata" {
		t.Errorf("the types are %v", kinds)
	}
	events, err := json.Marshal(s.events("waits"))
	if err != nil {
		t.Fatal(err)
	}
	s.kill()
	_, signature, _ := strings.Cut(url, "X-Amz-Signature=")
	places := map[string]string{"events": string(events), "log": s.output()}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if text, err := os.ReadFile(path); err == nil {
			places[filepath.Base(path)] = string(text)
		}
	}
	for place, text := range places {
		if len(signature) != 64 || strings.Contains(text, signature) {
			t.Errorf("%s holds the signature of the handle", place)
		}
	}
	if len(places) < 4 {
		t.Errorf("only %d places were searched", len(places))
	}
}
