//go:build linux

package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/bench/result"
	"github.com/pintle-dev/pintle/internal/dev/require"
)

// TestMeasureAll runs pintle, and the other targets if Variable is set.
func TestMeasureAll(t *testing.T) {
	require.Tool(t, "python3")
	who := []string{"pintle"}
	if os.Getenv(Variable) != "" {
		who = append(who, "moto", "ministack")
	}
	folder := t.TempDir()
	err := run(t.Context(), []string{
		"-only", strings.Join(who, ","), "-rounds", "1", "-resources", "2", "-rest", "50ms", "-results", folder,
	})
	if err != nil {
		t.Fatal(err)
	}
	times, err := result.Read(folder, "peers")
	if err != nil {
		t.Fatal(err)
	}
	behaviour, err := result.Read(folder, "peers-behaviour")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range who {
		for _, f := range (bench{resources: 2}).figures() {
			row, ok := times.Row(f.what, name, f.unit)
			if !ok || len(row.Runs) != 1 && row.Note == "" {
				t.Errorf("%s of %s in %s is neither a figure nor explained: %+v", f.what, name, f.unit, row)
			}
			if name == "pintle" && len(row.Runs) != 1 {
				t.Errorf("%s of pintle in %s: %s", f.what, f.unit, row.Note)
			}
		}
		for _, b := range behaviours() {
			row, ok := behaviour.Row(b.name, name, rightUnit)
			if !ok || row.Note == "" {
				t.Errorf("%s: what %s does is not reported", b.name, name)
			}
			if name == "pintle" && row.Value != 1 {
				t.Errorf("%s: %s", b.name, row.Note)
			}
		}
	}
}

func TestMissingPeersAreReported(t *testing.T) {
	t.Setenv(Variable, "")
	b := bench{temporary: t.TempDir()}
	there, absent, err := b.able(t.Context(), targets()[1:])
	if err != nil || len(there) != 0 || len(absent) != 3 {
		t.Fatalf("there %v, absent %v, error %v", there, absent, err)
	}
	for _, a := range absent {
		if !strings.Contains(a.reason, Variable) || !strings.Contains(a.reason, "tools/peers/install") {
			t.Errorf("%s: %s", a.name, a.reason)
		}
	}
}

func TestReasons(t *testing.T) {
	for text, want := range map[string]string{
		"python3 has ended:\nFailed!\nReason: no token.\n\n- See elsewhere.\n": "no token.",
		"python3 has ended:\nTraceback\nImportError: none\n":                   "ImportError: none",
		"": "it does not start",
	} {
		if got := reason(errors.New(text)); got != want {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

func TestInvalidArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-only nobody": "there are pintle, moto",
		"-rounds 0":    "more than 0",
		"more":         "no arguments",
	} {
		if err := run(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
