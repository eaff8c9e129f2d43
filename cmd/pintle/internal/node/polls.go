package node

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/internal/provider/local"
)

// Limits of the search for polling in a handler's source.
const (
	maxHandlerFiles = 50
	maxHandlerFile  = 1 << 20 // bytes
)

// pollers are helper libraries that invoke a handler again through EventBridge or Lambda, with patterns for handlers that use
// this feature.
var pollers = []struct {
	library, through string
	imports, uses    *regexp.Regexp
}{
	{"crhelper", "EventBridge and Lambda", regexp.MustCompile(`(?m)^\s*(?:from|import)\s+crhelper\b`), regexp.MustCompile(`\.poll_(?:create|update|delete)\b`)},
	{"cfn-lambda", "Lambda", regexp.MustCompile(`['"]cfn-lambda['"]`), regexp.MustCompile(`\bLongRunning\b`)},
}

// polling returns why a provider that polls cannot work: the AWS calls by which its function would be called again leave this server,
// which alone has the function. It is nil for handlers that do not poll, or of which that cannot be seen.
func (r awsRule) polling(d Definition, programs []local.Provider) error {
	if r.variables == nil || d.AWS != "" || r.local(d) {
		return nil
	}
	if p := findPoller(programs); p != nil {
		return fmt.Errorf("%s polls with %s, whose calls of %s go to AWS, as configured by %s, and its function is only here: "+
			"set aws: local for it in pintle.yaml, or start with --dev (aws: environment takes it as it is)",
			p.file, p.library, p.through, cmp.Or(r.configured, "its env"))
	}
	return nil
}

// foundPoller is a handler that polls.
type foundPoller struct{ file, library, through string }

// findPoller returns the first program that polls, or nil.
func findPoller(programs []local.Provider) *foundPoller {
	for _, program := range programs {
		if program.Target.Kind() != local.Script {
			continue
		}
		for _, file := range handlerFiles(program.Target.Path()) {
			text := local.Beginning(file, maxHandlerFile)
			for _, p := range pollers {
				if p.imports.Match(text) && p.uses.Match(text) {
					return &foundPoller{filepath.Base(file), p.library, p.through}
				}
			}
		}
	}
	return nil
}

// handlerFiles returns the files of a handler: the file itself, or those directly in its directory.
func handlerFiles(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return []string{path}
	}
	var files []string
	for _, e := range entries {
		if _, ok := bootstrap.Of(e.Name()); ok && e.Type().IsRegular() && len(files) < maxHandlerFiles {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	return files
}
