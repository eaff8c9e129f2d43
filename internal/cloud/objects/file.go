package objects

import (
	"context"
	"crypto/md5" // S3 derives entity tags from it
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
)

// A file contains the data, then its info as JSON, then the length of the JSON in four bytes, then the mark.
const (
	fileMark = "pintle object 1\n"
	tailSize = 4 + len(fileMark)
	maxInfo  = 64 << 10 // bytes of the JSON
)

// incoming is a temporary file that is being written.
type incoming struct {
	store *Store
	file  *os.File
	name  string
	size  int64
	limit int64 // of size
	md5   hash.Hash
	sum   hash.Hash // nil without an algorithm
}

// receive creates a temporary file.
func (s *Store) receive(a Algorithm) (*incoming, error) {
	name := incomingDir + "/" + rand.Text()
	file, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &incoming{store: s, file: file, name: name, limit: s.config.MaxObject, md5: md5.New(), sum: a.New()}, nil
}

// fill appends all of body, until ctx ends.
func (in *incoming) fill(ctx context.Context, body io.Reader) error {
	to := io.MultiWriter(in.file, in.md5)
	if in.sum != nil {
		to = io.MultiWriter(to, in.sum)
	}
	room := in.limit - in.size
	n, err := io.Copy(to, io.LimitReader(&patient{ctx, body}, room+1))
	in.size += n
	if err == nil && n > room {
		return ErrTooLarge
	}
	return err
}

// patient reads until its context ends.
type patient struct {
	ctx context.Context
	io.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.Reader.Read(b)
}

// sums returns the sums of the data so far.
func (in *incoming) sums() Sums {
	sums := Sums{Size: in.size, MD5: in.md5.Sum(nil)}
	if in.sum != nil {
		sums.Checksum = base64.StdEncoding.EncodeToString(in.sum.Sum(nil))
	}
	return sums
}

// finish writes the info and flushes the temporary file to the disk.
func (in *incoming) finish(info Info) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if len(text) > maxInfo {
		return ErrMetadata
	}
	text = binary.BigEndian.AppendUint32(text, uint32(len(text)))
	if _, err := in.file.Write(append(text, fileMark...)); err != nil {
		return err
	}
	return errors.Join(in.file.Sync(), in.file.Close())
}

// place renames the file to its final name, durably.
func (in *incoming) place(name string) error {
	dir := path.Dir(name)
	if err := in.store.makeDir(dir); err != nil {
		return err
	}
	if err := in.store.root.Rename(in.name, name); err != nil {
		return err
	}
	return in.store.syncDir(dir)
}

// drop removes the file, unless it was placed.
func (in *incoming) drop() {
	_ = in.file.Close()               // it may be closed
	_ = in.store.root.Remove(in.name) // it may be placed; New removes leftovers
}

// quoted formats a hash as an entity tag.
func quoted(sum []byte) string { return `"` + hex.EncodeToString(sum) + `"` }

// readInfo reads the info at the end of a file.
func readInfo(file *os.File) (info Info, err error) {
	damaged := func(what string) error { return fmt.Errorf("the file of an object is damaged: %s", what) }
	is, err := file.Stat()
	if err != nil {
		return info, err
	}
	const guess = 2 << 10 // enough for nearly all
	end := make([]byte, min(is.Size(), guess))
	if _, err := file.ReadAt(end, is.Size()-int64(len(end))); err != nil {
		return info, err
	}
	if len(end) < tailSize || string(end[len(end)-len(fileMark):]) != fileMark {
		return info, damaged("its end is missing")
	}
	length := int64(binary.BigEndian.Uint32(end[len(end)-tailSize:]))
	size := is.Size() - int64(tailSize) - length
	if length > maxInfo || size < 0 {
		return info, damaged("its end is not that of an object")
	}
	text := make([]byte, length)
	if _, err := file.ReadAt(text, size); err != nil {
		return info, err
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return info, damaged(err.Error())
	}
	if info.Size != size {
		return info, damaged(fmt.Sprintf("it has %d bytes of data and says %d", size, info.Size))
	}
	return info, nil
}
