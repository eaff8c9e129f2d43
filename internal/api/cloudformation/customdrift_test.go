package cloudformation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/cloudformation"
	"github.com/pintle-dev/pintle/internal/engine/drift"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// newReading returns a world whose providers support Read for resources of the type Custom::Readable.
func newReading(t *testing.T) *world {
	return newWorld(t, func(w *world, config *cloudformation.Config) {
		detector := drift.New(nil, w.store, nil)
		detector.Ask(w.engine)
		config.Drift = detector
	})
}

const readables = `{"Parameters": {"Password": {"Type": "String", "NoEcho": true}}, "Resources": {
	"A": {"Type": "Custom::Readable", "Properties": {"ServiceToken": "` + token + `", "Size": 5, "Text": "a", "Tags": {"x": "1", "y": "2"}, "List": ["a", "b"],
		"Password": {"Ref": "Password"}, "Key": "in the template", "Unread": "u"}},
	"B": {"Type": "Custom::Readable", "Properties": {"ServiceToken": "` + token + `", "Password": {"Ref": "Password"}}},
	"C": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "` + token + `"}}}}`

func (w *world) createReadables() {
	w.create(&sdk.CreateStackInput{
		StackName: str("s"), TemplateBody: str(readables),
		Parameters: []types.Parameter{{ParameterKey: str("Password"), ParameterValue: str("hunter2")}},
	})
}

// readAnswers answers the Reads with the states by logical ID. It returns the types and names of the requests.
func (w *world) readAnswers(states map[wire.LogicalID]string) (asked []string) {
	w.t.Helper()
	taken := w.take()
	slices.SortFunc(taken, func(a, b store.Request) int { return strings.Compare(string(a.Logical), string(b.Logical)) })
	for _, r := range taken {
		asked = append(asked, fmt.Sprintf("%s %s %s", r.Type, r.Logical, r.Body.PhysicalID))
		w.answer(r, states[r.Logical])
	}
	return asked
}

func (w *world) detection(id string) *sdk.DescribeStackDriftDetectionStatusOutput {
	w.t.Helper()
	out, err := w.client.DescribeStackDriftDetectionStatus(w.t.Context(), &sdk.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: &id})
	w.must(err)
	return out
}

func success(state string) string {
	return `"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s", "PintleState": ` + state
}

const same = `{"properties": {"Size": "5", "Text": "a", "Tags": {"x": "1", "y": "2"}, "List": ["a", "b"], "Password": "hunter2", "Key": "in the template"}, "secret": ["Key"]}`

// TestDriftOfCustomResources checks that providers that declare a Read get one, and that differences are reported
// without secrets.
func TestDriftOfCustomResources(t *testing.T) {
	w := newReading(t)
	w.createReadables()
	out, err := w.client.DetectStackDrift(t.Context(), &sdk.DetectStackDriftInput{StackName: str("s")})
	w.must(err)
	running := w.detection(*out.StackDriftDetectionId)
	if running.DetectionStatus != types.StackDriftDetectionStatusDetectionInProgress || running.DriftedStackResourceCount != nil {
		t.Errorf("before the answers: %s, %v", running.DetectionStatus, running.DriftedStackResourceCount)
	}
	// A second detection does not repeat pending Reads.
	_, err = w.client.DetectStackDrift(t.Context(), &sdk.DetectStackDriftInput{StackName: str("s")})
	w.must(err)
	asked := w.readAnswers(map[wire.LogicalID]string{
		"A": success(`{"properties": {"Size": 6, "Text": "", "Tags": {"x": "1", "z": "3"}, "List": ["a", "c", "d"], "Password": "hunter3", ` +
			`"Key": "swordfish", "Undeclared": "hunter2"}, "secret": ["Key"]}`),
		"B": success(`{"gone": true}`),
	})
	if diff := cmp.Diff([]string{"Read A id-of-A", "Read B id-of-B"}, asked); diff != "" {
		t.Error(diff)
	}
	end := w.detection(*out.StackDriftDetectionId)
	if end.DetectionStatus != types.StackDriftDetectionStatusDetectionComplete || *end.DriftedStackResourceCount != 2 ||
		end.StackDriftStatus != types.StackDriftStatusDrifted {
		t.Errorf("%s, %d, %s", end.DetectionStatus, *end.DriftedStackResourceCount, end.StackDriftStatus)
	}
	drifts, err := w.client.DescribeStackResourceDrifts(t.Context(), &sdk.DescribeStackResourceDriftsInput{StackName: str("s")})
	w.must(err)
	var got []string
	for _, r := range drifts.StackResourceDrifts {
		got = append(got, fmt.Sprintf("%s %s", *r.LogicalResourceId, r.StackResourceDriftStatus))
		for _, d := range r.PropertyDifferences {
			got = append(got, fmt.Sprintf("  %s %s: %s -> %s", d.DifferenceType, *d.PropertyPath, *d.ExpectedValue, *d.ActualValue))
		}
	}
	if diff := cmp.Diff([]string{
		"A MODIFIED",
		"  NOT_EQUAL /Size: 5 -> 6",
		"  REMOVE /Text: a -> null",
		"  REMOVE /Tags/y: 2 -> null",
		"  ADD /Tags/z: null -> 3",
		"  NOT_EQUAL /List/1: b -> c",
		"  ADD /List/2: null -> d",
		"  NOT_EQUAL /Password: **** -> ****",
		"  NOT_EQUAL /Key: ***** -> *****",
		"B DELETED",
	}, got); diff != "" {
		t.Error(diff)
	}
	everything, err := json.Marshal(drifts)
	w.must(err)
	entry, err := w.store.Entry(t.Context(), store.EntryKey{Account: account, Region: region, Kind: "drift", Name: "s"})
	w.must(err)
	for _, secret := range []string{"hunter2", "hunter3", "swordfish", "in the template"} {
		if strings.Contains(string(everything)+string(entry.Definition), secret) {
			t.Errorf("the report shows %s: %s %s", secret, everything, entry.Definition)
		}
	}
}

// TestDriftOfOneCustomResource waits for the provider. If the provider fails, the status is unknown.
func TestDriftOfOneCustomResource(t *testing.T) {
	w := newReading(t)
	w.createReadables()
	detect := func(logical, answer string) (types.StackResourceDrift, error) {
		var out *sdk.DetectStackResourceDriftOutput
		done := make(chan error)
		go func() {
			var err error
			out, err = w.client.DetectStackResourceDrift(context.WithoutCancel(t.Context()), &sdk.DetectStackResourceDriftInput{StackName: str("s"), LogicalResourceId: &logical})
			done <- err
		}()
		for {
			w.readAnswers(map[wire.LogicalID]string{wire.LogicalID(logical): answer})
			select {
			case err := <-done:
				if err != nil {
					return types.StackResourceDrift{}, err
				}
				return *out.StackResourceDrift, nil
			default:
			}
		}
	}
	for _, of := range []struct{ answer, status, reason string }{
		{success(same), "IN_SYNC", ""},
		{success(`{"properties": {"Size": 6}}`), "MODIFIED", ""},
		{success(`{"gone": true}`), "DELETED", ""},
		{`"Status": "FAILED", "PhysicalResourceId": "id-of-A", "Reason": "no access with hunter2"`, "UNKNOWN", "the provider answered FAILED: no access with ****"},
		{`"Status": "SUCCESS", "PhysicalResourceId": "id-of-A"`, "UNKNOWN", "the provider answered SUCCESS without the state of the resource"},
		{`"Status": "SUCCESS", "PhysicalResourceId": ""`, "UNKNOWN", "Invalid PhysicalResourceId"},
		{`"Status": "SUCCESS", "PhysicalResourceId": "another", "PintleState": {"gone": true}`, "UNKNOWN", `the provider answered with the physical ID "another"`},
		{`"Status": "SUCCESS", "PhysicalResourceId": "` + strings.Repeat("x", 196) + `hunter2", "PintleState": {}`, "UNKNOWN",
			`the provider answered with the physical ID "` + strings.Repeat("x", 196) + `****" instead`},
	} {
		got, err := detect("A", of.answer)
		w.must(err)
		if string(got.StackResourceDriftStatus) != of.status || !strings.HasPrefix(aws.ToString(got.DriftStatusReason), of.reason) {
			t.Errorf("%s: %s %s, want %s %s", of.answer, got.StackResourceDriftStatus, aws.ToString(got.DriftStatusReason), of.status, of.reason)
		}
	}
	if _, err := detect("C", ""); err == nil || !strings.Contains(err.Error(), "does not support drift detection") {
		t.Errorf("a provider without Read: %v", err)
	}
}

// TestDriftOfUnaskedProviders checks that resources whose providers could not be asked for their schema are not checked, with the reason.
func TestDriftOfUnaskedProviders(t *testing.T) {
	w := newReading(t)
	w.createReadables()
	detect := func() (*sdk.DescribeStackDriftDetectionStatusOutput, []string) {
		out, err := w.client.DetectStackDrift(t.Context(), &sdk.DetectStackDriftInput{StackName: str("s")})
		w.must(err)
		w.readAnswers(map[wire.LogicalID]string{"A": success(same), "B": success(`{"properties": {}}`)})
		drifts, err := w.client.DescribeStackResourceDrifts(t.Context(), &sdk.DescribeStackResourceDriftsInput{StackName: str("s")})
		w.must(err)
		var got []string
		for _, r := range drifts.StackResourceDrifts {
			got = append(got, fmt.Sprintf("%s %s %s %s", *r.LogicalResourceId, *r.ResourceType, r.StackResourceDriftStatus, aws.ToString(r.DriftStatusReason)))
		}
		return w.detection(*out.StackDriftDetectionId), got
	}
	w.silent = errors.New("the provider panics")
	end, got := detect()
	want := []string{
		"A Custom::Readable NOT_CHECKED the provider panics", "B Custom::Readable NOT_CHECKED the provider panics", "C Custom::Thing NOT_CHECKED the provider panics",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if end.DetectionStatus != types.StackDriftDetectionStatusDetectionComplete || end.StackDriftStatus != types.StackDriftStatusNotChecked ||
		aws.ToString(end.DetectionStatusReason) != "Not all resources were checked. A: the provider panics; B: the provider panics; C: the provider panics" {
		t.Errorf("the detection is %s, %s, %s", end.DetectionStatus, end.StackDriftStatus, aws.ToString(end.DetectionStatusReason))
	}
	one, err := w.client.DetectStackResourceDrift(t.Context(), &sdk.DetectStackResourceDriftInput{StackName: str("s"), LogicalResourceId: str("A")})
	w.must(err)
	if r := one.StackResourceDrift; r.StackResourceDriftStatus != types.StackResourceDriftStatusNotChecked || aws.ToString(r.DriftStatusReason) != "the provider panics" {
		t.Errorf("one resource is %s: %s", r.StackResourceDriftStatus, aws.ToString(r.DriftStatusReason))
	}

	w.silent = nil
	end, got = detect()
	if diff := cmp.Diff([]string{"A Custom::Readable IN_SYNC ", "B Custom::Readable IN_SYNC "}, got); diff != "" || end.StackDriftStatus != types.StackDriftStatusInSync {
		t.Errorf("after the provider was fixed: %s, resources (-want +got):\n%s", end.StackDriftStatus, diff)
	}
}

// TestRevertDriftOfCustomResources checks that a change set that reverts drift updates drifted resources, with the
// declared properties as the old ones.
func TestRevertDriftOfCustomResources(t *testing.T) {
	w := newReading(t)
	w.createReadables()
	made := make(chan error)
	go func() {
		_, err := w.client.CreateChangeSet(context.WithoutCancel(t.Context()), &sdk.CreateChangeSetInput{
			StackName: str("s"), ChangeSetName: str("c"), UsePreviousTemplate: aws.Bool(true), DeploymentMode: types.DeploymentModeRevertDrift,
			Parameters: []types.Parameter{{ParameterKey: str("Password"), UsePreviousValue: aws.Bool(true)}},
		})
		made <- err
	}()
	for waits := true; waits; {
		w.readAnswers(map[wire.LogicalID]string{"A": success(`{"properties": {"Size": 6}}`), "B": success(`{"properties": {}}`)})
		select {
		case err := <-made:
			w.must(err)
			waits = false
		default:
		}
	}
	_, err := w.client.ExecuteChangeSet(t.Context(), &sdk.ExecuteChangeSetInput{StackName: str("s"), ChangeSetName: str("c")})
	w.must(err)
	var got []string
	for _, r := range w.take() {
		size, _ := r.Body.Properties.Get("Size")
		old, _ := r.Body.OldProperties.Get("Size")
		got = append(got, fmt.Sprintf("%s %s %s was %s", r.Type, r.Logical, size.Text(), old.Text()))
		w.answer(r, `"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
	}
	if diff := cmp.Diff([]string{"Update A 5 was 5"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDriftResultsEnd checks that a result is valid until the next change of its resource, and so is a pending Read.
func TestDriftResultsEnd(t *testing.T) {
	w := newReading(t)
	w.createReadables()
	out, err := w.client.DetectStackDrift(t.Context(), &sdk.DetectStackDriftInput{StackName: str("s")})
	w.must(err)
	reads := w.take()
	_, err = w.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{StackName: str("s"), TemplateBody: str(strings.Replace(readables, `"Size": 5`, `"Size": 7`, 1)),
		Parameters: []types.Parameter{{ParameterKey: str("Password"), UsePreviousValue: aws.Bool(true)}}})
	w.must(err)
	w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s"`)
	for _, r := range reads {
		w.answer(r, success(same))
	}
	drifts, err := w.client.DescribeStackResourceDrifts(t.Context(), &sdk.DescribeStackResourceDriftsInput{StackName: str("s")})
	w.must(err)
	var got []string
	for _, r := range drifts.StackResourceDrifts {
		got = append(got, *r.LogicalResourceId)
	}
	if diff := cmp.Diff([]string{"B"}, got); diff != "" {
		t.Error(diff)
	}
	if end := w.detection(*out.StackDriftDetectionId); end.DetectionStatus != types.StackDriftDetectionStatusDetectionComplete {
		t.Errorf("%s", end.DetectionStatus)
	}
}

// TestDriftHidesSecretsOfTheStack checks that the secrets of other resources and of the provider's own answers are
// masked in the live state.
func TestDriftHidesSecretsOfTheStack(t *testing.T) {
	w := newReading(t)
	_, err := w.client.CreateStack(t.Context(), &sdk.CreateStackInput{
		StackName: str("s"), TemplateBody: str(readables),
		Parameters: []types.Parameter{{ParameterKey: str("Password"), ParameterValue: str("hunter2")}},
	})
	w.must(err)
	w.provide(`"Status": "SUCCESS", "PhysicalResourceId": "id-of-%s", "NoEcho": true, "Data": {"Token": "opensesame"}`)
	_, err = w.client.DetectStackDrift(t.Context(), &sdk.DetectStackDriftInput{StackName: str("s")})
	w.must(err)
	w.readAnswers(map[wire.LogicalID]string{
		"A": success(`{"properties": {"Text": "with opensesame", "List": ["a", "with swordfish"]}}, "NoEcho": true, "Data": {"Token": "swordfish"}`),
		"B": success(`{"properties": {}}`),
	})
	drifts, err := w.client.DescribeStackResourceDrifts(t.Context(), &sdk.DescribeStackResourceDriftsInput{StackName: str("s")})
	w.must(err)
	everything, err := json.Marshal(drifts)
	w.must(err)
	if !strings.Contains(string(everything), "/List/1") {
		t.Errorf("the report lacks a difference: %s", everything)
	}
	for _, secret := range []string{"opensesame", "swordfish"} {
		if strings.Contains(string(everything), secret) {
			t.Errorf("the report shows %s: %s", secret, everything)
		}
	}
}
