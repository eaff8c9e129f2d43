package main

import (
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
)

// shell is the environment in which a command runs: the standard streams, the environment variables and the working directory. It has
// what depends on more than one of them.
type shell struct {
	terminal
	variables
	workdir

	// developing says that the command watches files, so the user saves a fix and types no command.
	developing bool
}

// again says how to try again after a fix.
func (sh *shell) again() string {
	if sh.developing {
		return "save it"
	}
	return "run this again"
}

// now is the clock.
func (sh *shell) now() time.Time { return time.Now() }

// logger returns a logger that writes to stderr from a level on, which PINTLE_LOG_LEVEL may set too.
func (sh *shell) logger(level string, fallback slog.Level) (*slog.Logger, error) {
	if level == "" {
		level = sh.getenv("PINTLE_LOG_LEVEL")
	}
	least := fallback
	if level != "" {
		if err := least.UnmarshalText([]byte(level)); err != nil {
			return nil, usagef("use debug, info, warn or error", "log level %q is unknown", level)
		}
	}
	return slog.New(slog.NewTextHandler(sh.stderr, &slog.HandlerOptions{Level: least})), nil
}

// building reports slow steps. invoke does not keep its builds, so every build is the first.
func (sh *shell) building(_, text string) {
	text, _, _ = strings.Cut(text, ";")
	sh.say("%s", strings.ReplaceAll(text, sh.cwd+string(filepath.Separator), ""))
}

// keySource returns where the keys come from: flags, or the environment.
func (sh *shell) keySource(o keyOptions) (node.KeySource, error) {
	if o == (keyOptions{}) {
		o = keyOptions{file: sh.getenv("PINTLE_KEY_FILE"), command: sh.getenv("PINTLE_KEY_COMMAND")}
	}
	source := node.KeySource{File: o.file, Command: o.command, Text: sh.getenv("PINTLE_KEYS")}
	set := 0
	for _, is := range []bool{source.File != "", source.Command != "", source.Text != ""} {
		if is {
			set++
		}
	}
	if set > 1 {
		return source, usagef("use only one of --key-file, --key-command and PINTLE_KEYS", "keys are set in more than one place")
	}
	if source.File != "" {
		source.File = sh.path(source.File)
	}
	return source, nil
}
