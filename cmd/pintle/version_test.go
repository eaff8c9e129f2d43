package main

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersion(t *testing.T) {
	// What Go notes of a clone.
	clone := release{Version: "devel", Go: "go1.26.8", Platform: "linux/amd64"}
	clone.note(&debug.BuildInfo{
		Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-23T01:02:03Z"}, {Key: "vcs.modified", Value: "true"},
		},
	})
	module := release{Version: "devel", Go: "go1.26.8", Platform: "linux/amd64"}
	module.note(&debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}})
	for _, c := range []struct {
		release   release
		want      string
		published bool
	}{
		{clone, "pintle devel abc 2026-11-23T01:02:03Z modified go1.26.8 linux/amd64", false},
		{module, "pintle v0.1.0 go1.26.8 linux/amd64", true},
		{release{Version: "v0.1.0", Commit: "abc", Go: "go1.26.8"}, "pintle v0.1.0 abc go1.26.8", true},
		{release{Version: "v0.1.0-rc.1", Commit: "abc"}, "pintle v0.1.0-rc.1 abc", true},
		{release{Version: "v0.1.0-3-gabcdef0", Commit: "abc"}, "pintle v0.1.0-3-gabcdef0 abc", false},
		{release{Version: "abcdef0", Commit: "abc"}, "pintle abcdef0 abc", false},
		{
			release{Version: "v0.0.0-20261123010203-abcdef012345+dirty", Commit: "abc", Modified: true},
			"pintle v0.0.0-20261123010203-abcdef012345+dirty abc modified", false,
		},
	} {
		if diff := cmp.Diff(c.want, c.release.String()); diff != "" {
			t.Error(diff)
		}
		if got := c.release.published(); got != c.published {
			t.Errorf("%v: published is %t", c.release, got)
		}
	}
}
