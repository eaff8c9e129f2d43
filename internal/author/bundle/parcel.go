// Package bundle embeds the templates of nested stacks into the template that names them, as URLs of [fetch.Seal], so that
// the result can be sent as one text. A packed template may itself nest stacks. Their files are packed first, and their paths are relative to the template that names them.
package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/fetch"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	// MaxBytes is the maximum size of a packed template, which is also that of a template behind a URL.
	MaxBytes = fetch.MaxBytes
	// mostNested is the maximum depth of nested files.
	mostNested = 10

	property = "TemplateURL"
)

// stackTypes are the types of nested stacks by the language of their templates.
var stackTypes = map[template.Language]string{
	template.CloudFormation: "AWS::CloudFormation::Stack", template.ROS: "ALIYUN::ROS::Stack",
}

// Error is something that keeps a file from being packed.
type Error struct {
	// Path is the template that names the file, and Line and Column where, counted from 1.
	Path         string
	Line, Column int
	Err          error
}

// Error names the place first.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %v", e.Path, e.Line, e.Column, e.Err) }

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Pack returns the text of a template with the files of its nested stacks in it. path is where the text is from, and read
// reads a file whole, or fails if that has more than [MaxBytes]. Pack returns a text that is not a
// template unchanged, because its reader reports the error. Errors are of type [Error].
func Pack(text, path string, read func(path string) ([]byte, error)) (string, error) {
	return (&packing{read, make(map[place]string)}).pack(text, []string{path})
}

// packing is one call of [Pack].
type packing struct {
	read func(path string) ([]byte, error)
	// packed are the templates that are packed already: a few files that name each other many times are many otherwise.
	packed map[place]string
}

// place is a file so deep in the nest.
type place struct {
	file  string
	depth int
}

// inner returns the text of the file at the end of a chain, packed.
func (p *packing) inner(chain []string) (text string, readable bool, err error) {
	at := place{chain[len(chain)-1], len(chain)}
	if text, ok := p.packed[at]; ok {
		return text, true, nil
	}
	content, err := p.read(at.file)
	if err != nil {
		return "", false, err
	}
	if text, err = p.pack(string(content), chain); err == nil {
		p.packed[at] = text
	}
	return text, true, err
}

// pack packs the last of a chain of templates, each of which names the next.
func (p *packing) pack(text string, chain []string) (string, error) {
	language := template.LanguageOf(text)
	t, err := language.Parse(text, template.Limits{})
	if err != nil {
		return text, nil //nolint:nilerr // the server that gets the text reports the error
	}
	path := chain[len(chain)-1]
	type cut struct {
		from, to int
		url      string
	}
	var cuts []cut
	for _, r := range t.Resources {
		named := r.Properties.Get(property)
		if r.Type != stackTypes[language] || named.Kind() != value.String || !isFile(named.Text()) {
			continue
		}
		fail := func(err error) error { return &Error{Path: path, Line: named.Line(), Column: named.Column(), Err: err} }
		file := filepath.FromSlash(strings.TrimPrefix(named.Text(), "file:"))
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		switch {
		case slices.Contains(chain, file):
			return "", fail(errors.New("the template nests itself: " + strings.Join(append(chain, file), ", ")))
		case len(chain) > mostNested:
			return "", fail(fmt.Errorf("stacks may be nested %d deep", mostNested))
		}
		inner, readable, err := p.inner(append(slices.Clip(chain), file))
		switch {
		case !readable:
			return "", fail(fmt.Errorf("%s: %w", property, err))
		case err != nil:
			return "", err
		}
		if len(inner) > MaxBytes {
			return "", fail(fmt.Errorf("%s and its nested templates have %d bytes, %d are allowed", file, len(inner), MaxBytes))
		}
		from, to, err := find(text, named)
		if err != nil {
			return "", fail(err)
		}
		cuts = append(cuts, cut{from, to, fetch.Seal(filepath.Base(file), inner)})
	}
	slices.SortFunc(cuts, func(a, b cut) int { return b.from - a.from })
	for _, c := range cuts {
		quoted, err := json.Marshal(c.url)
		if err != nil {
			return "", fmt.Errorf("write a URL: %w", err)
		}
		text = text[:c.from] + string(quoted) + text[c.to:]
	}
	return text, nil
}

// isFile reports whether a TemplateURL names a file rather than something that is fetched.
func isFile(address string) bool {
	if strings.HasPrefix(address, "file:") {
		return true
	}
	u, err := url.Parse(address)
	return address != "" && !strings.Contains(address, "{{") && (err != nil || len(u.Scheme) < 2) // C:\ is a drive
}

// find returns where in a template's text a string stands, with its quotation marks.
func find(text string, n template.Node) (from, to int, err error) {
	line := text
	for range n.Line() - 1 {
		_, rest, ok := strings.Cut(line, "\n")
		if !ok {
			break
		}
		line = rest
	}
	from = len(text) - len(line)
	column := 1
	for at := range line {
		if column == n.Column() {
			from += at
			break
		}
		column++
	}
	token := text[from:]
	if mark := token[:min(1, len(token))]; mark == `"` || mark == "'" {
		for at := 1; at < len(token); at++ {
			switch {
			case mark == `"` && token[at] == '\\', mark == "'" && strings.HasPrefix(token[at:], "''"):
				at++
			case token[at] == mark[0]:
				return from, from + at + 1, nil
			}
		}
	}
	if strings.HasPrefix(token, n.Text()) {
		return from, from + len(n.Text()), nil
	}
	return 0, 0, errors.New("write the path of the file as one word, or in quotation marks")
}
