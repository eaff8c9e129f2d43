package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pintle-dev/pintle"
)

// reader is a provider for scripts. It keeps each resource in a file of the directory SHELF, NAME.json, and can read it back. It logs
// each request in the file log there. While there is a file meet, it waits in a Read for the test.
type reader struct{ shelf string }

type readerProperties struct {
	Name string `pintle:"required,immutable"`
	Size int    `pintle:"default=1"`
	Tags map[string]string
	Key  pintle.Secret
}

type readerAttributes struct{ Path string }

// shelved is the content of a file.
type shelved struct {
	Size int               `json:"size"`
	Tags map[string]string `json:"tags,omitempty"`
	Key  string            `json:"key,omitempty"`
}

func runReader() {
	if text := os.Getenv("PANIC"); text != "" {
		panic(text)
	}
	shelf := os.Getenv("SHELF")
	if err := os.MkdirAll(shelf, 0o700); err != nil {
		panic(err)
	}
	pintle.Main(pintle.New(reader{shelf}))
}

func (r reader) file(id pintle.PhysicalID) string { return filepath.Join(r.shelf, string(id)+".json") }

func (r reader) note(kind pintle.RequestType, id pintle.PhysicalID) error {
	f, err := os.OpenFile(filepath.Join(r.shelf, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, kind, id)
	return errors.Join(err, f.Close())
}

func (r reader) put(kind pintle.RequestType, p readerProperties) (pintle.Response[readerAttributes], error) {
	id := pintle.PhysicalID(p.Name)
	text, err := json.Marshal(shelved{p.Size, p.Tags, p.Key.Reveal()})
	if err == nil {
		err = errors.Join(r.note(kind, id), os.WriteFile(r.file(id), text, 0o600))
	}
	return pintle.Response[readerAttributes]{ID: id, Attributes: readerAttributes{"/shelf/" + p.Name}}, err
}

func (r reader) Create(_ context.Context, c *pintle.CreateRequest[readerProperties]) (pintle.Response[readerAttributes], error) {
	return r.put("Create", c.Properties)
}

func (r reader) Update(_ context.Context, u *pintle.UpdateRequest[readerProperties]) (pintle.Response[readerAttributes], error) {
	return r.put("Update", u.Properties)
}

func (r reader) Delete(_ context.Context, d *pintle.DeleteRequest[readerProperties]) error {
	err := os.Remove(r.file(d.ID))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, r.note("Delete", d.ID))
}

func (r reader) Read(
	_ context.Context, q *pintle.ReadRequest[readerProperties],
) (pintle.ReadResponse[readerProperties, readerAttributes], error) {
	var response pintle.ReadResponse[readerProperties, readerAttributes]
	if err := r.note("Read", q.ID); err != nil {
		return response, err
	}
	if _, err := os.Stat(filepath.Join(r.shelf, "meet")); err == nil {
		attend(string(q.ID))
	}
	text, err := os.ReadFile(r.file(q.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return response, fmt.Errorf("%s: %w", q.ID, pintle.ErrGone)
	}
	var now shelved
	if err == nil {
		err = json.Unmarshal(text, &now)
	}
	response.Properties = readerProperties{Name: string(q.ID), Size: now.Size, Tags: now.Tags, Key: pintle.NewSecret(now.Key)}
	response.Attributes.Path = "/shelf/" + string(q.ID)
	return response, err
}
