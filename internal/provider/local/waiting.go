package local

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle/wire"
)

// head stores the beginning of its input.
type head struct {
	text bytes.Buffer // not embedded: io.Copy would use its ReadFrom, which stores everything
	keep int
	cut  bool // there was more
}

// Write never fails, so that the whole input is read.
func (h *head) Write(p []byte) (int, error) {
	if room := h.keep - h.text.Len(); room < len(p) {
		h.cut = true
		_, _ = h.text.Write(p[:room]) // never fails
		return len(p), nil
	}
	return h.text.Write(p)
}

// waitingSign is at the beginning of a result that asks to wait.
const (
	waitingSign = `"pintleWaiting"`
	signWithin  = 64
)

// waiting distinguishes a handler that asks to be polled from one that has returned. An invalid request to wait is an
// error, because the handler would never be polled.
func (p *process) waiting(result *head) Outcome {
	if result.cut {
		beginning := bytes.TrimSpace(result.text.Bytes()[:min(signWithin, result.text.Len())])
		if bytes.HasPrefix(beginning, []byte("{")) && bytes.Contains(beginning, []byte(waitingSign)) {
			return badWaiting(fmt.Sprintf("the handler returned a pintleWaiting of more than %d bytes", result.keep))
		}
		return Outcome{Kind: Returned}
	}
	w, ok, err := wire.ParseWaiting(result.text.Bytes())
	switch {
	case err != nil:
		return badWaiting("the handler returned a pintleWaiting that cannot be read: " + err.Error())
	case !ok:
		return Outcome{Kind: Returned, Document: isDocument(result.text.Bytes())}
	}
	w.Reason = p.redactor.line(w.Reason) // not truncated, because the callers redact more secrets
	return Outcome{Kind: Waiting, Waiting: &w}
}

// isDocument reports whether a handler's result is a response document, which must be sent to the response URL instead.
// Some middleware returns one, such as middy for Node.
func isDocument(result []byte) bool {
	var response struct {
		Status             wire.Status
		RequestID          string `json:"RequestId"`
		PhysicalResourceID string `json:"PhysicalResourceId"`
	}
	if json.Unmarshal(result, &response) != nil {
		return false
	}
	return (response.Status == wire.Success || response.Status == wire.Failed) && response.RequestID+response.PhysicalResourceID != ""
}

func badWaiting(text string) Outcome {
	return Outcome{Kind: Errored, Type: "Runtime.InvalidWaiting", Message: text}
}
