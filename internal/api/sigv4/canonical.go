package sigv4

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// s3 is the service whose paths are object keys: they are encoded once and never normalised.
const s3 = "s3"

// canonicalPaths returns the forms in which a client may have signed the path of u.
//
// Every service except s3 signs the path on the wire, encoded once more. The specification also removes dot segments
// and double slashes first. botocore does that, but the SDK for Go does not, so both forms are accepted: both identify
// only this path. S3 decodes the path and encodes it in its own way. The form on the wire is accepted for S3 too.
func canonicalPaths(u *url.URL, service string) []string {
	wire := u.EscapedPath()
	if wire == "" {
		wire = "/"
	}
	var forms []string
	if service == s3 {
		forms = []string{encode(cmp.Or(u.Path, "/"), "/"), wire}
	} else {
		forms = []string{encode(normalize(wire), "/"), encode(wire, "/")}
	}
	return slices.Compact(forms)
}

// normalize removes empty segments and dot segments. It keeps a slash at the end.
func normalize(path string) string {
	var kept []string
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "", ".":
		case "..":
			if len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
		default:
			kept = append(kept, segment)
		}
	}
	if len(kept) == 0 {
		return "/"
	}
	normal := "/" + strings.Join(kept, "/")
	if strings.HasSuffix(path, "/") {
		normal += "/"
	}
	return normal
}

// canonicalQuery decodes the parameters and encodes them again, sorted in encoded form.
func canonicalQuery(raw string) (string, error) {
	if raw == "" {
		return "", nil
	}
	type pair struct{ key, value string }
	var pairs []pair
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		key, keyErr := url.QueryUnescape(key)
		value, valueErr := url.QueryUnescape(value)
		if keyErr != nil || valueErr != nil {
			return "", refuse("MalformedQueryString", http.StatusBadRequest, "The query string contains a syntax error.")
		}
		pairs = append(pairs, pair{encode(key, ""), encode(value, "")})
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		if c := strings.Compare(a.key, b.key); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.key + "=" + p.value)
	}
	return b.String(), nil
}

// canonicalHeaders returns one line for each signed header.
func canonicalHeaders(r *http.Request, names []string) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name)
		b.WriteByte(':')
		for i, value := range headerValues(r, name) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(collapse(value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// headerValues returns the values of a header, including headers that net/http removes from the map.
func headerValues(r *http.Request, name string) []string {
	switch name {
	case "host":
		return []string{r.Host}
	case "transfer-encoding":
		return r.TransferEncoding
	case "content-length":
		if r.ContentLength >= 0 {
			return []string{strconv.FormatInt(r.ContentLength, 10)}
		}
	}
	return r.Header.Values(name)
}

// collapse trims text and replaces each run of spaces with one space.
func collapse(text string) string {
	text = strings.Trim(text, " \t")
	for strings.Contains(text, "  ") {
		text = strings.ReplaceAll(text, "  ", " ")
	}
	return text
}

// encode percent-encodes every byte of text except the unreserved characters of RFC 3986 and those in safe.
func encode(text, safe string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(text))
	for i := range len(text) {
		c := text[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("-._~", c) >= 0 || strings.IndexByte(safe, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}
