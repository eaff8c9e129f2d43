package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

// TestReadsSurviveKill kills the server while a provider reads: for a detection, and for an import. Each Read is sent once more, and no
// other request is.
func TestReadsSurviveKill(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testReadsSurviveKill(t) })
	t.Run("postgres", func(t *testing.T) {
		testReadsSurviveKill(t, "--database", pgtest.Start(t, pgtest.Options{}).Database(t), "--key-file", filepath.Join(t.TempDir(), "keys"))
	})
}

func testReadsSurviveKill(t *testing.T, args ...string) {
	dir := t.TempDir()
	shelf := filepath.Join(dir, "shelf")
	hall, err := net.Listen("tcp", "127.0.0.1:0")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	defer hall.Close()
	t.Setenv("SHELF", shelf)
	t.Setenv("MEETING", hall.Addr().String())
	program, err := exec.LookPath("reader")
	check(err)
	server := serve(t, filepath.Join(dir, "data"), append(args, "--provider", "File="+program)...)
	const head = `{"Resources": {"A": {"Type": "Custom::File", "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:File", "Name": "a", "Size": 5}}`
	const more = `, "Old": {"Type": "Custom::File", "DeletionPolicy": "Retain", "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:File", "Name": "old"}}`
	name := aws.String("s")
	status := func() types.StackStatus {
		out, err := server.client().DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
		if err != nil {
			return ""
		}
		return out.Stacks[0].StackStatus
	}
	_, err = server.client().CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: name, TemplateBody: aws.String(head + "}}")})
	check(err)
	server.until("the stack is created", func() bool { return status() == types.StackStatusCreateComplete })

	// killed waits until the provider reads, kills the server, and starts another one.
	killed := func() {
		t.Helper()
		check(hall.(*net.TCPListener).SetDeadline(time.Now().Add(patience)))
		guest, err := hall.Accept()
		check(err)
		_, err = bufio.NewReader(guest).ReadString('\n')
		check(err)
		server.kill()
		check(os.Remove(filepath.Join(shelf, "meet")))
		check(guest.Close())
		server.start()
	}
	meet := func() { check(os.WriteFile(filepath.Join(shelf, "meet"), nil, 0o600)) }

	check(os.WriteFile(filepath.Join(shelf, "a.json"), []byte(`{"size": 7}`), 0o600))
	meet()
	detection, err := server.client().DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: name})
	check(err)
	killed()
	var found *cloudformation.DescribeStackDriftDetectionStatusOutput
	server.until("the drift is detected", func() bool {
		found, err = server.client().DescribeStackDriftDetectionStatus(t.Context(), &cloudformation.DescribeStackDriftDetectionStatusInput{
			StackDriftDetectionId: detection.StackDriftDetectionId,
		})
		return err == nil && found.DetectionStatus != types.StackDriftDetectionStatusDetectionInProgress
	})
	if found.DetectionStatus != types.StackDriftDetectionStatusDetectionComplete || *found.DriftedStackResourceCount != 1 {
		t.Errorf("the detection is %s: %s", found.DetectionStatus, aws.ToString(found.DetectionStatusReason))
	}

	check(os.WriteFile(filepath.Join(shelf, "old.json"), []byte(`{"size": 1}`), 0o600))
	meet()
	set, err := server.client().CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: name, ChangeSetName: aws.String("import"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: aws.String(head + more + "}}"),
		ResourcesToImport: []types.ResourceToImport{{
			ResourceType: aws.String("Custom::File"), LogicalResourceId: aws.String("Old"),
			ResourceIdentifier: map[string]string{"PhysicalResourceId": "old"},
		}},
	})
	check(err)
	_, err = server.client().ExecuteChangeSet(t.Context(), &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.Id})
	check(err)
	killed()
	server.until("the resource is imported", func() bool { return status() == types.StackStatusImportComplete })

	log, err := os.ReadFile(filepath.Join(shelf, "log"))
	check(err)
	if diff := cmp.Diff([]string{"Create a", "Read a", "Read a", "Read old", "Read old"}, strings.Split(strings.TrimSpace(string(log)), "\n")); diff != "" {
		t.Errorf("requests of the provider (-want +got):\n%s", diff)
	}
}
