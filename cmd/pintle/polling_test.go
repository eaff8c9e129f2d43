package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestPolling tests handlers on foreign libraries that schedule further invocations of themselves to poll for completion:
// crhelper through a rule of EventBridge, cfn-lambda through Lambda.
func TestPolling(t *testing.T) {
	require.Python(t, "boto3")
	require.Tool(t, "node")
	libraries := require.Handlers(t)
	runScriptsIn(t, filepath.Join("testdata", "polling"), func(env *testscript.Env) {
		env.Setenv("PYTHONPATH", filepath.Join(libraries, "python"))
		env.Setenv("NODE_PATH", filepath.Join(libraries, "node_modules"))
		env.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	})
}
