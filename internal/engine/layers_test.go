package engine_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLayers checks the layers in the comment of package engine: a subject calls its own layer and those below it. It
// also limits the number of methods of a type.
func TestLayers(t *testing.T) {
	const mostMethods = 40
	subject := regexp.MustCompile(`(?m)^type (\w+) struct\{ \*decision \}`)
	method := regexp.MustCompile(`(?ms)^func \(\w+ \*?(\w+)\) (\w+)\(.*?(?:^\}|\}$)`)
	call := regexp.MustCompile(`\b(\w+)[({]d[)}]\.`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	layers, methods, code := map[string]int{}, map[string]int{}, ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			code += string(text)
		}
	}
	for _, found := range subject.FindAllStringSubmatch(code, -1) {
		layers[found[1]] = 1
	}
	comment, _, _ := strings.Cut(code[strings.Index(code, "\tstarts "):], "\trows ")
	starts, run, _ := strings.Cut(comment, "\trun ")
	for layer, names := range map[int]string{3: starts, 2: run} {
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(strings.Replace(names, "starts", "", 1), -1) {
			if layers[name] == 0 {
				t.Errorf("the comment of the package names %s, which is not a subject", name)
			}
			layers[name] = layer
		}
	}
	for _, found := range method.FindAllStringSubmatch(code, -1) {
		body, owner := found[0], found[1]
		methods[owner]++
		if owner != "decision" && layers[owner] == 0 {
			continue
		}
		for _, called := range call.FindAllStringSubmatch(body, -1) {
			if layers[called[1]] > layers[owner] {
				t.Errorf("%s.%s calls %s, which is a layer above", owner, found[2], called[1])
			}
		}
	}
	for owner, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, at most %d are allowed", owner, n, mostMethods)
		}
	}
	if len(layers) < 40 {
		t.Errorf("found %d subjects", len(layers))
	}
}
