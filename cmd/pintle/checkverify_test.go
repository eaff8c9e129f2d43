package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// The time limit of --verify holds for every process of its command, and a child that outlives it does no harm.
func TestVerifyCommand(t *testing.T) {
	for command, want := range map[string]string{
		"sleep 600 | cat":         "did not end within 2s",
		"echo '{}'; sleep 600 & ": "",
		"yes":                     "printed more than",
		"exit 3":                  "exit status 3",
	} {
		a := &checkCommands{targets: &targets{&shell{workdir: workdir{t.TempDir()}, terminal: terminal{stderr: io.Discard}}}}
		out, err := a.propertyReader(command, 2*time.Second)(t.Context(), "id", wire.Request{})
		switch {
		case want == "" && (err != nil || strings.TrimSpace(string(out)) != "{}"):
			t.Errorf("%s: got %s, %v", command, out, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %s, %v", command, out, err)
		}
	}
}
