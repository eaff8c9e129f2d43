package native

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// rosRandom is ALIYUN::RandomString: a string of random characters that stays the same until the resource is
// replaced.
//
// The ROS documentation does not describe it. Published templates use it like OpenStack's OS::Heat::RandomString,
// which has these properties.
type rosRandom struct{}

// Bounds of random strings. Source: OpenStack Heat, OS::Heat::RandomString.
const (
	randomLength  = 32
	maxRandom     = 512
	randomDefault = "lettersdigits"
)

const (
	lowercase = "abcdefghijklmnopqrstuvwxyz"
	uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits    = "0123456789"
)

// randomClasses are the character classes by name.
var randomClasses = map[string]string{
	"lettersdigits": lowercase + uppercase + digits, "letters": lowercase + uppercase, "lowercase": lowercase, "uppercase": uppercase,
	"digits": digits, "hexdigits": digits + "ABCDEF", "octdigits": "01234567",
}

var rosRandomSchema = Schema{
	Name: "ALIYUN::RandomString", Dialect: wire.ROS,
	Properties: []Property{
		{Name: "character_classes", Kind: List, Change: Replaces},
		{Name: "character_sequences", Kind: List, Change: Replaces},
		{Name: "length", Kind: Integer, Min: 1, Max: maxRandom, Change: Replaces},
		{Name: "salt", Change: Replaces},
		{Name: "sequence", Change: Replaces},
	},
	Attributes: []string{"value"},
}

// Schema implements [Type].
func (rosRandom) Schema() *Schema { return &rosRandomSchema }

// Declare implements [Declarer].
func (rosRandom) Declare(d Declaration) (Wanted, error) {
	_, _, err := randomParts(d.Properties)
	return Wanted{Timeout: DefaultTimeout}, err
}

// Serve implements [Type]. A Create that is served twice generates two strings, of which the engine keeps one.
func (rosRandom) Serve(_ context.Context, r *store.Request) (Result, error) {
	if r.Type != wire.Create {
		return Result{}, nil
	}
	length, parts, err := randomParts(r.Body.Properties)
	if err != nil {
		return Result{}, err
	}
	text, err := randomText(length, parts)
	if err != nil {
		return Result{}, err
	}
	return Result{Ref: value.Str(text), Attributes: value.Object(value.Member{Key: "value", Value: value.Str(text)})}, nil
}

// randomPart is a set of characters with the minimum number that a string has of them.
type randomPart struct {
	characters []rune
	least      int
}

// randomParts reads the properties.
func randomParts(properties value.Value) (length int, parts []randomPart, err error) {
	length = randomLength
	if given, ok := properties.Get("length"); ok {
		if length, err = strconv.Atoi(given.Text()); err != nil {
			return 0, nil, BadValue(wire.ROS, "length", "be of type Integer")
		}
	}
	classes := func(property, name string, least int) error {
		characters, known := randomClasses[name]
		if !known {
			return BadValue(wire.ROS, property, "name one of the classes digits, hexdigits, letters, lettersdigits, lowercase, octdigits and uppercase")
		}
		parts = append(parts, randomPart{[]rune(characters), least})
		return nil
	}
	sequences, _ := properties.Get("character_sequences")
	for _, item := range sequences.Items() {
		text, _ := item.Get("sequence")
		least, err := randomLeast(item, "character_sequences")
		if err == nil && (!text.IsScalar() || text.Text() == "") {
			err = BadValue(wire.ROS, "character_sequences", "be a list of objects with the members sequence and min")
		}
		if err != nil {
			return 0, nil, err
		}
		parts = append(parts, randomPart{[]rune(text.Text()), least})
	}
	listed, given := properties.Get("character_classes")
	sequence, old := properties.Get("sequence")
	for _, item := range listed.Items() {
		name := randomDefault
		if v, ok := item.Get("class"); ok {
			name = v.Text()
		}
		least, err := randomLeast(item, "character_classes")
		if err == nil {
			err = classes("character_classes", name, least)
		}
		if err != nil {
			return 0, nil, err
		}
	}
	switch {
	case old:
		err = classes("sequence", sequence.Text(), 1)
	case !given || len(parts) == 0:
		err = classes("character_classes", randomDefault, 1)
	}
	if err != nil {
		return 0, nil, err
	}
	least := 0
	for _, part := range parts {
		least += part.least
	}
	if least > length {
		return 0, nil, BadValue(wire.ROS, "length", fmt.Sprintf("be %d at least, which the minimums of the classes and sequences add up to", least))
	}
	return length, parts, nil
}

// randomLeast reads the minimum number of characters of an item.
func randomLeast(item value.Value, property string) (int, error) {
	if item.Kind() != value.Map {
		return 0, BadValue(wire.ROS, property, "be a list of objects")
	}
	given, ok := item.Get("min")
	if !ok || given.IsNull() {
		return 1, nil
	}
	least, err := strconv.Atoi(given.Text())
	if err != nil || least < 1 || least > maxRandom {
		return 0, BadValue(wire.ROS, property, fmt.Sprintf("have members min from 1 to %d", maxRandom))
	}
	return least, nil
}

// randomText generates a string with the minimum of each part, filled up from all parts, in a random order.
func randomText(length int, parts []randomPart) (string, error) {
	var all, text []rune
	pick := func(from []rune) error {
		i, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
		if err == nil {
			text = append(text, from[i.Int64()])
		}
		return err
	}
	for _, part := range parts {
		all = append(all, part.characters...)
		for range part.least {
			if err := pick(part.characters); err != nil {
				return "", err
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for len(text) < length {
		if err := pick(all); err != nil {
			return "", err
		}
	}
	for i := len(text) - 1; i > 0; i-- {
		j, err := rand.Int(rand.Reader, big.NewInt(int64(i+1)))
		if err != nil {
			return "", err
		}
		text[i], text[j.Int64()] = text[j.Int64()], text[i]
	}
	return string(text), nil
}
