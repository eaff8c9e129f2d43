package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// withSnippets returns a file's template with the local files that it includes, which the engine cannot read.
// Positions in the text stay the same, so that errors match the file. A text that is not a template is returned
// unchanged.
func withSnippets(text, path, shown string, readFile fileReader) (string, error) {
	raw, err := template.ReadUnexpanded(text, template.Unlimited())
	if err != nil {
		return text, nil //nolint:nilerr // it is checked, with all its problems, later
	}
	var local []template.Node
	for _, call := range raw.All() {
		location := call.Parameters.Get("Location")
		if call.Include() && location.Kind() == value.String && !strings.Contains(location.Text(), ":") {
			local = append(local, location)
		}
	}
	// From the end, so that the positions of the remaining snippets stay the same.
	slices.SortFunc(local, func(a, b template.Node) int {
		if a.Line() != b.Line() {
			return b.Line() - a.Line()
		}
		return b.Column() - a.Column()
	})
	for _, location := range local {
		if text, err = withSnippet(text, path, location, readFile); err != nil {
			problem := &template.Error{Message: err.Error(), Line: location.Line(), Column: location.Column()}
			return "", usageError(&problems{where: shown, found: template.Errors{problem}}, "a Location is an s3:// URL, or a file next to the template")
		}
	}
	return text, nil
}

func withSnippet(text, path string, location template.Node, readFile fileReader) (string, error) {
	file := location.Text()
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(path), file)
	}
	snippet, err := readFile(file, fetch.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no file %s to include", file)
	} else if err != nil {
		return "", fmt.Errorf("cannot read the snippet: %w", err)
	}
	at := offset(text, location.Line(), location.Column())
	quoted, err := json.Marshal(location.Text())
	if err != nil {
		return "", err
	}
	for _, written := range []string{string(quoted), "'" + strings.ReplaceAll(location.Text(), "'", "''") + "'", location.Text()} {
		if rest, ok := strings.CutPrefix(text[at:], written); ok {
			return text[:at] + `"` + fetch.Inline(snippet) + `"` + rest, nil
		}
	}
	return "", errors.New("write the Location of a file on one line, without escapes")
}

// offset returns where a line and column, counted in characters, are in a text.
func offset(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return len(text)
		}
		at += next + 1
	}
	for ; column > 1 && at < len(text); column-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
