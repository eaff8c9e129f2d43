package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/author/bundle"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/provider/project"
)

// Limits for files, in bytes. Source of the first two: CloudFormation, quotas, template passed by URL; ROS, limits.
const (
	maxTemplate       = bundle.MaxBytes
	maxROSTemplate    = 524288
	maxParameterFile  = 1 << 20
	parameterFileForm = `use {"Key": "Value", …} or [{"ParameterKey": "Key", "ParameterValue": "Value"}, …]`
)

// pairs are named texts, unique by name, in order.
type pairs []project.Pair

// set adds a pair or replaces the text of the one with that name.
func (p *pairs) set(name, text string) {
	for i := range *p {
		if (*p)[i].Name == name {
			(*p)[i].Text = text
			return
		}
	}
	*p = append(*p, project.Pair{Name: name, Text: text})
}

// setAll adds the NAME=TEXT arguments of a flag.
func (p *pairs) setAll(flag string, given []string) error {
	for _, word := range given {
		name, text, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return usagef("", "--%s %q: want NAME=VALUE", flag, word)
		}
		p.set(name, text)
	}
	return nil
}

// readParameterFile adds the parameters of a file.
func (p *pairs) readParameterFile(path string, readFile fileReader) error {
	text, err := readFile(path, maxParameterFile)
	if err != nil {
		return usageError(fmt.Errorf("parameter file: %w", err))
	}
	read, err := parseParameters(text)
	if err != nil {
		return usagef(parameterFileForm, "parameter file %s: %w", path, err)
	}
	for _, pair := range read {
		p.set(pair.Name, pair.Text)
	}
	return nil
}

// parseParameters reads the text of a parameter file: an object, or a list as the AWS CLI takes it.
func parseParameters(text []byte) (pairs, error) {
	var read pairs
	var list []struct {
		ParameterKey   *string
		ParameterValue *string
	}
	if err := json.Unmarshal(text, &list); err == nil {
		for i, item := range list {
			if item.ParameterKey == nil || *item.ParameterKey == "" || item.ParameterValue == nil {
				return nil, fmt.Errorf("item %d lacks ParameterKey or ParameterValue", i+1)
			}
			read.set(*item.ParameterKey, *item.ParameterValue)
		}
		return read, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("invalid JSON at byte %d", syntax.Offset)
		}
		return nil, errors.New("neither an object nor a list")
	}
	for _, name := range sortedKeys(object) {
		value, err := scalarText(object[name])
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		read.set(name, value)
	}
	return read, nil
}

// scalarText returns a JSON string, number, boolean, or list of them joined by commas, as the text of a parameter. The
// text of a number is kept.
func scalarText(raw json.RawMessage) (string, error) {
	raw = []byte(strings.TrimSpace(string(raw)))
	switch raw[0] {
	case '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return "", err
		}
		texts := make([]string, len(items))
		for i, item := range items {
			text, err := scalarText(item)
			if err != nil {
				return "", err
			}
			if strings.Contains(text, ",") {
				return "", errors.New("an item of the list contains a comma, which would split it")
			}
			texts[i] = text
		}
		return strings.Join(texts, ","), nil
	case '{', 'n':
		return "", errors.New("want a string, a number, a boolean or a list of them")
	}
	return string(raw), nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// templateText reads the template: the one given, or the project's, or the one that lies in the directory. What its nested
// stacks name as files is in the text. If one of those cannot be used, the error is a [*bundle.Error], and text is the template without them.
func (w *workdir) templateText(p place, given string, readFile fileReader) (text, path string, err error) {
	switch {
	case given != "":
		path = w.path(given)
	case p.project != nil && p.project.Template != "":
		path = p.project.Template
	default:
		if path, err = findTemplate(p.dir); err != nil {
			return "", "", err
		}
	}
	if strings.Contains(path, "://") {
		return "", path, usagef("download it and name the file", "template %s: only template files are supported", path)
	}
	read, err := readFile(path, maxTemplate)
	language := template.LanguageOf(string(read))
	if limit := maxTemplateOf(language); err == nil && len(read) > limit {
		err = tooLong(path, int64(limit))
	}
	if err != nil {
		return "", path, usagef("set it with --template", "template: %w", err)
	}
	if len(bytes.TrimSpace(read)) == 0 {
		return "", path, usagef("a template needs a Resources section with at least one member", "template %s is empty", w.short(path))
	}
	text, err = bundle.Pack(string(read), path, func(path string) ([]byte, error) { return readFile(path, bundle.MaxBytes) })
	if err != nil {
		return string(read), path, usagef(nestedHint, "template: %w", err)
	}
	if limit := maxTemplateOf(language); len(text) > limit {
		return "", path, usagef("upload the templates of nested stacks where the server can fetch them, and use their URLs",
			"template %s, including its nested stacks, has %d bytes; the limit is %d", w.short(path), len(text), limit)
	}
	return text, path, nil
}

const nestedHint = "TemplateURL must be a file next to the template, or a URL that the server can fetch"

// maxTemplateOf is how many bytes a template with those of its nested stacks in it may have.
func maxTemplateOf(language template.Language) int {
	if language == template.ROS {
		return maxROSTemplate
	}
	return maxTemplate
}

// templateNames are the files that are looked for where no template is named.
var templateNames = []string{"template.json", "template.yaml", "template.yml"}

func findTemplate(dir string) (string, error) {
	var found []string
	for _, name := range templateNames {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			found = append(found, name)
		}
	}
	const hint = "set it with --template, or in pintle.yaml as template: FILE"
	switch len(found) {
	case 0:
		return "", usagef(hint, "no template in %s", dir)
	case 1:
		return filepath.Join(dir, found[0]), nil
	}
	return "", usagef(hint, "found several templates in %s: %s", dir, strings.Join(found, ", "))
}

// fileReader is [readFile], or something that does more.
type fileReader func(path string, limit int64) ([]byte, error)

// readFile reads a file that has at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only
	return readAll(file, path, limit)
}

// readAll reads a named input of at most limit bytes.
func readAll(from io.Reader, name string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, tooLong(name, limit)
	}
	return text, nil
}

func tooLong(path string, limit int64) error {
	return fmt.Errorf("%s is larger than the limit of %d bytes", path, limit)
}
