package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/store"
)

// keyOptions is where the keys come from that seal the secrets in the database.
type keyOptions struct{ file, command string }

func (o *keyOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.file, "key-file", "", "`FILE` with the keys that encrypt the secrets in the database, the same for all its servers; created if the database is new (default: keys in the data directory)")
	flags.StringVar(&o.command, "key-command", "", "shell `COMMAND` that prints a key file")
	fromEnvironment(flags, "key-file", "key-command")
}

type keysOptions struct {
	connection connection
	project    string
	file       string
	output     string
}

// keyCommands are the commands about the keys that encrypt secrets in the database.
type keyCommands struct {
	*connector
}

func (a *keyCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		a.keysCommand(),
	}
}

func (a *keyCommands) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Change the keys that encrypt the secrets in the database",
		Long: `Change the keys that encrypt the secrets in the database.

The first key in the key file encrypts, and all of them decrypt. With one node:

  pintle keys rotate        add a new first key, then restart the server
  pintle keys status        wait until nothing is encrypted with the old key
  pintle keys drop OLD

With several nodes, every node must know a key before any node encrypts with it:

  pintle keys add           then copy the key file to all nodes and restart them
  pintle keys use NEW       copy the file again and restart the nodes
  pintle keys drop OLD      when status allows it

Keep a copy of the key file, but not together with backups of the database: anyone
with both can read the secrets.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.keysSubcommand("status", "Show which keys are needed", cobra.NoArgs, a.keysStatus),
		a.keysSubcommand("rotate", "Add a new first key: it encrypts after the next start", cobra.NoArgs, a.keysRotate),
		a.keysSubcommand("add", "Add a new key that only decrypts", cobra.NoArgs, a.keysAdd),
		a.keysSubcommand("use ID", "Make a key the first: it encrypts after the next start", cobra.ExactArgs(1), a.keysUse),
		a.keysSubcommand("drop ID", "Remove a key that is no longer in use", cobra.ExactArgs(1), a.keysDrop),
	)
	return cmd
}

func (a *keyCommands) keysSubcommand(
	use, short string, args cobra.PositionalArgs, run func(context.Context, *keysOptions, place, []string) error,
) *cobra.Command {
	var o keysOptions
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: runE(func(ctx context.Context, args []string) error {
			p, err := a.locate(o.project, o.connection.data)
			if err != nil {
				return err
			}
			return run(ctx, &o, p, args)
		}),
	}
	flags := cmd.Flags()
	o.connection.flags(flags)
	flags.StringVar(&o.project, "project", "", "`DIR` with pintle.yaml (default: the current directory)")
	flags.StringVar(&o.file, "key-file", "", "key `FILE` (default: keys in the data directory)")
	fromEnvironment(flags, "project", "key-file")
	if use == "status" {
		outputFlag(cmd, &o.output)
	}
	return cmd
}

// keyFile returns the path of the key file, which must be where the keys come from.
func (a *keyCommands) keyFile(o *keysOptions, p place) (string, error) {
	source, err := a.keySource(keyOptions{file: o.file})
	switch {
	case err != nil:
		return "", err
	case source.Text != "" || source.Command != "":
		return "", usagef("change them there; \"pintle keys status\" shows which are needed", "the keys come from PINTLE_KEYS or a command, not from a file")
	case source.File != "":
		return source.File, nil
	}
	return node.KeyFile(p.data), nil
}

// editKeys changes the key file.
func (a *keyCommands) editKeys(o *keysOptions, p place, edit func([]store.Key) ([]store.Key, error)) (file string, err error) {
	if file, err = a.keyFile(o, p); err != nil {
		return "", err
	}
	if err := store.EditKeys(file, edit); err != nil {
		if _, ok := errors.AsType[*failure](err); ok {
			return "", err
		}
		return "", failed(err)
	}
	return file, nil
}

func (a *keyCommands) keysRotate(_ context.Context, o *keysOptions, p place, _ []string) error {
	key := store.GenerateKey()
	file, err := a.editKeys(o, p, func(keys []store.Key) ([]store.Key, error) {
		return append([]store.Key{key}, keys...), nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "key %s is the first in %s\n", key.ID, a.short(file))
	a.say("Update your copy of the file. The server encrypts with the new key after its next start.")
	return nil
}

func (a *keyCommands) keysAdd(_ context.Context, o *keysOptions, p place, _ []string) error {
	key := store.GenerateKey()
	file, err := a.editKeys(o, p, func(keys []store.Key) ([]store.Key, error) { return append(keys, key), nil })
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "key %s is in %s\n", key.ID, a.short(file))
	a.say("Copy the file to every node and restart each; then run: pintle keys use %s%s", key.ID, p.named())
	return nil
}

func (a *keyCommands) keysUse(_ context.Context, o *keysOptions, p place, args []string) error {
	file, err := a.editKeys(o, p, func(keys []store.Key) ([]store.Key, error) {
		at, err := findKey(keys, args[0])
		if err != nil {
			return nil, err
		}
		key := keys[at]
		return append([]store.Key{key}, slices.Delete(keys, at, at+1)...), nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "key %s is the first in %s\n", args[0], a.short(file))
	a.say("A server with this file encrypts with the key after its next start.")
	return nil
}

func (a *keyCommands) keysDrop(ctx context.Context, o *keysOptions, p place, args []string) (err error) {
	if _, err := a.keyFile(o, p); err != nil { // before anything is asked
		return err
	}
	s, err := a.keysReader(ctx, o, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	needed, err := s.operator.sealingKeys(ctx)
	if err != nil {
		return failed(err)
	}
	if slices.ContainsFunc(needed.Keys, func(k operator.Key) bool { return k.ID == args[0] }) {
		return failed(fmt.Errorf("key %s is needed: rows may be encrypted with it", args[0]),
			"wait until \"pintle keys status\" shows that none is; a running server re-encrypts rows")
	}
	file, err := a.editKeys(o, p, func(keys []store.Key) ([]store.Key, error) {
		at, err := findKey(keys, args[0])
		if err != nil {
			return nil, err
		}
		if at == 0 {
			return nil, failed(fmt.Errorf("key %s is the first in the file and encrypts new values", args[0]), "add another first key with \"pintle keys rotate\"")
		}
		return slices.Delete(keys, at, at+1), nil
	})
	if err == nil {
		fmt.Fprintf(a.stdout, "key %s is no longer in %s\n", args[0], a.short(file))
	}
	return err
}

func findKey(keys []store.Key, id string) (int, error) {
	at := slices.IndexFunc(keys, func(k store.Key) bool { return k.ID == id })
	if at < 0 {
		return at, usagef("run \"pintle keys status\" to see the keys", "no key %q in the file", id)
	}
	return at, nil
}

// keysReader connects to the engine to ask it about keys.
func (a *keyCommands) keysReader(ctx context.Context, o *keysOptions, p place) (*session, error) {
	s, ok, err := a.readerWith(ctx, o.connection, p.data, keyOptions{file: o.file}, referenceOptions{}, nil, nil)
	if err == nil && !ok {
		err = failed(fmt.Errorf("no database in %s, so it is unknown which keys are needed", a.short(p.data)),
			"set the data directory of a server with --data, or its address with --endpoint")
	}
	return s, err
}

// shownKey is a key as status shows it.
type shownKey struct {
	ID string `json:"id"`
	// State is "seals", "next", "needed", "spare" or "missing".
	State string     `json:"state"`
	Since *time.Time `json:"since,omitempty"`
}

var keyStates = map[string]string{
	"seals":   "seals",
	"next":    "first in the file: encrypts after the next start of the server",
	"needed":  "needed: rows may be encrypted with it; a running server re-encrypts them",
	"spare":   "only decrypts; no row is encrypted with it",
	"missing": "needed but missing from the key file: put it back",
}

func (a *keyCommands) keysStatus(ctx context.Context, o *keysOptions, p place, _ []string) (err error) {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	s, err := a.keysReader(ctx, o, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	needed, err := s.operator.sealingKeys(ctx)
	if err != nil {
		return failed(err)
	}
	known := needed.Known
	if file, err := a.keyFile(o, p); err == nil && s.connection.endpoint == "" {
		if known, err = store.KeyIDs(file); err != nil {
			return failed(err)
		}
	}
	list := keyList(needed, known)
	if asJSON {
		return a.document(struct {
			Keys     []shownKey `json:"keys"`
			Resealed int        `json:"resealed"`
		}{list, needed.Resealed})
	}
	rows := [][]string{{"KEY", "SINCE", "STATE"}}
	for _, key := range list {
		since := "-"
		if key.Since != nil {
			since = key.Since.UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{key.ID, since, keyStates[key.State]})
	}
	fmt.Fprintln(a.stdout, strings.TrimRight(display.Columns(rows), "\n"))
	return nil
}

// keyList merges the known keys, in their order, with missing keys that the store needs.
func keyList(needed operator.Keys, known []string) (list []shownKey) {
	since := make(map[string]time.Time)
	var seals string
	for _, key := range needed.Keys {
		since[key.ID], seals = key.Since, key.ID // the last one
	}
	for at, id := range known {
		key := shownKey{ID: id, State: "spare"}
		at0, there := since[id]
		if there {
			key.Since, key.State = &at0, "needed"
		}
		switch {
		case id == seals:
			key.State = "seals"
		case at == 0:
			key.State = "next"
		}
		list = append(list, key)
	}
	for _, key := range needed.Keys {
		if !slices.Contains(known, key.ID) {
			list = append(list, shownKey{ID: key.ID, State: "missing", Since: &key.Since})
		}
	}
	return list
}
