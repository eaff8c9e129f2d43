package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// chapter is a file of testdata.
type chapter struct {
	name      string // of the file, without the suffix
	title     string
	parts     []part
	templates map[string]string
}

// part is a paragraph of a chapter: text, or a transcript.
type part struct {
	text  string
	scene *scene
}

// scene is a transcript, which is played against its own server.
type scene struct {
	name     string
	settings []string
	given    []string
	steps    []step
	left     []string // resources left behind at the end
}

// step is an action and its expected results.
type step struct {
	do     string
	want   []string
	hidden bool // not in the document
}

// readChapters reads testdata in the order of the document.
func readChapters(t *testing.T) []chapter {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no chapters: %v", err)
	}
	chapters := make([]chapter, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if chapters[i], err = parseChapter(strings.TrimSuffix(filepath.Base(file), ".txt"), text); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return chapters
}

func parseChapter(name string, text []byte) (chapter, error) {
	archive := txtar.Parse(text)
	c := chapter{name: name, templates: map[string]string{}}
	for _, f := range archive.Files {
		c.templates[f.Name] = string(f.Data)
	}
	heading := "" // of the following transcripts
	for _, paragraph := range paragraphs(string(archive.Comment)) {
		title, isTitle := strings.CutPrefix(paragraph, "# ")
		section, isSection := strings.CutPrefix(paragraph, "## ")
		_, isScene := strings.CutPrefix(paragraph, "    ")
		switch {
		case isTitle:
			c.title, heading = title, title
		case isScene:
			s, err := parseScene(paragraph)
			if err != nil {
				return c, err
			}
			s.name = strings.TrimSuffix(heading, ".")
			if slices.ContainsFunc(c.parts, func(p part) bool { return p.scene != nil && p.scene.name == s.name }) {
				return c, fmt.Errorf("there are two transcripts under %q", heading)
			}
			c.parts = append(c.parts, part{scene: s})
		default:
			if isSection {
				heading = section
			}
			c.parts = append(c.parts, part{text: paragraph})
		}
	}
	if c.title == "" {
		return c, fmt.Errorf("there is no title")
	}
	return c, nil
}

// paragraphs splits a text at its empty lines.
func paragraphs(text string) []string {
	var list []string
	for _, p := range strings.Split(text, "\n\n") {
		if p = strings.Trim(p, "\n"); p != "" {
			list = append(list, p)
		}
	}
	return list
}

func parseScene(text string) (*scene, error) {
	s := &scene{}
	for _, line := range strings.Split(text, "\n") {
		line, ok := strings.CutPrefix(line, "    ")
		if !ok {
			return nil, fmt.Errorf("the line %q in a transcript is not indented", line)
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "%":
			s.settings = append(s.settings, rest)
		case "given":
			s.given = append(s.given, rest)
		case "...":
			for i := range s.steps {
				s.steps[i].hidden = true
			}
		case "?":
			s.left = append(s.left, line)
		case "$", "<-":
			s.steps = append(s.steps, step{do: line})
		default:
			if len(s.steps) == 0 {
				return nil, fmt.Errorf("the line %q is what nothing leads to", line)
			}
			last := &s.steps[len(s.steps)-1]
			last.want = append(last.want, line)
		}
	}
	if len(s.steps) == 0 {
		return nil, fmt.Errorf("a transcript in which nothing is done: %q", text)
	}
	return s, nil
}
