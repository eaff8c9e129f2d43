package engine

import (
	"sync"

	"github.com/pintle-dev/pintle/internal/template"
)

// templates keeps the templates that were parsed last. An operation needs that of its revision again and again, and they
// are never changed. It is safe for concurrent use; the zero value is empty.
type templates struct {
	mu     sync.Mutex
	parsed map[string]*template.Template // by text
	// texts are the keys, the oldest first, and bytes their length.
	texts []string
	bytes int
}

// keptTemplates is how many bytes of text are kept. What is parsed of a text takes many times as much.
const keptTemplates = 2 << 20

// parse returns the template of a text.
func (t *templates) parse(text string) (*template.Template, error) {
	t.mu.Lock()
	known := t.parsed[text]
	t.mu.Unlock()
	if known != nil {
		return known, nil
	}
	parsed, err := template.Parse(text)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep(text, parsed)
	return parsed, nil
}

func (t *templates) keep(text string, parsed *template.Template) {
	if t.parsed[text] != nil || len(text) > keptTemplates {
		return // another call was first
	}
	if t.parsed == nil {
		t.parsed = make(map[string]*template.Template)
	}
	for t.bytes+len(text) > keptTemplates {
		oldest := t.texts[0]
		t.texts = t.texts[1:]
		t.bytes -= len(oldest)
		delete(t.parsed, oldest)
	}
	t.parsed[text] = parsed
	t.texts = append(t.texts, text)
	t.bytes += len(text)
}
