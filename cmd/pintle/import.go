package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/internal/language/template"
)

func (a *changeCommands) importCommand() *cobra.Command {
	var o deployOptions
	cmd := &cobra.Command{
		Use:   "import [DIR | STACK] LOGICAL_ID PHYSICAL_ID",
		Short: "Make an existing resource part of a stack",
		Long: `Import an existing resource into the stack described in DIR/pintle.yaml (default: the
current directory), and watch until it is done. Add the resource to the template first,
with a DeletionPolicy. The template must not change anything else. If the stack does not
exist, the import creates it.

A custom resource can be imported if its provider has the method Read. Pintle sends the
provider a Read, which changes nothing, and takes the attributes from its answer. If the
resource does not exist, the import fails and is rolled back. No provider gets a Create,
an Update or a Delete. To compare the resource with the template, run "pintle drift".`,
		Example: `  pintle import shop Certificate cert-7
  pintle import . Certificate cert-7`,
		Args: cobra.RangeArgs(2, 3),
		RunE: runE(func(ctx context.Context, args []string) error {
			where, of := "", args
			if len(args) == 3 {
				where, of = args[0], args[1:]
			}
			return a.importResource(ctx, &o, where, stacks.Import{Logical: of[0], Physical: of[1]})
		}),
	}
	o.changeOptions.flags(cmd)
	o.flags(cmd)
	for _, name := range []string{"disable-rollback", "replace", "no-schema"} { // an import has none of it
		_ = cmd.Flags().MarkHidden(name) // it was defined a moment ago
	}
	o.functions.flags(cmd)
	cmd.ValidArgsFunction = a.complete.stack
	return cmd
}

func (a *changeCommands) importResource(ctx context.Context, o *deployOptions, where string, of stacks.Import) error {
	c, err := a.change("import", &o.changeOptions, where)
	if err != nil {
		return err
	}
	if c.modules, err = o.functions.folders(&a.workdir); err != nil {
		return err
	}
	c.functions, c.ros = true, &o.ros
	if err := c.ros.apply(&node.Config{}); err != nil {
		return err // before anything is begun
	}
	want, err := a.desire(c.place, o)
	if err != nil {
		return err
	}
	c.unknown, c.forwards, c.result = want.unknown, want.forwards, &result{Stack: want.stack, Action: "none"}
	if want.language == template.ROS {
		return failed(errors.New("a ROS stack cannot import resources"))
	}
	t, err := want.parsed()
	if err != nil {
		return want.refused(a.shell, err.Error(), true)
	}
	resource := t.Resource(of.Logical)
	if resource == nil {
		return failed(fmt.Errorf("the template %s has no resource %s", a.short(want.path), of.Logical), "add it to the template first, with a DeletionPolicy")
	}
	of.Type = resource.Type
	return a.carryOut(ctx, c, func(s *session) error {
		if err := s.provide(ctx, want.providers); err != nil {
			return err
		}
		return (&rollout{s, want}).importResource(ctx, c, of)
	})
}

// importResource imports a resource and watches the operation.
func (o *rollout) importResource(ctx context.Context, c change, of stacks.Import) error {
	o.speak(o.want.language)
	service, ok := o.stacks.(*stacks.CloudFormation)
	if !ok {
		return errors.New("the session does not speak CloudFormation")
	}
	var kept []string
	stack, err := o.stacks.Stack(ctx, o.want.stack)
	switch {
	case errors.Is(err, stacks.ErrNone):
	case err != nil:
		return err
	case stack.State == stacks.Working:
		return failed(fmt.Errorf("stack %s has an operation in progress (%s)", o.want.stack, stack.Status),
			"watch it with: "+c.look("events", o.want.stack)+" --follow")
	default:
		if kept, err = o.kept(ctx, stack); err != nil {
			return err
		}
	}
	o.begun = true
	id, err := service.Import(ctx, o.want.submitted(kept), of)
	if message, refused := stacks.Refusal(err); refused {
		err = errors.New(message)
	}
	if err != nil {
		return failed(fmt.Errorf("%s cannot be imported as %s: %w", of.Physical, of.Logical, err))
	}
	return o.follow(ctx, c.place, o.want.stack, id, "import", c.result, c.asJSON)
}
