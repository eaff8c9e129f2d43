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

func (a *showCommands) respondCommand() *cobra.Command {
	var o respondOptions
	cmd := &cobra.Command{
		Use:   "respond STACK RESOURCE --status SUCCESS|FAILED",
		Short: "Answer a request for a provider that does not answer",
		Long: `Answer a pending request of a resource, as if its provider had answered, and let the
stack continue. For a Create, pass the physical id with --physical-id. Without it, the
resource keeps its id or, if it has none yet, gets a generated one that the provider
does not know.

An Update keeps the attributes of the resource, which stay secret if they are.
--attribute sets one of them and may be repeated. --attributes sets all of them, or
none with '{}'. Put a secret in a file, and mark it with --no-echo. The answer has the
same limits as a provider's, for example 4,096 bytes.

If the answer lacks an attribute that another resource or an output reads, the stack
would fail, so the command rejects the answer. --force sends it anyway.

You can answer a request after it was delivered: "pintle describe STACK" lists it as
pending. A later answer from the provider changes nothing. "pintle events --audit"
lists both answers, and the id of the access key that gave this one.`,
		Example: `  pintle respond shop Certificate --status SUCCESS --physical-id cert-7 --attribute Domain=a.test
  pintle respond shop Certificate --status FAILED --reason "the registry is down"`,
		Args: cobra.ExactArgs(2),
		RunE: runE(func(ctx context.Context, args []string) error { return a.respond(ctx, &o, args[0], args[1]) }),
	}
	o.readOptions.flags(cmd)
	cmd.ValidArgsFunction = a.complete.stack
	flags := cmd.Flags()
	flags.StringVar(&o.status, "status", "", "result of the request, as `STATUS`: SUCCESS or FAILED")
	flags.StringVar(&o.physicalID, "physical-id", "", "physical `ID` of the resource (default: its current id, else a generated one)")
	flags.StringVar(&o.reason, "reason", "", "reason as `TEXT`; with FAILED it is shown in the event")
	flags.StringArrayVar(&o.set, "attribute", nil, "an attribute, `NAME=VALUE`; may be repeated")
	flags.StringVar(&o.all, "attributes", "", "all attributes, a `JSON` object or @FILE; --attribute overrides it (default: the current ones)")
	flags.BoolVar(&o.force, "force", false, "answer even without an attribute that a resource or an output reads")
	flags.StringVar(&o.oldFile, "data-json", "", "")
	_ = flags.MarkHidden("data-json") // it was defined a moment ago
	flags.BoolVar(&o.noEcho, "no-echo", false, "keep the attributes secret")
	flags.StringVar(&o.request, "request", "", "`ID` of the request (default: the resource's pending one)")
	choices(cmd, "status", string(wire.Success), string(wire.Failed))
	a.complete.request(cmd)
	// The flag was just defined, so this cannot fail.
	_ = cmd.MarkFlagRequired("status")
	return cmd
}

func (a *showCommands) respond(ctx context.Context, o *respondOptions, argument, resource string) error {
	asJSON, err := wantJSON(o.output)
	if err != nil {
		return err
	}
	in, err := a.readAnswer(o)
	if err != nil {
		return err
	}
	s, p, stack, err := a.readStack(ctx, &o.readOptions, argument)
	if err != nil {
		return err
	}
	done, err := s.operator.respond(ctx, stack, resource, in)
	next := ""
	if err == nil && s.here != nil { // no one works on the stack
		next = s.goOn(ctx, p, stack)
	}
	if err := errors.Join(err, s.close()); err != nil {
		err = readable(err)
		if strings.HasPrefix(err.Error(), engine.AnswerLacks) {
			return failed(err, "add the attributes with --attribute NAME=VALUE, or answer anyway with --force")
		}
		return failed(err, "see its pending requests: "+p.look("describe", stack))
	}
	if len(done.Lacks) > 0 {
		a.say("warning: the answer lacks %s: the stack will fail", lacking(done.Lacks))
	}
	if asJSON {
		return a.document(done)
	}
	origin := map[string]string{"kept": " (unchanged)", "generated": " (generated)"}[done.Origin]
	fmt.Fprintf(a.stdout, "the %s of %s was answered with %s, physical id %s%s\n", done.Type, done.Logical, done.Status,
		done.PhysicalID, origin)
	if next != "" {
		a.say("no engine is running for stack %s: continue with: %s", stack, next)
	}
	return nil
}

// goOn returns the command that resumes the operation of a stack, or "" if the stack is idle.
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
func (a *showCommands) readAnswer(o *respondOptions) (in operator.Response, err error) {
	switch {
	case o.oldFile != "":
		return in, usagef("use --attributes @FILE", "--data-json was renamed")
	case strings.Contains(o.connection.data, "=") && !isDirectory(a.path(o.connection.data)):
		return in, usagef("set attributes with --attribute NAME=VALUE", "--data is the data directory, not an attribute")
	}
	in = operator.Response{
		Status: wire.Status(strings.ToUpper(o.status)), Request: wire.RequestID(o.request),
		PhysicalID: wire.PhysicalID(o.physicalID), Reason: o.reason, NoEcho: o.noEcho, Force: o.force,
	}
	if !in.Status.Valid() {
		return in, usagef("use SUCCESS or FAILED", "--status %q is unknown", o.status)
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
			return in, usagef("want NAME=VALUE", "--attribute must have the form NAME=VALUE")
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

// lacking describes the missing parts of an answer for people.
func lacking(reads []operator.AttributeRead) string {
	list := make([]engine.AttributeRead, len(reads))
	for i, read := range reads {
		list[i] = engine.AttributeRead{Attribute: read.Attribute, Resource: read.Resource, Output: read.Output}
	}
	return engine.DescribeReads(list)
}
