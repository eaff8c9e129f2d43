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

With --verify nothing is copied: the database in DIR, or in the data directory if
none is given, is checked, also while a server runs. Each page, index and row is read,
rows are decoded with the keys of DIR or of --key-file, and what is damaged is listed.

A database on PostgreSQL is backed up with PostgreSQL's own means.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.verify {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: a.command(func(ctx context.Context, args []string) error {
			if o.verify {
				return a.verifyBackup(ctx, &o, args)
			}
			return a.backup(ctx, &o, args[0])
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.data, "data", "", "`DIR` of the data (default: .pintle beside pintle.yaml)")
	flags.StringVar(&o.project, "project", "", "`DIR` of a pintle.yaml (default: the current folder)")
	flags.BoolVar(&o.keys, "with-keys", false, "copy the key file too: whoever gets hold of the copy can then read the secrets")
	flags.BoolVar(&o.verify, "verify", false, "check the database in DIR (default: the data directory) instead of copying it")
	o.sealed.flags(flags)
	fromEnvironment(flags, "data", "project")
	return cmd
}

// verifyBackup checks a database.
func (a *app) verifyBackup(ctx context.Context, o *backupOptions, args []string) error {
	p, err := a.locate(o.project, o.data)
	if err != nil {
		return err
	}
	dir := p.data
	if len(args) > 0 {
		dir = a.path(args[0])
	}
	if !node.Exists(dir) {
		return failed(fmt.Errorf("there is no database in %s", a.short(dir)), "name another directory")
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
		a.say("The key file is not in %s, so sealed values were not checked: give --key-file.", a.short(dir))
	}
	if len(problems) > 0 {
		return failed(fmt.Errorf("the database in %s is damaged: %d problems were found", a.short(dir), len(problems)),
			"stop its server, keep the directory aside, and restore the newest backup that passes pintle backup --verify")
	}
	fmt.Fprintf(a.stdout, "the database in %s is sound\n", a.short(dir))
	return nil
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
