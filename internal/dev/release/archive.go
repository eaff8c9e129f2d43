package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"slices"
)

// entry is a file in an archive.
type entry struct {
	name    string
	text    []byte
	program bool
}

func (e entry) mode() int64 {
	if e.program {
		return 0o755
	}
	return 0o644
}

// named returns the entries with certain names.
func named(entries []entry, names ...string) []entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return !slices.Contains(names, e.name) })
}

// pack creates an archive in the usual format of the platform, and returns its extension. Files have no owner, and
// the date of the commit.
func (r *release) pack(t target, entries []entry) (archive []byte, extension string, err error) {
	var out bytes.Buffer
	if t.os == "windows" {
		err = r.zip(&out, entries)
		return out.Bytes(), ".zip", err
	}
	err = r.tar(&out, entries)
	return out.Bytes(), ".tar.gz", err
}

func (r *release) tar(out *bytes.Buffer, entries []entry) error {
	press, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	tape := tar.NewWriter(press)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode(), Size: int64(len(e.text)), ModTime: r.date, Format: tar.FormatUSTAR}
		if err := tape.WriteHeader(header); err != nil {
			return err
		}
		if _, err := tape.Write(e.text); err != nil {
			return err
		}
	}
	return errors.Join(tape.Close(), press.Close())
}

func (r *release) zip(out *bytes.Buffer, entries []entry) error {
	archive := zip.NewWriter(out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.date}
		header.SetMode(fs.FileMode(e.mode()))
		w, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(e.text); err != nil {
			return err
		}
	}
	return archive.Close()
}
