package template

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Limits of the numbers in ROS functions. Source: ours.
const (
	// maxDigits is the maximum length of the text of a number.
	maxDigits = 1024
	// maxExponent is the maximum decimal exponent in the text of a number.
	maxExponent = 1024
	// maxBits is the maximum number of bits of a number's numerator and denominator together.
	maxBits = 16 << 10
	// maxPlaces is the maximum number of decimal places of a result.
	maxPlaces = 30
)

// decimal is a number by Python's rules. It is exact here, and a float if it was written as one or is the result of a
// division.
type decimal struct {
	rat   *big.Rat
	float bool
}

var decimalText = regexp.MustCompile(`^[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([-+]?[0-9]+))?$`)

// parseDecimal parses a number; false for an invalid or too large one.
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

// bits returns the number of bits of the numerator and denominator together.
func (d decimal) bits() int { return d.rat.Num().BitLen() + d.rat.Denom().BitLen() }

// large reports whether the number exceeds maxBits.
func (d decimal) large() bool { return d.bits() > maxBits }

// value returns the number with up to maxPlaces decimal places. A float has at least one.
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

// rounded returns the number with at most places decimal places, halves rounded away from zero. With 0 places it is a
// whole number.
func (d decimal) rounded(places int) value.Value {
	if places == 0 {
		return value.Num(d.rat.FloatString(0))
	}
	return value.Num(trimmed(d.rat.FloatString(places)))
}

// trimmed returns a decimal without trailing zeros, except one after the point.
func trimmed(text string) string {
	whole, fraction, _ := strings.Cut(text, ".")
	if fraction = strings.TrimRight(fraction, "0"); fraction == "" {
		fraction = "0"
	}
	return whole + "." + fraction
}

// decimals converts a list of numbers.
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

// whole returns an argument that must be a whole number in a range, or fallback if it is absent.
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
