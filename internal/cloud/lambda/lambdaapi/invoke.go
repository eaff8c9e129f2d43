package lambdaapi

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
)

// excess is how many bytes beyond the limit of a payload are read to report its size.
const excess = 1 << 20

func (c *call) invoke() (answer, error) {
	kind := c.r.Header.Get("X-Amz-Invocation-Type")
	payload, err := c.payload(kind)
	if err != nil {
		return answer{}, err
	}
	called := lambda.Call{
		Scope: c.place, Function: c.r.PathValue("name"), Qualifier: c.r.URL.Query().Get("Qualifier"), Payload: payload,
	}
	switch kind {
	case "", "RequestResponse":
	case "Event":
		return answer{status: http.StatusAccepted}, c.config.Functions.InvokeEvent(c.ctx, called)
	case "DryRun":
		return answer{status: http.StatusNoContent}, c.config.Functions.Check(c.ctx, called)
	default:
		return answer{}, constraint("invocationType", kind, "Member must satisfy enum value set: [Event, RequestResponse, DryRun]")
	}
	switch logs := c.r.Header.Get("X-Amz-Log-Type"); logs {
	case "", "None":
	case "Tail":
		called.Tail = true
	default:
		return answer{}, constraint("logType", logs, "Member must satisfy enum value set: [None, Tail]")
	}
	reply, err := c.config.Functions.Invoke(c.ctx, called)
	if err != nil {
		return answer{}, err
	}
	h := c.w.Header()
	h.Set("X-Amz-Executed-Version", reply.Version)
	if reply.FunctionError != "" {
		h.Set("X-Amz-Function-Error", reply.FunctionError)
	}
	if called.Tail {
		h.Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString(reply.Log))
	}
	return answer{bytes: reply.Payload, id: reply.ID}, nil
}

// payload reads the payload of a call. It reads beyond the limit to report the size in the error.
func (c *call) payload(kind string) ([]byte, error) {
	limit := int64(lambda.MaxPayload)
	payload, err := io.ReadAll(io.LimitReader(c.r.Body, limit+excess))
	if err != nil {
		return nil, invalidContent("the body broke off")
	}
	if size := max(int64(len(payload)), c.r.ContentLength); size > limit {
		if kind == "" {
			kind = "RequestResponse"
		}
		return nil, &lambda.Error{
			Code: "RequestTooLargeException", Status: http.StatusRequestEntityTooLarge,
			Message: fmt.Sprintf("%d byte payload is too large for the %.32s invocation type (limit %d bytes)", size, kind, limit),
		}
	}
	return payload, nil
}

func constraint(field, value, want string) error {
	return &lambda.Error{
		Code: "ValidationException", Status: http.StatusBadRequest,
		Message: fmt.Sprintf("1 validation error detected: Value '%.200s' at '%s' failed to satisfy constraint: %s", value, field, want),
	}
}
