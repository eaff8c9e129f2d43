package s3api

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Limits of the parts of a chunked body that are not data.
const (
	maxChunkLine = 4 << 10 // bytes
	maxTrailers  = 16
)

var errChunk = refuse(http.StatusBadRequest, "InvalidRequest", "The body is not encoded as aws-chunked has it.")

// chunked decodes a body in aws-chunked encoding. It skips the signatures of chunks: the endpoint has verified the
// signature of the headers, and a checksum comes with the data or after it.
type chunked struct {
	from *bufio.Reader
	left int64 // of the chunk
	read bool  // a chunk has been read, and its line break follows
	done bool
	// trailers are the headers after the data. They are set at the end of the body.
	trailers http.Header
}

func newChunked(from io.Reader) *chunked {
	return &chunked{from: bufio.NewReaderSize(from, 16<<10), trailers: http.Header{}}
}

// Read implements [io.Reader]. At the end of the data it has also read the trailers.
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
		err = io.ErrUnexpectedEOF // the empty last chunk is missing
	}
	return n, err
}

// next reads the header of a chunk, or the trailers after the last chunk.
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

// end reads the trailers, and returns an error if anything follows them.
func (c *chunked) end() error {
	for count := 0; ; count++ {
		line, err := c.line()
		if errors.Is(err, io.ErrUnexpectedEOF) && line == "" {
			return nil // some clients omit the empty line
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
	for { // some clients send another empty line
		line, err := c.line()
		if errors.Is(err, io.ErrUnexpectedEOF) && line == "" {
			return nil
		}
		if err != nil || line != "" {
			return errors.Join(err, errChunk)
		}
	}
}

// line reads a line. At the end of the body it returns the rest and [io.ErrUnexpectedEOF].
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
