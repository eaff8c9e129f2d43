package states

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/wire"
)

type listMachinesInput struct {
	Results int    `json:"maxResults"`
	Token   string `json:"nextToken"`
}

type listMachinesOutput struct {
	Machines []listedMachine `json:"stateMachines"`
	Token    string          `json:"nextToken,omitempty"`
}

type listedMachine struct {
	ARN     string `json:"stateMachineArn"`
	Name    string `json:"name"`
	Type    string `json:"type"`
	Created *stamp `json:"creationDate"`
}

// machineToken is the prefix of a ListStateMachines token, before the name of the last machine.
const machineToken = "machine:"

func (f *handler) listMachines(ctx context.Context, in listMachinesInput) (out listMachinesOutput, err error) {
	limit, err := checkResults(in.Results)
	if err != nil {
		return out, err
	}
	place, err := f.caller(ctx)
	if err != nil {
		return out, err
	}
	after, err := base64.RawURLEncoding.DecodeString(in.Token)
	name, ok := strings.CutPrefix(string(after), machineToken)
	if in.Token != "" && (err != nil || !ok) {
		return out, invalidToken()
	}
	found, err := f.Machines.List(ctx, place, name, limit+1)
	if err != nil {
		return out, err
	}
	if len(found) > limit {
		found = found[:limit]
		out.Token = base64.RawURLEncoding.EncodeToString([]byte(machineToken + found[limit-1].Name))
	}
	out.Machines = make([]listedMachine, len(found))
	for i, m := range found {
		out.Machines[i] = listedMachine{
			ARN: machineARNOf(place, m.Name), Name: m.Name, Type: cmp.Or(m.Of.Type, standard), Created: new(stamp(m.Of.Made)),
		}
	}
	return out, nil
}

func machineARNOf(place registry.Scope, name string) string {
	return "arn:" + wire.Partition(place.Region) + ":states:" + place.Region + ":" + place.Account + ":stateMachine:" + name
}

// standard is the default type of a machine.
const standard = "STANDARD"

type machineInput struct {
	ARN      string `json:"stateMachineArn"`
	Included string `json:"includedData"`
}

type machineOutput struct {
	ARN        string `json:"stateMachineArn"`
	Name       string `json:"name"`
	Status     string `json:"status"`
	Definition string `json:"definition"`
	Role       string `json:"roleArn"`
	Type       string `json:"type"`
	Created    *stamp `json:"creationDate"`
	Logging    any    `json:"loggingConfiguration,omitempty"`
}

func (f *handler) describeMachine(ctx context.Context, in machineInput) (out machineOutput, err error) {
	all, err := checkIncluded(in.Included)
	if err != nil {
		return out, err
	}
	m, err := f.machine(ctx, in.ARN)
	if err != nil {
		return out, err
	}
	out = machineOutput{
		ARN: in.ARN, Name: m.Name, Status: "ACTIVE", Role: m.Of.Role, Type: cmp.Or(m.Of.Type, standard), Created: new(stamp(m.Of.Made)), Logging: logging(m.Of.Logging),
	}
	if all {
		out.Definition = m.Of.Definition
	}
	return out, nil
}

type tagsInput struct {
	ARN string `json:"resourceArn"`
}

type tagsOutput struct {
	Tags []tag `json:"tags"`
}

type tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

func (f *handler) listTags(ctx context.Context, in tagsInput) (out tagsOutput, err error) {
	m, err := f.machine(ctx, in.ARN)
	if err != nil {
		return out, err
	}
	all := registry.TagsOf(m.Owner, m.Of.Tags)
	out.Tags = []tag{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out.Tags = append(out.Tags, tag{key, all[key]})
	}
	return out, nil
}

type machineOfInput struct {
	ARN      string `json:"executionArn"`
	Included string `json:"includedData"`
}

type machineOfOutput struct {
	ARN        string `json:"stateMachineArn"`
	Name       string `json:"name"`
	Definition string `json:"definition"`
	Role       string `json:"roleArn"`
	Updated    *stamp `json:"updateDate"`
	Logging    any    `json:"loggingConfiguration,omitempty"`
}

// describeMachineOf describes the machine of an execution with the definition that the execution runs. A deleted
// machine has no role and no logging configuration.
func (f *handler) describeMachineOf(ctx context.Context, in machineOfInput) (out machineOfOutput, err error) {
	all, err := checkIncluded(in.Included)
	if err != nil {
		return out, err
	}
	x, err := f.execution(ctx, in.ARN)
	if err != nil {
		return out, err
	}
	out = machineOfOutput{ARN: x.Machine, Name: nameOf(x.Machine), Updated: stampOf(x.Started)}
	if all {
		out.Definition = x.Definition
	}
	m, err := f.ownMachine(ctx, out.Name)
	if errors.Is(err, registry.ErrNotFound) {
		return out, nil
	} else if err != nil {
		return out, err
	}
	out.Role, out.Updated, out.Logging = m.Of.Role, new(stamp(m.Of.Made)), logging(m.Of.Logging)
	return out, nil
}

// ownMachine returns the caller's machine with a name, or [registry.ErrNotFound].
func (f *handler) ownMachine(ctx context.Context, name string) (found registry.Item[registry.Machine], err error) {
	place, err := f.caller(ctx)
	if err != nil {
		return found, err
	}
	return f.Machines.Get(ctx, place, name)
}

// logging returns the logging configuration of a template in the API's format, whose names begin with lower-case
// letters. It returns nil if the template has none.
func logging(text json.RawMessage) any {
	var v any
	if len(text) == 0 || json.Unmarshal(text, &v) != nil {
		return nil
	}
	return small(v)
}

func small(v any) any {
	switch v := v.(type) {
	case map[string]any:
		renamed := make(map[string]any, len(v))
		for name, inner := range v {
			first, size := utf8.DecodeRuneInString(name)
			renamed[string(unicode.ToLower(first))+name[size:]] = small(inner)
		}
		return renamed
	case []any:
		for i := range v {
			v[i] = small(v[i])
		}
	case string:
		switch v { // booleans of a template may be texts
		case "true":
			return true
		case "false":
			return false
		}
	}
	return v
}
