package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/wire"
)

type respondOptions struct {
	readOptions
	status, reason, physicalID, request, dataFile string
	attributes                                    []string
	noEcho                                        bool
}

// dataFlag is --data: an attribute as everyone expects it of an answer, or the data directory as with all commands.
type dataFlag struct {
	dir        *string
	attributes *[]string
}

// String returns the directory.
func (f *dataFlag) String() string {
	if f.dir == nil {
		return ""
	}
	return *f.dir
}

// Set takes NAME=VALUE for an attribute and anything else for the directory.
func (f *dataFlag) Set(text string) error {
	if strings.Contains(text, "=") {
		*f.attributes = append(*f.attributes, text)
	} else {
		*f.dir = text
	}
	return nil
}

// Type returns what help calls the value.
func (f *dataFlag) Type() string { return "NAME=VALUE" }

func (a *app) respondCommand() *cobra.Command {
	var o respondOptions
	cmd := &cobra.Command{
		Use:   "respond STACK RESOURCE --status SUCCESS|FAILED",
		Short: "Answer for a provider that does not",
		Long: `Settle the request that a resource waits for, as if its provider had answered.
The stack then goes on. For a Create say what physical id the thing has: without
--physical-id it is the one that the resource has or, if it has none yet, a
generated one, which its provider does not know.

What --data and --data-json give are all of the resource's attributes, also after
an Update; a secret is better kept in a file, and marked with --no-echo. The
answer is bound by what binds a provider's, 4,096 bytes for instance.

A request can be answered once its provider has it: "pintle describe STACK" lists
it as waiting. What the provider itself says later changes nothing. Both are on
the list of "pintle events --audit", with the id of the access key that answered.`,
		Example: `  pintle respond shop Certificate --status SUCCESS --physical-id cert-7 --data Domain=a.test
  pintle respond shop Certificate --status FAILED --reason "the registry is down"`,
		Args: cobra.ExactArgs(2),
		RunE: a.command(func(ctx context.Context, args []string) error { return a.respond(ctx, &o, args[0], args[1]) }),
	}
	o.readOptions.flags(cmd)
	cmd.ValidArgsFunction = a.completeStack
	flags := cmd.Flags()
	o.connection.data = a.getenv(variable("data"))
	data := flags.Lookup("data")
	data.Value, data.Annotations = &dataFlag{dir: &o.connection.data, attributes: &o.attributes}, nil
	data.Usage = "an attribute, `NAME=VALUE`; may be repeated. Without =, the directory of the data, as elsewhere"
	flags.StringVar(&o.status, "status", "", "what became of it, as `STATUS`: SUCCESS or FAILED")
	flags.StringVar(&o.physicalID, "physical-id", "", "`ID` of what there is now (default: the one that it has, else a generated one)")
	flags.StringVar(&o.reason, "reason", "", "`TEXT` that says why; with FAILED it is shown in the event")
	flags.StringVar(&o.dataFile, "data-json", "", "JSON `FILE` of attributes, an object; --data wins over it")
	flags.BoolVar(&o.noEcho, "no-echo", false, "keep the attributes secret")
	flags.StringVar(&o.request, "request", "", "`ID` of the request (default: the one that the resource waits for)")
	choices(cmd, "status", string(wire.Success), string(wire.Failed))
	// The flag was defined a moment ago, so there is no error.
	_ = cmd.MarkFlagRequired("status")
	return cmd
}

func (a *app) respond(ctx context.Context, o *respondOptions, stack, resource string) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	in, err := a.readAnswer(o)
	if err != nil {
		return err
	}
	s, p, _, err := a.readStack(ctx, &o.readOptions, stack)
	if err != nil {
		return err
	}
	done, err := s.operator.respond(ctx, stack, resource, in)
	next := ""
	if err == nil && s.here != nil { // nobody works on the stack
		next = s.goOn(ctx, p, stack)
	}
	if err := errors.Join(err, s.close()); err != nil {
		return failed(readable(err), "see what it waits for with: "+p.look("describe", stack))
	}
	if asJSON {
		return a.document(done)
	}
	origin := map[string]string{"kept": " (the one it had)", "generated": " (generated)"}[done.Origin]
	fmt.Fprintf(a.stdout, "the %s of %s was answered with %s, physical id %s%s\n", done.Type, done.Logical, done.Status,
		done.PhysicalID, origin)
	if next != "" {
		a.say("no engine is at work on stack %s: go on with: %s", stack, next)
	}
	return nil
}

// goOn returns the command that goes on with what a stack was at, empty if it is at rest.
func (s *session) goOn(ctx context.Context, p place, name string) string {
	stack, err := s.stacks.Stack(ctx, name)
	switch {
	case err != nil || stack.State != stacks.Working:
		return ""
	case stack.Status == stacks.Deleting:
		return p.again("delete")
	}
	return p.again("deploy")
}

// readAnswer reads the flags. Its errors quote no attribute: they may be secret.
func (a *app) readAnswer(o *respondOptions) (in operator.Response, err error) {
	in = operator.Response{
		Status: wire.Status(strings.ToUpper(o.status)), Request: wire.RequestID(o.request),
		PhysicalID: wire.PhysicalID(o.physicalID), Reason: o.reason, NoEcho: o.noEcho,
	}
	if !in.Status.Valid() {
		return in, usagef("want SUCCESS or FAILED", "--status %q is not known", o.status)
	}
	data := map[string]json.RawMessage{}
	if o.dataFile != "" {
		// Room for the longest answer, however it is laid out.
		text, err := readFile(a.path(o.dataFile), operator.MaxResponse)
		if err != nil {
			return in, usagef("", "--data-json: %w", err)
		}
		if err := json.Unmarshal(text, &data); err != nil || data == nil {
			return in, usagef(`want {"Name": "value", …}`, "--data-json: %s holds no JSON object", o.dataFile)
		}
	}
	for _, word := range o.attributes {
		name, value, _ := strings.Cut(word, "=")
		if name == "" {
			return in, usagef("want NAME=VALUE", "--data: an attribute needs a name before the =")
		}
		if data[name], err = json.Marshal(value); err != nil {
			return in, err
		}
	}
	if len(data) > 0 {
		in.Data, err = json.Marshal(data)
	}
	return in, err
}
