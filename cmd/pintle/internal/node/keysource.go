package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
)

const (
	// keyCommandTime bounds how long a command may take to print the keys.
	keyCommandTime = 30 * time.Second
	// maxKeyText bounds the output of the command, in bytes.
	maxKeyText = 64 << 10
)

// KeySource says where the keys come from that seal the secrets in the database. One of the fields is set at most; if none
// is, they are in the file keys of the data directory.
type KeySource struct {
	// File is made if it is not there and the database is new.
	File string
	// Text is keys as a key file has them, or in one line with commas between.
	Text string
	// Command is run by the shell and prints a key file within 30 seconds. Its standard error is passed
	// on.
	Command string
}

// Format prints no key for any verb.
func (k KeySource) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, k.name()) }

// name describes the source of the keys for people. It omits the command, which may contain a secret.
func (k KeySource) name() string {
	switch {
	case k.Text != "":
		return "PINTLE_KEYS"
	case k.Command != "":
		return "the key command"
	}
	return k.File
}

// open returns the keys, or makes the first ones. used says whether there are rows that they must open: new keys would open
// nothing then, and stand where the old ones are to be put back.
func (k KeySource) open(ctx context.Context, used func(context.Context) (is bool, of string, err error)) (*store.Keys, error) {
	set := 0
	for _, is := range []bool{k.File != "", k.Text != "", k.Command != ""} {
		if is {
			set++
		}
	}
	if set > 1 {
		return nil, errors.New("use only one source of keys: a file, a command or PINTLE_KEYS")
	}
	text := k.Text
	switch {
	case k.Command != "":
		var err error
		if text, err = run(ctx, k.Command); err != nil {
			return nil, fmt.Errorf("the key command: %w", err)
		}
	case k.Text == "":
		_, err := os.Stat(k.File)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("key file: %w", err)
		}
		if err != nil {
			is, of, err := used(ctx)
			if err != nil {
				return nil, err
			}
			// A node that started at the same moment may have made both just now, the file first.
			if _, err := os.Stat(k.File); is && err != nil {
				return nil, fmt.Errorf("the key file %s is missing, and without it %s cannot be read: "+
					"restore it from a copy or from another node, or start over without the data", k.File, of)
			}
		}
		return store.OpenKeys(k.File)
	}
	keys, err := store.ParseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("keys from %s: %w", k.name(), err)
	}
	return keys, nil
}

// run returns the output of a command. Its errors never contain output.
func run(ctx context.Context, command string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCommandTime)
	defer cancel()
	var out limited
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	cmd.WaitDelay = time.Second // a child that it left behind may hold its output open
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("it did not end within %v", keyCommandTime)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case out.over:
		return "", fmt.Errorf("it printed more than %d bytes", maxKeyText)
	case err != nil:
		return "", err
	}
	return out.text.String(), nil
}

// limited collects the output of a command up to a limit. The buffer is not embedded, because its methods would bypass Write.
type limited struct {
	text bytes.Buffer
	over bool
}

// Write returns an error beyond the limit, so that the command ends.
func (l *limited) Write(text []byte) (int, error) {
	if l.text.Len()+len(text) > maxKeyText {
		l.over = true
		return 0, io.ErrShortWrite
	}
	return l.text.Write(text)
}
