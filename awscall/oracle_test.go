package awscall_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// cdkNames reads a file of names that aws-cdk-lib 2.276.0 ships.
func cdkNames(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(require.CDK(t), "names", file))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// notHere are services in the CDK's list that the models lack, by their names in the AWS SDK for JavaScript v3.
var notHere = map[string]string{
	"apptest": "ended", "elastic-transcoder": "ended", "evidently": "ended", "iotanalytics": "ended", "iotfleethub": "ended", "lookoutmetrics": "ended",
	"lookoutvision": "ended", "opsworks": "ended", "opsworkscm": "ended", "qldb": "ended", "qldb-session": "ended", "robomaker": "ended", "sms": "ended",
	"rekognitionstreaming": "has event streams only", "transcribe-streaming": "has event streams only",
}

// formerOnly are discontinued services that were removed from the list, but remain in the AWS SDK for JavaScript v2.
var formerOnly = []string{"elastic-inference", "iot-1click-devices-service", "iot-1click-projects"}

// otherPrefix is a service whose IAM actions have another prefix here than in the CDK.
type otherPrefix struct{ cdk, ours, why string }

var otherPrefixes = map[string]otherPrefix{
	"cloudcontrol":                {"cloudcontrolapi", "cloudformation", "IAM has its actions under CloudFormation's"},
	"codecatalyst":                {"", "codecatalyst", "the CDK has none; the service takes bearer tokens"},
	"iot-data-plane":              {"iotdata", "iot", "IAM has its actions under IoT's; the CDK has the name that signatures had"},
	"iot-events-data":             {"ioteventsdata", "iotevents", "IAM has its actions under IoT Events'; the same"},
	"iot-jobs-data-plane":         {"iot-jobs-data", "iotjobsdata", "IAM writes it without hyphens; the CDK has the name in signatures"},
	"iotsecuretunneling":          {"IoTSecuredTunneling", "iot", "IAM has its actions under IoT's; the CDK has the name in signatures"},
	"resource-groups-tagging-api": {"tagging", "tag", "IAM's word is tag; the CDK has the name in signatures"},
	"sso":                         {"awsssoportal", "sso", "its calls take tokens of their own, so that no policy is about them"},
}

// TestOraclePermissions compares the prefixes of IAM actions with those in the CDK. It checks every service that both have.
func TestOraclePermissions(t *testing.T) {
	var cdk map[string]struct{ IAMPrefix string }
	cdkNames(t, "sdk-v3-metadata.json", &cdk)
	c := newClient(t, awscall.Config{})
	got, missing := map[string]otherPrefix{}, map[string]string{}
	for name, service := range cdk {
		actions, err := c.Actions("@aws-sdk/client-" + name)
		if err != nil {
			missing[name] = notHere[name]
			continue
		}
		permissions, err := c.Permissions(name, actions[0])
		if err != nil {
			t.Fatal(err)
		}
		if prefix, _, _ := strings.Cut(permissions[0], ":"); prefix != service.IAMPrefix {
			got[name] = otherPrefix{service.IAMPrefix, prefix, otherPrefixes[name].why}
		}
	}
	if diff := cmp.Diff(otherPrefixes, got, cmp.AllowUnexported(otherPrefix{})); diff != "" {
		t.Errorf("other prefixes (-listed +got):\n%s", diff)
	}
	if diff := cmp.Diff(notHere, missing); diff != "" {
		t.Errorf("services that are not here (-listed +got):\n%s", diff)
	}
	if len(cdk) < 400 {
		t.Errorf("the CDK's list has %d services only", len(cdk))
	}
}

// TestOracleNames looks up services by their names in the AWS SDK for JavaScript v2. It checks all such names in the CDK.
func TestOracleNames(t *testing.T) {
	var cdk map[string]string
	cdkNames(t, "sdk-v2-to-v3.json", &cdk)
	c := newClient(t, awscall.Config{})
	for _, former := range slices.Sorted(maps.Keys(cdk)) {
		current := cdk[former]
		if notHere[current] != "" || slices.Contains(formerOnly, current) {
			continue
		}
		actions, err := c.Actions("@aws-sdk/client-" + current)
		if err != nil {
			t.Errorf("%s: %v", current, err)
			continue
		}
		want, _, err := c.Name(current, actions[0])
		if err != nil {
			t.Error(err)
		}
		if got, _, err := c.Name(former, actions[0]); err != nil || got != want {
			t.Errorf("%s is %s, want %s: %v", former, got, want, err)
		}
	}
	if len(cdk) < 150 {
		t.Errorf("the CDK's list has %d names only", len(cdk))
	}
}
