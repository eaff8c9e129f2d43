package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// TestForeignUser lets another local user ask for the event of a provider's process. Every user can find its address in
// /proc.
func TestForeignUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run a process as another user")
	}
	require.Tool(t, "bash")
	where := filepath.Join(t.TempDir(), "address")
	if err := syscall.Mkfifo(where, 0o600); err != nil {
		t.Fatal(err)
	}
	// The address of a program has no secret.
	k := newScriptKit(t, map[string]string{"bootstrap": "#!/bin/sh\necho \"$AWS_LAMBDA_RUNTIME_API\" >\"$WHERE\"\nexec sleep 60\n"},
		project.Provider{Target: "bootstrap", Env: map[string]string{"WHERE": where}}, nil)
	if err := k.Invoke("P", local.Event{ID: "e", Invocation: "i-e", Payload: []byte(`{"ResponseURL": "a secret"}`)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(where)
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(string(text))
	next := func(uid uint32) string {
		script := `exec 3<>"/dev/tcp/${1/://}" && printf 'GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" >&3 && cat <&3`
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", address)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, _ := cmd.CombinedOutput() // a refused connection fails in several ways
		return string(out)
	}
	if out := next(65534); strings.Contains(out, "secret") || strings.Contains(out, "HTTP/1.1") {
		t.Errorf("another user got %q", out)
	}
	if out := next(0); !strings.Contains(out, "a secret") {
		t.Errorf("the same user got %q", out)
	}
}
