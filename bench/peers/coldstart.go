//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// coldFunctions is how many functions an app has whose first deploy is timed.
const coldFunctions = 10

// language is what functions are written in.
type language struct {
	name, runtime, code string
	bare                func(ctx context.Context) (string, []string, error) // a program that only starts the interpreter
}

func languages() []language {
	return []language{
		{
			name: "Python", runtime: "python3.12",
			code: `import json, urllib.request
def handler(event, context):
    body = {k: event[k] for k in ("StackId", "RequestId", "LogicalResourceId")}
    body.update(Status="SUCCESS", PhysicalResourceId=event["LogicalResourceId"], Data={})
    request = urllib.request.Request(event["ResponseURL"], data=json.dumps(body).encode(), method="PUT", headers={"Content-Type": ""})
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request).close()
`,
			bare: func(ctx context.Context) (string, []string, error) { // without what may be in between, such as a shim
				path, err := exec.CommandContext(ctx, "python3", "-c", "import sys; print(sys.executable, end='')").Output()
				return string(path), []string{"-c", "0"}, err
			},
		},
		{
			name: "Node", runtime: "nodejs20.x",
			code: `const http = require('http');
exports.handler = (event) => new Promise((resolve, reject) => {
  const {StackId, RequestId, LogicalResourceId} = event;
  const body = JSON.stringify({Status: 'SUCCESS', PhysicalResourceId: LogicalResourceId, Data: {}, StackId, RequestId, LogicalResourceId});
  const request = http.request(event.ResponseURL, {method: 'PUT', headers: {'content-type': '', 'content-length': Buffer.byteLength(body)}}, (answer) => {
    answer.resume();
    answer.on('end', resolve);
  });
  request.on('error', reject);
  request.end(body);
});
`,
			bare: func(context.Context) (string, []string, error) { return "node", []string{"-e", "0"}, nil },
		},
	}
}

// app returns a template with functions and a custom resource of each.
func (l language) app() template {
	all := map[string]any{"Role": map[string]any{"Type": "AWS::IAM::Role", "Properties": map[string]any{
		"AssumeRolePolicyDocument": map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
			"Effect": "Allow", "Principal": map[string]any{"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
		}}},
	}}}
	for n := range coldFunctions {
		function := fmt.Sprint("Function", n)
		all[function] = map[string]any{"Type": "AWS::Lambda::Function", "Properties": map[string]any{
			"Runtime": l.runtime, "Handler": "index.handler", "Timeout": 60, "Role": map[string]any{"Fn::GetAtt": []any{"Role", "Arn"}},
			"Code": map[string]any{"ZipFile": l.code},
		}}
		all[fmt.Sprint("Thing", n)] = map[string]any{"Type": "Custom::Thing", "Properties": map[string]any{
			"ServiceToken": map[string]any{"Fn::GetAtt": []any{function, "Arn"}},
		}}
	}
	return template{"Resources": all}
}

// starts times starts of the interpreter, as many at a time as there are processors.
func (l language) starts(ctx context.Context, count int) (time.Duration, error) {
	path, args, err := l.bare(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	var wg sync.WaitGroup
	failed := make(chan error, count)
	slots := make(chan struct{}, runtime.NumCPU())
	for range count {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := exec.CommandContext(ctx, path, args...).Run(); err != nil {
				failed <- err
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	select {
	case err := <-failed:
		return 0, fmt.Errorf("%s: %w", path, err)
	default:
		return took, nil
	}
}

// cold times the first deploy of the app on a target that has just started.
func (b bench) cold(ctx context.Context, t target, l language) (took time.Duration, err error) {
	r, err := b.start(ctx, t)
	if err != nil {
		return 0, err
	}
	defer func() {
		if failed := r.stop(); err == nil {
			err = failed
		}
	}()
	if err := sleep(ctx, time.Second); err != nil { // what it still does after it is ready
		return 0, err
	}
	began := time.Now()
	id, err := r.create(ctx, "cold", l.app())
	if err == nil {
		err = r.reaches(ctx, id, string(types.StackStatusCreateComplete), 3*b.patience)
	}
	return time.Since(began), err
}

// coldStart prints how long the first deploy of an app takes, beside bare starts of its functions' interpreter in the same round.
func (b bench) coldStart(ctx context.Context, targets []target, absent []absence) error {
	fmt.Printf("| an app with %d functions | first deploy | beside %d bare starts | beside one |\n|---|---|---|---|\n", coldFunctions, coldFunctions)
	var notes []string
	for _, l := range languages() {
		times := map[string][]time.Duration{}
		const all, one = "all", "one"
		for round := range b.rounds {
			for i, count := range []int{coldFunctions, 1} {
				took, err := l.starts(ctx, count)
				if err != nil {
					return err
				}
				times[[]string{all, one}[i]] = append(times[[]string{all, one}[i]], took)
			}
			for _, t := range targets {
				fmt.Fprintf(os.Stderr, "round %d: %s, %s\n", round+1, l.name, t.name)
				took, err := b.cold(ctx, t, l)
				if err != nil && (t.own || ctx.Err() != nil) {
					return fmt.Errorf("%s: %w", t.name, err)
				}
				if err != nil {
					notes = append(notes, fmt.Sprintf("%s, %s: %s", t.name, l.name, short(err.Error())))
					continue
				}
				times[t.name] = append(times[t.name], took)
			}
		}
		for _, t := range targets {
			if took := times[t.name]; len(took) == b.rounds {
				fmt.Printf("| %s, %s | %.0f ms | %.2f | %.1f |\n", l.name, t.name, milliseconds(median(took)), ratio(took, times[all]), ratio(took, times[one]))
			}
		}
		fmt.Printf("| %s, %d bare starts | %.0f ms | 1 | %.1f |\n", l.name, coldFunctions, milliseconds(median(times[all])), ratio(times[all], times[one]))
	}
	for _, a := range absent {
		notes = append(notes, a.name+" is left out: "+a.reason)
	}
	if len(notes) > 0 {
		fmt.Println("\n" + strings.Join(notes, "\n"))
	}
	return nil
}

// ratio returns the median of those of single rounds.
func ratio(times, floors []time.Duration) float64 {
	ratios := make([]float64, len(times))
	for i, took := range times {
		ratios[i] = float64(took) / float64(floors[i])
	}
	return median(ratios)
}

func median[T time.Duration | float64](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}
