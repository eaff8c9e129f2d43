package operator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/wire"
)

// MaxResponse is the maximum size of a manual response's body in bytes. The longest response fits with any JSON
// escaping.
const MaxResponse = 8 * wire.MaxResponse

// Response is the body of a manual response: the answer instead of the provider's. Only Status is required.
type Response struct {
	Status wire.Status `json:"status"` // SUCCESS or FAILED
	// Request is the ID of the request. Empty means the resource's pending request.
	Request wire.RequestID `json:"request,omitempty"`
	// PhysicalID defaults to the resource's, else to a generated one.
	PhysicalID wire.PhysicalID `json:"physicalId,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	// Data is a JSON object with all attributes. Without it, an Update keeps the resource's attributes, including
	// secret ones.
	Data json.RawMessage `json:"data,omitempty"`
	// Set is a JSON object of attributes to add or replace.
	Set json.RawMessage `json:"set,omitempty"`
	// NoEcho makes the attributes secret.
	NoEcho bool `json:"noEcho,omitempty"`
	// Force accepts a SUCCESS that lacks attributes which other resources or outputs read. The stack then fails.
	Force bool `json:"force,omitempty"`
}

// AttributeRead is an attribute that a resource or output reads.
type AttributeRead struct {
	Attribute string `json:"attribute"`
	// Resource or Output is the reader. The other one is empty.
	Resource string `json:"resource,omitempty"`
	Output   string `json:"output,omitempty"`
}

// Responded describes the accepted response.
type Responded struct {
	Stack      wire.StackID    `json:"stackId"`
	Logical    wire.LogicalID  `json:"logicalId"`
	Request    wire.RequestID  `json:"request"`
	Type       string          `json:"type"` // Create, Update or Delete
	Status     wire.Status     `json:"status"`
	PhysicalID wire.PhysicalID `json:"physicalId"`
	// Origin is the source of the physical ID: given, kept (the resource has it) or generated.
	Origin string `json:"physicalIdOrigin"`
	// Lacks are the attributes that are read but missing in the answer.
	Lacks []AttributeRead `json:"lacks,omitempty"`
}

// respond answers a request instead of its provider. Any caller that may change the stack may call it.
func (f *handler) respond(r *http.Request) (any, error) {
	stack, err := f.stack(r)
	if err != nil {
		return nil, err
	}
	caller, ok := f.Caller(r.Context())
	if !ok {
		return nil, errNoCaller
	}
	in, err := readResponse(r.Body)
	if err != nil {
		return nil, err
	}
	logical := wire.LogicalID(r.PathValue("resource"))
	done, err := f.Engine.Respond(r.Context(), engine.Respond{
		Stack:   engine.Ref{Account: stack.Account, Region: stack.Region, Stack: string(stack.ID), ByID: stack.Dialect == engine.ROS.Name()},
		Logical: logical, Request: in.Request, Status: in.Status, PhysicalID: in.PhysicalID, Reason: in.Reason, Data: in.Data,
		Set: in.Set, NoEcho: in.NoEcho, Force: in.Force, By: "access key " + caller.KeyID + " of account " + caller.Account,
	})
	if input, ok := engine.InputError(err); ok {
		return nil, &Error{http.StatusBadRequest, input.Message}
	} else if err != nil {
		return nil, err
	}
	var lacks []AttributeRead
	for _, read := range done.Lacks {
		lacks = append(lacks, AttributeRead{Attribute: read.Attribute, Resource: read.Resource, Output: read.Output})
	}
	return Responded{
		Lacks: lacks,
		Stack: stack.ID, Logical: logical, Request: done.Request, Type: string(done.Type), Status: in.Status,
		PhysicalID: done.PhysicalID, Origin: string(done.Origin),
	}, nil
}

// readResponse reads a manual response of limited size. Its errors do not quote the body, which may contain secrets.
func readResponse(r io.Reader) (in Response, err error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxResponse+1))
	switch {
	case err != nil:
		return in, &Error{http.StatusBadRequest, "the request body ended before its end"}
	case len(text) > MaxResponse:
		return in, &Error{http.StatusRequestEntityTooLarge, fmt.Sprintf("the response is far longer than the %d bytes that one may have",
			wire.MaxResponse)}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&in)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return in, &Error{http.StatusBadRequest, "the response's " + wrong.Field + " is of the wrong type"}
	}
	if err != nil || decoder.More() {
		return in, &Error{http.StatusBadRequest, `the response must be a JSON object as {"status": "SUCCESS", "physicalId": "…", ` +
			`"reason": "…", "data": {…}, "set": {…}, "noEcho": false, "force": false, "request": "…"}, of which only status is required`}
	}
	if !in.Status.Valid() {
		return in, &Error{http.StatusBadRequest, "the response's status must be SUCCESS or FAILED"}
	}
	return in, nil
}
