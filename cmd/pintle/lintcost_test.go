package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

var lintCost = flag.Bool("lint.cost", false, "time validate beside cfn-lint")

// lintRounds is how often each is timed.
const lintRounds = 5

// fiveHundred is a template of as many resources as are allowed, half of which refer to another.
func fiveHundred() string {
	var b strings.Builder
	b.WriteString("Parameters:\n  Stage: {Type: String, Default: test, AllowedValues: [test, live]}\nConditions:\n  Live: !Equals [!Ref Stage, live]\nResources:\n")
	for i := range 500 {
		fmt.Fprintf(&b, "  R%d:\n    Type: Custom::Thing\n    Properties:\n", i)
		b.WriteString("      ServiceToken: !Sub arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:Thing\n")
		fmt.Fprintf(&b, "      Name: !Join ['-', [!Ref AWS::StackName, !Ref Stage, '%d']]\n      Size: !If [Live, 10, 1]\n", i)
		if i%2 == 1 {
			fmt.Fprintf(&b, "      Previous: !GetAtt R%d.Name\n", i-1)
		}
	}
	return b.String()
}

// TestLintCost prints the run times of validate and cfn-lint for a template of 500 resources, measured alternately, from the start of
// the process to its end.
func TestLintCost(t *testing.T) {
	if !*lintCost {
		t.Skip("only with -lint.cost")
	}
	linter := require.Tool(t, "cfn-lint")
	dir := t.TempDir()
	binary := filepath.Join(dir, "pintle")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "t.yaml"), []byte(fiveHundred()), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := [][]string{{binary, "validate", "t.yaml"}, {linter, "--regions", "us-east-1", "--ignore-checks", "W", "--", "t.yaml"}}
	taken := make([][]time.Duration, len(commands))
	for range lintRounds {
		for i, command := range commands {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir = dir
			begin := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", command, err, out)
			}
			taken[i] = append(taken[i], time.Since(begin))
		}
	}
	var medians []time.Duration
	for i, name := range []string{"pintle validate", "cfn-lint"} {
		slices.Sort(taken[i])
		median := taken[i][len(taken[i])/2]
		medians = append(medians, median)
		fmt.Printf("%-16s %8s  (%s to %s)\n", name, median.Round(time.Millisecond), taken[i][0].Round(time.Millisecond), taken[i][len(taken[i])-1].Round(time.Millisecond))
	}
	fmt.Printf("ratio            1 : %.0f\n", float64(medians[1])/float64(medians[0]))
}
