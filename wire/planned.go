package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// plannedField is the member of the answer to a [Plan] that holds all of it.
const plannedField = "PintlePlan"

// Consequence is the effect of an operation on a resource, in the answer to a [Plan].
type Consequence string

// The consequences, as spelled in an answer.
const (
	// InPlace creates the resource, or changes the existing one.
	InPlace Consequence = "InPlace"
	// Replace makes a new resource and then deletes the old one.
	Replace Consequence = "Replace"
	// Refuse fails the operation before it changes anything.
	Refuse Consequence = "Refuse"
)

// Valid reports whether c is one of the three consequences. It is case-sensitive.
func (c Consequence) Valid() bool {
	switch c {
	case InPlace, Replace, Refuse:
		return true
	}
	return false
}

// Planned is the answer to a [Plan]. It is an extension of Pintle. It is the result of the invocation or the reply over
// HTTP, because a Plan has no response URL. The document has one member, PintlePlan, a JSON object.
type Planned struct {
	// Change is the effect of the operation. It is empty if Error is set.
	Change Consequence `json:"change,omitempty"`
	// Reason explains a replacement or a refusal to people. It may be empty.
	Reason string `json:"reason,omitempty"`
	// Error is the reason why the provider cannot plan, such as a panic. Empty means that it can.
	Error string `json:"error,omitempty"`
}

// Encode returns the answer as JSON. It fails without a valid Change or an Error.
func (p Planned) Encode() ([]byte, error) {
	if p.Error == "" && !p.Change.Valid() {
		return nil, fmt.Errorf("the change %.40q is not %s, %s or %s", string(p.Change), InPlace, Replace, Refuse)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // six bytes for each < of a reason could exceed MaxResponse
	if err := e.Encode(map[string]Planned{plannedField: p}); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// ParsePlanned parses the answer to a [Plan], of at most [MaxResponse] bytes. It removes control characters from the
// texts, see [CleanText]. The error describes the problem with the document and does not quote it.
func ParsePlanned(body []byte) (Planned, error) {
	if len(body) > MaxResponse {
		return Planned{}, fmt.Errorf("the answer to the Plan is %d bytes long, %d are allowed", len(body), MaxResponse)
	}
	var document map[string]json.RawMessage
	if json.Unmarshal(cleanUTF8(body), &document) != nil || !isSet(document[plannedField]) {
		return Planned{}, errors.New("the answer to the Plan is not a JSON object with a member " + plannedField)
	}
	var p Planned
	if json.Unmarshal(document[plannedField], &p) != nil {
		return Planned{}, errors.New("the member " + plannedField + " of the answer to the Plan has another form")
	}
	p.Reason, p.Error = CleanText(p.Reason), CleanText(p.Error)
	if p.Error == "" && !p.Change.Valid() {
		return Planned{}, fmt.Errorf("the answer to the Plan has no change that is %s, %s or %s", InPlace, Replace, Refuse)
	}
	return p, nil
}
