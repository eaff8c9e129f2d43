package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

type respondOptions struct {
	readOptions
	status, reason, physicalID, request string
	// all are the attributes as an object, and set those that are named one by one.
	all, oldFile  string
	set           []string
	noEcho, force bool
}

func (a *app) respondCommand() *cobra.Command {
	var o respondOptions
	cmd := &cobra.Command{
		Use:   "respond STACK RESOURCE --status SUCCESS|FAILED",
		Short: "Answer for a provider that does not",
		Long: `Settle the request that a resource waits for, as if its provider had answered.
The stack then goes on. For a Create say what physical id the thing has: without
--physical-id it is the one that the resource has or, if it has none yet, a
generated one, which its provider does not know.

An Update keeps the attributes that the resource has, secret if they are.
--attribute sets one of them, and may be repeated. --attributes gives all of them,
also none with '{}'; put a secret in a file, and mark it with --no-echo. The answer
has the limits of a provider's, for example 4,096 bytes.

If a resource or an output reads an attribute that the answer lacks, the stack would
fail, so the answer is refused. --force gives it nevertheless.

A request can be answered once its provider has it: "pintle describe STACK" lists
it as waiting. What the provider itself says later changes nothing. Both are on
the list of "pintle events --audit", with the id of the access key that answered.`,
		Example: `  pintle respond shop Certificate --status SUCCESS --physical-id cert-7 --attribute Domain=a.test
  pintle respond shop Certificate --status FAILED --reason "the registry is down"`,
		Args: cobra.ExactArgs(2),
		RunE: a.command(func(ctx context.Context, args []string) error { return a.respond(ctx, &o, args[0], args[1]) }),
	}
	o.readOptions.flags(cmd)
	cmd.ValidArgsFunction = a.completeStack
	flags := cmd.Flags()
	flags.StringVar(&o.status, "status", "", "what became of it, as `STATUS`: SUCCESS or FAILED")
	flags.StringVar(&o.physicalID, "physical-id", "", "`ID` of what there is now (default: the one that it has, else a generated one)")
	flags.StringVar(&o.reason, "reason", "", "`TEXT` that says why; with FAILED it is shown in the event")
	flags.StringArrayVar(&o.set, "attribute", nil, "an attribute, `NAME=VALUE`; may be repeated")
	flags.StringVar(&o.all, "attributes", "", "all attributes, a `JSON` object or @FILE; --attribute wins over it (default: those that it has)")
	flags.BoolVar(&o.force, "force", false, "answer also without an attribute that a resource or an output reads")
	flags.StringVar(&o.oldFile, "data-json", "", "")
	_ = flags.MarkHidden("data-json") // it was defined a moment ago
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
		err = readable(err)
		if strings.HasPrefix(err.Error(), engine.AnswerLacks) {
			return failed(err, "add what is missing with --attribute NAME=VALUE, or answer nevertheless with --force")
		}
		return failed(err, "see what it waits for with: "+p.look("describe", stack))
	}
	if len(done.Lacks) > 0 {
		a.say("warning: the answer lacks %s: the stack will fail", lacking(done.Lacks))
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
	switch {
	case o.oldFile != "":
		return in, usagef("give it as --attributes @FILE", "--data-json was renamed")
	case strings.Contains(o.connection.data, "=") && !isDirectory(a.path(o.connection.data)):
		return in, usagef("give attributes with --attribute NAME=VALUE", "--data is the directory of the data, not an attribute")
	}
	in = operator.Response{
		Status: wire.Status(strings.ToUpper(o.status)), Request: wire.RequestID(o.request),
		PhysicalID: wire.PhysicalID(o.physicalID), Reason: o.reason, NoEcho: o.noEcho, Force: o.force,
	}
	if !in.Status.Valid() {
		return in, usagef("want SUCCESS or FAILED", "--status %q is not known", o.status)
	}
	if o.all != "" {
		if in.Data, err = a.object("attributes", o.all); err != nil {
			return in, err
		}
	}
	set := map[string]string{}
	for _, word := range o.set {
		name, value, ok := strings.Cut(word, "=")
		if name == "" || !ok {
			return in, usagef("want NAME=VALUE", "--attribute: an attribute has a name, a = and a value")
		}
		set[name] = value
	}
	if len(set) > 0 {
		in.Set, err = json.Marshal(set)
	}
	return in, err
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// lacking says for people what an answer lacks.
func lacking(reads []operator.AttributeRead) string {
	list := make([]engine.AttributeRead, len(reads))
	for i, read := range reads {
		list[i] = engine.AttributeRead{Attribute: read.Attribute, Resource: read.Resource, Output: read.Output}
	}
	return engine.DescribeReads(list)
}
