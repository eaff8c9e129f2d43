package wire

import (
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// MaxROSSignatureAge is the largest difference between the Date of a signature and now.
const MaxROSSignatureAge = 5 * time.Minute

// rosDate is the time layout of a signature's Date.
const rosDate = "2006-01-02T15:04:05Z"

// ROSSigning signs and verifies requests of ROS to a [Web] provider. ROS signs them if the resource has a SignKey in its
// HttpConfig. The signature is the member Signature of the document, with Date and Value.
//
// The signature covers six lines separated by line feeds: POST; the content type; the MD5 of the document without its
// signature, in ASCII with sorted keys as Python's json.dumps writes it; the Date; a line key:value for each header,
// sorted by name; the URL. Source: the description of HttpConfig in the resource schema of ROS. That leaves open how the
// key and the digest are used. This package assumes that the Value is the hexadecimal HMAC-SHA1 under the key, that the
// MD5 is hexadecimal, and that the JSON has a space after commas and colons.
type ROSSigning struct {
	// Key is the SignKey, 1 to [MaxROSSignKey] characters. Required.
	Key string
	// ContentType is the ContentType of HttpConfig. Empty means application/json.
	ContentType string
	// Headers are the Headers of HttpConfig, with the same spelling of names.
	Headers map[string]string
	// URL is the exact URL in the service token, without the prefix. Required.
	URL string
}

// Sign returns the request, a JSON object, with a signature of the given time. It replaces an existing signature.
func (s ROSSigning) Sign(document []byte, at time.Time) ([]byte, error) {
	switch n := utf8.RuneCountInString(s.Key); {
	case n == 0 || n > MaxROSSignKey:
		return nil, fmt.Errorf("sign request: the SignKey has %d characters, want 1 to %d", n, MaxROSSignKey)
	case s.URL == "":
		return nil, errors.New("sign request: no URL")
	}
	v, err := parseSigned(document)
	if err != nil {
		return nil, fmt.Errorf("sign request: %w", err)
	}
	date := at.UTC().Format(rosDate)
	mac := s.mac(bodyDigests(v)[0], date)
	return v.With("Signature", value.Object(
		value.Member{Key: "Date", Value: value.Str(date)},
		value.Member{Key: "Value", Value: value.Str(hex.EncodeToString(mac))},
	)).JSON(), nil
}

// Verify returns nil if a request has a signature by this key that is at most [MaxROSSignatureAge] before or after now.
// It also accepts JSON without spaces and an MD5 in base64, which the description allows. The error describes the problem
// and contains no part of the key or the signature.
func (s ROSSigning) Verify(document []byte, now time.Time) error {
	if s.Key == "" {
		return errors.New("no SignKey is set to verify the request with")
	}
	v, err := parseSigned(document)
	if err != nil {
		return err
	}
	given, err := readSignature(v, now)
	if err != nil {
		return err
	}
	for _, digest := range bodyDigests(v) {
		if hmac.Equal(given.value, s.mac(digest, given.date)) {
			return nil
		}
	}
	return errors.New("the Signature of the request does not fit: is the SignKey that of HttpConfig in the template, and the URL that of the ServiceToken?")
}

// rosSignature is the Signature in a request.
type rosSignature struct {
	date  string
	value []byte
}

func readSignature(document value.Value, now time.Time) (rosSignature, error) {
	member, ok := document.Get("Signature")
	if !ok || member.IsNull() {
		return rosSignature{}, errors.New("the request has no Signature: give the resource a SignKey in its HttpConfig")
	}
	date, _ := member.Get("Date")
	text, _ := member.Get("Value")
	if member.Kind() != value.Map || date.Kind() != value.String || text.Kind() != value.String {
		return rosSignature{}, errors.New("the Signature of the request has no Date and Value")
	}
	at, err := time.Parse(rosDate, date.Text())
	if err != nil {
		return rosSignature{}, errors.New("the Date of the Signature is not a time like 2021-03-11T13:32:02Z")
	}
	if age := now.Sub(at); age > MaxROSSignatureAge || age < -MaxROSSignatureAge {
		return rosSignature{}, fmt.Errorf("the Date of the Signature is more than %v from now: is the clock right?", MaxROSSignatureAge)
	}
	mac, err := hex.DecodeString(text.Text())
	if err != nil {
		return rosSignature{}, errors.New("the Value of the Signature is not hexadecimal")
	}
	return rosSignature{date.Text(), mac}, nil
}

// parseSigned reads an object of at most [MaxRequest] bytes.
func parseSigned(document []byte) (value.Value, error) {
	if len(document) > MaxRequest {
		return value.Value{}, fmt.Errorf("the request is %d bytes long, %d are allowed", len(document), MaxRequest)
	}
	v, err := value.Parse(cleanUTF8(document))
	if err != nil {
		return value.Value{}, errors.New("the request is not JSON")
	}
	if v.Kind() != value.Map {
		return value.Value{}, errors.New("the request is not a JSON object")
	}
	return v, nil
}

func (s ROSSigning) mac(digest, date string) []byte {
	lines := []string{"POST", cmp.Or(s.ContentType, "application/json"), digest, date}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		lines = append(lines, name+":"+s.Headers[name])
	}
	lines = append(lines, s.URL)
	mac := hmac.New(sha1.New, []byte(s.Key))
	mac.Write([]byte(strings.Join(lines, "\n")))
	return mac.Sum(nil)
}

// bodyDigests returns the MD5 of a document without its signature, in all possible forms. The first form is the one that
// Sign uses.
func bodyDigests(document value.Value) []string {
	var members []value.Member
	for _, m := range document.Members() {
		if m.Key != "Signature" {
			members = append(members, m)
		}
	}
	bare := value.Object(members...)
	var all []string
	for _, space := range []string{" ", ""} {
		sum := md5.Sum(appendSorted(nil, bare, space))
		all = append(all, hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:]))
	}
	return all
}

// appendSorted writes a value in ASCII, with sorted keys and with space after commas and colons.
func appendSorted(b []byte, v value.Value, space string) []byte {
	switch v.Kind() {
	case value.Map:
		members := slices.Clone(v.Members())
		slices.SortFunc(members, func(a, b value.Member) int { return strings.Compare(a.Key, b.Key) })
		b = append(b, '{')
		for i, m := range members {
			if i > 0 {
				b = append(append(b, ','), space...)
			}
			b = append(append(appendASCII(b, m.Key), ':'), space...)
			b = appendSorted(b, m.Value, space)
		}
		return append(b, '}')
	case value.List:
		b = append(b, '[')
		for i, item := range v.Items() {
			if i > 0 {
				b = append(append(b, ','), space...)
			}
			b = appendSorted(b, item, space)
		}
		return append(b, ']')
	case value.String:
		return appendASCII(b, v.Text())
	case value.Null, value.Bool, value.Number:
	}
	return append(b, v.JSON()...)
}

// appendASCII writes a string as Python's json module does with ensure_ascii.
func appendASCII(b []byte, text string) []byte {
	b = append(b, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c == '\f':
			b = append(b, `\f`...)
		case c >= ' ' && c < 0x7F:
			b = append(b, byte(c))
		case c > 0xFFFF:
			high, low := utf16.EncodeRune(c)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(b, '"')
}
