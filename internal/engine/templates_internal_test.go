package engine

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/template"
)

func TestTemplatesAreParsedOnce(t *testing.T) {
	var kept templates
	text := func(n int) string {
		return fmt.Sprintf(`{"Description": "%d", "Resources": {"C": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "x"}}}}`, n)
	}
	first, err := kept.parse(template.CloudFormation, text(0))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := kept.parse(template.CloudFormation, text(0)); err != nil || again != first {
		t.Errorf("the same text was parsed again: %v", err)
	}
	if _, err := kept.parse(template.CloudFormation, `{"Resources": {}`); err == nil {
		t.Error("a broken template was parsed")
	}
	if len(kept.kept) != 1 {
		t.Errorf("%d templates are kept, want 1: no broken one", len(kept.kept))
	}

	var group sync.WaitGroup
	padding := strings.Repeat(" ", 40_000)
	for n := range 100 {
		group.Go(func() {
			if got, err := kept.parse(template.CloudFormation, text(n)+padding); err != nil || got.Description != fmt.Sprint(n) {
				t.Errorf("template %d is %v, %v", n, got, err)
			}
		})
	}
	group.Wait()
	sum := 0
	for _, key := range kept.kept {
		sum += len(key.text)
	}
	if sum != kept.bytes || sum > keptTemplates || len(kept.kept) != len(kept.parsed) || len(kept.kept) < 40 {
		t.Errorf("%d bytes of %d texts are kept, it says %d bytes of %d", sum, len(kept.kept), kept.bytes, len(kept.parsed))
	}
}
