package value

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
)

// Spellings returns the ways in which a secret is likely to be printed, each once: as it is, in JSON with and without
// HTML escapes, quoted by Go, in a URL. Whoever searches a text for a secret searches for all of them.
func Spellings(secret string) []string {
	html, err := json.Marshal(secret)
	if err != nil { // never, of a string
		html = []byte(`""`)
	}
	var all []string
	for _, quoted := range []string{string(Str(secret).JSON()), string(html), strconv.Quote(secret)} {
		all = append(all, quoted[1:len(quoted)-1])
	}
	all = append(all, url.QueryEscape(secret), url.PathEscape(secret))
	spellings := []string{secret}
	for _, spelling := range all {
		if !slices.Contains(spellings, spelling) {
			spellings = append(spellings, spelling)
		}
	}
	return spellings
}
