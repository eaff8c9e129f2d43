package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/cmd/pintle/internal/stacks"
	"github.com/pintle-dev/pintle/wire"
)

// driftDocument is the result of a detection: the document of drift -o json.
type driftDocument struct {
	Stack string `json:"stack"`
	// Status is DRIFTED, IN_SYNC, UNKNOWN or, if no resource can be checked, NOT_CHECKED.
	Status    string          `json:"status"`
	Resources []driftResource `json:"resources"`
}

type driftResource struct {
	LogicalID  string `json:"logicalId"`
	PhysicalID string `json:"physicalId,omitempty"`
	Type       string `json:"type"`
	// Status is IN_SYNC, MODIFIED, DELETED, UNKNOWN (for Reason) or NOT_CHECKED. A Reason of NOT_CHECKED is why it could not be checked.
	// In ROS, that includes resources that could not be read.
	Status      string            `json:"status"`
	Reason      string            `json:"reason,omitempty"`
	Differences []driftDifference `json:"differences,omitempty"`
}

type driftDifference struct {
	Path string `json:"path"`
	// Type is ADD, REMOVE or NOT_EQUAL.
	Type     string `json:"type"`
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
}

func (a *changeCommands) driftCommand() *cobra.Command {
	var o changeOptions
	fail := false
	cmd := &cobra.Command{
		Use:   "drift [DIR | STACK]",
		Short: "Compare a stack's resources with what exists",
		Long: `Compare the resources of the stack described in DIR/pintle.yaml (default: the current
directory), or of the one named with --stack, with what exists. Properties that the
template does not declare are not compared, and secrets are masked.

A custom resource is checked if its provider has the method Read; Pintle sends it a
Read, which changes nothing. Others are NOT_CHECKED. If a provider cannot be asked
whether it has the method, for example because it panics, its resources are
NOT_CHECKED with the reason. If a provider cannot read a resource, its state is UNKNOWN.
ROS has no such state: in a ROS stack, the resource is NOT_CHECKED with the reason.

Nothing is repaired. To have drift undone, use a change set with DeploymentMode
REVERT_DRIFT, as "cdk deploy --revert-drift" does. In a ROS stack, send the custom
resource an Update: pintle deploy --update-again LOGICAL_ID

A resource that another endpoint provides through --forward is compared there. It is
NOT_CHECKED, with the reason, if the endpoint does not detect drift.`,
		Args: cobra.MaximumNArgs(1),
		RunE: runE(func(ctx context.Context, args []string) error { return a.drift(ctx, &o, first(args), fail) }),
	}
	o.flags(cmd)
	o.engineFlags(cmd)
	cmd.Flags().BoolVar(&fail, "fail", false, "exit with status 1 if a resource has drifted, is UNKNOWN, or is a custom resource that could not be checked")
	cmd.ValidArgsFunction = a.complete.stack
	return cmd
}

func (a *changeCommands) drift(ctx context.Context, o *changeOptions, argument string, fail bool) error {
	c, err := a.change("drift", o, argument)
	if err != nil {
		return err
	}
	name, err := c.stack(o.stack)
	if err != nil {
		return err
	}
	list, err := a.remaining(c.place, *o)
	if err != nil {
		return err
	}
	if err := a.engine(&c, o); err != nil {
		return err
	}
	if o.endpoint == "" && !node.Exists(c.data) {
		return nothingThere(name, a.short(c.data))
	}
	s, err := a.open(ctx, c)
	var found driftDocument
	if err == nil {
		found, err = s.drift(ctx, c, name, list)
	}
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	if c.asJSON {
		err = a.document(found)
	} else {
		a.printDrift(found)
	}
	if err != nil || !fail {
		return err
	}
	if found.Status == "DRIFTED" || found.Status == "UNKNOWN" {
		return failed(fmt.Errorf("stack %s is %s", name, found.Status))
	}
	if i := slices.IndexFunc(found.Resources, func(r driftResource) bool {
		return r.Reason != "" && wire.CheckResourceType(r.Type) == nil // an endpoint of --forward never checks some types
	}); i >= 0 {
		return failed(fmt.Errorf("%s could not be checked", found.Resources[i].LogicalID), "fix its provider, then repeat the command")
	}
	return nil
}

// drift detects the drift of a stack.
func (s *session) drift(ctx context.Context, c change, name string, list []provided) (document driftDocument, err error) {
	document = driftDocument{Stack: name, Resources: []driftResource{}}
	if err := s.find(ctx, c.place, name); err != nil {
		return document, err
	}
	stack, err := s.stacks.Stack(ctx, name)
	if errors.Is(err, stacks.ErrNone) {
		return document, noStack(name)
	} else if err != nil {
		return document, err
	}
	resources, err := s.stacks.Resources(ctx, stack.ID)
	if err != nil {
		return document, err
	}
	if err := s.provide(ctx, list); err != nil {
		return document, err
	}
	found, err := s.stacks.DetectDrift(ctx, stack.ID)
	if message, ok := stacks.Refusal(err); ok {
		return document, failed(errors.New(message), "wait for the operation in progress, or fix the stack first")
	} else if err != nil {
		return document, err
	}
	document.Status = found.Status
	for _, r := range resources {
		row := driftResource{LogicalID: r.Logical, PhysicalID: r.Physical, Type: r.Type, Status: "NOT_CHECKED"}
		if i := slices.IndexFunc(found.Resources, func(d stacks.DriftedResource) bool { return d.Logical == r.Logical }); i >= 0 {
			d := found.Resources[i]
			row.Status, row.Reason = d.Status, d.Reason
			for _, p := range d.Differences {
				row.Differences = append(row.Differences, driftDifference{p.Path, p.Kind, p.Expected, p.Actual})
			}
		}
		document.Resources = append(document.Resources, row)
	}
	return document, nil
}

func (a *changeCommands) printDrift(d driftDocument) {
	fmt.Fprintf(a.stdout, "stack %s: %s\n\n", d.Stack, d.Status)
	rows := [][]string{{"RESOURCE", "DRIFT", "TYPE", "PHYSICAL ID"}}
	for _, r := range d.Resources {
		rows = append(rows, []string{r.LogicalID, r.Status, r.Type, display.Clean(r.PhysicalID)})
	}
	fmt.Fprint(a.stdout, display.Columns(rows))
	for _, r := range d.Resources {
		if r.Reason != "" {
			fmt.Fprintf(a.stdout, "\n%s: %s\n", r.LogicalID, display.Clean(r.Reason))
		}
		if len(r.Differences) == 0 {
			continue
		}
		fmt.Fprintf(a.stdout, "\n%s\n", r.LogicalID)
		rows := [][]string{}
		for _, p := range r.Differences {
			rows = append(rows, []string{p.Type, display.Clean(p.Path), display.Clean(p.Expected) + " -> " + display.Clean(p.Actual)})
		}
		fmt.Fprint(a.stdout, indented(rows))
	}
}
