package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/template"
)

// TestProblemsAreBounded checks that one call does not evaluate all of a short template that uses a large parameter
// very often.
func TestProblemsAreBounded(t *testing.T) {
	var resources strings.Builder
	for i := range 400 {
		fmt.Fprintf(&resources, "  R%d: {Type: Custom::A, Properties: {", i)
		for j := range 20 {
			fmt.Fprintf(&resources, "P%d: !Sub '%s', ", j, strings.Repeat("${P}", 8))
		}
		resources.WriteString("Z: !Select [9, [a]]}}\n")
	}
	parsed, err := template.Parse("Parameters:\n  P: {Type: String}\nResources:\n" + resources.String())
	if err != nil {
		t.Fatal(err)
	}
	partial, err := parsed.BindPartly(map[string]template.Input{"P": {Value: strings.Repeat("x", 4096)}}, nil, template.Pseudo{})
	if err != nil {
		t.Fatal(err)
	}
	found := partial.Problems()
	if len(found) == 0 || len(found) >= 100 {
		t.Errorf("%d problems: the first are found, and those that are too far to be looked at are not", len(found))
	}
}
