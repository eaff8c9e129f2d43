// Package regexcost estimates the cost of a regular expression before it runs.
package regexcost

import "regexp/syntax"

// Heaviest is the maximum weight of a pattern to compile. A text with 200 such patterns takes about ten megabytes.
// The value is our choice.
const Heaviest = 20_000

// Weight estimates the number of instructions that a pattern compiles to. It stops counting above [Heaviest].
func Weight(re *syntax.Regexp) int {
	sum := 1 + len(re.Rune)/2
	if re.Op == syntax.OpLiteral {
		sum = len(re.Rune)
	}
	for _, sub := range re.Sub {
		sum = min(sum+Weight(sub), Heaviest+1)
	}
	if re.Op == syntax.OpRepeat {
		sum *= max(re.Min, re.Max, 1)
	}
	return min(sum, Heaviest+1)
}

// scanned is the number of bytes that count as one unit of work for each instruction of a pattern, some hundred
// nanoseconds.
const scanned = 16

// Scan returns the cost of matching patterns with a total weight against size bytes.
func Scan(weight, size int) int { return weight * (1 + size/scanned) }
