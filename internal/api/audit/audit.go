// Package audit records who changed what: one line of JSON for every requested change, granted or denied. What
// providers answer and what time brings about is in the events of stacks, not here.
//
// A line holds names and outcomes: no parameter, no property, no template, no body and no query of a URL.
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

// Entry is one line. Zero fields are left out, but Time, Endpoint, Action and Outcome.
type Entry struct {
	// Time is when it was over; zero means now.
	Time time.Time `json:"time"`
	// Who asked, and From which address.
	Who  Who    `json:"who,omitzero"`
	From string `json:"from,omitempty"`
	// Endpoint is where it was asked for, and Service the API that was called.
	Endpoint Endpoint `json:"door"`
	Service  string   `json:"service,omitempty"`
	// Action is what was asked for, as the endpoint names it, e.g. CreateStack, or PUT /pintle/v1/providers/name.
	Action string `json:"action"`
	Region string `json:"region,omitempty"`
	// Stack, Resource, ChangeSet and Name are what it was about, as the client has named it.
	Stack     string `json:"stack,omitempty"`
	Resource  string `json:"resource,omitempty"`
	ChangeSet string `json:"changeSet,omitempty"`
	Name      string `json:"name,omitempty"`
	// Token is the client's own name for the request.
	Token string `json:"token,omitempty"`
	// Request is the id of the HTTP request, as it is in the server's log, and Trace that of the trace it belongs to.
	Request string `json:"request,omitempty"`
	Trace   string `json:"trace,omitempty"`
	// Outcome is what became of it, Status the HTTP status.
	Outcome Outcome `json:"outcome"`
	Status  int     `json:"status,omitempty"`
}

// Who identifies a caller.
type Who struct {
	// Key is the id of the access key, Account whose it is, and ARN whom it stands for.
	Key     string `json:"key,omitempty"`
	Account string `json:"account,omitempty"`
	ARN     string `json:"arn,omitempty"`
	// User is the name of a person who is known otherwise than by a key, as those of the console are, and Role what they may do.
	User string `json:"user,omitempty"`
	Role string `json:"role,omitempty"`
	// Local says that it is the server's own user, by a command on this machine.
	Local bool `json:"local,omitempty"`
}

// Endpoint is where something is requested.
type Endpoint string

// The endpoints.
const (
	EndpointAPI      Endpoint = "api"      // the APIs of AWS's and Alibaba Cloud's services
	EndpointOperator Endpoint = "operator" // Pintle's own API
	EndpointConsole  Endpoint = "console"
)

// Outcome is what became of what was asked for.
type Outcome string

// The outcomes.
const (
	Granted Outcome = "granted" // it was done, or has begun
	Refused Outcome = "refused" // it was the client's mistake, or not allowed
	Failed  Outcome = "failed"  // it was the server's fault; it may have been done all the same
)

// OutcomeOf is what an HTTP status says of a call.
func OutcomeOf(status int) Outcome {
	switch {
	case status >= 500 || status == 0:
		return Failed
	case status >= 400:
		return Refused
	}
	return Granted
}

// maxText bounds each text of a line, in bytes: clients choose names.
const maxText = 2048

// Log is where entries go. Its methods may be called concurrently; a nil Log drops all.
type Log struct {
	path string
	mu   sync.Mutex
	file *os.File  // nil for the standard output
	out  io.Writer // nil once it is closed
	torn bool      // what was written last is not the end of a line
}

// Open opens a log: a file that is appended to, made for its owner only if it is not there, or standard output, given as
// stdout, for the path "-".
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

// torn reports whether a file ends within a line, as one does whose disk was full. torn returns false for anything
// that is not a regular file or cannot be read.
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

// Reopen opens the file again by its name, after it was moved away. If that cannot be done, what was open stays so.
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

// Write appends a line. It is in the file when Write returns nil; it is not forced onto the disk. After an error there may be a part
// of it in the file; the next line begins on a line of its own all the same.
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
	n, err := l.out.Write(line) // one write: lines of several processes do not mix
	if n > 0 {
		l.torn = line[n-1] != '\n'
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

// Close closes the log. A second Close does nothing.
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

// shorten cuts a text that is too long, between two characters.
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
