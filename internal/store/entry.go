package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrChanged is the error of [Store.PutEntry] and [Store.DropEntry] for an entry that is not at the given version.
var ErrChanged = errors.New("it was changed meanwhile")

// EntryKey identifies an entry.
type EntryKey struct {
	Account string
	Region  string
	// Kind is a word without spaces.
	Kind string
	// Name has no control characters.
	Name string
}

// Row returns the key as one unique text, which is the key of the entry in a database. Within one account, region and
// kind, rows sort by name.
func (k EntryKey) Row() string {
	return k.Account + " " + k.Region + " " + k.Kind + " " + k.Name
}

// Bounds returns the texts between which the rows of all entries of the key's account, region and kind lie whose names
// come after the key's name. That name may be empty.
func (k EntryKey) Bounds() (after, before string) {
	return k.Row(), k.Account + " " + k.Region + " " + k.Kind + "!" // "!" follows the space
}

// check rejects keys whose rows could equal those of other keys.
func (k EntryKey) check() error {
	if k.Account == "" || k.Region == "" || k.Kind == "" || k.Name == "" || strings.Contains(k.Account+k.Region+k.Kind, " ") ||
		strings.ContainsFunc(k.Row(), func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("%q in %s, %s is not the name of a %s", k.Name, k.Account, k.Region, k.Kind)
	}
	return nil
}

// Entry is a row of a resource outside the stacks, such as a function or a topic. Package registry defines its
// contents.
type Entry struct {
	EntryKey
	// Version counts from 1. It starts at 1 again when a deleted entry is created again.
	Version int64
	// Holder is the creator of the entry.
	Holder string
	// Definition is the content as JSON. It may hold secrets: a database seals all of it.
	Definition json.RawMessage
}

// Check returns an error if a store may not keep the row.
func (e *Entry) Check() error {
	if !json.Valid(e.Definition) {
		return fmt.Errorf("the definition of %s %s is not JSON", e.Kind, e.Name)
	}
	return e.check()
}

// heldEntry is the sealed part of an entry.
type heldEntry struct {
	Holder     string          `json:"holder,omitempty"`
	Definition json.RawMessage `json:"definition"`
}

// SealEntry returns an entry as a database keeps it, without its key and version.
func (c Codec) SealEntry(e *Entry) ([]byte, error) {
	text, err := json.Marshal(heldEntry{e.Holder, e.Definition})
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", e.Kind, e.Name, err)
	}
	return c.SealDefinition(text)
}

// ScanEntry reads an entry from a row of its key as returned by [EntryKey.Row], its version and the result of
// [Codec.SealEntry].
func (c Codec) ScanEntry(scan func(into ...any) error) (e Entry, err error) {
	var row string
	var body []byte
	if err := scan(&row, &e.Version, &body); err != nil {
		return e, err
	}
	parts := strings.SplitN(row, " ", 4)
	if len(parts) != 4 {
		return e, fmt.Errorf("there is an entry %q", row)
	}
	e.EntryKey = EntryKey{Account: parts[0], Region: parts[1], Kind: parts[2], Name: parts[3]}
	text, err := c.OpenDefinition(body)
	if err != nil {
		return e, fmt.Errorf("%s %s: %w", e.Kind, e.Name, err)
	}
	var held heldEntry
	if err := json.Unmarshal(text, &held); err != nil {
		return e, fmt.Errorf("decode %s %s: %w", e.Kind, e.Name, err)
	}
	e.Holder, e.Definition = held.Holder, held.Definition
	return e, nil
}
