//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/pintle-dev/pintle/bench/result"
)

// rightUnit is the unit of a behaviour: 1 if it is correct, 0 otherwise.
const rightUnit = "as AWS"

// trial is one behaviour of a target, with a new stack.
type trial struct {
	*running
	recorder *recorder
	token    string
	name     string // of the stack
	patience time.Duration
}

// behaviour is a behaviour that is correct or wrong in a target.
type behaviour struct {
	name string // describes the correct behaviour
	// run plays it, and returns the observation and whether it is correct. An error of the target is an observation.
	run func(ctx context.Context, t trial) (seen string, right bool, err error)
}

// behaviours returns all behaviours, in the order of the table. That AWS identifies the request by the URL is only
// likely: nothing documents how it handles a body that contradicts the URL.
func behaviours() []behaviour {
	return []behaviour{
		{"scalars in properties are strings, also in lists", scalars},
		{"a resource has the attributes and id of the answer", attributes},
		{"an Update carries the old properties and keeps the id", inPlace},
		{"an Update to a new id is followed by a Delete of the old one", replacement},
		{"a FAILED Create fails the stack with its reason and gets a Delete", failedCreate},
		{"a FAILED Update reverts earlier ones, with old and new properties swapped", rollback},
		{"a FAILED Delete fails the delete of the stack", failedDelete},
		{"an answer of 5 kB is too long and fails the resource", oversize},
		{"the first of two answers counts", twice},
		{"an answer with another RequestId counts for the request of its URL", otherRequest},
	}
}

// behaviour plays all behaviours on all targets.
func (b bench) behaviour(ctx context.Context, targets []target) (result.File, error) {
	file := result.New("peers-behaviour")
	for _, t := range targets {
		fmt.Fprintln(os.Stderr, "behaviour:", t.name)
		if err := b.behaviourOf(ctx, t, &file); err != nil && (t.own || ctx.Err() != nil) {
			return file, fmt.Errorf("%s: %w", t.name, err)
		} else if err != nil {
			for _, one := range behaviours() {
				if _, ok := file.Row(one.name, t.name, rightUnit); !ok {
					file.Add(one.name, t.name, rightUnit).Note = short(err.Error())
				}
			}
		}
	}
	printBehaviour(file)
	return file, nil
}

func (b bench) behaviourOf(ctx context.Context, t target, file *result.File) (err error) {
	r, err := b.start(ctx, t)
	if err != nil {
		return err
	}
	defer func() {
		if failed := r.stop(); err == nil {
			err = failed
		}
	}()
	recorder, err := record()
	if err != nil {
		return err
	}
	defer recorder.close()
	token, err := r.relay(ctx, recorder, b.patience)
	if err != nil {
		return err
	}
	for n, behaviour := range behaviours() {
		seen, right, err := behaviour.run(ctx, trial{r, recorder, token, fmt.Sprint("trial-", n), b.patience})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			seen, right = err.Error(), false
		}
		value := 0.0
		if right {
			value = 1
		}
		file.Add(behaviour.name, t.name, rightUnit, value).Note = short(seen)
	}
	return nil
}

// play uses decide for the answers, creates the stack of a template, and returns its ARN and status.
func (t trial) play(ctx context.Context, from template, decide func(event) []answer) (id, status string, err error) {
	t.recorder.play(decide)
	if id, err = t.create(ctx, t.name, from); err != nil {
		return "", "", err
	}
	status, err = t.settle(ctx, id, t.patience)
	return id, status, err
}

// change updates an existing stack and returns its status.
func (t trial) change(ctx context.Context, id string, to template) (string, error) {
	if err := t.update(ctx, id, to); err != nil {
		return "", err
	}
	return t.settle(ctx, id, t.patience)
}

// things declares resources of a certain size.
func (t trial) things(size string, names ...string) template {
	return resources(t.token, names, func(string) map[string]any { return map[string]any{"Size": size} })
}

// sent returns the events as text, such as "Create A, Delete A (one)".
func (t trial) sent() string {
	var list []string
	for _, e := range t.recorder.heard() {
		text := e.RequestType + " " + e.LogicalResourceId
		if e.PhysicalResourceId != "" {
			text += " (" + e.PhysicalResourceId + ")"
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return "nothing sent"
	}
	return strings.Join(list, ", ")
}

// has reports whether an event for which match is true was sent.
func (t trial) has(match func(event) bool) bool {
	for _, e := range t.recorder.heard() {
		if match(e) {
			return true
		}
	}
	return false
}

func scalars(ctx context.Context, t trial) (string, bool, error) {
	properties := map[string]any{"Flag": true, "Count": 5, "Part": 1.5, "List": []any{false, 7}}
	_, _, err := t.play(ctx, resources(t.token, []string{"A"}, func(string) map[string]any { return properties }), agree)
	if err != nil {
		return "", false, err
	}
	events := t.recorder.heard()
	if len(events) == 0 {
		return "nothing sent", false, nil
	}
	got := events[0].ResourceProperties
	delete(got, "ServiceToken")
	text, err := json.Marshal(got)
	return string(text), string(text) == `{"Count":"5","Flag":"true","List":["false","7"],"Part":"1.5"}`, err
}

func attributes(ctx context.Context, t trial) (string, bool, error) {
	from := t.things("1", "A")
	from["Outputs"] = map[string]any{
		"Name": map[string]any{"Value": map[string]any{"Fn::GetAtt": []any{"A", "Name"}}},
		"ID":   map[string]any{"Value": map[string]any{"Ref": "A"}},
	}
	id, status, err := t.play(ctx, from, func(e event) []answer {
		return []answer{e.success("an-id", map[string]any{"Name": "a name"})}
	})
	if err != nil {
		return "", false, err
	}
	name, _ := t.output(ctx, id, "Name") // empty if the output does not exist
	ref, _ := t.output(ctx, id, "ID")
	return fmt.Sprintf("%s, attribute %q, id %q", status, name, ref), name == "a name" && ref == "an-id", nil
}

func inPlace(ctx context.Context, t trial) (string, bool, error) {
	id, _, err := t.play(ctx, t.things("1", "A"), agree)
	if err != nil {
		return "", false, err
	}
	status, err := t.change(ctx, id, t.things("2", "A"))
	if err != nil {
		return "", false, err
	}
	right := t.has(func(e event) bool {
		return e.RequestType == "Update" && e.PhysicalResourceId == "id-of-A" && e.turns("1", "2")
	})
	return status + "; " + t.sent(), right && status == string(types.StackStatusUpdateComplete), nil
}

func replacement(ctx context.Context, t trial) (string, bool, error) {
	id, _, err := t.play(ctx, t.things("1", "A"), func(e event) []answer {
		if e.RequestType == "Update" {
			return []answer{e.success("two", nil)}
		}
		return []answer{e.success("one", nil)}
	})
	if err != nil {
		return "", false, err
	}
	status, err := t.change(ctx, id, t.things("2", "A"))
	if err != nil {
		return "", false, err
	}
	right := t.has(func(e event) bool { return e.RequestType == "Delete" && e.PhysicalResourceId == "one" })
	now := t.physical(ctx, id, "A")
	right = right && now == "two" && status == string(types.StackStatusUpdateComplete)
	return fmt.Sprintf("%s, id %q; %s", status, now, t.sent()), right, nil
}

func failedCreate(ctx context.Context, t trial) (string, bool, error) {
	id, status, err := t.play(ctx, t.things("1", "A"), func(e event) []answer {
		if e.RequestType == "Create" {
			return []answer{e.failure("half-made", "there is no room")}
		}
		return agree(e)
	})
	if err != nil {
		return "", false, err
	}
	shown := "no reason shown"
	if strings.Contains(t.why(ctx, id), "there is no room") {
		shown = "reason shown"
	}
	deleted := t.has(func(e event) bool { return e.RequestType == "Delete" && e.PhysicalResourceId == "half-made" })
	right := deleted && shown == "reason shown" && status == string(types.StackStatusRollbackComplete)
	return fmt.Sprintf("%s, %s; %s", status, shown, t.sent()), right, nil
}

func rollback(ctx context.Context, t trial) (string, bool, error) {
	broken := func(e event) []answer {
		if e.RequestType == "Update" && e.LogicalResourceId == "B" && e.ResourceProperties["Size"] == "2" {
			return []answer{e.failure(e.id(), "there is no room")}
		}
		return agree(e)
	}
	id, _, err := t.play(ctx, t.things("1", "A", "B").after("B", "A"), broken)
	if err != nil {
		return "", false, err
	}
	status, err := t.change(ctx, id, t.things("2", "A", "B").after("B", "A"))
	if err != nil {
		return "", false, err
	}
	swapped := t.has(func(e event) bool {
		return e.RequestType == "Update" && e.LogicalResourceId == "A" && e.turns("2", "1")
	})
	back := "A is not reverted"
	if swapped {
		back = "A is taken back"
	}
	right := swapped && status == string(types.StackStatusUpdateRollbackComplete)
	return fmt.Sprintf("%s, %s; %s", status, back, t.sent()), right, nil
}

func failedDelete(ctx context.Context, t trial) (string, bool, error) {
	id, _, err := t.play(ctx, t.things("1", "A"), func(e event) []answer {
		if e.RequestType == "Delete" {
			return []answer{e.failure(e.id(), "it is in use")}
		}
		return agree(e)
	})
	if err != nil {
		return "", false, err
	}
	if err := t.delete(ctx, id); err != nil {
		return "", false, err
	}
	status, err := t.settle(ctx, id, t.patience)
	return status + "; " + t.sent(), status == string(types.StackStatusDeleteFailed), err
}

func oversize(ctx context.Context, t trial) (string, bool, error) {
	id, status, err := t.play(ctx, t.things("1", "A"), func(e event) []answer {
		if e.RequestType == "Create" {
			return []answer{e.success("long", map[string]any{"Text": strings.Repeat("x", 5000)})}
		}
		return agree(e)
	})
	if err != nil {
		return "", false, err
	}
	return status + t.why(ctx, id), status == string(types.StackStatusRollbackComplete), nil
}

func twice(ctx context.Context, t trial) (string, bool, error) {
	id, status, err := t.play(ctx, t.things("1", "A"), func(e event) []answer {
		return []answer{e.success("first", nil), e.success("second", nil)}
	})
	if err != nil {
		return "", false, err
	}
	return t.took(ctx, id, status, "first", 2)
}

func otherRequest(ctx context.Context, t trial) (string, bool, error) {
	id, status, err := t.play(ctx, t.things("1", "A"), func(e event) []answer {
		a := e.success("an-id", nil)
		a["RequestId"] = "00000000-0000-0000-0000-000000000000"
		return []answer{a}
	})
	if err != nil {
		return "", false, err
	}
	return t.took(ctx, id, status, "an-id", 1)
}

// took reports whether resource A has the ID of an answer, after the given number of replies from its URL.
func (t trial) took(ctx context.Context, stack, status, id string, replies int) (string, bool, error) {
	if err := t.replied(ctx, replies); err != nil {
		return "", false, err
	}
	now, said := t.physical(ctx, stack, "A"), strings.Trim(fmt.Sprint(t.recorder.replies()), "[]")
	seen := fmt.Sprintf("%s, id %q; the URL said %s", status, now, said)
	return seen, now == id && status == string(types.StackStatusCreateComplete), nil
}

// replied waits until response URLs have sent the given number of replies, or patience expires.
func (t trial) replied(ctx context.Context, times int) error {
	for late := time.Now().Add(t.patience); len(t.recorder.replies()) < times && time.Now().Before(late); {
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// printBehaviour prints the correct behaviours of each target.
func printBehaviour(file result.File) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, b := range behaviours() {
		fmt.Fprintln(table, b.name)
		for _, who := range file.Whos() {
			row, _ := file.Row(b.name, who, rightUnit)
			verdict := "wrong"
			if row.Value == 1 {
				verdict = "right"
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\n", who, verdict, row.Note)
		}
	}
	_ = table.Flush() // to standard output
	for _, who := range file.Whos() {
		var right int
		for _, b := range behaviours() {
			if row, ok := file.Row(b.name, who, rightUnit); ok && row.Value == 1 {
				right++
			}
		}
		fmt.Printf("%s does %d of %d right\n", who, right, len(behaviours()))
	}
}
