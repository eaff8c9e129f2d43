package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTranscripts plays every transcript with the AWS SDK for Go.
func TestTranscripts(t *testing.T) {
	for _, c := range readChapters(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range c.parts {
				if p.scene != nil {
					t.Run(p.scene.name, func(t *testing.T) {
						t.Parallel()
						play(t, c, p.scene, newGoClient)
					})
				}
			}
		})
	}
}

// patience bounds the wait for something that happens by itself. It is far longer than necessary.
const patience = 30 * time.Second

const stackName = "demo"

// player plays a scene.
type player struct {
	t        *testing.T
	ctx      context.Context
	world    *world
	client   client
	provider *provider
	// templates are the templates with the provider's address in their service tokens.
	templates map[string]string

	stackID string
	token   string // of the last accepted call
	before  string // of the one before
	calls   int
	// operation is the ID of the last operation.
	operation string
	seen      []event // oldest first
	// requests are the requests that were or may be answered, by their names in the transcript.
	requests map[string]request
	order    []string          // of the names
	invented map[string]string // generated IDs, by logical ID
	played   []string          // the transcript so far
}

// play plays a scene, and compares the actual with the expected results of each step.
func play(t *testing.T, c chapter, s *scene, newClient func(*testing.T, string) client) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := &player{
		t: t, ctx: ctx, provider: newProvider(t), world: newWorld(t, s.settings),
		templates: map[string]string{}, requests: map[string]request{}, invented: map[string]string{},
	}
	p.client = newClient(t, p.world.url)
	for name, text := range c.templates {
		p.templates[name] = strings.ReplaceAll(text, providerHost, p.provider.url)
	}
	if len(s.given) > 0 {
		p.must(p.given(s.given))
	}
	for _, step := range s.steps {
		step.want = slices.DeleteFunc(slices.Clone(step.want), func(line string) bool { return strings.HasPrefix(line, "-- ") })
		got, err := p.step(step)
		if diff := cmp.Diff(step.want, got); diff != "" || err != nil {
			t.Fatalf("after\n  %s\n%s\nthis was not as it is to be (-want +got):\n%s\n%v",
				strings.Join(p.played, "\n  "), step.do, diff, err)
		}
		p.played = append(append(p.played, step.do), got...)
	}
	p.must(p.over(s.left))
}

func (p *player) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// given creates the stack of v1.yaml. It answers the requests in order, dependencies first.
func (p *player) given(answers []string) error {
	if _, err := p.call("create-stack --template-body v1.yaml"); err != nil {
		return err
	}
	for range answers {
		r, err := p.take()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(answers, func(a string) bool { return strings.HasPrefix(a, r.LogicalResourceId+" ") })
		if i < 0 {
			return fmt.Errorf("%s was asked for, and no given line has it", r.LogicalResourceId)
		}
		if err := p.provider.answer(r, "SUCCESS "+strings.TrimPrefix(answers[i], r.LogicalResourceId+" ")); err != nil {
			return err
		}
	}
	events, err := p.events()
	if err != nil {
		return err
	}
	if err := p.checkEvents(events); err != nil {
		return err
	}
	p.seen = events
	if last := events[len(events)-1]; last.ResourceStatus != "CREATE_COMPLETE" || !last.ofStack() {
		return fmt.Errorf("the stack of v1.yaml does not stand: %s", p.line(last))
	}
	return nil
}

// step performs the action of a step, waits for the expected number of results, and returns the actual ones.
func (p *player) step(s step) ([]string, error) {
	word, rest, _ := strings.Cut(s.do, " ")
	switch word {
	case "$":
		got, err := p.call(rest)
		if refused := (*refusal)(nil); errors.As(err, &refused) {
			return []string{"! " + refused.code + " " + strconv.Quote(p.plain(refused.message))}, nil
		} else if err != nil || got != nil {
			return got, err // a description has no further results
		}
	case "<-":
		name, answer, _ := strings.Cut(rest, " ")
		r, ok := p.requests[name]
		if !ok {
			return nil, fmt.Errorf("there is no request %s to answer", name)
		}
		if err := p.provider.answer(r, answer); err != nil {
			return nil, err
		}
	}
	requests, missing := p.await(s.want)
	n := len(s.want) - len(requests)
	if missing != nil {
		n = 0 // show the existing ones
	}
	all, err := p.eventsUntil(len(p.seen) + n)
	if err = errors.Join(missing, err); all == nil {
		return nil, err
	}
	fresh := all[len(p.seen):]
	if err == nil {
		err = p.checkEvents(fresh)
	}
	p.seen = all
	if err == nil {
		err = p.checkStatus()
	}
	return p.among(p.lines(fresh), requests), err
}

// call makes a call. It returns the result of a description. The effects of other calls are seen in later results.
func (p *player) call(line string) ([]string, error) {
	operation, parameters, err := parseCall(line, p.templates)
	if err != nil {
		return nil, err
	}
	parameters["StackName"] = stackName
	token := ""
	switch operation {
	case "DescribeStackResources":
		return p.resources()
	case "DescribeChangeSet":
		return p.changeSet(parameters)
	case "CreateChangeSet", "DeleteChangeSet", "SetStackPolicy", "UpdateTerminationProtection": // they start no operation
	default:
		p.calls++
		token = "call-" + strconv.Itoa(p.calls)
		parameters["ClientRequestToken"] = token
	}
	out, err := p.client.call(p.ctx, operation, parameters)
	if err != nil {
		return nil, err
	}
	p.before, p.token = p.token, token
	if operation == "CreateStack" || operation == "CreateChangeSet" {
		var created struct{ StackId string }
		if err := json.Unmarshal(out, &created); err != nil {
			return nil, err
		}
		p.stackID = created.StackId
	}
	return nil, nil
}

// take waits for the next request.
func (p *player) take() (request, error) {
	select {
	case r := <-p.provider.inbox:
		if r.StackId != p.stackID || r.ResourceType != "Custom::"+r.LogicalResourceId {
			return r, fmt.Errorf("a request for the %s of stack %s", r.ResourceType, r.StackId)
		}
		return r, nil
	case <-p.ctx.Done():
		return request{}, fmt.Errorf("no request came: %w", p.ctx.Err())
	}
}

// await waits for the requests in the expected lines and gives them the names from there. Concurrent requests arrive
// in any order.
func (p *player) await(want []string) ([]string, error) {
	var names, texts []string
	for _, line := range want {
		if rest, ok := strings.CutPrefix(line, "-> "); ok {
			name, text, _ := strings.Cut(rest, " ")
			names, texts = append(names, name), append(texts, text)
		}
	}
	var lines []string
	for range names {
		r, err := p.take()
		if err != nil {
			return lines, err
		}
		text, name := p.plain(r.line()), "q?"
		if i := slices.Index(texts, text); i >= 0 {
			name, texts[i] = names[i], ""
			if _, taken := p.requests[name]; taken {
				return lines, fmt.Errorf("there are two requests %s", name)
			}
			p.requests[name], p.order = r, append(p.order, name)
		}
		lines = append(lines, "-> "+name+" "+text)
	}
	slices.SortStableFunc(lines, func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) })
	return lines, nil
}

// among inserts each request after the event for its start.
func (p *player) among(events, requests []string) []string {
	lines := events
	for _, r := range requests {
		words := strings.Fields(r) // -> name type logical …
		begun := words[3] + " " + strings.ToUpper(words[2]) + "_IN_PROGRESS "
		at := len(lines)
		for i, line := range lines {
			follower := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "-> ")
			if strings.HasPrefix(line, begun) && !follower {
				at = i + 1
				break
			}
		}
		lines = slices.Insert(lines, at, r)
	}
	return lines
}

// over checks that nothing more happens, and the resources that the stack left behind.
func (p *player) over(want []string) error {
	p.world.stop()
	select {
	case r := <-p.provider.inbox:
		return fmt.Errorf("one more request was sent: %s", r.line())
	default:
	}
	unsent, err := p.world.unsent()
	if err != nil {
		return err
	}
	for _, r := range unsent {
		return fmt.Errorf("one more request is to be sent: %s of %s", r.Type, r.Logical)
	}
	got, events, err := p.world.left()
	if err != nil {
		return err
	}
	if events != len(p.seen) {
		return fmt.Errorf("there were %d more events", events-len(p.seen))
	}
	for i := range got {
		got[i] = p.plain(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("what is left behind (-want +got):\n%s", diff)
	}
	return nil
}

var changeSetARN = regexp.MustCompile(`arn:[-a-z0-9:]*:changeSet/[-A-Za-z0-9]+/` + uuid)

// invented matches an ID that the engine generated for a resource whose provider returned none.
var invented = regexp.MustCompile(`\b` + stackName + `-([A-Za-z0-9]+)-[A-Z0-9]{12}\b`)

// plain replaces random values in a text with placeholders.
func (p *player) plain(text string) string {
	text = changeSetARN.ReplaceAllString(text, "<change set>")
	if p.stackID != "" {
		text = strings.ReplaceAll(text, p.stackID, "<stack>")
	}
	for _, name := range p.order {
		text = strings.ReplaceAll(text, p.requests[name].RequestId, name)
	}
	text = strings.ReplaceAll(text, p.provider.url, providerHost)
	return invented.ReplaceAllStringFunc(text, func(id string) string {
		logical := invented.FindStringSubmatch(id)[1]
		if p.invented[logical] == "" {
			p.invented[logical] = id
		}
		if p.invented[logical] != id {
			return stackName + "-" + logical + "-<another>" // a resource must have only one ID
		}
		return stackName + "-" + logical + "-<random>"
	})
}
