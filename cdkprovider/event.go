package cdkprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/internal/base/clearjson"
)

// call calls one of the functions.
func call(ctx context.Context, r *pintle.Request, f Function, event object) (object, error) {
	text, err := clearjson.Encode(event)
	if err != nil {
		return nil, fmt.Errorf("the event cannot be encoded: %w", err)
	}
	result, err := f(ctx, text)
	if failed, ok := errors.AsType[*FunctionError](err); ok && len(failed.Trace) > 0 {
		r.Log().Error("the function failed", "error", failed.Message, "trace", strings.Join(failed.Trace, "\n"))
	}
	if err != nil {
		return nil, err
	}
	parsed := object{}
	if result = bytes.TrimSpace(result); len(result) == 0 || string(result) == "null" {
		return parsed, nil
	}
	if json.Unmarshal(result, &parsed) != nil {
		const most = 100
		shown := string(result)
		if len(shown) > most {
			shown = strings.ToValidUTF8(shown[:most], "") + "…"
		}
		return nil, fmt.Errorf(`return values from user-handlers must be JSON objects. got: "%s"`, shown)
	}
	return parsed, nil
}

// hiddenURL replaces the response URL, with which a function could answer the request itself or let others do so.
const hiddenURL = "..."

// eventOf returns the event of a request for onEvent.
func eventOf(r *pintle.Request) object {
	e := object{
		"RequestType": text(string(r.Type)), "ResponseURL": text(hiddenURL), "StackId": text(string(r.StackID)),
		"RequestId": text(string(r.RequestID)), "LogicalResourceId": text(string(r.LogicalID)),
		"ResourceType": text(r.ResourceType), "ResourceProperties": r.RawProperties,
	}
	if r.ServiceToken != "" {
		e["ServiceToken"] = text(string(r.ServiceToken))
	}
	if r.Type != pintle.Create {
		e["PhysicalResourceId"] = text(string(r.ID))
	}
	if r.Type == pintle.Update {
		e["OldResourceProperties"] = r.RawOldProperties
	}
	return e
}

// forbidden are the members of a request that a result cannot change. Otherwise the answer could be for another request.
var forbidden = []string{"RequestType", "ResponseURL", "StackId", "RequestId", "LogicalResourceId"}

// dropForbidden removes them from a result. Many functions return their event with added members.
func dropForbidden(r *pintle.Request, result object) {
	event := eventOf(r)
	for _, name := range forbidden {
		given, there := result[name]
		if there && !bytes.Equal(bytes.TrimSpace(given), event[name]) {
			r.Log().Warn("a function cannot change the request, so a member of its result is passed over", "member", name)
		}
		delete(result, name)
	}
}

// idIn returns the physical ID in a result.
func idIn(r *pintle.Request, result object, present pintle.PhysicalID) (pintle.PhysicalID, error) {
	given := result["PhysicalResourceId"]
	if !isGiven(given) {
		return present, nil
	}
	var id string
	if json.Unmarshal(given, &id) != nil {
		return "", errors.New(`"PhysicalResourceId" in the result is not a string`)
	}
	if id == "" {
		return present, nil
	}
	if r.Type == pintle.Delete && pintle.PhysicalID(id) != present {
		return "", fmt.Errorf("DELETE: cannot change the physical resource ID from %q to %q during deletion", present, id)
	}
	if r.Type == pintle.Update && pintle.PhysicalID(id) != r.ID {
		r.Log().Info("the resource is replaced", "physicalId", r.ID, "by", id)
	}
	return pintle.PhysicalID(id), nil
}

// answerOf returns the answer for a result.
func answerOf(r *pintle.Request, result object, id pintle.PhysicalID) (response, error) {
	answer := response{ID: id}
	var err error
	if answer.NoEcho, err = boolean(result["NoEcho"]); err != nil {
		answer.NoEcho = true // because the values may be secret
		r.Log().Warn(`"NoEcho" in the result is neither true nor false and counts as true`)
	}
	answer.Reason = reasonIn(result)
	data, err := mergedData(result["Data"], nil)
	if err != nil || !isGiven(data) {
		return answer, err
	}
	var attributes object
	if err := json.Unmarshal(data, &attributes); err != nil {
		return response{ID: id}, errors.New(`"Data" in the result is not a JSON object`)
	}
	answer.Attributes = make(map[string]any, len(attributes))
	for name, value := range attributes {
		answer.Attributes[name] = value
	}
	return answer, nil
}

// mergedData adds one object to another. Either may be missing.
func mergedData(first, second json.RawMessage) (json.RawMessage, error) {
	var all object
	for _, raw := range []json.RawMessage{first, second} {
		if !isGiven(raw) {
			continue
		}
		var data object
		if json.Unmarshal(raw, &data) != nil {
			return nil, errors.New(`"Data" in the result is not a JSON object`)
		}
		if all == nil {
			all = object{}
		}
		maps.Copy(all, data)
	}
	if all == nil {
		return nil, nil
	}
	return clearjson.Encode(all)
}

// reasonIn returns the reason in a result. A value that is not a string belongs to the author, for isComplete.
func reasonIn(result object) string {
	var reason string
	if json.Unmarshal(result["Reason"], &reason) != nil {
		return ""
	}
	return reason
}

// boolean parses true and false, including strings in any case. A missing value is false.
func boolean(raw json.RawMessage) (bool, error) {
	if !isGiven(raw) {
		return false, nil
	}
	switch strings.ToLower(string(bytes.Trim(raw, `"`))) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%.20s, want true or false", raw)
}

// isGiven reports whether a member exists and is not null.
func isGiven(raw json.RawMessage) bool {
	return len(raw) > 0 && !slices.Equal(raw, []byte("null"))
}

// text returns a string as JSON.
func text(s string) json.RawMessage {
	raw, _ := clearjson.Encode(s) // never fails for a string
	return raw
}
