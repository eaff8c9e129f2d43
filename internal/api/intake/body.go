package intake

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
)

// Body is a request body that was read completely. Reading it returns its bytes from the start. It is not safe for
// concurrent use.
type Body struct {
	of       *Bodies
	abort    func()
	known    bool     // the sender is known
	declared int64    // expected size in bytes, -1 if unknown
	memory   []byte   // the beginning
	file     *os.File // the rest; nil if everything is in memory
	size     int64
	sum      [sha256.Size]byte
	from     io.Reader // the unread part; nil before the first Read

	// held and cut are guarded by of.mu.
	held int64
	cut  bool
}

// Size returns the number of bytes.
func (b *Body) Size() int64 { return b.size }

// Sum returns the SHA-256 of the bytes.
func (b *Body) Sum() [sha256.Size]byte { return b.sum }

// Bytes returns all bytes, including those that were already read. The caller must not change them.
func (b *Body) Bytes() ([]byte, error) {
	if b.file == nil {
		return b.memory, nil
	}
	all := make([]byte, b.size)
	_, err := io.ReadFull(b.whole(), all)
	return all, err
}

func (b *Body) whole() io.Reader {
	if b.file == nil {
		return bytes.NewReader(b.memory)
	}
	return io.MultiReader(bytes.NewReader(b.memory), io.NewSectionReader(b.file, 0, b.size-int64(len(b.memory))))
}

// Read implements [io.Reader].
func (b *Body) Read(p []byte) (int, error) {
	if b.from == nil {
		b.from = b.whole()
	}
	return b.from.Read(p)
}

// Release removes the body from the budget, because its sender is known. The body stays readable. Release may be called
// more than once.
func (b *Body) Release() { b.of.release(b) }

// Close releases the body and deletes its file. It may be called more than once.
func (b *Body) Close() error {
	b.of.release(b)
	if b.file == nil {
		return nil
	}
	file := b.file
	b.file, b.memory, b.size, b.from = nil, nil, 0, bytes.NewReader(nil)
	err := file.Close()
	if removed := os.Remove(file.Name()); removed != nil && !errors.Is(removed, os.ErrNotExist) {
		err = errors.Join(err, removed) // on systems where an open file keeps its name
	}
	return err
}

// fill reads the body of a request.
func (b *Body) fill(from io.Reader, limit int64) error {
	sum := sha256.New()
	var buffer []byte // used after the memory is full
	for {
		into := buffer
		if b.file == nil {
			if b.grow(); len(b.memory) < cap(b.memory) {
				into = b.memory[len(b.memory):cap(b.memory)]
			} else {
				file, err := os.CreateTemp(b.of.config.Dir, "body-*")
				if err != nil {
					return err
				}
				_ = os.Remove(file.Name()) // Windows removes it in Close
				b.file, buffer = file, make([]byte, b.of.config.Memory)
				into = buffer
			}
		}
		n, err := from.Read(into)
		if n > 0 {
			if b.size += int64(n); b.size > limit {
				return ErrTooLong
			}
			if err := b.of.reserve(b, int64(n)); err != nil {
				return err
			}
			sum.Write(into[:n])
			if b.file == nil {
				b.memory = b.memory[:len(b.memory)+n]
			} else if _, err := b.file.Write(into[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			sum.Sum(b.sum[:0])
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// grow allocates more memory, up to the limit of one body.
func (b *Body) grow() {
	const first = 1 << 10
	if len(b.memory) < cap(b.memory) || cap(b.memory) >= b.of.config.Memory {
		return
	}
	memory := make([]byte, len(b.memory), min(max(first, 2*cap(b.memory)), b.of.config.Memory))
	copy(memory, b.memory)
	b.memory = memory
}
