package logs

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

const (
	extension    = ".log"
	identityFile = "group.json"
	hashBytes    = 16
)

// hashed returns a name that any file system accepts and that is unique to a list of texts.
func hashed(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:hashBytes])
}

func (g *group) file(stream string) string { return filepath.Join(g.dir, hashed(stream)+extension) }

// identity identifies the group of a directory.
type identity struct {
	registry.Scope
	Name string
}

func writeIdentity(dir string, place registry.Scope, name string) error {
	text, err := json.Marshal(identity{place, name})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, identityFile), text, 0o600)
}

func readIdentity(dir string) (id identity, err error) {
	text, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err != nil {
		return id, err
	}
	return id, json.Unmarshal(text, &id)
}

// header is the first line of a stream.
type header struct {
	Stream string
	Made   int64
	// Seq is the number of the last event that was removed from the beginning.
	Seq int64
}

func headerLine(h header) ([]byte, error) {
	text, err := json.Marshal(h)
	return append(text, '\n'), err
}

// writeHeader creates the file of a new stream, and returns its size.
func writeHeader(file string, st *stream) (int64, error) {
	text, err := headerLine(header{Stream: st.Name, Made: st.Made})
	if err != nil {
		return 0, err
	}
	return int64(len(text)), os.WriteFile(file, text, 0o600)
}

// appendLine appends the line of an event: its time, its ingestion time, its number and its message.
func appendLine(text []byte, e Event, ingested, seq int64) []byte {
	message := e.Message
	if len(message) > MaxMessage {
		message = strings.ToValidUTF8(message[:MaxMessage], "")
	}
	text = strconv.AppendInt(text, e.Time, 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, ingested, 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, seq, 10)
	text = append(text, ' ')
	text = append(text, escape.Replace(message)...)
	return append(text, '\n')
}

var (
	escape   = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`)
	unescape = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\r`, "\r")
)

// entry is a parsed event.
type entry struct {
	Event
	ingested, seq int64
}

// parseLine parses the line of an event without its line break. It returns false if the line is damaged. The message
// is still escaped.
func parseLine(line []byte) (e entry, ok bool) {
	for _, number := range []*int64{&e.Time, &e.ingested, &e.seq} {
		text, rest, found := bytes.Cut(line, []byte{' '})
		n, err := strconv.ParseInt(string(text), 10, 64)
		if !found || err != nil {
			return e, false
		}
		*number, line = n, rest
	}
	e.Message = string(line)
	return e, utf8.Valid(line)
}

// appendFile appends lines to a file. It first removes a partial line that a crash left at the end.
func appendFile(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	end, err := completeLines(f)
	if err == nil {
		_, err = f.WriteAt(text, end)
	}
	return errors.Join(err, f.Close())
}

// completeLines returns the end of the last complete line of a file, and truncates the file there.
func completeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	end := info.Size()
	var last [1]byte
	if end == 0 {
		return 0, nil
	}
	if _, err := f.ReadAt(last[:], end-1); err != nil {
		return 0, err
	}
	if last[0] == '\n' {
		return end, nil
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, end))
	if err != nil {
		return 0, err
	}
	end = int64(bytes.LastIndexByte(text, '\n') + 1)
	return end, f.Truncate(end)
}

// maxLine is the maximum length of a line: every byte of a message may be escaped.
const maxLine = 2*MaxMessage + 1024

// scan reads a stream and calls do for each event until do returns false. It returns the header, whose Stream is
// empty if the file is damaged or does not exist.
func scan(file string, do func(entry) bool) (h header, size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return h, 0, err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &h) != nil {
		return header{}, size, nil
	}
	for lines.Scan() {
		if e, ok := parseLine(lines.Bytes()); ok && !do(e) {
			break
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return h, size, err
	}
	return h, size, nil
}

// readStream reads the state of a stream. It returns nil if the file is damaged.
func readStream(file string) (*stream, error) {
	st := &stream{}
	h, size, err := scan(file, func(e entry) bool {
		st.saw(e.Time, e.ingested)
		st.seq = e.seq
		return true
	})
	if err != nil || h.Stream == "" {
		return nil, err
	}
	st.Name, st.Made, st.Bytes, st.seq = h.Stream, h.Made, size, max(st.seq, h.Seq)
	return st, nil
}

// halve removes the older half of a stream.
func (g *group) halve(st *stream) error {
	var lines [][]byte
	var removed, size int64
	h, total, err := scan(g.file(st.Name), func(e entry) bool {
		e.Message = unescape.Replace(e.Message)
		lines = append(lines, appendLine(nil, e.Event, e.ingested, e.seq))
		return true
	})
	if err != nil {
		return err
	}
	for removed*2 < total && len(lines) > 1 {
		removed += int64(len(lines[0]))
		lines = lines[1:]
	}
	if len(lines) > 0 {
		if e, ok := parseLine(bytes.TrimSuffix(lines[0], []byte{'\n'})); ok {
			h.Seq = e.seq - 1
		}
	}
	text, err := headerLine(h)
	if err != nil {
		return err
	}
	text = append(text, bytes.Join(lines, nil)...)
	size = int64(len(text))
	draft := g.file(st.Name) + ".new"
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(draft, g.file(st.Name)); err != nil {
		return err
	}
	st.Bytes, st.First = size, 0
	if len(lines) > 0 {
		if e, ok := parseLine(bytes.TrimSuffix(lines[0], []byte{'\n'})); ok {
			st.First = e.Time
		}
	}
	return nil
}
