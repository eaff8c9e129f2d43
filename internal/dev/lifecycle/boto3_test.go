package lifecycle

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestTranscriptsByBoto3 plays some of the transcripts with boto3, which implements the API independently.
func TestTranscriptsByBoto3(t *testing.T) {
	require.Python(t, "boto3")
	for _, c := range readChapters(t) {
		if !slices.Contains([]string{"E-replace", "H-rollback-fails"}, c.name) {
			continue
		}
		for _, p := range c.parts {
			if p.scene != nil && p.scene.name == c.title {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					play(t, c, p.scene, newBotoClient)
				})
			}
		}
	}
}

// botoLoop makes the calls that it reads, one line of JSON each, and writes their results.
const botoLoop = `
import boto3, botocore.exceptions, json, re, sys
api = boto3.client("cloudformation")
for line in sys.stdin:
    call = json.loads(line)
    method = getattr(api, re.sub("(?<!^)([A-Z])", r"_\1", call["operation"]).lower())
    try:
        reply = {"result": method(**call["parameters"])}
    except botocore.exceptions.ClientError as e:
        reply = {"error": e.response["Error"]}
    print(json.dumps(reply, default=lambda v: v.isoformat()), flush=True)
`

type botoClient struct {
	in  io.Writer
	out *bufio.Reader
}

func newBotoClient(t *testing.T, url string) client {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), require.Python(t, "boto3"), "-c", botoLoop)
	nowhere := filepath.Join(t.TempDir(), "none")
	cmd.Env = append(
		slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") }),
		"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET", "AWS_DEFAULT_REGION="+region, "AWS_ENDPOINT_URL="+url,
		"AWS_CONFIG_FILE="+nowhere, "AWS_SHARED_CREDENTIALS_FILE="+nowhere, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_MAX_ATTEMPTS=1", "NO_PROXY=*", "no_proxy=*",
	)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // killed with the test's context, unless it has exited
	})
	return &botoClient{in, bufio.NewReader(out)}
}

func (c *botoClient) call(_ context.Context, operation string, parameters map[string]any) ([]byte, error) {
	call, err := json.Marshal(map[string]any{"operation": operation, "parameters": parameters})
	if err != nil {
		return nil, err
	}
	if _, err := c.in.Write(append(call, '\n')); err != nil {
		return nil, err
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("boto3 has gone: %w", err)
	}
	var reply struct {
		Result json.RawMessage
		Error  *struct{ Code, Message string }
	}
	if err := json.Unmarshal(line, &reply); err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, &refusal{reply.Error.Code, reply.Error.Message}
	}
	return reply.Result, nil
}
