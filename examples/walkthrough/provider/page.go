package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// report is the contents of a page.
type report struct {
	Tester          string
	Resource, Stack string
	Time            time.Time // of the tests, in UTC
	Rows            []row
}

// row is the part of a report about one endpoint.
type row struct {
	schedule
	Result result
	Next   []time.Time
}

// writePage atomically writes a report and returns the URL of its page.
func writePage(dir, id string, r report) (pageURL string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("results folder: %w", err)
	}
	f, err := os.CreateTemp(dir, id+"-*.tmp")
	if err != nil {
		return "", fmt.Errorf("results page: %w", err)
	}
	file := pageFile(dir, id)
	err = errors.Join(pageTemplate.Execute(f, r), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return "", fmt.Errorf("results page: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return fileURL(file), nil
}

// removePage removes a page. A missing page is not an error.
func removePage(dir, id string) error {
	if err := os.Remove(pageFile(dir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("results page: %w", err)
	}
	return nil
}

func pageFile(dir, id string) string { return filepath.Join(dir, id+".html") }

// fileURL returns the URL of an absolute path.
func fileURL(file string) string {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
