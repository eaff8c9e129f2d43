package native_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/wire"
)

func TestGeneratedName(t *testing.T) {
	const suffix = "AKmeS3GAy7Zo" // of this stack and request
	long := strings.Repeat("l", 60)
	for _, test := range []struct {
		stack, logical string
		limit          int
		want           string
	}{
		{"signal", "H", 0, "signal-H-"},
		{"signal", long + long, 0, "signal-" + long + long + "-"},
		{"signal", "H", 64, "signal-H-"},
		{"signal", long, 64, "signal-" + long[:44] + "-"},
		{strings.Repeat("s", 100), "H", 64, strings.Repeat("s", 49) + "-H-"},
		{strings.Repeat("s", 100), long, 63, strings.Repeat("s", 24) + "-" + long[:25] + "-"},
		{strings.Repeat("s", 100), long, 16, "s-l-"},
		{strings.Repeat("s", 25), long[:25], 64, strings.Repeat("s", 25) + "-" + long[:25] + "-"},
	} {
		r := request(wire.Create, "AWS::CDK::Metadata")
		r.Logical = wire.LogicalID(test.logical)
		r.Body.StackID = wire.StackID(strings.Replace(string(stackID), "stack/signal", "stack/"+test.stack, 1))
		got := native.MadeUpName(r, test.limit)
		if name, made := strings.CutSuffix(got, native.Suffix(r)); name != test.want || !made || len(native.Suffix(r)) != 12 {
			t.Errorf("%s %s within %d: %s, want %s", test.stack, test.logical, test.limit, got, test.want)
		}
		if test.limit > 0 && len(got) > test.limit {
			t.Errorf("%s has more than %d letters", got, test.limit)
		}
		if test.stack == "signal" && !strings.HasSuffix(got, suffix) {
			t.Errorf("%s does not end in %s", got, suffix)
		}
	}
}
