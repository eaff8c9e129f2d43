package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

// TestLinks checks that the target and heading of each link between pages, or to files of the repository, exist.
func TestLinks(t *testing.T) {
	headings := map[string]map[string]bool{}
	for _, from := range pages(t) {
		headings[from] = anchors(page(t, from))
	}
	followed := 0
	for _, from := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(span.ReplaceAllString(fence.ReplaceAllString(page(t, from), ""), ""), -1) {
			to, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			followed++
			to = path.Join(path.Dir(from), to)
			if found[1][0] == '#' {
				to = from
			}
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(to))); err != nil {
				t.Errorf("%s leads to %s, which is not there", from, found[1])
			} else if anchor != "" && headings[to] != nil && !headings[to][anchor] {
				t.Errorf("%s leads to %s, and %s has no such heading", from, found[1], to)
			}
		}
	}
	if followed < 100 {
		t.Errorf("%d links were found, which is too few to be all", followed)
	}
}

// anchors are the names that GitHub gives the headings of a page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := strings.ToLower(regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(found[1], "$1"))
		name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(name, "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}
