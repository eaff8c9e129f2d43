package store

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/secretfile"
)

// maxKeyFile is the maximum size of a key file.
const maxKeyFile = 64 << 10

const keyFileHead = `# The keys of a Pintle data store, one a line: id, space, 32 bytes in base64.
# The first one seals, all of them open. Without this file the secrets in the store are lost; keep a copy elsewhere.
`

// OpenKeys reads a key file. If the file is missing, it creates one with a random key, readable only by its owner. If
// several processes do so at once, one wins and all get its key.
//
// The file has one key a line: the ID, a space, and the key in standard base64. Empty lines and lines that begin with #
// are skipped. A file that other users may read is rejected; see package secretfile.
func OpenKeys(path string) (*Keys, error) {
	list, err := readKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKeyFile(path); err != nil {
			return nil, fmt.Errorf("make key file %s: %w", path, err)
		}
		list, err = readKeys(path)
	}
	var keys *Keys
	if err == nil {
		keys, err = NewKeys(list...)
	}
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return keys, nil
}

// ParseKeys reads keys from a text in the format of a key file. In a text of one line, commas separate the keys. Its
// errors name the line but do not quote it.
func ParseKeys(text string) (*Keys, error) {
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxKeyFile)
	}
	if !strings.Contains(strings.TrimSpace(text), "\n") {
		text = strings.ReplaceAll(text, ",", "\n")
	}
	list, err := parseKeys([]byte(text))
	if err != nil {
		return nil, err
	}
	return NewKeys(list...)
}

// KeyIDs returns the IDs of the keys in a key file, in order.
func KeyIDs(path string) ([]string, error) {
	list, err := readKeys(path)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	ids := make([]string, len(list))
	for i, key := range list {
		ids[i] = key.ID
	}
	return ids, nil
}

// EditKeys replaces the keys in a key file with the result of edit. A crash leaves the old file or the new one. The new
// file gets the owner, group and mode of the old one if the process may set them. edit must leave at least one key. Its
// error is returned unchanged, and the file is then unchanged.
func EditKeys(path string, edit func([]Key) ([]Key, error)) error {
	list, err := readKeys(path)
	if err != nil {
		return fmt.Errorf("key file %s: %w", path, err)
	}
	if list, err = edit(list); err != nil {
		return err
	}
	if _, err := NewKeys(list...); err != nil {
		return fmt.Errorf("key file %s: %w", path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("key file %s: %w", path, err)
	}
	if err := writeKeyFile(path, list, info, os.Rename); err != nil {
		return fmt.Errorf("key file %s: %w", path, err)
	}
	return nil
}

func readKeys(path string) ([]Key, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the file was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if !secretfile.Private(info) {
		return nil, fmt.Errorf("others can read it (mode %#o): type chmod 600 %s", info.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKeyFile {
		return nil, fmt.Errorf("it is longer than %d bytes", maxKeyFile)
	}
	return parseKeys(text)
}

// parseKeys reads the text of a key file. Its errors name the line but do not quote it, because any line may hold a
// key.
func parseKeys(text []byte) ([]Key, error) {
	var keys []Key
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		fields := strings.Fields(string(line))
		if len(fields) != 2 || !keyID.MatchString(fields[0]) {
			return nil, fmt.Errorf("line %d: want an id of lower-case letters, digits and hyphens, a space, and a key in base64", number)
		}
		secret, err := base64.StdEncoding.DecodeString(fields[1])
		if err != nil || len(secret) != KeySize {
			return nil, fmt.Errorf("line %d: key %s is not %d bytes in base64", number, fields[0], KeySize)
		}
		keys = append(keys, Key{ID: fields[0], Secret: secret})
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key in it: restore it from its copy (or, if the store is new, remove it)")
	}
	return keys, nil
}

// makeKeyFile writes a key file with a random key. An existing file stays.
func makeKeyFile(path string) error {
	return writeKeyFile(path, []Key{GenerateKey()}, nil, func(draft, path string) error {
		if err := os.Link(draft, path); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return os.Remove(draft)
	})
}

// writeKeyFile atomically and durably writes a key file. old is the file that it replaces, or nil. put moves a draft to
// its final name.
func writeKeyFile(path string, keys []Key, old fs.FileInfo, put func(draft, path string) error) (err error) {
	dir := filepath.Dir(path)
	draft := filepath.Join(dir, "."+filepath.Base(path)+"."+rand.Text())
	file, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(draft); err != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if old != nil {
		err = secretfile.Like(file, old) // a service that is not root must be able to read a file that root has changed
	}
	if err == nil {
		_, err = io.WriteString(file, keyFileHead)
	}
	for _, key := range keys {
		if err == nil {
			_, err = fmt.Fprintf(file, "%s %s\n", key.ID, base64.StdEncoding.EncodeToString(key.Secret))
		}
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := put(draft, path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the names in a directory durable, if the operating system supports that.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
