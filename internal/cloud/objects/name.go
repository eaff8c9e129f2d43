package objects

import (
	"strings"
	"unicode/utf8"
)

// maxName is the maximum length in bytes of a name in a directory. The shortest limit of common file systems is 255
// bytes, with encryption 143.
const maxName = 140

const (
	nameMark = '=' // begins every name, so that none is empty, hidden, ".", ".." or a device
	moreMark = '+' // begins the name of a directory that continues a long name
)

// encodeName encodes the name of a bucket or an object as a relative path. It percent-encodes bytes other than
// lower-case letters, digits, hyphens, underscores and dots, in lower case, so that names stay distinct on every file
// system. It encodes a dot at the end, because Windows drops it. A name that is too long for one file name is split
// into directories, whose names differ from every name that fits.
func encodeName(name string) string {
	const digits = "0123456789abcdef"
	var b, line strings.Builder
	for i := range len(name) {
		c := name[i]
		plain := 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' && i < len(name)-1
		if line.Len() > maxName-5 { // leaves room for a mark and an encoded dot at the end of a part
			b.WriteByte(moreMark)
			b.WriteString(sealDot(line.String()))
			b.WriteByte('/')
			line.Reset()
		}
		if plain {
			line.WriteByte(c)
			continue
		}
		line.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	b.WriteByte(nameMark)
	b.WriteString(line.String())
	return b.String()
}

// sealDot encodes a dot at the end.
func sealDot(part string) string {
	if cut, ok := strings.CutSuffix(part, "."); ok {
		return cut + "%2e"
	}
	return part
}

// decodePart decodes one part of an encoded name, without its mark. It returns false if the part is invalid.
func decodePart(part string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] != '%' {
			b.WriteByte(part[i])
			continue
		}
		if i+2 >= len(part) {
			return "", false
		}
		high, low := strings.IndexByte("0123456789abcdef", part[i+1]), strings.IndexByte("0123456789abcdef", part[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), true
}

// CheckKey returns [ErrKey] for an invalid key: empty, longer than [MaxKey] bytes, not UTF-8, or with a character
// that S3's XML lists cannot contain.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey || !utf8.ValidString(key) {
		return ErrKey
	}
	for _, c := range key {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF {
			return ErrKey
		}
	}
	return nil
}

// checkBucketName returns [ErrBucketName] for a name that is invalid in S3.
func checkBucketName(name string) error {
	if len(name) < 3 || len(name) > 63 {
		return ErrBucketName
	}
	digits := true
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return ErrBucketName
		}
		for _, c := range label {
			switch {
			case 'a' <= c && c <= 'z' || c == '-':
				digits = false
			case '0' <= c && c <= '9':
			default:
				return ErrBucketName
			}
		}
	}
	if digits && strings.Count(name, ".") == 3 { // an IP address
		return ErrBucketName
	}
	return nil
}
