package aws

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/native"
	"github.com/pintle-dev/pintle/wire"
)

var machineTable = table{
	name:  "AWS::StepFunctions::StateMachine",
	texts: "DefinitionString RoleArn StateMachineName StateMachineType",
	lists: "Tags",
	objects: "DefinitionS3Location DefinitionSubstitutions EncryptionConfiguration LoggingConfiguration " +
		"TracingConfiguration",
	documents: "Definition",
	required:  "RoleArn", replaces: "StateMachineName StateMachineType",
	attributes: "Arn Name StateMachineRevisionId",
	named:      "StateMachineName", longest: machineName, letters: machineLetters,
}

// machineName is how long the name of a state machine may be. Source: Step Functions, CreateStateMachine.
const machineName = 80

// machine is AWS::StepFunctions::StateMachine. What runs of it keeps the definition that it began with.
type machine struct{ Config }

// create implements [maker]. A name that is made up lacks that of the stack, as the service's.
func (t machine) create(ctx context.Context, c *call) (native.Result, error) {
	of, err := t.machineOf(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	name := c.text("StateMachineName")
	if name == "" {
		logical := string(c.Logical)
		suffix := "-" + native.Suffix(c.Request)
		name = logical[:min(len(logical), machineName-len(suffix))] + suffix
	}
	if _, err := put(ctx, c, t.Catalog.Machines, catalog.Item[catalog.Machine]{Place: c.place, Name: name, Of: of}); err != nil {
		return c.failed(ctx, machineARN(c, name), name, err, holding(t.Catalog.Machines, c.place, name))
	}
	return machineResult(c, name), nil
}

// update implements [maker].
func (t machine) update(ctx context.Context, c *call) (native.Result, error) {
	of, err := t.machineOf(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	_, err = change(ctx, c, t.Catalog.Machines, c.place, machineNamed(c), func(m *catalog.Machine) {
		of.Made = m.Made
		*m = of
	})
	if err != nil {
		return native.Result{}, err
	}
	return machineResult(c, machineNamed(c)), nil
}

// remove implements [maker]. The row goes first, so that nothing is started any more; what runs is ended also if the row is
// gone, for a Delete may have been cut off between the two.
func (t machine) remove(ctx context.Context, c *call) error {
	there, err := t.Catalog.Machines.Get(ctx, c.place, machineNamed(c))
	switch {
	case err == nil && !c.made(there.Holder):
		return nil
	case err == nil:
		err = t.Catalog.Machines.Delete(ctx, c.place, there.Name, 0)
	}
	if err := ignoreMissing(err); err != nil {
		return err
	}
	if !strings.HasPrefix(c.id(), machineARN(c, "")) {
		return nil // the id of a Create that made nothing
	}
	return t.Executions.AbortExecutions(ctx, c.id())
}

func machineARN(c *call, name string) string { return c.arn("states", "stateMachine:"+name) }

func machineNamed(c *call) string { return strings.TrimPrefix(c.id(), machineARN(c, "")) }

// machineResult tells the revision too, which is INITIAL until the first update.
func machineResult(c *call, name string) native.Result {
	arn, revision := machineARN(c, name), "INITIAL"
	if c.Type == wire.Update {
		revision = uuid.NewSHA1(uuid.NameSpaceURL, []byte(arn+" "+string(c.ID))).String()
	}
	return result(arn, "Arn", arn, "Name", name, "StateMachineRevisionId", revision)
}

func (t machine) machineOf(ctx context.Context, c *call) (catalog.Machine, error) {
	tags, err := c.tags()
	if err != nil {
		return catalog.Machine{}, err
	}
	definition, err := t.definition(ctx, c)
	if err != nil {
		return catalog.Machine{}, err
	}
	if t.CheckMachine != nil {
		if err := t.CheckMachine(definition); err != nil {
			return catalog.Machine{}, reasonf("Invalid State Machine Definition: '%v'", err)
		}
	}
	m := catalog.Machine{
		Definition: definition, Role: c.text("RoleArn"), Type: c.text("StateMachineType"), Stack: c.Body.StackID,
		Made: t.Now().UTC(), Tags: tags,
	}
	if logging := c.at("LoggingConfiguration"); !logging.IsNull() {
		m.Logging = json.RawMessage(logging.JSON())
	}
	return m, nil
}

var errDefinition = errors.New("exactly one of Definition, DefinitionString and DefinitionS3Location must be given")
