package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/display"
	"github.com/pintle-dev/pintle/internal/author/harness"
	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/wire"
)

// invocation is the result of an invoke.
type invocation struct {
	*terminal

	target              string
	request             wire.Request
	asJSON, showSecrets bool
	log                 []string
}

// answerDocument is the document of invoke -o json.
type answerDocument struct {
	Type       string `json:"type"`
	Resource   string `json:"resourceType"`
	RequestID  string `json:"requestId"`
	Answered   bool   `json:"answered"`
	Status     string `json:"status,omitempty"`
	Reason     string `json:"reason,omitempty"`
	PhysicalID string `json:"physicalId,omitempty"`
	NoEcho     bool   `json:"noEcho,omitempty"`
	// Attributes are masked if NoEcho is true, unless --show-secrets is given.
	Attributes json.RawMessage `json:"attributes,omitempty"`
	// Bytes is the size of the answer.
	Bytes        int   `json:"bytes,omitempty"`
	Milliseconds int64 `json:"milliseconds"`
	// Replaces is the physical ID that an Update gave up.
	Replaces string `json:"replaces,omitempty"`
	// Problem says why no answer came, or why the service would reject it.
	Problem string   `json:"problem,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Log     []string `json:"log"`
}

// maxLog is how many lines of a log a document has.
const maxLog = 1000

// line takes a line that the provider printed.
func (i *invocation) line(text string) {
	if !i.asJSON {
		fmt.Fprintln(i.stderr, "  | "+display.Clean(text))
	} else if len(i.log) < maxLog {
		i.log = append(i.log, text)
	}
}

// report prints the result of the request, and returns the error that the command exits with.
func (i *invocation) report(r harness.Result) error {
	d := i.document(r)
	if i.asJSON {
		if err := i.terminal.document(d); err != nil {
			return err
		}
	} else {
		i.print(d)
	}
	switch {
	case d.Problem != "" && d.Answered:
		return failed(fmt.Errorf("the service would reject the answer: %s", d.Problem))
	case d.Problem != "":
		return failed(fmt.Errorf("%s was not answered: %s", d.Type, d.Problem))
	case d.Status != string(wire.Success):
		return failed(fmt.Errorf("%s was answered with %s", d.Type, d.Status))
	}
	return nil
}

func (i *invocation) document(r harness.Result) answerDocument {
	d := answerDocument{
		Type: string(i.request.RequestType), Resource: i.request.ResourceType, RequestID: string(i.request.RequestID),
		Answered: r.Answered, Status: string(r.Response.Status), Reason: r.Response.Reason,
		PhysicalID: string(r.Response.PhysicalResourceID), NoEcho: r.Answered && r.Response.NoEcho, Bytes: r.Size,
		Milliseconds: r.Took.Milliseconds(), Log: append([]string{}, i.log...),
	}
	if r.Problem != nil {
		d.Problem = r.Problem.Error()
	}
	if data, err := value.Parse(r.Response.Data); err == nil && r.Response.Data != nil {
		if d.NoEcho && !i.showSecrets {
			data = data.Tainted(value.OfAttribute).Masked()
		}
		d.Attributes = data.JSON()
	}
	if was := string(i.request.PhysicalResourceID); d.Problem == "" && i.request.RequestType == wire.Update && d.PhysicalID != was {
		switch {
		case i.request.Dialect == wire.CloudFormation:
			d.Replaces = was
		case was != "" && d.Status == string(wire.Success):
			d.Problem = fmt.Sprintf("PhysicalResourceId is %q and was %q: ROS cannot replace a resource in an Update", d.PhysicalID, was)
		}
	}
	for _, name := range r.Mismatches {
		d.Notes = append(d.Notes, name+" of the answer does not match the request: other services reject that")
	}
	if r.Again > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("the provider answered %d times: the first answer counts", r.Again+1))
	}
	return d
}

// print shows the answer to people.
func (i *invocation) print(d answerDocument) {
	took := display.Span(time.Duration(d.Milliseconds) * time.Millisecond)
	head := fmt.Sprintf("%s of %s: ", d.Type, d.Resource)
	if !d.Answered {
		fmt.Fprintf(i.stdout, "%sno answer after %s\n", head, took)
		return
	}
	status := d.Status
	if status == "" {
		status = "an answer without a status"
	}
	fmt.Fprintf(i.stdout, "%s%s in %s, %d of %d bytes\n", head, display.Clean(status), took, d.Bytes, wire.MaxResponse)
	var rows [][]string
	row := func(label, text string) {
		if text != "" {
			rows = append(rows, []string{label, display.Clean(text)})
		}
	}
	row("reason", d.Reason)
	row("physical id", d.PhysicalID)
	if d.Replaces != "" {
		row("replaces", d.Replaces+", which the service would delete after the update")
	}
	if d.NoEcho {
		row("no echo", "the service masks the attributes"+map[bool]string{false: "; --show-secrets shows them here"}[i.showSecrets])
	}
	for _, note := range d.Notes {
		row("note", note)
	}
	fmt.Fprint(i.stdout, indented(rows))
	if attributes, err := value.Parse(d.Attributes); err == nil && len(attributes.Members()) > 0 {
		var list [][]string
		for _, m := range attributes.Members() {
			list = append(list, []string{display.Clean(m.Key), display.Clean(text(m.Value))})
		}
		fmt.Fprint(i.stdout, "  attributes\n  "+strings.ReplaceAll(strings.TrimSuffix(indented(list), "\n"), "\n", "\n  ")+"\n")
	}
	if d.Status == string(wire.Success) && d.Problem == "" && i.request.RequestType != wire.Delete {
		more := ""
		if i.request.Dialect == wire.ROS {
			more = " --ros"
		}
		fmt.Fprintf(i.stderr, "next:  pintle invoke %s%s --type Delete --id %s\n", quote(i.target), more, quote(display.Clean(d.PhysicalID)))
		if properties, err := value.Parse(i.request.ResourceProperties); err == nil && len(properties.Members()) > 0 {
			fmt.Fprintln(i.stderr, "       and the same -p")
		}
	}
}

// text is a scalar as it is, and anything else as JSON.
func text(v value.Value) string {
	if v.IsScalar() {
		return v.Text()
	}
	return string(v.JSON())
}
