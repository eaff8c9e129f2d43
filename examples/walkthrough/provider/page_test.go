package main

import (
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// readPage returns the text of the page at a file URL.
func readPage(t *testing.T, pageURL string) string {
	t.Helper()
	u, err := url.Parse(pageURL)
	if err != nil || u.Scheme != "file" {
		t.Fatalf("page %q is no file URL: %v", pageURL, err)
	}
	text, err := os.ReadFile(filepath.FromSlash(u.Path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPage(t *testing.T) {
	start := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	rowOf := func(endpoint string, perHour int, r result) row {
		s := schedule{endpoint, perHour}
		return row{s, r, s.next(start, 3)}
	}
	pageURL, err := writePage(t.TempDir(), "tests-1", report{
		Tester:   "SeleniumTest()",
		Resource: "myCustomResource",
		Stack:    "arn:aws:cloudformation:us-east-1:000000000000:stack/walkthrough/1",
		Time:     start,
		Rows: []row{
			rowOf("http://127.0.0.1:8081/", 3, result{passed, "200 OK, 61 bytes in 2 ms"}),
			rowOf("http://127.0.0.1:8083/", 7, result{failed, "503 Service Unavailable, 75 bytes in 1 ms"}),
			rowOf("http://mysite.com", 1, result{notProbed, "not on this machine"}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := readPage(t, pageURL)
	golden := filepath.Join("testdata", "page.golden.html")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update writes it anew):\n%s", golden, diff)
	}
}

func TestPageEscapes(t *testing.T) {
	const hostile = `</title></style><script>alert("x")</script><img src=x onerror='alert(1)'>`
	pageURL, err := writePage(t.TempDir(), "tests-1", report{
		Tester: hostile, Resource: hostile, Stack: hostile,
		Rows: []row{{schedule{hostile, 1}, result{verdict(hostile), hostile}, nil}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := readPage(t, pageURL)
	for _, tag := range []string{"<script", "<img"} {
		if strings.Contains(got, tag) {
			t.Errorf("the page has %s in it:\n%s", tag, got)
		}
	}
	if n := strings.Count(got, "&lt;script&gt;"); n != 7 {
		t.Errorf("the text is there %d times, want 7:\n%s", n, got)
	}
}

func TestPageFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my results 50%", "made")
	pageURL, err := writePage(dir, "tests-1", report{Tester: "first"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := writePage(dir, "tests-1", report{Tester: "second"}); err != nil || again != pageURL {
		t.Fatalf("second page: %q, %v; the first is %q", again, err, pageURL)
	}
	if got := readPage(t, pageURL); !strings.Contains(got, "second") {
		t.Errorf("the page was not written again:\n%s", got)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("files in the folder: %v, %v; want the page only", files, err)
	}
	for range 2 { // a missing page is not an error
		if err := removePage(dir, "tests-1"); err != nil {
			t.Error(err)
		}
	}
	if err := removePage(filepath.Join(dir, "never made"), "tests-1"); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files in the folder: %v, %v; want none", files, err)
	}
}

func TestPageErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := writePage(file, "tests-1", report{}); err == nil || !strings.HasPrefix(err.Error(), "results folder: ") {
		t.Errorf("folder that is a file: %v", err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(pageFile(dir, "tests-1"), "in it"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := writePage(dir, "tests-1", report{}); err == nil || !strings.HasPrefix(err.Error(), "results page: ") {
		t.Errorf("page that is a folder: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("files left by the page that could not be written: %v, %v", files, err)
	}
	if err := removePage(dir, "tests-1"); err == nil || !strings.HasPrefix(err.Error(), "results page: ") {
		t.Errorf("remove a page that is a folder: %v", err)
	}
}

func TestFileURL(t *testing.T) {
	for file, want := range map[string]string{
		"/tmp/a b/50%.html": "file:///tmp/a%20b/50%25.html",
		"C:/results/a.html": "file:///C:/results/a.html",
	} {
		if got := fileURL(file); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
