// Package regexcost estimates the cost of a regular expression before it runs.
package regexcost

import "regexp/syntax"

// Heaviest is the greatest weight of a pattern that is compiled. A text with 200 such patterns takes some ten
// megabytes. Source: ours.
const Heaviest = 20_000

// Weight estimates how many instructions a pattern compiles to. It stops counting above [Heaviest].
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

// scanned is how many bytes of a text count as one piece, or byte of what may be returned, for every instruction of a pattern that
// looks at them: some hundred nanoseconds of work.
const scanned = 16

// Scan is what it takes to look for patterns of so much weight together in so many bytes.
func Scan(weight, size int) int { return weight * (1 + size/scanned) }
