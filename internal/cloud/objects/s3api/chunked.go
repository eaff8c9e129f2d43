package s3api

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Bounds of a body in chunks that are not data.
const (
	maxChunkLine = 4 << 10 // bytes
	maxTrailers  = 16
)

var errChunk = refuse(http.StatusBadRequest, "InvalidRequest", "The body is not encoded as aws-chunked has it.")

// chunked reads the data of a body that is encoded as aws-chunked. The signatures of chunks are skipped: the endpoint has verified that
// of the headers, and a checksum comes with the data or after them.
type chunked struct {
	from *bufio.Reader
	left int64 // of the chunk
	read bool  // a chunk has been read, after which there is an end of line
	done bool
	// trailers are the headers after the data, once these have been read to their end.
	trailers http.Header
}

func newChunked(from io.Reader) *chunked {
	return &chunked{from: bufio.NewReaderSize(from, 16<<10), trailers: http.Header{}}
}

// Read implements [io.Reader]. At the end of the data it has read the trailers.
func (c *chunked) Read(p []byte) (int, error) {
	if c.done {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	for c.left == 0 {
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n, err := c.from.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the last chunk is empty, and has not come
	}
	return n, err
}

// next reads the beginning of a chunk, or all that is after the last.
func (c *chunked) next() error {
	if c.read {
		line, err := c.line()
		if err != nil {
			return err
		}
		if line != "" {
			return errChunk
		}
	}
	c.read = true
	line, err := c.line()
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(line, ";")
	c.left, err = strconv.ParseInt(strings.TrimSpace(size), 16, 64)
	if err != nil || c.left < 0 {
		return errChunk
	}
	if c.left > 0 {
		return nil
	}
	if err := c.end(); err != nil {
		return err
	}
	c.done = true
	return io.EOF
}

// end reads the trailers, and wants nothing after them.
func (c *chunked) end() error {
	for count := 0; ; count++ {
		line, err := c.line()
		if errors.Is(err, io.ErrUnexpectedEOF) && line == "" {
			return nil // some clients leave out the empty line
		}
		if err != nil {
			return err
		}
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || count == maxTrailers {
			return errChunk
		}
		c.trailers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	for { // some end with one more
		line, err := c.line()
		if errors.Is(err, io.ErrUnexpectedEOF) && line == "" {
			return nil
		}
		if err != nil || line != "" {
			return errors.Join(err, errChunk)
		}
	}
}

// line reads a line. At the end of the body it returns what there is and [io.ErrUnexpectedEOF].
func (c *chunked) line() (string, error) {
	var line []byte
	for {
		b, err := c.from.ReadByte()
		if errors.Is(err, io.EOF) {
			return string(line), io.ErrUnexpectedEOF
		}
		if err != nil {
			return "", err
		}
		if b == '\n' {
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		if len(line) == maxChunkLine {
			return "", errChunk
		}
		line = append(line, b)
	}
}
