package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/pintle-dev/pintle/internal/author/check"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/wire"
)

// maxRead bounds the output of a --verify command, in bytes.
const maxRead = 1 << 20

// propertyReader runs the command of --verify. It gets the physical ID in PINTLE_PHYSICAL_ID and the answered request on stdin.
func (a *checkCommands) propertyReader(command string, timeout time.Duration) check.Reader {
	return func(ctx context.Context, id wire.PhysicalID, answered wire.Request) (json.RawMessage, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		request, err := answered.Encode()
		if err != nil {
			return nil, err
		}
		shell, option := "/bin/sh", "-c"
		if runtime.GOOS == "windows" {
			shell, option = "cmd", "/C"
		}
		cmd := exec.CommandContext(ctx, shell, option, command)
		cmd.Dir, cmd.Stdin, cmd.Stderr = a.cwd, bytes.NewReader(request), a.stderr
		cmd.Env = append(os.Environ(), "PINTLE_PHYSICAL_ID="+string(id), "PINTLE_RESOURCE_TYPE="+answered.ResourceType)
		out, err := local.Output(cmd, maxRead)
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil // it ended with 0, and a child that it left behind held its output open
		}
		switch {
		case errors.Is(err, local.ErrOutputTooLong):
			return nil, fmt.Errorf("the command of --verify printed more than %d bytes", maxRead)
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, fmt.Errorf("the command of --verify did not end within %s", timeout)
		case err != nil:
			return nil, fmt.Errorf("the command of --verify failed: %w", err)
		case len(bytes.TrimSpace(out)) == 0:
			return nil, errors.New("the command of --verify printed nothing: want a JSON object, or null if there is no such resource")
		}
		return out, nil
	}
}
