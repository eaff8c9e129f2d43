package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// ResponseError is the error of [ParseResponse]: the reason why a service rejects a provider's response.
type ResponseError struct {
	// Text is the exact text of CloudFormation, e.g. "Invalid PhysicalResourceId". Where that is unknown, Text is our own
	// in the same form: for a body that is not JSON, a missing Status, and NoEcho.
	Text string
	// Detail explains the problem further, as a sentence without its full stop. It may be empty.
	Detail string
	// Reason is the provider's reason without control characters, as far as it could be read. CloudFormation drops it.
	Reason string
	// Size is the size of the body in bytes. A caller that reads at most [MaxResponse]+1 bytes of a body may set it
	// to the real size.
	Size int
	// Limit is the largest allowed size in bytes. Zero means [MaxResponse].
	Limit int
}

// Error returns the text, the detail, the size and the provider's reason.
func (e *ResponseError) Error() string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(e.Text, "."))
	if e.Detail != "" {
		b.WriteString(". " + e.Detail)
	}
	switch limit := cmp.Or(e.Limit, MaxResponse); {
	case e.Size == limit+1:
		fmt.Fprintf(&b, ". The response has more than %d bytes", limit)
	case e.Size > limit:
		fmt.Fprintf(&b, ". The response has %d bytes, %d are allowed", e.Size, limit)
	default:
		fmt.Fprintf(&b, ". The response has %d bytes", e.Size)
	}
	b.WriteString(".")
	if e.Reason != "" {
		b.WriteString(" The provider's reason: " + Redact(e.Reason))
	}
	return b.String()
}

// ParseResponse reads the body that a provider sent, of at most [MaxResponse] bytes, by the rules of the dialect. The
// error is that of the function [ParseResponse]. For ROS, whose error texts are unknown, Text is our own.
func (d Dialect) ParseResponse(body []byte) (Response, error) {
	if d == ROS {
		return parseResponse(body, readROSResponse)
	}
	return ParseResponse(body)
}

// ParseReceived is [Dialect.ParseResponse] for a service that sets the limit itself, since the limit of ROS is uncertain.
// If size is 0, body is a whole response of any length. Otherwise body is the beginning of a response of size bytes that
// exceeds the limit: it has one byte more than the limit allows.
func (d Dialect) ParseReceived(body []byte, size int) (Response, error) {
	read := readResponse
	if d == ROS {
		read = readROSResponse
	}
	if size > 0 {
		r := salvage(cleanUTF8(body), read)
		return r, &ResponseError{Text: TextTooLong, Reason: r.Reason, Size: max(size, len(body)), Limit: max(0, len(body)-1)}
	}
	r, err := parseWhole(body, read)
	if refused, ok := errors.AsType[*ResponseError](err); ok {
		refused.Limit = max(MaxResponse, len(body))
	}
	return r, err
}

// ParseResponse reads the body that a provider sent to CloudFormation. The error is a [ResponseError]. With an error it
// also returns the fields that it could read, even from a body that is too long or cut off. If it then could not read
// NoEcho, it returns true for it, so that possibly secret Data is not shown.
//
// NoEcho may also be the string "true" or "false" in any case. A null field counts as missing. Control characters are
// removed from the reason, see [CleanText]. IDs that do not match the request are not an error, see
// [Response.Mismatches].
func ParseResponse(body []byte) (Response, error) {
	return parseResponse(body, readResponse)
}

// parseResponse reads a body by the rules of a dialect, which read implements.
func parseResponse(body []byte, read reader) (Response, error) {
	if size := len(body); size > MaxResponse {
		r := salvage(cleanUTF8(body), read)
		return r, &ResponseError{Text: TextTooLong, Reason: r.Reason, Size: size}
	}
	return parseWhole(body, read)
}

// parseWhole reads a body that is not too long.
func parseWhole(body []byte, read reader) (Response, error) {
	size := len(body)
	text := cleanUTF8(body)
	fields, err := readObject(text)
	if err == nil && fields == nil {
		err = errors.New("it is null, not an object")
	}
	if err != nil {
		r := salvage(text, read)
		e := &ResponseError{Reason: r.Reason, Size: size}
		e.Text, e.Detail = malformed(text, err)
		return r, e
	}
	r, refusal, detail := read(fields)
	if refusal != "" {
		return r, &ResponseError{Text: refusal, Detail: detail, Reason: r.Reason, Size: size}
	}
	return r, nil
}

// reader makes a response from the fields of a document. It returns the text and detail of a problem, or "".
type reader func(fields map[string]json.RawMessage) (r Response, text, detail string)

// readResponse makes a response from the fields. It returns the text and detail of the first problem. It checks types
// first, then the status, then the physical ID.
func readResponse(fields map[string]json.RawMessage) (r Response, text, detail string) {
	refuse := func(t, d string) {
		if text == "" {
			text, detail = t, d
		}
	}
	str := func(key string) (s string) {
		if raw := fields[key]; isSet(raw) && json.Unmarshal(raw, &s) != nil {
			refuse(invalidTypeText(key, "String"), "")
		}
		return s
	}
	loose := func(key string) (s string) { // a wrong type counts as a mismatch
		_ = json.Unmarshal(fields[key], &s)
		return s
	}
	r = Response{
		Status:             Status(str("Status")),
		PhysicalResourceID: PhysicalID(str("PhysicalResourceId")),
		Reason:             CleanText(str("Reason")),
		StackID:            StackID(loose("StackId")),
		RequestID:          RequestID(loose("RequestId")),
		LogicalResourceID:  LogicalID(loose("LogicalResourceId")),
	}
	if raw := fields["Data"]; isSet(raw) {
		if _, err := value.Parse(raw); raw[0] != '{' {
			refuse(textInvalidResponse+"Value of property Data must be an object", "")
		} else if err != nil {
			refuse(textInvalidResponse+"Value of property Data must be an object", "In Data "+err.Error())
		} else {
			r.Data = raw
		}
	}
	if raw := fields["NoEcho"]; isSet(raw) {
		var ok bool
		if r.NoEcho, ok = noEcho(raw); !ok {
			refuse(invalidTypeText("NoEcho", "Boolean"), "")
		}
	}
	switch {
	case !isSet(fields["Status"]):
		refuse(invalidTypeText("Status", "String"), "Status is missing, it must be SUCCESS or FAILED")
	case !r.Status.Valid():
		refuse(invalidStatusText(short(CleanText(string(r.Status)))), "Status must be SUCCESS or FAILED, in capital letters")
	}
	switch {
	case r.PhysicalResourceID == "":
		refuse(TextInvalidPhysicalID, "Every response needs one, also to a Delete and with status FAILED")
	case len(r.PhysicalResourceID) > MaxPhysicalID:
		refuse(TextInvalidPhysicalID, fmt.Sprintf("It is %d bytes long, %d are allowed", len(r.PhysicalResourceID), MaxPhysicalID))
	case CleanText(string(r.PhysicalResourceID)) != string(r.PhysicalResourceID):
		refuse(TextInvalidPhysicalID, "It holds control characters, which no list of resources can show")
	}
	r.State = readState(fields[stateField])
	r.Extra = extra(fields, responseFields)
	return r, text, detail
}

// noEcho reads a boolean or its text. Any other value counts as true, to be safe.
func noEcho(raw json.RawMessage) (secret, ok bool) {
	var v any
	_ = json.Unmarshal(raw, &v)
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		if strings.EqualFold(v, "false") {
			return false, true
		}
		return true, strings.EqualFold(v, "true")
	}
	return true, false
}

// short truncates a text for a message.
func short(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// malformed returns the text and detail for a body that is not a JSON object.
func malformed(text []byte, err error) (string, string) {
	var wrong *json.SyntaxError
	if !errors.As(err, &wrong) {
		return textInvalidResponse + "it must be a JSON object", ""
	}
	cutOff := wrong.Error() == "unexpected end of JSON input"
	before := text
	if !cutOff { // the offset includes the invalid byte
		before = text[:min(max(int(wrong.Offset)-1, 0), len(text))]
	}
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(bytes.Runes(before[bytes.LastIndexByte(before, '\n')+1:])) + 1
	detail := "JSON: " + wrong.Error()
	if cutOff && len(text) > 0 {
		detail += "; was the Content-Length counted in characters instead of bytes?"
	}
	return fmt.Sprintf("%sJSON not well-formed. (line %d, column %d)", textInvalidResponse, line, column), detail
}

// syntax describes a JSON error without naming Go types.
func syntax(err error) string {
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%s at byte %d", wrong.Error(), wrong.Offset)
	}
	return "it is another JSON value"
}

// salvage reads the members of a response up to the first invalid byte, and the beginning of a string that was cut off. A
// response that is too long usually is so because of its reason.
func salvage(text []byte, read reader) Response {
	fields := map[string]json.RawMessage{}
	whole := false
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return Response{}
	}
	for {
		token, err := dec.Token()
		key, isKey := token.(string)
		if err != nil || !isKey {
			whole = token == json.Delim('}')
			break
		}
		start := dec.InputOffset()
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if s, ok := cutString(text[start:]); ok {
				fields[key], _ = json.Marshal(s)
			}
			break
		}
		fields[key] = raw
	}
	r, _, _ := read(fields)
	if !whole && !isSet(fields["NoEcho"]) {
		r.NoEcho = true
	}
	return r
}

// cutString reads an unterminated JSON string after the colon of its member.
func cutString(rest []byte) (s string, ok bool) {
	rest = bytes.TrimLeft(rest, ": \t\r\n")
	if len(rest) == 0 || rest[0] != '"' {
		return "", false
	}
	for cut := 0; cut <= 6 && cut < len(rest); cut++ { // at most an escape \uXXXX is incomplete
		if json.Unmarshal(append(bytes.Clone(rest[:len(rest)-cut]), '"'), &s) == nil {
			return strings.TrimRight(s, "\uFFFD"), true
		}
	}
	return "", false
}
