//go:build unix

package template_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/language/value"
)

// large returns a template of this many resources that uses every function, a mapping and a condition. Each resource
// depends on one or two earlier ones.
func large(resources int) string {
	var b strings.Builder
	b.WriteString(`Parameters: {Stage: {Type: String, Default: prod}, List: {Type: CommaDelimitedList, Default: "a,b"}}
Mappings: {Sizes: {prod: {cpu: 4, zones: [a, b]}, test: {cpu: 1, zones: [a]}}}
Conditions: {Prod: !Equals [!Ref Stage, prod], Test: !Not [!Condition Prod]}
Resources:
  R0: {Type: Custom::Thing}
`)
	for i := 1; i < resources; i++ {
		fmt.Fprintf(&b, `  R%d:
    Type: Custom::Thing
    DependsOn: R%d
    Properties:
      ServiceToken: !Sub "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:Thing"
      Name: !Join ["-", [!Ref AWS::StackName, !Select [0, !Ref List], "%d"]]
      Of: !If [Prod, !GetAtt R%d.Arn, !Ref R0]
      Size: {Cpu: !FindInMap [Sizes, !Ref Stage, cpu], Zones: !FindInMap [Sizes, prod, zones]}
      Tags: [{Key: a, Value: "1"}, {Key: b, Value: !Sub "${R0}-${Stage}"}, !If [Test, {Key: c}, !Ref AWS::NoValue]]
`, i, i/2, i, i-1)
	}
	b.WriteString("Outputs:\n")
	for i := range min(resources, 200) {
		fmt.Fprintf(&b, "  O%d: {Value: !GetAtt R%d.Arn}\n", i, i)
	}
	return b.String()
}

// loopedLarge returns such a template with one loop that creates all resources except the first.
func loopedLarge(resources int) string {
	var items []string
	for i := 1; i < resources; i++ {
		items = append(items, fmt.Sprint(i))
	}
	return `Transform: AWS::LanguageExtensions
Resources:
  R0: {Type: Custom::Thing}
  Fn::ForEach::R:
    - N
    - [` + strings.Join(items, ", ") + `]
    - R${N}:
        Type: Custom::Thing
        Properties:
          ServiceToken: !Sub "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:Thing${N}"
          Of: !GetAtt R0.Arn
          Length: {"Fn::Length": [a, b]}
          Json: {"Fn::ToJsonString": {a: !Ref N, b: !Ref AWS::Region}}
`
}

// costLimits are the limits for parsing the large templates.
var costLimits = template.Unlimited()

// evaluateAll processes a template completely: text, parameters, transforms, graph, every declaration and output.
func evaluateAll(t testing.TB, text string) {
	parsed, err := template.ParseWithin(text, costLimits)
	if err != nil {
		t.Fatal(describe(err))
	}
	scope, err := parsed.Bind(nil, nil, pseudo)
	if err != nil {
		t.Fatal(describe(err))
	}
	if parsed, scope, err = parsed.Process(scope); err != nil {
		t.Fatal(describe(err))
	}
	if _, err := parsed.Graph(scope); err != nil {
		t.Fatal(describe(err))
	}
	known := made{}
	for _, r := range parsed.Active(scope) {
		if _, err := template.Evaluate(r.Properties, scope, known); err != nil {
			t.Fatal(describe(err))
		}
	}
	if _, err := parsed.EvaluateOutputs(scope, known); err != nil {
		t.Fatal(describe(err))
	}
}

// made resolves every resource without a lookup.
type made struct{ anything }

func (made) Attribute(logicalID, name string) (value.Value, error) {
	return value.Str(logicalID + "." + name), nil
}

// used returns the CPU time of this process.
func used(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTemplate shows that the cost of a template grows linearly with its size: cpu-µs/resource, including garbage
// collection, is the same for 500 and for 5,000 resources.
func BenchmarkTemplate(b *testing.B) {
	for _, kind := range []struct {
		name string
		text func(int) string
	}{{"plain", large}, {"loops", loopedLarge}} {
		for _, size := range []int{500, 5000} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, size), func(b *testing.B) {
				text := kind.text(size)
				before := used(b)
				for b.Loop() {
					evaluateAll(b, text)
				}
				b.ReportMetric(float64((used(b)-before).Microseconds())/float64(b.N)/float64(size), "cpu-µs/resource")
			})
		}
	}
}

// TestCostIsLinear counts allocations, which unlike time are the same on every machine.
func TestCostIsLinear(t *testing.T) {
	for name, text := range map[string]func(int) string{"plain": large, "loops": loopedLarge} {
		each := func(size int) float64 {
			body := text(size)
			return testing.AllocsPerRun(1, func() { evaluateAll(t, body) }) / float64(size)
		}
		if few, many := each(200), each(2000); many > 1.25*few {
			t.Errorf("%s: %.0f allocations for each of 200 resources, %.0f for each of 2,000", name, few, many)
		}
	}
}
