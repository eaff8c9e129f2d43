package query

import (
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// The product of these two limits the memory of a parsed form, which is many times its size.
	maxPairs    = 5_000 // of a form
	maxDepth    = 10    // dots in a name; the maximum of the known APIs is 7
	maxItems    = 1_000 // of a list
	maxReported = 20    // unknown names
)

// readForm returns the parameters of a request, from its query string and its body.
func readForm(w http.ResponseWriter, r *http.Request, maxBody int64) (url.Values, error) {
	tooLong := Fault("RequestEntityTooLarge", "The request is longer than %d bytes.", maxBody)
	tooLong.Status = http.StatusRequestEntityTooLarge
	text := r.URL.RawQuery
	if int64(len(text)) > maxBody {
		return nil, tooLong
	}
	switch r.Method {
	case http.MethodGet:
	case http.MethodPost:
		if err := checkMedia(r.Header); err != nil {
			return nil, err
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, tooLong
		}
		if err != nil {
			return nil, Fault("IncompleteBody", "The request body ended before its end.")
		}
		text = strings.Trim(text+"&"+string(body), "&\r\n")
	default:
		w.Header().Set("Allow", "GET, POST")
		return nil, &Error{Code: "MethodNotAllowed", Message: "The Query protocol takes GET and POST.", Status: http.StatusMethodNotAllowed, Sender: true}
	}
	if strings.Count(text, "&") >= maxPairs {
		return nil, Fault("MalformedInput", "The request has more than %d parameters.", maxPairs)
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, Fault("MalformedQueryString", "The request is not a well-formed form: a name or value has a broken %%-escape or a semicolon.")
	}
	for name, given := range values {
		if len(given) > 1 {
			return nil, Fault("MalformedInput", "%s is given %d times.", shorten(name), len(given))
		}
		if !utf8.ValidString(name) || !utf8.ValidString(given[0]) {
			return nil, Fault("MalformedInput", "%s is not UTF-8.", shorten(strings.ToValidUTF8(name, "?")))
		}
	}
	return values, nil
}

// checkMedia rejects bodies that are not plain forms.
func checkMedia(header http.Header) error {
	unsupported := &Error{Code: "UnsupportedMediaType", Status: http.StatusUnsupportedMediaType, Sender: true}
	if text := header.Get("Content-Type"); text != "" {
		media, _, err := mime.ParseMediaType(text)
		if err != nil || media != "application/x-www-form-urlencoded" {
			unsupported.Message = "The Content-Type of a request must be application/x-www-form-urlencoded."
			return unsupported
		}
	}
	if coding := header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		unsupported.Message = "Compressed requests are not taken: set AWS_DISABLE_REQUEST_COMPRESSION=true."
		return unsupported
	}
	return nil
}

// node is one dot-separated part of the parameters' names: Tags, member, 1, Key.
type node struct {
	name  string  // the name up to this part
	value *string // the value of exactly this name
	below map[string]*node
	used  bool // its value was decoded
}

// parseForm makes a tree of the parameters. Each must have one value.
func parseForm(values url.Values) (*node, error) {
	root := &node{}
	for name, given := range values {
		if strings.Count(name, ".") > maxDepth {
			return nil, Fault("MalformedInput", "The parameter %s nests too deep.", shorten(name))
		}
		at, end := root, 0
		for step := range strings.SplitSeq(name, ".") {
			end += len(step)
			if at.below == nil {
				at.below = map[string]*node{}
			}
			next := at.below[step]
			if next == nil {
				next = &node{name: name[:end]}
				at.below[step] = next
			}
			at, end = next, end+1
		}
		at.value = &given[0]
	}
	return root, nil
}

// unknown returns parameters that match no field, shortened and limited in number.
func (n *node) unknown() []string {
	var names []string
	n.leftOver(&names)
	slices.Sort(names)
	if len(names) > maxReported {
		names = append(names[:maxReported], "...")
	}
	for i := range names {
		names[i] = shorten(names[i])
	}
	return names
}

func (n *node) leftOver(names *[]string) {
	if n.value != nil && !n.used {
		*names = append(*names, n.name)
	}
	for below := range maps.Values(n.below) {
		below.leftOver(names)
	}
}
