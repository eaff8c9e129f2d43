package value

import (
	"errors"
	"strings"
)

// Sealer encrypts secrets for a database: Seal returns a text that only Open, with the same keys, decrypts. Both must
// be safe for concurrent use.
type Sealer interface {
	Seal(clear string) (sealed string, err error)
	Open(sealed string) (clear string, err error)
}

// sealMark is the only key of the object that stands for a sealed scalar. A data key that equals the mark, or the mark
// after more zeros, gets one more zero in front, so that no data is mistaken for a sealed scalar.
const sealMark = "\x00sealed"

// isMark reports whether a data key is the mark with any number of zeros in front.
func isMark(key string) bool {
	return strings.HasSuffix(key, sealMark) && strings.TrimLeft(key, "\x00") == sealMark[1:]
}

// sealLetters are the first letters of sealed texts, by secrecy; the scalar as JSON follows.
const sealLetters = "-pa"

// unseal parses an opened text.
func unseal(clear string) (Value, error) {
	for secrecy, letter := range []byte(sealLetters) {
		if secrecy == int(Open) || clear == "" || clear[0] != letter {
			continue
		}
		scalar, err := Parse([]byte(clear[1:]))
		if err != nil || !scalar.IsScalar() {
			break
		}
		return scalar.Tainted(Secrecy(secrecy)), nil
	}
	return Value{}, errors.New("open a sealed value: it is not a scalar")
}

// Encode returns v as JSON for a database, its secrets sealed. [Decode] reverses it.
func Encode(v Value, sealer Sealer) ([]byte, error) {
	if !v.HasSecret() && !v.hasMark() {
		return v.JSON(), nil
	}
	sealed, err := v.sealed(sealer)
	if err != nil {
		return nil, err
	}
	return sealed.JSON(), nil
}

// Decode reverses [Encode].
func Decode(data []byte, sealer Sealer) (Value, error) {
	v, err := parseWithin(data, MaxDepth+1) // a sealed scalar is one level deeper than the scalar
	if err != nil {
		return Value{}, err
	}
	if !v.hasMark() {
		return v, nil
	}
	return v.opened(sealer)
}

func (v Value) hasMark() bool {
	for _, item := range v.Items() {
		if item.hasMark() {
			return true
		}
	}
	for _, m := range v.Members() {
		if isMark(m.Key) || m.Value.hasMark() {
			return true
		}
	}
	return false
}

func (v Value) sealed(sealer Sealer) (Value, error) {
	switch {
	case v.Secret():
		box, err := sealer.Seal(string(v.append([]byte{sealLetters[v.secrecy]}, plain)))
		if err != nil {
			return Value{}, err
		}
		return Object(Member{sealMark, Str(box)}), nil
	case v.kind == List:
		return v.each(func(_ string, item Value) (string, Value, error) {
			item, err := item.sealed(sealer)
			return "", item, err
		})
	case v.kind == Map:
		return v.each(func(key string, member Value) (string, Value, error) {
			if isMark(key) {
				key = "\x00" + key
			}
			member, err := member.sealed(sealer)
			return key, member, err
		})
	}
	return v, nil
}

func (v Value) opened(sealer Sealer) (Value, error) {
	switch v.kind {
	case List:
		return v.each(func(_ string, item Value) (string, Value, error) {
			item, err := item.opened(sealer)
			return "", item, err
		})
	case Map:
		if box, ok := v.Get(sealMark); ok && len(v.Members()) == 1 {
			clear, err := sealer.Open(box.text)
			if err != nil {
				return Value{}, err
			}
			return unseal(clear)
		}
		return v.each(func(key string, member Value) (string, Value, error) {
			if isMark(key) && key != sealMark {
				key = key[1:]
			}
			member, err := member.opened(sealer)
			return key, member, err
		})
	case Null, Bool, Number, String:
	}
	return v, nil
}

// each returns the list or object v with f applied to every item or member, and the first error of f.
func (v Value) each(f func(key string, v Value) (string, Value, error)) (Value, error) {
	if v.kind == List {
		items := make([]Value, len(v.Items()))
		for i, item := range v.Items() {
			_, item, err := f("", item)
			if err != nil {
				return Value{}, err
			}
			items[i] = item
		}
		return Items(items...), nil
	}
	members := make([]Member, len(v.Members()))
	for i, m := range v.Members() {
		key, member, err := f(m.Key, m.Value)
		if err != nil {
			return Value{}, err
		}
		members[i] = Member{key, member}
	}
	return Object(members...), nil
}
