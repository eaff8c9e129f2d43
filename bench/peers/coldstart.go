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

	"github.com/pintle-dev/pintle/bench/measure"
)

// coldFunctions is the number of functions in the app whose first deploy is measured.
const coldFunctions = 10

// language is the language of the functions.
type language struct {
	name, runtime, code string
	bare                func(ctx context.Context) (string, []string, error) // a command that only starts the interpreter
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
			bare: func(ctx context.Context) (string, []string, error) { // without wrappers such as a shim
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

// app returns a template with functions and a custom resource for each.
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

// cost is elapsed time, and the processor time of all processes.
type cost struct{ wall, processor time.Duration }

// starts measures starts of the interpreter, as many at once as there are processors.
func (l language) starts(ctx context.Context, count int) (cost, error) {
	path, args, err := l.bare(ctx)
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	var wg sync.WaitGroup
	failed, used := make(chan error, count), make(chan time.Duration, count)
	slots := make(chan struct{}, runtime.NumCPU())
	for range count {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			cmd := exec.CommandContext(ctx, path, args...)
			if err := cmd.Run(); err != nil {
				failed <- err
				return
			}
			used <- cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		})
	}
	wg.Wait()
	all := cost{wall: time.Since(began)}
	if len(failed) > 0 {
		return cost{}, fmt.Errorf("%s: %w", path, <-failed)
	}
	for range count {
		all.processor += <-used
	}
	return all, nil
}

// cold measures the first deploy of the app on a target that has just started.
func (b bench) cold(ctx context.Context, t target, l language) (took cost, err error) {
	r, err := b.start(ctx, t)
	if err != nil {
		return took, err
	}
	defer func() {
		if failed := r.stop(); err == nil {
			err = failed
		}
	}()
	if err := sleep(ctx, time.Second); err != nil { // for work that continues after it is ready
		return took, err
	}
	before, err := measure.FamilyCPU(r.ID())
	if err != nil {
		return took, err
	}
	began := time.Now()
	id, err := r.create(ctx, "cold", l.app())
	if err == nil {
		err = r.reaches(ctx, id, string(types.StackStatusCreateComplete), 3*b.patience)
	}
	took.wall = time.Since(began)
	if err != nil {
		return took, err
	}
	after, err := measure.FamilyCPU(r.ID()) // its processes are kept
	took.processor = after - before
	return took, err
}

// coldStart prints the cost of the first deploy of an app, compared with bare starts of the interpreter of its functions
// in the same round.
func (b bench) coldStart(ctx context.Context, targets []target, absent []absence) error {
	fmt.Printf("| an app with %d functions | time | ÷ the starts | processor time | ÷ the starts |\n|---|---|---|---|---|\n", coldFunctions)
	var notes []string
	for _, l := range languages() {
		var starts []cost
		costs := map[string][]cost{}
		for round := range b.rounds {
			floor, err := l.starts(ctx, coldFunctions)
			if err != nil {
				return err
			}
			starts = append(starts, floor)
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
				costs[t.name] = append(costs[t.name], took)
			}
		}
		for _, t := range targets {
			if len(costs[t.name]) == b.rounds {
				row(l.name+", "+t.name, costs[t.name], starts)
			}
		}
		row(fmt.Sprintf("%s, %d bare starts", l.name, coldFunctions), starts, starts)
	}
	for _, a := range absent {
		notes = append(notes, a.name+" is left out: "+a.reason)
	}
	if len(notes) > 0 {
		fmt.Println("\n" + strings.Join(notes, "\n"))
	}
	return nil
}

// row prints medians, and the medians of the ratios of single rounds.
func row(name string, took, floors []cost) {
	wall := func(c cost) time.Duration { return c.wall }
	processor := func(c cost) time.Duration { return c.processor }
	fmt.Printf("| %s |", name)
	for _, of := range []func(cost) time.Duration{wall, processor} {
		times, ratios := make([]time.Duration, len(took)), make([]float64, len(took))
		for i := range took {
			times[i], ratios[i] = of(took[i]), float64(of(took[i]))/float64(of(floors[i]))
		}
		fmt.Printf(" %.0f ms | %.2f |", milliseconds(median(times)), median(ratios))
	}
	fmt.Println()
}

func median[T time.Duration | float64](list []T) T {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}
