package local

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pintle-dev/pintle/wire"
)

// head keeps the beginning of what is written to it.
type head struct {
	text bytes.Buffer // not embedded: io.Copy would use its ReadFrom, which keeps all
	keep int
	cut  bool // there was more
}

// Write never fails, so that what is dropped is read all the same.
func (h *head) Write(p []byte) (int, error) {
	if room := h.keep - h.text.Len(); room < len(p) {
		h.cut = true
		_, _ = h.text.Write(p[:room]) // it never fails
		return len(p), nil
	}
	return h.text.Write(p)
}

// waitingSign is what a result that says to wait has at its beginning.
const (
	waitingSign = `"pintleWaiting"`
	signWithin  = 64
)

// waiting tells a handler that is to be asked again from one that has returned. One that means to wait and does not say
// it well has failed: no one would ever ask it again.
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
	w.Reason = p.redactor.line(w.Reason) // and not cut: others know of more secrets
	return Outcome{Kind: Waiting, Waiting: &w}
}

// isDocument reports whether what a handler returned is a response, which belongs in a PUT to the response URL. Some middleware
// returns one, such as that of middy for Node.
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
