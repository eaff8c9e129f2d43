package model

import (
	"archive/zip"
	"bytes"
	_ "embed" // the bundle
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

//go:embed bundle/models.zip
var bundle []byte

// Entry is the index entry of a service.
type Entry struct {
	Name      string `json:"name"` // the name of botocore's directory
	ServiceID string `json:"id"`
	Version   string `json:"version"`
	Rules     string `json:"rules,omitempty"` // the file of its endpoint rules
}

// Index lists the services of a bundle.
type Index struct {
	Source   string  `json:"source"` // e.g. "botocore 1.43.11"
	Services []Entry `json:"services"`
}

// Source is where descriptions come from: a [Bundle] or an [Overlay].
type Source interface {
	// Entries lists the services.
	Entries() []Entry
	// Service reads the model of a service.
	Service(Entry) (*Service, error)
	// Rules reads the endpoint rules of a service, nil if it has none.
	Rules(Entry) ([]byte, error)
}

// Bundle holds the models that are compiled in. It is safe for concurrent use.
type Bundle struct {
	files      *zip.Reader
	index      Index
	partitions []byte
}

// maxFile limits the uncompressed size of a file in a bundle or an overlay. The largest file of botocore is under 10
// MB.
const maxFile = 64 << 20

// Open opens the bundle.
func Open() (*Bundle, error) { return open(bundle) }

func open(text []byte) (*Bundle, error) {
	files, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, fmt.Errorf("the bundle of models: %w", err)
	}
	b := &Bundle{files: files}
	index, err := b.read("index.json")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(index, &b.index); err != nil {
		return nil, fmt.Errorf("the bundle's index: %w", err)
	}
	if b.partitions, err = b.read("partitions.json"); err != nil {
		return nil, err
	}
	return b, nil
}

// Source returns the source of the bundle, such as "botocore 1.43.11".
func (b *Bundle) Source() string { return b.index.Source }

// Partitions returns botocore's partitions.json.
func (b *Bundle) Partitions() []byte { return b.partitions }

// Entries implements [Source]. Entries are sorted by name.
func (b *Bundle) Entries() []Entry { return slices.Clone(b.index.Services) }

// Service implements [Source].
func (b *Bundle) Service(e Entry) (*Service, error) {
	text, err := b.read("services/" + e.Name + ".json")
	if err != nil {
		return nil, err
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the bundle's model of %s: %w", e.Name, err)
	}
	return s, nil
}

// Rules implements [Source].
func (b *Bundle) Rules(e Entry) ([]byte, error) {
	if e.Rules == "" {
		return nil, nil
	}
	return b.read(e.Rules)
}

func (b *Bundle) read(name string) ([]byte, error) {
	f, err := b.files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the bundle of models: %w", err)
	}
	defer f.Close()
	return readAll(f, name)
}

// readAll reads a file and returns an error if it is too large.
func readAll(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s: more than %d bytes: %w", name, maxFile, fs.ErrInvalid)
	}
	return text, nil
}

// Write writes a bundle: the sorted index and the files by name. The output is deterministic for a given version of
// Go.
func Write(w io.Writer, index Index, files map[string][]byte) error {
	index.Services = slices.Clone(index.Services)
	slices.SortFunc(index.Services, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	names := []string{"index.json"}
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names[1:])
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, best)
	for i, name := range names {
		body := files[name]
		if i == 0 {
			body = text
		}
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate}) // no time: deterministic
		if err != nil {
			return err
		}
		if _, err := f.Write(body); err != nil {
			return err
		}
	}
	return z.Close()
}
