// Package suggest finds the known name that a misspelled one most likely means.
package suggest

import "strings"

// Name returns the name that text most likely means, or "" if none is similar. It ignores case.
func Name(text string, names []string) string {
	best, least := "", 3 // one more than the accepted number of typing mistakes
	for _, name := range names {
		if d := distance(strings.ToLower(text), strings.ToLower(name), least); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// distance returns the edit distance between a and b, at most limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit)
}

// Typo returns the name that differs from text by a single typing mistake, or "". A mistake is an added, missing or
// wrong letter, two swapped neighbours, or another case. Names that differ in a digit, such as worker1 and worker2,
// are assumed to be different on purpose. So are names with fewer than four letters.
func Typo(text string, names []string) string {
	for _, name := range names {
		if len(name) >= 4 && text != name && isTypo(strings.ToLower(text), strings.ToLower(name)) {
			return name
		}
	}
	return ""
}

func isTypo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	start := 0
	for start < len(a) && a[start] == b[start] {
		start++
	}
	a, b = a[start:], b[start:]
	for a != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if strings.ContainsAny(a+b, "0123456789") {
		return false
	}
	return len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
