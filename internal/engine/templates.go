package engine

import (
	"sync"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
)

// templates caches recently parsed templates. An operation needs the template of its revision repeatedly, and parsed
// templates never change. It is safe for concurrent use; the zero value is empty.
type templates struct {
	// limits are the limits for submitted templates.
	limits template.Limits

	mu     sync.Mutex
	parsed map[templateKey]*template.Template
	// kept are the keys, oldest first, and bytes is the total length of their texts.
	kept  []templateKey
	bytes int
}

// templateKey is a text and the way to read it.
type templateKey struct {
	language template.Language
	text     string
	as       reading
}

type reading uint8

const (
	submitted reading = iota // by a client, within the limits
	outgrown                 // submitted earlier, and now above the limits
	processed                // the output of transforms
)

// keptTemplates is the maximum total length of the cached texts in bytes. A parsed template needs many times the
// memory of its text.
const keptTemplates = 2 << 20

// parse returns the template of a text that a client submitted.
func (t *templates) parse(language template.Language, text string) (*template.Template, error) {
	return t.read(templateKey{language, text, submitted})
}

// of returns the template of a revision: the output of its transforms, if it has any. The template was within the
// limits when it was submitted.
func (t *templates) of(language template.Language, r *store.Revision) (*template.Template, error) {
	if r.Unprepared {
		raw, err := template.ReadUnexpanded(r.Template, template.Unlimited())
		if err != nil {
			return nil, err
		}
		return raw.Outline(), nil
	}
	if r.Processed != "" {
		return t.read(templateKey{language, r.Processed, processed})
	}
	return t.submitted(language, r)
}

// submitted returns the template of a revision as it was submitted.
func (t *templates) submitted(language template.Language, r *store.Revision) (*template.Template, error) {
	parsed, err := t.read(templateKey{language, r.Template, submitted})
	if err != nil {
		return t.read(templateKey{language, r.Template, outgrown})
	}
	return parsed, nil
}

func (t *templates) read(key templateKey) (*template.Template, error) {
	t.mu.Lock()
	known := t.parsed[key]
	t.mu.Unlock()
	if known != nil {
		return known, nil
	}
	limits := template.Unlimited()
	limits.ParameterBytes = t.limits.ParameterBytes
	var parsed *template.Template
	var err error
	if key.as == submitted {
		limits = t.limits
	}
	parse := template.ParseWithin
	switch {
	case key.language == template.ROS && key.as == processed:
		parse = template.ParseROSProcessed
	case key.language == template.ROS:
		parse = template.ParseROS
	case key.as == processed:
		parse = template.ParseProcessed
	}
	parsed, err = parse(key.text, limits)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(key, parsed)
	return parsed, nil
}

func (t *templates) keep(key templateKey, parsed *template.Template) {
	if t.parsed[key] != nil || len(key.text) > keptTemplates {
		return // another call was first
	}
	if t.parsed == nil {
		t.parsed = make(map[templateKey]*template.Template)
	}
	for t.bytes+len(key.text) > keptTemplates {
		oldest := t.kept[0]
		t.kept = t.kept[1:]
		t.bytes -= len(oldest.text)
		delete(t.parsed, oldest)
	}
	t.parsed[key] = parsed
	t.kept = append(t.kept, key)
	t.bytes += len(key.text)
}
