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

// large returns a template of so many resources in which every function, a mapping and a condition are used, and each
// resource needs one or two of those before it.
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

// loopedLarge is such a template as one loop that makes all of it but the first resource.
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

// costLimits are those under which the large templates are read.
var costLimits = template.Unlimited()

// evaluateAll goes the whole way of a template: text, parameters, transforms, graph, every declaration and output.
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

// made answers for every resource without looking for it.
type made struct{ anything }

func (made) Attribute(logicalID, name string) (value.Value, error) {
	return value.Str(logicalID + "." + name), nil
}

// used returns how long this process has had a processor.
func used(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTemplate shows that the cost of a template grows with its size and no faster: cpu-µs/resource, the collector of
// garbage included, is the same for 500 and for 5,000 resources.
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

// TestCostIsLinear counts what is allocated, which unlike time is the same on every machine.
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
