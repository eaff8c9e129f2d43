package lambda

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

type entry struct {
	name, text string
	mode       fs.FileMode
}

func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(e.mode)
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(w, e.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpackTo unpacks a zip file into the subdirectory in of a new directory, and lists all files below both.
func unpackTo(t testing.TB, text []byte) (dir string, list []string, err error) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "code.zip")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	err = extract(file, filepath.Join(dir, "in"))
	walked := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == "." || name == "code.zip" || name == "in" {
			return err
		}
		info, err := d.Info()
		list = append(list, fmt.Sprintf("%s %s", info.Mode(), filepath.ToSlash(name)))
		return err
	})
	if walked != nil {
		t.Fatal(walked)
	}
	slices.Sort(list)
	return dir, list, err
}

func TestExtract(t *testing.T) {
	const link = fs.ModeSymlink | 0o777
	for name, test := range map[string]struct {
		entries []entry
		want    []string // or the error
	}{
		"modes": {
			[]entry{{"bin/run", "x", 0o755}, {"index.js", "x", 0o666}, {"none", "x", 0}, {"folder/", "", fs.ModeDir | 0o755}},
			[]string{"-rw------- in/none", "-rw-r--r-- in/index.js", "-rwxr-xr-x in/bin/run", "drwx------ in/bin", "drwx------ in/folder"},
		},
		"link": {
			[]entry{{"lib/a", "x", 0o644}, {"b", "lib/a", link}, {"lib/c", "../b", link}, {"later", "nowhere", link}},
			[]string{"-rw-r--r-- in/lib/a", "Lrwxrwxrwx in/b", "Lrwxrwxrwx in/later", "Lrwxrwxrwx in/lib/c", "drwx------ in/lib"},
		},
		"twice":             {[]entry{{"a", "x", 0o644}, {"a", "y", 0o644}}, []string{"-rw-r--r-- in/a"}},
		"out":               {[]entry{{"../a", "x", 0o644}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. (the file "../a" is outside the package)`}},
		"absolute":          {[]entry{{"/a", "x", 0o644}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. (the file "/a" is outside the package)`}},
		"backslash":         {[]entry{{`a\..\..\b`, "x", 0o644}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. (the file "a\\..\\..\\b" is outside the package)`}},
		"pipe":              {[]entry{{"a", "", fs.ModeNamedPipe | 0o644}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. ("a" is neither a file nor a folder)`}},
		"link out":          {[]entry{{"a", "../../etc", link}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. ("a": the link leads out of the package)`}},
		"link to root":      {[]entry{{"a", "/etc/passwd", link}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. ("a": the link leads out of the package)`}},
		"link by link":      {[]entry{{"a/b", ".", link}, {"c", "a/b/../../x", link}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. ("c": the link leads out of the package)`}},
		"through a link":    {[]entry{{"a", "lib", link}, {"a/x", "x", 0o644}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. ("a/x": "a" is a link)`}},
		"round in a circle": {[]entry{{"a", "b", link}, {"b", "a", link}}, []string{`error: Could not unzip uploaded file. Please check your file, then try to upload again. ("a": the link leads round in a circle)`}},
		"file is a folder":  {[]entry{{"a", "x", 0o644}, {"a/b", "x", 0o644}}, []string{"error: …"}},
		"nothing":           {nil, []string{"error: Uploaded file must be a non-empty zip"}},
	} {
		_, got, err := unpackTo(t, archive(t, test.entries...))
		if err != nil {
			if len(got) > 0 {
				t.Errorf("%s: an error leaves %v", name, got)
			}
			got = []string{"error: " + err.Error()}
			if test.want[0] == "error: …" {
				continue
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestExtractIsBounded checks that a zip file with wrong sizes does not fill the disk.
func TestExtractIsBounded(t *testing.T) {
	zeros := strings.Repeat("\x00", 1<<20)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for n := range 251 {
		w, err := z.Create(fmt.Sprint(n))
		if err == nil {
			_, err = io.WriteString(w, zeros)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	text := b.Bytes()
	var reported *Error
	if _, _, err := unpackTo(t, text); !errors.As(err, &reported) || reported.Message != "Unzipped size must be smaller than 262144000 bytes" {
		t.Errorf("as it says: %v", err)
	}
	// In the central directory, the uncompressed size is 24 bytes after the signature.
	for at := 0; ; {
		next := bytes.Index(text[at:], []byte("PK\x01\x02"))
		if next < 0 {
			break
		}
		at += next + 4
		binary.LittleEndian.PutUint32(text[at+20:], 1)
	}
	if _, list, err := unpackTo(t, text); err == nil || len(list) > 0 {
		t.Errorf("as it does not say: %v, %d files", err, len(list))
	}
}

// FuzzExtract checks that no zip file can write outside the directory, and that an error leaves no files.
func FuzzExtract(f *testing.F) {
	f.Add(archive(f, entry{"bin/run", "x", 0o755}, entry{"b", "bin/run", fs.ModeSymlink | 0o777}))
	f.Add(archive(f, entry{"../x", "x", 0o644}))
	f.Add(archive(f, entry{"a/b", ".", fs.ModeSymlink | 0o777}, entry{"c", "a/b/../../x", fs.ModeSymlink | 0o777}))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		dir, list, err := unpackTo(t, text)
		for _, line := range list {
			_, name, _ := strings.Cut(line, " ")
			if err != nil || !strings.HasPrefix(name, "in/") {
				t.Fatalf("%v leaves %s", err, line)
			}
			if strings.HasPrefix(line, "L") {
				if led, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(name))); err == nil && !strings.HasPrefix(led, dir) {
					t.Fatalf("%s leads to %s", name, led)
				}
			}
		}
	})
}

func FuzzParseReference(f *testing.F) {
	for _, text := range []string{"f", "f:1", "f:$LATEST", "arn:aws:lambda:us-east-1:000000000000:function:f:1", "000000000000:function:f", "function:f", ":"} {
		f.Add(text, "")
	}
	place := registry.Scope{Account: "000000000000", Region: "us-east-1"}
	f.Fuzz(func(t *testing.T, text, qualifier string) {
		r, err := ParseReference(place, text, qualifier)
		if err != nil {
			return
		}
		if r.Scope != place {
			t.Fatalf("%q is in %v", text, r.Scope)
		}
		again, err := ParseReference(place, r.ARN(), "")
		if err != nil || again != r {
			t.Fatalf("%q: %+v, by its ARN %+v, %v", text, r, again, err)
		}
	})
}

// TestDiscard checks that a file is kept if it was old when checked, but is new when removed.
func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	f := &codeStore{config: Config{Now: func() time.Time { return now }, CodeDir: dir}}
	for name, age := range map[string]time.Duration{"old.zip": 2 * lasts, "new.zip": 0} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		if err := f.discard(file); err != nil {
			t.Error(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || !slices.Equal(left, []string{filepath.Join(dir, "new.zip")}) {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestCustomResource(t *testing.T) {
	const request = `{"RequestId":"r","StackId":"s","LogicalResourceId":"L","ResponseURL":"u"}`
	quoted := strconv.Quote(request)
	for payload, want := range map[string]string{
		request: "r s|L",
		`{"Records":[{"EventSource":"aws:sns","Sns":{"Message":` + quoted + `}}]}`:            "r s|L",
		`{"Records":[{"Sns":{"Message":` + quoted + `}},{"Sns":{"Message":` + quoted + `}}]}`: " ",
		`{"Records":[{"Sns":{"Message":"a text"}}]}`:                                          " ",
		`{"RequestId":"r","StackId":"s","LogicalResourceId":"L"}`:                             " ",
		`{"RequestId":1}`: " ", `[]`: " ", `{}`: " ", `null`: " ",
	} {
		id, resource, _ := customResource([]byte(payload))
		if got := string(id) + " " + resource; got != want {
			t.Errorf("%s: %q", payload, got)
		}
	}
}

// TestRecordedRequest checks that destination functions log invocation records with the data of the request.
func TestRecordedRequest(t *testing.T) {
	const request = `{"RequestId":"r","StackId":"s","LogicalResourceId":"L","ResponseURL":"u"}`
	for payload, want := range map[string]string{
		request:                              "r",
		`{"requestPayload":` + request + `}`: "r",
		`{"requestPayload":{"Records":[{"Sns":{"Message":` + strconv.Quote(request) + `}}]}}`: "r",
		`{"requestPayload":{"requestPayload":` + request + `}}`:                               "r",
		`{"requestPayload":1}`: "", `{"requestPayload":{}}`: "", `[]`: "",
	} {
		if got := recordedRequest([]byte(payload)); string(got) != want {
			t.Errorf("%s: %q", payload, got)
		}
	}
}
