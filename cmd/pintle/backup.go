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
	keys          bool
}

func (a *app) backupCommand() *cobra.Command {
	var o backupOptions
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy the data directory, also while a server runs",
		Long: `Copy the data directory to DIR, which must not be there yet, also while a server
runs. The copy is of one moment and whole. It holds the database, the access keys
of clients and the port, and not the key file: whoever has both can read the
secrets, so keep a copy of that elsewhere, or give --with-keys.

To go on from a copy, stop the server whose copy it is, put the key file back as
DIR/keys, and type

  pintle serve --data DIR

A database on PostgreSQL is backed up with PostgreSQL's own means.`,
		Args: cobra.ExactArgs(1),
		RunE: a.command(func(ctx context.Context, args []string) error { return a.backup(ctx, &o, args[0]) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.data, "data", "", "`DIR` of the data (default: .pintle beside pintle.yaml)")
	flags.StringVar(&o.project, "project", "", "`DIR` of a pintle.yaml (default: the current folder)")
	flags.BoolVar(&o.keys, "with-keys", false, "copy the key file too: whoever gets hold of the copy can then read the secrets")
	fromEnvironment(flags, "data", "project")
	return cmd
}

func (a *app) backup(ctx context.Context, o *backupOptions, into string) error {
	p, err := a.locate(o.project, o.data)
	if err != nil {
		return err
	}
	if !node.Exists(p.data) {
		return failed(fmt.Errorf("there is no database in %s", a.short(p.data)), "name another directory with --data")
	}
	_, err = os.Stat(node.KeyFile(p.data))
	elsewhere := errors.Is(err, fs.ErrNotExist)
	if o.keys && elsewhere {
		return failed(fmt.Errorf("backup: the keys are not in %s", a.short(p.data)),
			"leave --with-keys out, and copy them from where the server has them: --key-file, --key-command or PINTLE_KEYS")
	}
	if err := node.Backup(ctx, p.data, a.path(into), o.keys); err != nil {
		return failed(fmt.Errorf("backup: %w", err))
	}
	fmt.Fprintf(a.stdout, "%s is a copy of %s\n", a.short(a.path(into)), a.short(p.data))
	switch {
	case elsewhere:
		a.say("The keys are not in it: keep a copy of what --key-file, --key-command or PINTLE_KEYS names.")
	case !o.keys:
		a.say("The key file is not in it: keep a copy of %s elsewhere.", a.short(node.KeyFile(p.data)))
	}
	return nil
}
