package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Codec turns rows into bytes for a database and back. A row's plain fields become JSON. Its values become a second
// text, in which every secret is sealed. The zero Codec cannot seal: use [NewCodec].
type Codec struct {
	keys    *Keys
	decoded *decoded
}

// NewCodec returns a codec that seals secrets with keys.
func NewCodec(keys *Keys) Codec { return Codec{keys, newDecoded()} }

// Forget clears the cache of decoded bodies.
func (c Codec) Forget() { c.decoded.forget() }

// errNoKeys is the error of opening a store with the zero Codec.
var errNoKeys = errors.New("a store needs keys to seal secrets with")

// KeyID returns the id of the key that seals, empty for the zero Codec.
func (c Codec) KeyID() string {
	if c.keys == nil {
		return ""
	}
	return c.keys.ids[0]
}

// probe is the text that a store seals when it is opened, to recognize its keys.
const probe = "pintle"

// Probe returns a text sealed with the first key, which the store keeps. [Codec.Check] uses it to check later keys.
func (c Codec) Probe() (string, error) {
	if c.keys == nil {
		return "", errNoKeys
	}
	return c.keys.Seal(probe)
}

// Probes returns the result of [Codec.Probe] for every key, by key ID.
func (c Codec) Probes() (map[string]string, error) {
	if c.keys == nil {
		return nil, errNoKeys
	}
	probes := make(map[string]string)
	for _, id := range c.keys.ids {
		probes[id] = c.keys.sealWith(id, probe)
	}
	return probes, nil
}

// Check returns an error if these keys cannot open the probe that was sealed when the store was last opened.
func (c Codec) Check(sealed string) error {
	if c.keys == nil {
		return errNoKeys
	}
	clear, err := c.keys.Open(sealed)
	if err != nil {
		return fmt.Errorf("these are not the keys of the store: %w", err)
	}
	if clear != probe {
		return errors.New("these are not the keys of the store: its probe holds something else")
	}
	return nil
}

// sealStart is the text before a sealed text in an encoded value. It is unambiguous: within a string a quotation mark
// has a backslash in front, and an object key that looks like this one gets one more zero.
var sealStart = []byte(`"\u0000sealed":"`)

// Reseal reseals everything in the values of a row, as [Codec.Encode] returned them, that another key than the first
// has sealed. If everything is sealed with the first key, stale is false and fresh is values.
func (c Codec) Reseal(values []byte) (fresh []byte, stale bool, err error) {
	for rest := values; ; {
		at := bytes.Index(rest, sealStart)
		if at < 0 {
			return values, false, nil
		}
		if rest = rest[at+len(sealStart):]; c.keys.stale(string(rest[:min(len(rest), 64)])) {
			break
		}
	}
	for line := range bytes.Lines(values) {
		line, more := bytes.CutSuffix(line, []byte("\n"))
		v, err := value.Decode(line, c.keys)
		if err != nil {
			return nil, false, fmt.Errorf("seal again: %w", err)
		}
		text, err := value.Encode(v, c.keys)
		if err != nil {
			return nil, false, fmt.Errorf("seal again: %w", err)
		}
		if fresh = append(fresh, text...); more {
			fresh = append(fresh, '\n')
		}
	}
	return fresh, true, nil
}

// Verify returns an error if the values of a row, as [Codec.Encode] returned them, cannot be decoded. The error quotes
// no value.
func (c Codec) Verify(values []byte) error {
	number := 0
	for line := range bytes.Lines(values) {
		number++
		if _, err := value.Decode(bytes.TrimSuffix(line, []byte("\n")), c.keys); err != nil {
			return fmt.Errorf("value %d is damaged, or sealed with another key", number)
		}
	}
	return nil
}

// Row is a row, or the body of one. Fields tagged json:"-" that are not values are columns of the table.
type Row interface {
	// values returns the row's values, always in the same order.
	values() []*value.Value
}

func (r *Stack) values() []*value.Value     { return []*value.Value{&r.OutputValues} }
func (r *Revision) values() []*value.Value  { return []*value.Value{&r.Parameters, &r.Outside} }
func (r *Operation) values() []*value.Value { return nil }
func (r *Step) values() []*value.Value      { return nil }
func (r *StepPlan) values() []*value.Value  { return nil }
func (r *Instance) values() []*value.Value  { return nil }
func (r *InstanceBody) values() []*value.Value {
	return []*value.Value{&r.Properties, &r.Attempted, &r.Data, &r.Metadata, &r.Token, &r.Ref, &r.HTTPConfig, &r.FormerData}
}
func (r *Request) values() []*value.Value       { return nil }
func (r *ChangeSet) values() []*value.Value     { return nil }
func (r *ChangeSetBody) values() []*value.Value { return r.Revision.values() }
func (r *RequestBody) values() []*value.Value {
	return []*value.Value{&r.Properties, &r.OldProperties, &r.Token, &r.Pending, &r.HTTPConfig}
}

// written returns the values of a row that are to be written. It omits trailing null values that few rows have, so that
// nodes of an earlier version can read the row.
func written(row Row) []*value.Value {
	fields := row.values()
	rare := 0
	switch row.(type) {
	case *RequestBody, *InstanceBody:
		rare = 2
	case *Revision, *ChangeSetBody:
		rare = 1
	}
	for ; rare > 0 && fields[len(fields)-1].IsNull(); rare-- {
		fields = fields[:len(fields)-1]
	}
	return fields
}

// Encode returns the row's plain part, and its values with secrets sealed; values is nil for a row without any. Each
// value is a line of its own instead of a list item, so that it can have the full nesting depth of a value.
func (c Codec) Encode(row Row) (plain, values []byte, err error) {
	if plain, err = encodeJSON(row); err != nil {
		return nil, nil, fmt.Errorf("encode %T: %w", row, err)
	}
	for i, field := range written(row) {
		line, err := value.Encode(*field, c.keys)
		if err != nil {
			return nil, nil, fmt.Errorf("encode %T: %w", row, err)
		}
		if i > 0 {
			values = append(values, '\n')
		}
		values = append(values, line...)
	}
	return plain, values, nil
}

// encoder writes JSON into its own buffer.
type encoder struct {
	buffer bytes.Buffer
	json   *json.Encoder
}

// encoders are pooled: growing a new buffer for each row would be most of the cost of encoding.
var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false)
	return e
}}

// maxEncoder is the buffer size, in bytes, above which an encoder is not returned to the pool.
const maxEncoder = 64 << 10

// encodeJSON is json.Marshal without HTML escapes, which would change the text of a [json.RawMessage].
func encodeJSON(row any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.buffer.Reset()
	if err := e.json.Encode(row); err != nil {
		return nil, err // an encoder that has failed is not used again
	}
	text := bytes.Clone(bytes.TrimSuffix(e.buffer.Bytes(), []byte("\n")))
	if e.buffer.Cap() <= maxEncoder {
		encoders.Put(e)
	}
	return text, nil
}

// Decode fills row from the result of [Codec.Encode]. Values that a row of an older version lacks stay null.
func (c Codec) Decode(row Row, plain, values []byte) error {
	key := bodyKey(row, plain, values)
	if c.decoded.fill(row, key) {
		return nil
	}
	if err := c.decode(row, plain, values); err != nil {
		return err
	}
	c.decoded.keep(row, key)
	return nil
}

func (c Codec) decode(row Row, plain, values []byte) error {
	if err := json.Unmarshal(plain, row); err != nil {
		return fmt.Errorf("decode %T: %w", row, err)
	}
	fields := row.values()
	for i := 0; len(values) > 0; i++ {
		if i == len(fields) {
			return fmt.Errorf("decode %T: it holds more than the %d values this version knows", row, len(fields))
		}
		line, rest, _ := bytes.Cut(values, []byte("\n"))
		v, err := value.Decode(line, c.keys)
		if err != nil {
			return fmt.Errorf("decode %T: %w", row, err)
		}
		*fields[i], values = v, rest
	}
	return nil
}
