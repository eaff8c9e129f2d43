package ros

import (
	"encoding/base64"
	"strings"
)

// pageToken returns the NextToken of a page. last is the last item of the page. A token is valid only for lists with the
// same kind of item.
func pageToken(kind, last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + " " + last))
}

// readPageToken returns the item after which a page begins, "" for the first page, or false for an invalid token.
func readPageToken(kind, text string) (last string, ok bool) {
	if text == "" {
		return "", true
	}
	token, err := base64.RawURLEncoding.DecodeString(text)
	last, ok = strings.CutPrefix(string(token), kind+" ")
	return last, err == nil && ok && last != ""
}
