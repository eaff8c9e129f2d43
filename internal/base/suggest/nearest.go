// Package suggest finds the known name that a misspelled one most likely means.
package suggest

import "strings"

// Name returns the name that the text was most likely meant to be, or nothing if none is near. Case does not count.
func Name(text string, names []string) string {
	best, least := "", 3 // one more than the typing mistakes we forgive
	for _, name := range names {
		if d := distance(strings.ToLower(text), strings.ToLower(name), least); d < least && d < len(name) {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, drop or change between a and b, or limit if it is that or more.
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
