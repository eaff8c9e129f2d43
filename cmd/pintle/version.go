package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is what this program is.
type release struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Modified says that the source differed from the commit.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildRelease() release {
	r := release{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return r
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		r.Version = v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			r.Commit = setting.Value
		case "vcs.modified":
			r.Modified = setting.Value == "true"
		}
	}
	return r
}

func (a *app) versionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which version this is",
		Args:  cobra.NoArgs,
		RunE: a.command(func(context.Context, []string) error {
			asJSON, err := wantJSON(output)
			if err != nil {
				return err
			}
			r := buildRelease()
			if asJSON {
				return a.document(r)
			}
			text := "pintle " + r.Version
			if r.Commit != "" {
				text += " " + r.Commit
			}
			if r.Modified {
				text += " modified"
			}
			fmt.Fprintln(a.stdout, text+" "+r.Go+" "+r.Platform)
			return nil
		}),
	}
	outputFlag(cmd, &output)
	return cmd
}
