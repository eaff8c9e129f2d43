package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/base/filewatch"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/provider/project"
	"github.com/pintle-dev/pintle/internal/store"
)

// devOptions are the flags of dev.
type devOptions struct {
	deployOptions
	clear bool // the stack at the end
}

func (a *changeCommands) devCommand() *cobra.Command {
	var o devOptions
	cmd := &cobra.Command{
		Use:   "dev [DIR]",
		Short: "Deploy a stack, and deploy again whenever a file is saved",
		Long: `Deploy the stack described in DIR/pintle.yaml (default: the current directory) like
"pintle deploy", and deploy again whenever one of its files is saved, until Ctrl-C.
The command watches the template and the files that it includes, pintle.yaml, the
parameter file, and the source of local providers and macros:

  a Go package       its files, embedded files, go.mod, and all packages that it
                     imports from the same module or workspace
  a Python or Node   the files of the language in its directory and below, and
  handler            package.json and tsconfig.json
  an executable      the file; for a directory with bootstrap, all executables

When you save a provider, dev builds or starts it again, and the next request runs the
new code. As on AWS, a resource gets an Update only if the template changes it. A
resource whose create failed is created again. To run the new code without a change,
type a line and press Enter:

  u                  deploy, and send an Update to all custom resources
  u LOGICAL_ID ...   deploy, and send an Update to these

Their ResourceProperties and OldResourceProperties are then equal. AWS sends no such
Update, so it is not possible with --fidelity aws. "pintle deploy --update-again" does
the same from another terminal.

A save during a deploy starts another deploy when the current one is done. After a
failed deploy, the next save tries again. The engine keeps running between deploys, so
other commands work in the meantime. So do AWS clients with "pintle env", if "pintle
serve" runs on the same data.

dev runs the code of functions that the template declares. At the end it keeps the
stack unless you pass --delete.`,
		Args: cobra.MaximumNArgs(1),
		RunE: runE(func(ctx context.Context, args []string) error { return a.dev(ctx, &o, first(args)) }),
	}
	o.commonFlags(cmd)
	o.flags(cmd)
	o.functions.moduleFlag(cmd)
	cmd.Flags().BoolVar(&o.clear, "delete", false, "delete the stack at the end")
	return cmd
}

// development is one run of dev.
type development struct {
	changes *changeCommands
	options *devOptions
	dir     string // as it was given

	change   change
	stack    string // as far as it is known
	session  *session
	settings settings // of the session

	watcher *filewatch.Watcher
	looker  filewatch.Looker
	sources sourceList
	// files are those of the project, next to the sources.
	files []string
	// seen has the contents of the files when they were last read.
	seen    filewatch.Snapshot
	watched string // which files were said to be watched

	commands *commandLines
	again    []string // the custom resources that get an Update with the next deploy even if nothing changed
	renewed  bool     // the last deploy gave the engine new code of a provider
}

// settings has the settings of an engine. A change requires a restart.
type settings struct {
	data, region string
	unknown      engine.UnknownTypes
	references   referenceOptions
	forwards     string // as forwardKey returns it
}

func (a *changeCommands) dev(ctx context.Context, o *devOptions, dir string) (err error) {
	watched := *a.shell
	watched.developing = true
	d := &development{changes: &changeCommands{&connector{&watched}, a.complete}, options: o, dir: dir, watcher: filewatch.New(filewatch.Config{}), sources: sourceList{known: map[string]*source{}}}
	defer func() { err = errors.Join(err, d.watcher.Close()) }()
	d.commands = a.readCommands(ctx)
	c, want, err := d.read()
	if err != nil {
		return err // of how the command was called, most likely
	}
	d.adopt(c, want, nil)
	for {
		err := d.deploy(ctx)
		if ctx.Err() != nil {
			return d.end(ctx, err)
		}
		if err != nil {
			asFailure(err).print(a.stderr)
		}
		if d.session != nil && (d.session.here == nil || stacks.Lost(err)) {
			// It may be another's, and gone by the next save.
			if err := d.close(); err != nil {
				a.say("note: %v", err)
			}
		}
		if !d.wait(ctx) {
			return d.end(ctx, nil)
		}
	}
}

// read reads the project again.
func (d *development) read() (c change, want desired, err error) {
	o := d.options
	if c, err = d.changes.change("dev", &o.changeOptions, d.dir); err != nil {
		return c, want, err
	}
	if c.modules, err = o.functions.folders(&d.changes.workdir); err != nil {
		return c, want, err
	}
	c.functions, c.developing, c.ros = true, true, &o.ros
	c.deployed, c.unshown = o.repeated(), len(o.parameters) > 0
	want, err = d.changes.desire(c.place, &o.deployOptions)
	want.functions = true
	c.unknown, c.forwards, c.result = want.unknown, want.forwards, &result{Stack: want.stack, Action: "none"}
	return c, want, err
}

// mostReads is how often a project is read for one deploy: once more than it names other files than before.
const mostReads = 4

// deploy reads the current files and updates the stack to match. The next wait notices files that are saved after
// that.
func (d *development) deploy(ctx context.Context) error {
	var c change
	var want desired
	var err error
	again := d.again
	d.again = nil // also if this deploy fails before it can send them
	for range mostReads {
		d.look(ctx)
		if c, want, err = d.read(); !d.adopt(c, want, err) {
			break
		}
	}
	if err != nil {
		return err
	}
	if d.options.endpoint == "" { // another server may know more than this program
		if err := want.check(ctx, d.changes.shell, d.options.connection.region); err != nil {
			return err
		}
	}
	if err := d.connect(ctx, c); err != nil {
		return err
	}
	d.session.begun, d.renewed = false, false
	if err := d.provide(ctx, want.providers); err != nil {
		return err
	}
	want.again, c.retried = again, againFlags(again)
	err = (&rollout{d.session, want}).bring(ctx, c.place, c.result, false)
	if err == nil && d.renewed && c.result.Action == "none" {
		d.offer(c)
	}
	return err
}

// offer says how to run new code of a provider although no resource has changed.
func (d *development) offer(c change) {
	if d.commands.terminal {
		fmt.Fprintln(d.changes.stdout, `no resource got an Update: to send one to all custom resources, type u and press Enter`)
		return
	}
	c.developing = false // another command deploys with the engine of this one, which runs functions already
	fmt.Fprintf(d.changes.stdout, "no resource got an Update: to send one to all custom resources, run: %s\n",
		c.again("deploy")+againFlags([]string{string(engine.AllCustom)}))
}

// adopt updates the set of files, as far as the project could be read. It reports whether the set has changed, because the contents
// of new files were not recorded before they were read.
func (d *development) adopt(c change, want desired, problem error) bool {
	if c.result == nil { // not even pintle.yaml could be read
		return false
	}
	if d.change = c; want.stack != "" {
		d.stack = want.stack
	}
	files := []string{filepath.Join(c.dir, project.FileName)}
	if d.options.template == "" && (c.project == nil || c.project.Template == "") {
		for _, name := range templateNames {
			files = append(files, filepath.Join(c.dir, name))
		}
	}
	known := want.files
	if problem != nil { // it may need the others too
		known = slices.Concat(known, d.files)
	}
	for _, file := range known {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	news := slices.ContainsFunc(files, func(file string) bool { return !slices.Contains(d.files, file) })
	d.files = files
	if problem == nil {
		news = d.sources.use(want.providers) || news
	}
	return news
}

// look records the contents of the files, including those of providers.
func (d *development) look(ctx context.Context) {
	snapshot, folders := d.looker.Look(d.groups())
	d.sources.changed(snapshot.Changed(d.seen))
	if names := d.sources.unknown(); names != nil {
		for _, name := range names {
			if err := d.sources.find(ctx, name); err != nil {
				d.changes.say("note: watching only the directory of %s itself: %v", d.name(name), err)
			}
		}
		var now filewatch.Snapshot
		now, folders = d.looker.Look(d.groups())
		for _, name := range names {
			group := d.sources.known[name].group.Name
			snapshot[group] = now[group]
		}
	}
	d.watcher.Watch(folders)
	d.seen = snapshot
}

func (d *development) groups() []filewatch.Group {
	groups := make([]filewatch.Group, 0, len(d.files)+len(d.sources.known))
	for _, file := range d.files {
		groups = append(groups, filewatch.Group{Name: file, Files: []string{file}})
	}
	return append(groups, d.sources.groups()...)
}

// wait waits until something is saved, or an Update is requested. It reports false if ctx ends before.
func (d *development) wait(ctx context.Context) bool {
	d.announce()
	for {
		now, folders := d.looker.Look(d.groups())
		if saved := now.Changed(d.seen); saved != nil {
			var names []string
			for _, name := range saved {
				names = append(names, d.name(name))
			}
			fmt.Fprintf(d.changes.stdout, "\nsaved: %s\n", strings.Join(names, ", "))
			return true
		}
		d.watcher.Watch(folders)
		line, err := d.waitForEither(ctx)
		if err != nil {
			return false
		}
		if d.take(line) {
			return true
		}
	}
}

// waitForEither waits until a file may have been saved, or a line was typed, which it returns.
func (d *development) waitForEither(ctx context.Context) (line string, err error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changed := make(chan error, 1)
	go func() { changed <- d.watcher.Wait(watching) }()
	select {
	case err := <-changed:
		return "", err
	case line := <-d.commands.lines:
		stop()
		<-changed // one goroutine at a time uses the watcher
		return line, nil
	}
}

// take carries out a typed line. It reports whether another deploy follows.
func (d *development) take(line string) bool {
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
		return false
	case words[0] != "u":
		d.changes.say("unknown command %q: type u to send an Update to all custom resources, or u LOGICAL_ID to one", display.Clean(words[0]))
		return false
	case len(words) == 1:
		d.again = []string{string(engine.AllCustom)}
		fmt.Fprintln(d.changes.stdout, "\nsending an Update to all custom resources")
	default:
		d.again = words[1:]
		fmt.Fprintf(d.changes.stdout, "\nsending an Update to %s\n", display.Clean(strings.Join(d.again, ", ")))
	}
	return true
}

// announce prints once which files are watched.
func (d *development) announce() {
	var names []string
	for _, file := range d.files {
		if _, err := os.Stat(file); err == nil {
			names = append(names, d.name(file))
		}
	}
	for _, group := range d.sources.groups() {
		names = append(names, d.name(group.Name))
	}
	keys := "Ctrl-C to stop"
	if d.commands.terminal {
		keys = "u to send Updates again, Ctrl-C to stop"
	}
	text := "\nwatching " + strings.Join(names, ", ") + " (" + keys + ")"
	if err := d.watcher.Broken(); err != nil {
		text += "\npolling files twice a second, because the system does not report changes: " + err.Error()
	}
	if text == d.watched {
		text = "\nwatching"
	} else {
		d.watched = text
	}
	fmt.Fprintln(d.changes.stdout, text)
}

// name returns the name of a group of files for people.
func (d *development) name(group string) string {
	if name, ok := d.sources.named(group); ok {
		return name
	}
	return d.changes.short(group)
}

// connect ensures that an engine with the current settings runs.
func (d *development) connect(ctx context.Context, c change) error {
	now := settings{c.data, c.connection.region, c.unknown, c.references, forwardKey(c.forwards)}
	if d.session != nil && d.settings != now {
		d.changes.say("restarting the engine with the changes in %s", project.FileName)
		if err := d.close(); err != nil {
			return err
		}
	}
	if d.session != nil {
		return nil
	}
	s, err := d.changes.open(ctx, c)
	if err != nil {
		return errors.Join(err, s.close())
	}
	d.session, d.settings = s, now
	return nil
}

func (d *development) close() error {
	s := d.session
	d.session = nil
	if s == nil {
		return nil
	}
	return s.close()
}

// provide has the engine run the providers that are new to it, or were saved, as they are now.
func (d *development) provide(ctx context.Context, list []provided) error {
	fresh := d.sources.fresh(list)
	if err := d.session.provide(ctx, fresh); err != nil {
		return err
	}
	for _, p := range fresh {
		if word := d.sources.done(p); word != "" {
			_, macro := strings.CutPrefix(p.name, store.ServedMacro(""))
			d.renewed = d.renewed || !macro
			fmt.Fprintf(d.changes.stdout, "%s %s: the next request runs the new code\n", d.name(p.name), word)
		}
	}
	return nil
}

// end ends the run, after an interrupt; err is that of a deploy which it has stopped.
func (d *development) end(ctx context.Context, err error) error {
	if d.options.clear {
		fmt.Fprintln(d.changes.stdout)
		err = d.delete(context.WithoutCancel(ctx)) // another interrupt ends the process
		return errors.Join(err, d.close())
	}
	switch {
	case d.session != nil && d.session.begun && errors.Is(err, context.Canceled):
		err = d.session.interrupted(d.change.place, "dev", d.stack)
	case errors.Is(err, context.Canceled):
		err = nil
	}
	if err == nil {
		fmt.Fprintf(d.changes.stdout, "\nstack %s is kept; delete it with: %s\n", d.stack, d.change.again("delete"))
	}
	return errors.Join(err, d.close())
}

// delete deletes the stack.
func (d *development) delete(ctx context.Context) error {
	c := d.change
	c.result = &result{Stack: d.stack, Action: "none"}
	if err := d.connect(ctx, c); err != nil {
		return err
	}
	return d.session.clear(ctx, c, stacks.Sparing{}, nil)
}
