package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is an event as a client sees it. An absent field is nil.
type event struct {
	EventId, StackId, StackName, OperationId        string
	LogicalResourceId, ResourceType, ResourceStatus string
	PhysicalResourceId                              *string
	ClientRequestToken                              string
	ResourceStatusReason, ResourceProperties        *string
	Timestamp                                       time.Time
}

// recordedType is the type of the resources in transcripts that have no provider.
const recordedType = "AWS::DynamoDB::Table"

func (e event) recorded() bool { return e.ResourceType == recordedType }

func (e event) ofStack() bool { return *e.PhysicalResourceId == e.StackId }

const (
	uuid    = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	instant = "2006-01-02T15:04:05.000Z"
)

var (
	stackEventID    = regexp.MustCompile("^" + uuid + "$")
	detachedEventID = regexp.MustCompile("^([A-Za-z0-9]+)-" + uuid + "$")
)

// events returns all events of the stack, oldest first.
func (p *player) events() ([]event, error) {
	var all []event
	for token := ""; ; {
		in := map[string]any{"StackName": p.stackID} // a deleted stack is found only by its ID
		if token != "" {
			in["NextToken"] = token
		}
		text, err := p.client.call(p.ctx, "DescribeStackEvents", in)
		if err != nil {
			return nil, err
		}
		var page struct {
			StackEvents []event
			NextToken   string
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, err
		}
		for _, e := range page.StackEvents {
			if e.PhysicalResourceId == nil {
				return nil, fmt.Errorf("the event %s has no physical id, not even an empty one", e.EventId)
			}
			all = append(all, e)
		}
		if token = page.NextToken; token == "" {
			slices.Reverse(all)
			return all, nil
		}
	}
}

// eventsUntil waits for n events. If they do not arrive, it returns the existing ones and an error.
func (p *player) eventsUntil(n int) ([]event, error) {
	for {
		all, err := p.events()
		if err != nil || len(all) >= n {
			return all, err
		}
		select {
		case <-p.world.store.written:
		case <-p.ctx.Done():
			return all, fmt.Errorf("%d events did not come: %w", n-len(all), p.ctx.Err())
		}
	}
}

func (p *player) lines(events []event) []string {
	var lines []string
	for _, e := range events {
		lines = append(lines, p.line(e))
	}
	return lines
}

// line renders an event in transcript format.
func (p *player) line(e event) string {
	var b strings.Builder
	if e.ofStack() {
		b.WriteString("stack " + e.ResourceStatus)
	} else {
		b.WriteString(e.LogicalResourceId + " " + e.ResourceStatus + " id=" + p.plain(*e.PhysicalResourceId))
	}
	if e.ResourceProperties != nil {
		var properties map[string]any
		if err := json.Unmarshal([]byte(*e.ResourceProperties), &properties); err != nil {
			fmt.Fprintf(&b, " properties that are no JSON: %v", err)
		}
		if e.recorded() {
			properties["ServiceToken"] = usualToken // so that it is not shown
		}
		b.WriteString(" " + p.plain(short(properties)))
	}
	if detachedEventID.MatchString(e.EventId) {
		b.WriteString(" (" + e.LogicalResourceId + "-UUID)")
	}
	if e.ResourceStatusReason != nil {
		b.WriteString(" " + strconv.Quote(p.plain(*e.ResourceStatusReason)))
	}
	return b.String()
}

// checkEvents checks the properties of events that transcripts do not show.
func (p *player) checkEvents(fresh []event) error {
	known := map[string]bool{}
	for _, e := range p.seen {
		known[e.EventId] = true
	}
	latest := time.Time{}
	if len(p.seen) > 0 {
		latest = p.seen[len(p.seen)-1].Timestamp
	}
	for _, e := range fresh {
		if err := p.checkEvent(e); err != nil {
			return fmt.Errorf("the event %s: %w", p.line(e), err)
		}
		if known[e.EventId] || e.Timestamp.Before(latest) {
			return fmt.Errorf("the event %s has the id of another one or is earlier than the one before", p.line(e))
		}
		known[e.EventId], latest = true, e.Timestamp
	}
	return nil
}

func (p *player) checkEvent(e event) error {
	id, logical, kind := stackEventID, stackName, "AWS::CloudFormation::Stack"
	if !e.ofStack() {
		if logical, kind = e.LogicalResourceId, "Custom::"+e.LogicalResourceId; e.recorded() {
			kind = recordedType
		}
		named := logical + "-" + e.ResourceStatus + "-" + e.Timestamp.UTC().Format(instant)
		id = regexp.MustCompile("^" + regexp.QuoteMeta(named) + "$|" + detachedEventID.String())
	}
	// A rollback is a separate operation, and so is a delete that replaces a create.
	begins := e.ofStack() && strings.HasSuffix(e.ResourceStatus, "_IN_PROGRESS") && !strings.Contains(e.ResourceStatus, "CLEANUP")
	if begins == (e.OperationId == p.operation) {
		return fmt.Errorf("its operation is %q, and before it was %q", e.OperationId, p.operation)
	}
	p.operation = e.OperationId
	// The events of resources that were in progress when an update was cancelled still belong to the update.
	cancelled := e.ResourceStatusReason != nil && *e.ResourceStatusReason == "Resource update cancelled"
	switch {
	case !id.MatchString(e.EventId):
		return fmt.Errorf("its id is %s", e.EventId)
	case e.StackId != p.stackID || e.StackName != stackName:
		return fmt.Errorf("it is of stack %s", e.StackId)
	case e.LogicalResourceId != logical || e.ResourceType != kind:
		return fmt.Errorf("it is of the %s %s", e.ResourceType, e.LogicalResourceId)
	case e.ClientRequestToken != p.token && (!cancelled || e.ClientRequestToken != p.before):
		return fmt.Errorf("its token is %s and not %s", e.ClientRequestToken, p.token)
	}
	return nil
}

// checkStatus checks that the stack's status is that of its last event.
func (p *player) checkStatus() error {
	text, err := p.client.call(p.ctx, "DescribeStacks", map[string]any{"StackName": p.stackID})
	if err != nil {
		return err
	}
	var out struct {
		Stacks []struct {
			StackStatus       string
			StackStatusReason *string
		}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return err
	}
	for _, e := range slices.Backward(p.seen) {
		if !e.ofStack() {
			continue
		}
		if got := out.Stacks[0]; got.StackStatus != e.ResourceStatus || deref(got.StackStatusReason) != deref(e.ResourceStatusReason) {
			return fmt.Errorf("the stack is %s %q", got.StackStatus, deref(got.StackStatusReason))
		}
		return nil
	}
	return fmt.Errorf("the stack has no event")
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// changeSet returns the two statuses and the changes from DescribeChangeSet.
func (p *player) changeSet(parameters map[string]any) ([]string, error) {
	text, err := p.client.call(p.ctx, "DescribeChangeSet", parameters)
	if err != nil {
		return nil, err
	}
	var out struct {
		Status, ExecutionStatus string
		StatusReason            *string
		Changes                 []struct {
			ResourceChange struct {
				Action, LogicalResourceId, Replacement, PolicyAction string
				Details                                              []struct {
					Target                                  struct{ Attribute, Name string }
					Evaluation, ChangeSource, CausingEntity string
				}
			}
		}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	line := "= " + out.Status + " " + out.ExecutionStatus
	if out.StatusReason != nil {
		line += " " + strconv.Quote(p.plain(*out.StatusReason))
	}
	lines := []string{line}
	for _, c := range out.Changes {
		r := c.ResourceChange
		line := strings.Join(slices.DeleteFunc([]string{"=", r.Action, r.LogicalResourceId, r.Replacement, r.PolicyAction},
			func(word string) bool { return word == "" }), " ")
		for i, d := range r.Details {
			line += [2]string{": ", ", "}[min(i, 1)] + strings.TrimSpace(strings.Join([]string{
				cmp.Or(d.Target.Name, d.Target.Attribute), d.Evaluation, d.ChangeSource, d.CausingEntity,
			}, " "))
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// resources returns the rows of DescribeStackResources.
func (p *player) resources() ([]string, error) {
	text, err := p.client.call(p.ctx, "DescribeStackResources", map[string]any{"StackName": p.stackID})
	if err != nil {
		return nil, err
	}
	var out struct {
		StackResources []struct{ LogicalResourceId, PhysicalResourceId, ResourceStatus string }
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	lines := []string{}
	for _, r := range out.StackResources {
		lines = append(lines, "= "+r.LogicalResourceId+" "+r.ResourceStatus+" id="+p.plain(r.PhysicalResourceId))
	}
	return lines, nil
}
