package bootstrap_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/bootstrap"
	"github.com/pintle-dev/pintle/internal/require"
)

// What stands in for the client of CloudWatch Logs makes the calls that the CDK's handler of log retention makes, and throws what the service
// says.
func TestLogs(t *testing.T) {
	require.Tool(t, "node")
	program, err := bootstrap.Node.Install(t.TempDir(), "node")
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=key/") || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/logs/aws4_request") {
			t.Errorf("Authorization: %s", r.Header.Get("Authorization"))
		}
		target := r.Header.Get("X-Amz-Target")
		seen = append(seen, target+" "+string(body))
		switch target {
		case "Logs_20140328.CreateLogGroup":
			w.Header().Set("X-Amzn-Errortype", "ResourceAlreadyExistsException")
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": "The specified log group already exists"}) // the client has the answer or fails
		case "Logs_20140328.DescribeLogGroups":
			_, _ = io.WriteString(w, `{"logGroups":[{"logGroupName":"/a","retentionInDays":1}]}`)
		}
	}))
	defer server.Close()
	cmd := exec.Command(program.Interpreter, "-e", `
const logs = require('@aws-sdk/client-cloudwatch-logs');
(async () => {
  const client = new logs.CloudWatchLogsClient({logger: console, region: 'eu-west-1'});
  await client.send(new logs.CreateLogGroupCommand({logGroupName: '/a'})).catch((e) => console.log(e.name, e.message, e instanceof logs.CloudWatchLogsServiceException));
  await client.send(new logs.PutRetentionPolicyCommand({logGroupName: '/a', retentionInDays: 1}));
  await client.send(new logs.DeleteRetentionPolicyCommand({logGroupName: '/a'}));
  const {logGroups} = await new logs.CloudWatchLogs({region: 'eu-west-1'}).describeLogGroups({});
  console.log(logGroups[0].retentionInDays);
  await client.send(new logs.DeleteLogGroupCommand({logGroupName: '/a'}));
})();`)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "NODE_PATH=" + program.Modules, "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS=" + server.URL,
		"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff("ResourceAlreadyExistsException The specified log group already exists true\n1\n", string(out)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	want := []string{
		`Logs_20140328.CreateLogGroup {"logGroupName":"/a"}`,
		`Logs_20140328.PutRetentionPolicy {"logGroupName":"/a","retentionInDays":1}`,
		`Logs_20140328.DeleteRetentionPolicy {"logGroupName":"/a"}`,
		`Logs_20140328.DescribeLogGroups {}`,
		`Logs_20140328.DeleteLogGroup {"logGroupName":"/a"}`,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
