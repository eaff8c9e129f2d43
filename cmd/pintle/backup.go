package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
)

type backupOptions struct {
	data, project string
	keys, verify  bool
	sealed        keyOptions
}

func (a *serverCommands) backupCommand() *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy the data directory, even while a server runs",
		Long: `Copy the data directory to DIR, which must not exist yet. You can back up while a
server runs: the copy is a consistent snapshot. It contains the database, the access
keys of clients and the port, but not the key file. Anyone with both the copy and the
key file can read the secrets, so keep a copy of the key file elsewhere, or include
it with --with-keys.

To restore a backup, stop the original server, put the key file back as DIR/keys,
and run

  pintle serve --data DIR

With --verify the command copies nothing and checks the database in DIR, or in the
data directory by default. This also works while a server runs. It reads every page,
index and row, decodes rows with the keys of DIR or of --key-file, and lists damage.

To back up a PostgreSQL database, use PostgreSQL's own tools.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.verify {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: runE(func(ctx context.Context, args []string) error {
			if o.verify {
				return a.verifyBackup(ctx, &o, args)
			}
			return a.backup(ctx, &o, args[0])
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.data, "data", "", "data `DIR` (default: .pintle next to pintle.yaml)")
	flags.StringVar(&o.project, "project", "", "`DIR` with pintle.yaml (default: the current directory)")
	flags.BoolVar(&o.keys, "with-keys", false, "copy the key file too: anyone with the copy can then read the secrets")
	flags.BoolVar(&o.verify, "verify", false, "check the database in DIR (default: the data directory) instead of copying it")
	o.sealed.flags(flags)
	fromEnvironment(flags, "data", "project")
	return cmd
}

// verifyBackup checks a database.
func (a *serverCommands) verifyBackup(ctx context.Context, o *backupOptions, args []string) error {
	p, err := a.locate(o.project, o.data)
	if err != nil {
		return err
	}
	dir := p.data
	if len(args) > 0 {
		dir = a.path(args[0])
	}
	if !node.Exists(dir) {
		return failed(fmt.Errorf("no database in %s", a.short(dir)), "use another directory")
	}
	keys, err := a.keySource(o.sealed)
	if err != nil {
		return err
	}
	problems, whole, err := node.Verify(ctx, dir, keys)
	if err != nil {
		return failed(fmt.Errorf("verify: %w", err))
	}
	for _, problem := range problems {
		fmt.Fprintln(a.stdout, problem)
	}
	if !whole {
		a.say("The key file is not in %s, so sealed values were not checked: use --key-file.", a.short(dir))
	}
	if len(problems) > 0 {
		return failed(fmt.Errorf("the database in %s is damaged: found %d problems", a.short(dir), len(problems)),
			"stop its server, keep a copy of the directory, and restore the newest backup that passes pintle backup --verify")
	}
	fmt.Fprintf(a.stdout, "the database in %s is intact\n", a.short(dir))
	return nil
}

func (a *serverCommands) backup(ctx context.Context, o *backupOptions, into string) error {
	p, err := a.locate(o.project, o.data)
	if err != nil {
		return err
	}
	if !node.Exists(p.data) {
		return failed(fmt.Errorf("no database in %s", a.short(p.data)), "use another directory with --data")
	}
	_, err = os.Stat(node.KeyFile(p.data))
	elsewhere := errors.Is(err, fs.ErrNotExist)
	if o.keys && elsewhere {
		return failed(fmt.Errorf("backup: the keys are not in %s", a.short(p.data)),
			"omit --with-keys and copy the keys from the source that the server uses: --key-file, --key-command or PINTLE_KEYS")
	}
	if err := node.Backup(ctx, p.data, a.path(into), o.keys); err != nil {
		return failed(fmt.Errorf("backup: %w", err))
	}
	fmt.Fprintf(a.stdout, "%s is a copy of %s\n", a.short(a.path(into)), a.short(p.data))
	switch {
	case elsewhere:
		a.say("The backup does not include the keys: keep a copy of the source in --key-file, --key-command or PINTLE_KEYS.")
	case !o.keys:
		a.say("The backup does not include the key file: keep a copy of %s elsewhere.", a.short(node.KeyFile(p.data)))
	}
	return nil
}
