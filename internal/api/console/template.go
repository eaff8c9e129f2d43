package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

const (
	// maxLines and maxText limit the part of a template on a page, in lines and bytes. maxLine limits the bytes of one
	// line.
	maxLines = 2000
	maxText  = 256 << 10
	maxLine  = 8 << 10
)

// templateView is the content of a template's page.
type templateView struct {
	Stack *store.Stack
	// Missing is the reason for a missing template, or empty.
	Missing string
	// Processed means that transforms have changed the submitted template. Stage is the displayed one: "" or processed.
	Processed bool
	Stage     string
	// Lines are the lines From to To of All. Numbers are their line numbers, one per line.
	Numbers, Lines string
	From, To, All  int
	// Previous and Next are the paths of other parts, or empty.
	Previous, Next string
	// Cut means that long lines are truncated.
	Cut bool
}

// templatePage shows the template of the current revision, with secrets masked.
func (sp *stackPages) templatePage(v *visit) error {
	stack, err := sp.stack(v)
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	from, err := count(q, "from")
	if err != nil {
		return err
	}
	view := templateView{Stack: &stack}
	revision, err := sp.Engine.Revision(v.r.Context(), stack)
	switch {
	case errors.Is(err, store.ErrNotFound):
		view.Missing = "The stack has no template yet: only change sets that create it."
	case err != nil:
		return err
	default:
		view.Processed = revision.Processed != ""
		text := revision.Template
		if view.Processed && q.Get("stage") == "processed" {
			view.Stage, text = "processed", revision.Processed
		}
		if text, err = shownTemplate(&stack, &revision, text); err != nil {
			return err
		}
		view.part(text, from)
	}
	sp.show(v, 200, "template.html", page{Title: "Template of " + stack.Name, Here: "stacks", Content: view})
	return nil
}

// shownTemplate returns a template for display. It masks secrets and signatures, and indents single-line JSON.
func shownTemplate(stack *store.Stack, revision *store.Revision, text string) (string, error) {
	language := template.CloudFormation
	if stack.Dialect == engine.ROS.Name() {
		language = template.ROS
	}
	text, err := language.Masked(text, func(document value.Value) []string {
		return slices.Concat(secretsOf(revision), writtenSecrets(document))
	})
	if err != nil {
		return "", err
	}
	if line, _, more := strings.Cut(strings.TrimSpace(text), "\n"); !more && strings.HasPrefix(line, "{") {
		var indented bytes.Buffer
		if json.Indent(&indented, []byte(line), "", "  ") == nil {
			text = indented.String()
		}
	}
	return wire.Redact(text), nil
}

// writtenSecrets returns the keys and passwords that the custom resources of a template contain in clear text. The page
// of a request masks them too.
func writtenSecrets(document value.Value) (secrets []string) {
	resources, _ := document.Get("Resources")
	for _, resource := range resources.Members() {
		properties, _ := resource.Value.Get("Properties")
		token, _ := properties.Get("ServiceToken")
		config, _ := properties.Get("HttpConfig")
		secrets = append(secrets, slices.Concat(store.TokenSecrets(token), store.ConfigSecrets(config))...)
	}
	return secrets
}

// part sets the part of the text after the first from lines.
func (v *templateView) part(text string, from int) {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	v.All = len(lines)
	from = min(from, len(lines)-1)
	var numbers, shown strings.Builder
	for v.To = from; v.To < len(lines) && v.To-from < maxLines && shown.Len() < maxText; v.To++ {
		line := lines[v.To]
		if len(line) > maxLine {
			line, v.Cut = strings.ToValidUTF8(line[:maxLine], "")+"…", true
		}
		numbers.WriteString(strconv.Itoa(v.To+1) + "\n")
		shown.WriteString(line + "\n")
	}
	v.From, v.Numbers, v.Lines = from+1, numbers.String(), shown.String()
	if from > 0 {
		v.Previous = v.at(max(from-maxLines, 0))
	}
	if v.To < len(lines) {
		v.Next = v.at(v.To)
	}
}

// at returns the path of a part.
func (v *templateView) at(from int) string {
	q := url.Values{}
	if from > 0 {
		q.Set("from", strconv.Itoa(from))
	}
	if v.Stage != "" {
		q.Set("stage", v.Stage)
	}
	path := stackURL(v.Stack.ID, "template")
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}
