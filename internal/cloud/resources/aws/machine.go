package aws

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/resources"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

var machineTable = resources.Table{
	Name:       "AWS::StepFunctions::StateMachine",
	Identifier: "Arn",
	Texts:      "DefinitionString RoleArn StateMachineName StateMachineType",
	Lists:      "Tags",
	Objects: "DefinitionS3Location DefinitionSubstitutions EncryptionConfiguration LoggingConfiguration " +
		"TracingConfiguration",
	Documents: "Definition",
	Required:  "RoleArn", Replaces: "StateMachineName StateMachineType",
	Attributes: "Arn Name StateMachineRevisionId",
	Named:      "StateMachineName", Longest: machineName, Letters: machineLetters,
}

// machineName is the maximum length of a state machine name. Source: Step Functions, CreateStateMachine.
const machineName = 80

// machine is AWS::StepFunctions::StateMachine. A running execution keeps the definition with which it started.
type machine struct{ Config }

// Create implements [resources.Maker]. As in the service, a generated name does not contain the stack name.
func (t machine) Create(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := t.machineOf(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	name := c.Text("StateMachineName")
	if name == "" {
		logical := string(c.Logical)
		suffix := "-" + native.Suffix(c.Request)
		name = logical[:min(len(logical), machineName-len(suffix))] + suffix
	}
	if _, err := resources.Put(ctx, c, t.Catalog.Machines, registry.Item[registry.Machine]{Scope: c.Place, Name: name, Of: of}); err != nil {
		return c.Failed(ctx, machineARN(c, name), name, err, resources.Holding(t.Catalog.Machines, c.Place, name))
	}
	return machineResult(c, name), nil
}

// Update implements [resources.Maker].
func (t machine) Update(ctx context.Context, c *resources.Call) (native.Result, error) {
	of, err := t.machineOf(ctx, c)
	if err != nil {
		return native.Result{}, err
	}
	_, err = resources.Change(ctx, c, t.Catalog.Machines, c.Place, machineNamed(c), func(m *registry.Machine) {
		of.Made = m.Made
		*m = of
	})
	if err != nil {
		return native.Result{}, err
	}
	return machineResult(c, machineNamed(c)), nil
}

// Remove implements [resources.Maker]. It deletes the row first, so that no new execution starts. It aborts
// executions even if the row does not exist, because an earlier Delete may have been interrupted in between.
func (t machine) Remove(ctx context.Context, c *resources.Call) error {
	there, err := t.Catalog.Machines.Get(ctx, c.Place, machineNamed(c))
	switch {
	case err == nil && !c.Made(there.Owner):
		return nil
	case err == nil:
		err = t.Catalog.Machines.Delete(ctx, c.Place, there.Name, 0)
	}
	if err := resources.IgnoreMissing(err); err != nil {
		return err
	}
	if !strings.HasPrefix(c.Physical(), machineARN(c, "")) {
		return nil // the ID of a failed Create
	}
	return t.Executions.AbortExecutions(ctx, c.Physical())
}

func machineARN(c *resources.Call, name string) string { return c.ARN("states", "stateMachine:"+name) }

func machineNamed(c *resources.Call) string {
	return strings.TrimPrefix(c.Physical(), machineARN(c, ""))
}

// machineResult also returns the revision, which is INITIAL until the first update.
func machineResult(c *resources.Call, name string) native.Result {
	arn, revision := machineARN(c, name), "INITIAL"
	if c.Type == wire.Update {
		revision = uuid.NewSHA1(uuid.NameSpaceURL, []byte(arn+" "+string(c.ID))).String()
	}
	return resources.Result(arn, "Arn", arn, "Name", name, "StateMachineRevisionId", revision)
}

func (t machine) machineOf(ctx context.Context, c *resources.Call) (registry.Machine, error) {
	tags, err := c.Tags()
	if err != nil {
		return registry.Machine{}, err
	}
	definition, err := t.definition(ctx, c)
	if err != nil {
		return registry.Machine{}, err
	}
	if t.CheckMachine != nil {
		if err := t.CheckMachine(definition); err != nil {
			return registry.Machine{}, resources.Reasonf("Invalid State Machine Definition: '%v'", err)
		}
	}
	m := registry.Machine{
		Definition: definition, Role: c.Text("RoleArn"), Type: c.Text("StateMachineType"), Stack: c.Body.StackID,
		Made: t.Now().UTC(), Tags: tags,
	}
	if logging := c.At("LoggingConfiguration"); !logging.IsNull() {
		m.Logging = json.RawMessage(logging.JSON())
	}
	return m, nil
}

var errDefinition = errors.New("exactly one of Definition, DefinitionString and DefinitionS3Location must be given")
