package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/cloud/lambda"
	"github.com/pintle-dev/pintle/internal/cloud/logs"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Where the lines of stacks are, and how many are kept. All stacks share a few streams of a log group, so that neither the bytes nor the
// files grow with the number of stacks: 16 streams of up to [logs.MaxStream] bytes. A stack with many lines displaces older lines of the
// stacks in the same stream.
const (
	stackLogsDir   = "stack-logs"
	stackLogsGroup = "stacks"
	stackStreams   = logs.MaxGroup / logs.MaxStream
	stackLogsDays  = 30

	maxLineOwners = 4096
	pageLines     = 1000
	pageBytes     = 4 << 20
)

// stackLogs stores the lines that local providers and functions print, by stack. They are on disk because people read them after the
// command or server that ran the provider has exited. The lines are redacted before they get here.
type stackLogs struct {
	node    *Node
	streams *logs.Store

	mu     sync.Mutex
	owners map[lineSource]lineOwners
}

// lineSource identifies lines with the same owners. The request is never empty.
type lineSource struct {
	provider string
	request  wire.RequestID
}

// lineOwners are the owners of a line: the resource that its request is about and the function that printed it. Each is zero if there is
// none in a stack.
type lineOwners struct{ resource, function lineOwner }

// lineOwner is the resource of a stack that a line belongs to.
type lineOwner struct {
	stack   wire.StackID
	logical wire.LogicalID
}

// storedLine is a line as it is stored.
type storedLine struct {
	Stack   wire.StackID   `json:"s"`
	Logical wire.LogicalID `json:"l"`
	// Function is the function of the same stack that printed the line for another resource, empty for none.
	Function wire.LogicalID `json:"f,omitempty"`
	Request  wire.RequestID `json:"r,omitempty"`
	Text     string         `json:"t"`
}

// openStackLogs opens the stored lines. A reader of a data directory without any has none.
func (b *builder) openStackLogs(context.Context) error {
	dir := b.config.Lock.path(stackLogsDir)
	if _, err := os.Stat(dir); err != nil && b.config.Role == Reader {
		return nil
	}
	streams, err := logs.New(logs.Config{
		Dir: dir, Log: b.log,
		Retention: func(context.Context, registry.Scope, string) (int, error) { return stackLogsDays, nil },
	})
	if err != nil {
		return fmt.Errorf("logs of stacks: %w", err)
	}
	b.stackLogs = &stackLogs{node: b.Node, streams: streams, owners: map[lineSource]lineOwners{}}
	return nil
}

// print stores a line that a provider or function printed. The request may be empty.
func (l *stackLogs) print(provider string, request wire.RequestID, line string) {
	found := l.ownersOf(provider, request)
	function, owner := found.function, found.resource
	stored := storedLine{Stack: owner.stack, Logical: owner.logical, Request: request, Text: line}
	switch {
	case owner == (lineOwner{}):
		stored.Stack, stored.Logical, stored.Request = function.stack, function.logical, ""
	case function.stack == owner.stack && function.logical != owner.logical:
		stored.Function = function.logical
	}
	if stored.Stack == "" {
		return
	}
	text, err := json.Marshal(stored)
	if err == nil {
		event := logs.Event{Time: time.Now().UnixMilli(), Message: string(text)}
		_, err = l.streams.Append(registry.Scope{}, stackLogsGroup, streamOf(stored.Stack), event)
	}
	if err != nil {
		l.node.log.Error("a log line was not stored", "stack", stored.Stack, "error", err)
	}
}

// streamOf returns the stream that has the lines of a stack.
func streamOf(stack wire.StackID) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(stack)) // never fails
	return strconv.Itoa(int(h.Sum32() % stackStreams))
}

// ownersOf returns the owners of a line. They are looked up once for all lines that a provider prints for a request. Those of a line
// without a request are looked up each time: a function of the same name may belong to another stack later.
func (l *stackLogs) ownersOf(provider string, request wire.RequestID) (found lineOwners) {
	if request == "" {
		found.function, _ = l.functionOwner(provider)
		return found
	}
	source := lineSource{provider, request}
	l.mu.Lock()
	found, ok := l.owners[source]
	l.mu.Unlock()
	if ok {
		return found
	}
	var errResource, errFunction error
	found.resource, errResource = l.requestOwner(request)
	found.function, errFunction = l.functionOwner(provider)
	if errResource != nil || errFunction != nil {
		return found // the next line looks again
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.owners) == maxLineOwners {
		clear(l.owners)
	}
	l.owners[source] = found
	return found
}

// requestOwner returns the resource that a request is about, zero if it is not one of a stack.
func (l *stackLogs) requestOwner(id wire.RequestID) (lineOwner, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	row, err := l.node.store.Request(ctx, id)
	if err == nil && row.Wait != nil && row.Wait.For != "" {
		row, err = l.node.store.Request(ctx, row.Wait.For)
	}
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && row.Body == nil:
		return lineOwner{}, nil
	case err != nil:
		return lineOwner{}, err
	}
	return lineOwner{row.Body.StackID, row.Logical}, nil
}

// functionOwner returns the resource that is a function, by the name of its program: its ARN. It is zero for any other provider.
func (l *stackLogs) functionOwner(provider string) (lineOwner, error) {
	if !strings.HasPrefix(provider, "arn:") || l.node.cloud == nil {
		return lineOwner{}, nil
	}
	r, err := lambda.ParseReference(registry.Scope{}, provider, "")
	if err != nil {
		return lineOwner{}, nil // a provider with the name of a service token
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	item, err := l.node.cloud.catalog.Functions.Get(ctx, r.Scope, r.Name)
	if errors.Is(err, registry.ErrNotFound) {
		return lineOwner{}, nil
	}
	stack, logical := registry.ResourceOf(item.Owner)
	return lineOwner{stack, logical}, err
}

// readStackLogs returns lines of a stack, oldest first.
func (n *Node) readStackLogs(_ context.Context, stack store.Stack, in operator.LogQuery) (operator.LogPage, error) {
	page := operator.LogPage{Lines: []operator.LogLine{}, Next: in.After}
	l := n.stackLogs
	if l == nil {
		return page, nil
	}
	stream := streamOf(stack.ID)
	q := logs.Query{Streams: []string{stream}, Limit: pageLines, Bytes: pageBytes, Match: func(message string) bool {
		line, ok := lineIn(message, stack.ID)
		return ok && (in.Resource == "" || line.Logical == in.Resource || line.Function == in.Resource)
	}}
	if in.After != "" {
		at, seq, _ := strings.Cut(in.After, "-")
		after := logs.Position{Stream: stream}
		var errTime, errSeq error
		after.Time, errTime = strconv.ParseInt(at, 10, 64)
		after.Seq, errSeq = strconv.ParseInt(seq, 10, 64)
		if errTime != nil || errSeq != nil {
			return page, &operator.Error{Status: http.StatusBadRequest, Message: "after is not the next of an answer"}
		}
		q.After, q.From = &after, after.Time
	} else if in.Tail > 0 {
		q.Last, q.Limit = true, min(in.Tail, pageLines)
	}
	found, more, err := l.streams.Read(registry.Scope{}, stackLogsGroup, q)
	if err != nil {
		return page, err
	}
	for _, f := range found {
		line, _ := lineIn(f.Message, stack.ID)
		page.Lines = append(page.Lines, operator.LogLine{
			Time: time.UnixMilli(f.Time).UTC(), Logical: line.Logical, Function: line.Function, Request: line.Request, Text: line.Text,
		})
		page.Next = fmt.Sprintf("%d-%d", f.Time, f.Seq)
	}
	page.More = more && !q.Last
	return page, nil
}

// lineIn returns the line in a message if it is of a stack.
func lineIn(message string, stack wire.StackID) (line storedLine, ok bool) {
	if !strings.Contains(message, string(stack)) {
		return line, false
	}
	return line, json.Unmarshal([]byte(message), &line) == nil && line.Stack == stack
}
