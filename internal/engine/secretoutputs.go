package engine

import (
	"context"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
)

// OutputReading is a request to read outputs of a stack in clear text.
type OutputReading struct {
	Stack Ref
	// Keys are the outputs to read; empty means all.
	Keys []string
	// By is the reader's name in the audit list.
	By string
}

// ReadOutputs returns outputs of a stack with secrets in clear text, in the order of the template. If one of them is
// secret, the same transaction records the access in the stack's audit list. Errors that the client can fix are of
// type [Error].
func (e *Engine) ReadOutputs(ctx context.Context, in OutputReading) (outputs []store.Output, values value.Value, err error) {
	target, err := e.target(ctx, in.Stack)
	if err != nil {
		return nil, value.Value{}, err
	}
	err = e.apply(ctx, target, func(d *decision) error {
		outputs, values = nil, d.stack.OutputValues
		wanted := map[string]bool{}
		for _, key := range in.Keys {
			wanted[key] = true
		}
		secret := ""
		for _, o := range d.stack.Outputs {
			if len(in.Keys) > 0 && !wanted[o.Key] {
				continue
			}
			delete(wanted, o.Key)
			outputs = append(outputs, o)
			if v, _ := values.Get(o.Key); v.HasSecret() {
				secret += ", " + o.Key
			}
		}
		for _, key := range in.Keys {
			if wanted[key] {
				return invalid("The stack " + d.stack.Name + " has no output " + key + ".")
			}
		}
		if secret != "" {
			d.delta.Audit = append(d.delta.Audit, store.Audit{
				Time: d.now, Text: "secret outputs were shown: " + secret[len(", "):] + ", to " + in.By,
			})
		}
		return nil
	})
	return outputs, values, err
}
