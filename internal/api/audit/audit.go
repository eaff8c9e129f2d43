// Package audit records who changed what: one line of JSON for every requested change, granted or denied. Answers of
// providers and effects of time, such as timeouts, are events of stacks and not recorded here.
//
// A line contains names and outcomes. It contains no parameters, properties, templates, bodies or queries of URLs.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// Entry is one line. Zero fields are omitted, except Time, Endpoint, Action and Outcome.
type Entry struct {
	// Time is when the call was completed. Zero means now.
	Time time.Time `json:"time"`
	// Who identifies the caller. From is the caller's address.
	Who  Who    `json:"who,omitzero"`
	From string `json:"from,omitempty"`
	// Endpoint is the endpoint that received the call, and Service the API.
	Endpoint Endpoint `json:"door"`
	Service  string   `json:"service,omitempty"`
	// Action is the called action, as the endpoint names it, e.g. CreateStack, or PUT /pintle/v1/providers/name.
	Action string `json:"action"`
	Region string `json:"region,omitempty"`
	// Stack, Resource, ChangeSet and Name are the objects of the action, as named by the client.
	Stack     string `json:"stack,omitempty"`
	Resource  string `json:"resource,omitempty"`
	ChangeSet string `json:"changeSet,omitempty"`
	Name      string `json:"name,omitempty"`
	// Token is the client's token for the request.
	Token string `json:"token,omitempty"`
	// Request is the ID of the HTTP request, as in the server's log, and Trace is the ID of its trace.
	Request string `json:"request,omitempty"`
	Trace   string `json:"trace,omitempty"`
	// Outcome is the result, and Status the HTTP status.
	Outcome Outcome `json:"outcome"`
	Status  int     `json:"status,omitempty"`
}

// Who identifies a caller.
type Who struct {
	// Key is the ID of the access key, Account its account, and ARN the identity that it authenticates.
	Key     string `json:"key,omitempty"`
	Account string `json:"account,omitempty"`
	ARN     string `json:"arn,omitempty"`
	// User is the name of a person without a key, such as a user of the console. Role is that user's role.
	User string `json:"user,omitempty"`
	Role string `json:"role,omitempty"`
	// Local means the server's own user running a command on this machine.
	Local bool `json:"local,omitempty"`
}

// Endpoint is the part of the server that received a call.
type Endpoint string

// The endpoints.
const (
	EndpointAPI      Endpoint = "api"      // the APIs of AWS and Alibaba Cloud services
	EndpointOperator Endpoint = "operator" // Pintle's own API
	EndpointConsole  Endpoint = "console"
)

// Outcome is the result of a call.
type Outcome string

// The outcomes.
const (
	Granted Outcome = "granted" // the action was completed or has begun
	Refused Outcome = "refused" // the client made a mistake or lacks permission
	Failed  Outcome = "failed"  // an error of the server; the action may have been completed anyway
)

// OutcomeOf returns the outcome for an HTTP status.
func OutcomeOf(status int) Outcome {
	switch {
	case status >= 500 || status == 0:
		return Failed
	case status >= 400:
		return Refused
	}
	return Granted
}

// maxText limits each text of a line, in bytes, because clients choose names.
const maxText = 2048

// Log writes entries. It is safe for concurrent use. A nil Log discards all entries.
type Log struct {
	path string
	mu   sync.Mutex
	file *os.File  // nil for standard output
	out  io.Writer // nil after Close
	torn bool      // the last write did not end with a line end
}

// Open opens a log file for appending. A new file is readable by its owner only. For the path "-", the log is stdout.
func Open(path string, stdout io.Writer) (*Log, error) {
	l := &Log{path: path, out: stdout}
	if path == "-" {
		return l, nil
	}
	return l, l.reopen()
}

func (l *Log) reopen() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	if l.file != nil {
		err = l.file.Close()
	}
	l.file, l.out, l.torn = file, file, torn(l.path)
	return err
}

// torn reports whether a file ends within a line, e.g. because the disk was full. It returns false for a file that is
// not regular or cannot be read.
func torn(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 { // a pipe would wait for its other end
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }() // read only
	last := []byte{'\n'}
	if _, err := file.Seek(-1, io.SeekEnd); err != nil {
		return false
	}
	_, err = file.Read(last)
	return err == nil && last[0] != '\n'
}

// Reopen opens the file again by its name, after it was moved away. If that fails, the old file stays open.
func (l *Log) Reopen() error {
	if l == nil || l.path == "-" {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil {
		return os.ErrClosed
	}
	return l.reopen()
}

// Write appends a line. When it returns nil, the line is in the file, but not necessarily on the disk. After an error,
// the file may contain a part of the line; the next entry still begins on a new line.
func (l *Log) Write(e Entry) error {
	if l == nil {
		return nil
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	for _, text := range []*string{
		&e.From, &e.Service, &e.Action, &e.Region, &e.Stack, &e.Resource, &e.ChangeSet, &e.Name, &e.Token, &e.Request, &e.Trace,
		&e.Who.Key, &e.Who.Account, &e.Who.ARN, &e.Who.User, &e.Who.Role,
	} {
		*text = shorten(*text)
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil {
		return fmt.Errorf("audit log: %w", os.ErrClosed)
	}
	line = append(line, '\n')
	if l.torn {
		line = slices.Insert(line, 0, '\n')
	}
	n, err := l.out.Write(line) // a single write, so that lines of several processes do not mix
	if n > 0 {
		l.torn = line[n-1] != '\n'
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

// Close closes the log. Further calls do nothing.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = nil
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// shorten truncates a text that is too long, at a character boundary.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
