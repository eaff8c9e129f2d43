package operator

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// maxOutputNames limits the body of a request for outputs: 200 names of 255 bytes.
const maxOutputNames = 64 << 10

// OutputReading is the body of a request for outputs.
type OutputReading struct {
	// Keys are the selected outputs. Empty means all.
	Keys []string `json:"keys,omitempty"`
}

// SecretOutput is an output with its value in clear text. Lists and objects are JSON.
type SecretOutput struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Secret means that the value is masked everywhere else.
	Secret bool `json:"secret,omitempty"`
}

// SecretOutputs is the answer of stacks/{name}/outputs, in the order of the template.
type SecretOutputs struct {
	Outputs []SecretOutput `json:"outputs"`
}

// outputs returns outputs with their secrets to the owner of the data. It is a POST because the access is audited.
func (f *handler) outputs(r *http.Request) (any, error) {
	stack, err := f.stack(r)
	if err != nil {
		return nil, err
	}
	caller, ok := f.Caller(r.Context())
	if !ok {
		return nil, errNoCaller
	}
	if f.Hooks.Owner == nil || !f.Hooks.Owner(r.Context()) {
		return nil, &Error{http.StatusForbidden, "secret outputs are visible only to this server's own user and to access keys " +
			"with pintle_console = operator"}
	}
	var in OutputReading
	text, err := io.ReadAll(io.LimitReader(r.Body, maxOutputNames+1))
	if err != nil || len(text) > maxOutputNames || json.Unmarshal(text, &in) != nil {
		return nil, &Error{http.StatusBadRequest, `the request must be a JSON object as {"keys": ["…"]}`}
	}
	outputs, values, err := f.Engine.ReadOutputs(r.Context(), engine.OutputReading{
		Stack: engine.Ref{Account: stack.Account, Region: stack.Region, Stack: string(stack.ID), ByID: stack.Dialect == engine.ROS.Name()},
		Keys:  in.Keys, By: "access key " + caller.KeyID + " of account " + caller.Account,
	})
	if input, ok := engine.InputError(err); ok {
		return nil, &Error{http.StatusBadRequest, input.Message}
	} else if err != nil {
		return nil, err
	}
	out := SecretOutputs{Outputs: make([]SecretOutput, len(outputs))}
	for i, o := range outputs {
		v, _ := values.Get(o.Key)
		out.Outputs[i] = SecretOutput{Key: o.Key, Value: clearText(v), Secret: v.HasSecret()}
	}
	return out, nil
}

// clearText returns a value as text, secrets included.
func clearText(v value.Value) string {
	if v.IsScalar() {
		return v.Text()
	}
	return string(v.JSON())
}
