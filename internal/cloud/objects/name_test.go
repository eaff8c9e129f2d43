package objects

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzName checks that the path of any key stays in its directory, is valid on every file system, and is unique.
func FuzzName(f *testing.F) {
	for _, key := range []string{"a", "A", "..", ".", "../../etc/passwd", "/a", "a//b", "a/", "con", "nul.txt", "a.", "a:b", "a\\b", "%2e", "=a", "+a",
		"grüße/🌍.txt", "\x00", strings.Repeat("k", 1024), strings.Repeat("Ä.", 300), strings.Repeat(".", 1024), strings.Repeat("a.", 67) + ".b"} {
		f.Add(key, strings.ToLower(key))
	}
	f.Fuzz(func(t *testing.T, key, other string) {
		if len(key) > MaxKey || len(other) > MaxKey {
			return
		}
		name := encodeName(key)
		if !fs.ValidPath(name) || !filepath.IsLocal(name) || path.Clean(name) != name {
			t.Errorf("%q has the path %q", key, name)
		}
		if name != strings.ToLower(name) || key != other && name == encodeName(other) {
			t.Errorf("%q and %q are one to a file system that takes cases for the same", key, other)
		}
		var decoded string
		parts := strings.Split(name, "/")
		for i, part := range parts {
			text, ok := decodePart(part[1:])
			mark := byte(moreMark)
			if i == len(parts)-1 {
				mark = nameMark
			}
			if !ok || part[0] != mark || len(part) > maxName || strings.HasSuffix(part, ".") || strings.ContainsAny(part, `\:*?"<>| `) {
				t.Errorf("%q has the part %q", key, part)
			}
			decoded += text
		}
		if decoded != key {
			t.Errorf("%q is encoded as %q, which is %q", key, name, decoded)
		}
	})
}

func TestBucketName(t *testing.T) {
	for name, ok := range map[string]bool{
		"abc": true, "my-bucket.v1": true, "1.2.3": true, "a.b": true, strings.Repeat("b", 63): true,
		"": false, "ab": false, strings.Repeat("b", 64): false, "Abc": false, "a_b": false, "a..b": false, ".ab": false, "ab-": false,
		"a.-b": false, "127.0.0.1": false, "a/b": false, "...": false,
	} {
		if got := checkBucketName(name) == nil; got != ok {
			t.Errorf("%q: %v, want %v", name, got, ok)
		}
	}
}
