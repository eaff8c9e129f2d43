package template

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Bounds of the numbers that functions of ROS calculate with. Source: ours.
const (
	// maxDigits is how long the text of a number may be.
	maxDigits = 1024
	// maxExponent is how large an exponent may be, of ten in the text of a number.
	maxExponent = 1024
	// maxBits is how many bits a number may have, above and below the line of a fraction together.
	maxBits = 16 << 10
	// maxPlaces is how many decimal places a result has at most.
	maxPlaces = 30
)

// decimal is a number as Python has them: exact here, and a float if it was written as one or came of dividing.
type decimal struct {
	rat   *big.Rat
	float bool
}

var decimalText = regexp.MustCompile(`^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([-+]?[0-9]+))?$`)

// parseDecimal reads the text of a number; false if it is none, or larger than is calculated with.
func parseDecimal(text string) (decimal, bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxDigits || text[0] > '9' {
		return decimal{}, false
	}
	parts := decimalText.FindStringSubmatch(text)
	if parts == nil {
		return decimal{}, false
	}
	if parts[1] != "" {
		if exponent, err := strconv.Atoi(parts[1]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return decimal{}, false
		}
	}
	rat, ok := new(big.Rat).SetString(text)
	return decimal{rat, strings.ContainsAny(text, ".eE")}, ok
}

// bits are those above and below the line of the fraction.
func (d decimal) bits() int { return d.rat.Num().BitLen() + d.rat.Denom().BitLen() }

// large reports whether the number has more bits than are calculated with.
func (d decimal) large() bool { return d.bits() > maxBits }

// value returns the number: exact if it has few places, a float with one place at least.
func (d decimal) value() value.Value {
	if !d.float {
		return value.Num(d.rat.Num().String())
	}
	places, exact := d.rat.FloatPrec()
	if !exact || places > maxPlaces {
		places = maxPlaces
	}
	return value.Num(trimmed(d.rat.FloatString(places)))
}

// rounded returns the number with so many places at most, halves away from zero; none is a whole number.
func (d decimal) rounded(places int) value.Value {
	if places == 0 {
		return value.Num(d.rat.FloatString(0))
	}
	return value.Num(trimmed(d.rat.FloatString(places)))
}

// trimmed returns a decimal without the zeros at its end, but for one after the point.
func trimmed(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		fraction = "0"
	}
	return whole + "." + fraction
}

// decimals reads a list of numbers.
func (a arguments) decimals(e *evaluation, list []value.Value) ([]decimal, error) {
	numbers := make([]decimal, len(list))
	for i, v := range list {
		n, ok := parseDecimal(v.Text())
		if !ok || v.Kind() != value.Number && v.Kind() != value.String {
			return nil, a.fail(e, "number %d of the list is not a number, or is too large", i+1)
		}
		if err := e.spend(a.at, n.bits()/8); err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	return numbers, nil
}

// whole reads an argument that is a whole number of a range; fallback if it is not there.
func (a arguments) whole(e *evaluation, i, least, most, fallback int) (int, error) {
	if i >= len(a.values) || a.values[i].IsNull() {
		return fallback, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(a.text(i)))
	if err != nil || n < least || n > most {
		return 0, a.fail(e, "argument %d is not a whole number from %d to %d", i+1, least, most)
	}
	return n, nil
}
