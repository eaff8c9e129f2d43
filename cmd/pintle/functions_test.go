package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// Packages of a CDK app are found from its directory and from those in it, and nothing is found elsewhere.
func TestAppModules(t *testing.T) {
	root := t.TempDir()
	folder := func(names ...string) string {
		t.Helper()
		dir := filepath.Join(append([]string{root}, names...)...)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	above, own := folder("work", "node_modules"), folder("work", "app", "node_modules")
	for _, dir := range []string{folder("work", "app"), folder("plain")} {
		if err := os.WriteFile(filepath.Join(dir, "cdk.json"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		dir  string
		want []string
	}{
		{folder("work", "app"), []string{own, above}},
		{folder("work", "app", "lib", "deep"), []string{own, above}},
		{folder("work"), nil},  // has no app
		{folder("plain"), nil}, // has no packages
	} {
		got := slices.DeleteFunc(appModules(test.dir), func(path string) bool {
			found, err := filepath.Rel(root, path)
			return err != nil || !filepath.IsLocal(found) // paths above the test
		})
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.dir, got, test.want)
		}
	}
}

// Types that no one provides are records on a server for development, unless someone says otherwise.
func TestUnknownTypes(t *testing.T) {
	for _, test := range []struct {
		given, project string
		dev            bool
		want           engine.UnknownTypes
	}{
		{want: engine.UnknownRefused},
		{dev: true, want: engine.UnknownRecorded},
		{dev: true, given: "refuse", want: engine.UnknownRefused},
		{dev: true, project: "refuse", want: engine.UnknownRefused},
		{dev: true, project: "refuse", given: "record", want: engine.UnknownRecorded},
		{given: "record", want: engine.UnknownRecorded},
		{project: "record", want: engine.UnknownRecorded},
	} {
		got, err := place{project: &project.Project{UnknownTypes: test.project}}.unknownTypes(test.given, test.dev)
		if err != nil || got != test.want {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
	}
	if got, err := (place{}).unknownTypes("", true); err != nil || got != engine.UnknownRecorded {
		t.Errorf("without a project: %q, %v", got, err)
	}
}
