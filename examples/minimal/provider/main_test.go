package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/pintletest"
)

func TestLife(t *testing.T) {
	n := notes{t.TempDir()}
	holds := func(name, text string) func() error {
		return func() error {
			got, err := os.ReadFile(filepath.Join(n.dir, name))
			if err == nil && string(got) != text {
				err = fmt.Errorf("%s holds %q, want %q", name, got, text)
			}
			return err
		}
	}
	pintletest.Lifecycle{
		Handler: pintle.New(n),
		Steps: []pintletest.Step{
			{Properties: pintletest.Map{"Name": "../x"}, WantError: "Name: want a text that matches"},
			{Properties: pintletest.Map{"Name": "a"}, WantID: "note-a", WantAttributes: pintletest.Map{"Path": filepath.Join(n.dir, "note-a.txt")},
				Check: holds("note-a.txt", "hello\n")},
			{Properties: pintletest.Map{"Name": "a", "Text": 5}, Redeliveries: 1, Check: holds("note-a.txt", "5\n")},
			{Properties: pintletest.Map{"Name": "b"}, WantReplacement: true, RollBack: true, Check: holds("note-a.txt", "5\n")},
			{Properties: pintletest.Map{"Name": "b"}, WantReplacement: true, WantID: "note-b", Check: holds("note-b.txt", "hello\n")},
		},
	}.Run(t)
	if files, err := os.ReadDir(n.dir); err != nil || len(files) != 0 {
		t.Errorf("left: %v, %v", files, err)
	}
}

// TestGuide checks that the guide shows this program.
func TestGuide(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../docs/provider-guide.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), "```go\n"+string(program)+"```\n") {
		t.Error("the guide does not show main.go as it is")
	}
}
