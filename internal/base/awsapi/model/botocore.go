package model

import (
	"compress/flate"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

func best(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) }

// Overlay is a directory in the layout of botocore's data and of ~/.aws/models: <service>/<version>/ with
// service-2.json and endpoint-rule-set-1.json, each optionally compressed as .json.gz. The version that sorts last is
// used.
type Overlay struct {
	dir     string
	entries []Entry
}

// OpenOverlay lists the services in dir and reads the ID of each. It reads the models only when they are requested.
func OpenOverlay(dir string) (*Overlay, error) {
	folders, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	o := &Overlay{dir: dir}
	for _, folder := range folders {
		name := folder.Name()
		versions, err := os.ReadDir(filepath.Join(dir, name))
		if err != nil {
			continue // not a service, such as botocore's endpoints.json
		}
		for _, version := range slices.Backward(versions) {
			e := Entry{Name: name, Version: version.Name()}
			s, err := o.Service(e)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			e.ServiceID = s.Metadata.ServiceID
			o.entries = append(o.entries, e)
			break
		}
	}
	return o, nil
}

// Entries implements [Source].
func (o *Overlay) Entries() []Entry { return slices.Clone(o.entries) }

// Service implements [Source]. The result includes service-2.sdk-extras.json.
func (o *Overlay) Service(e Entry) (*Service, error) {
	path := filepath.Join(o.dir, e.Name, e.Version, "service-2.json")
	text, err := readJSON(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	extras, err := readJSON(filepath.Join(o.dir, e.Name, e.Version, "service-2.sdk-extras.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	var extra struct {
		Merge struct {
			Shapes map[string]*Shape `json:"shapes"`
		} `json:"merge"`
	}
	if err := json.Unmarshal(extras, &extra); err != nil {
		return nil, fmt.Errorf("%s: extras: %w", path, err)
	}
	for name, add := range extra.Merge.Shapes {
		if add == nil {
			continue
		}
		shape := s.Shapes[name]
		if shape == nil {
			s.Shapes[name] = add
			continue
		}
		if add.Type != "" {
			shape.Type = add.Type
		}
		shape.Members = append(shape.Members, add.Members...)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: with its extras: %w", path, err)
	}
	return s, nil
}

// Rules implements [Source].
func (o *Overlay) Rules(e Entry) ([]byte, error) {
	text, err := readJSON(filepath.Join(o.dir, e.Name, e.Version, "endpoint-rule-set-1.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// readJSON reads a JSON file, or its compressed version.
func readJSON(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		return readAll(f, path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	packed, err := os.Open(path + ".gz")
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("%s.gz: %w", path, err)
	}
	return readAll(r, path+".gz")
}
