package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// A data directory holds:
//
//	lock         held by the one process that has the directory open; says its process id
//	engine.json  how other commands reach that process (0600: it holds a key)
//	port         the port of an earlier run: response URLs that are out lead there
//	keys         seal the secrets in the database and sign response URLs (0600)
//	credentials  access keys for AWS clients, in their own format (0600)
//	pintle.db    the database, with its -wal and -shm
//	elsewhere    in place of pintle.db and keys: the name of the PostgreSQL database that the stacks are in
//	build/       providers that were built from Go source
//	schemas/     schemas of providers, by the content of their programs
//	.gitignore   keeps all of it out of a repository
const (
	lockFile        = "lock"
	recordFile      = "engine.json"
	portFile        = "port"
	keysFile        = "keys"
	credentialsFile = "credentials"
	databaseFile    = "pintle.db"
	elsewhereFile   = "elsewhere"
	buildDir        = "build"
	schemaDir       = "schemas"
	trustDir        = "trust"
	ignoreFile      = ".gitignore"
)

// maxSmallFile bounds the bytes read of small files.
const maxSmallFile = 64 << 10

// HeldError says that another process has the data directory open.
type HeldError struct {
	Directory string
	PID       int    // 0 if it is not known
	URL       string // empty if it does not serve, or not yet
}

// Error names the holder.
func (e *HeldError) Error() string {
	text := "data directory " + e.Directory + " is in use"
	if e.PID != 0 {
		text += " by process " + strconv.Itoa(e.PID)
	}
	if e.URL != "" {
		text += " at " + e.URL
	}
	return text
}

// Lock is the right to have a data directory open. It ends with the process at the latest.
type Lock struct {
	directory string
	file      *os.File
}

// Exists reports whether path is a data directory that was used before. A directory that the process may not read counts as
// one, so that opening it reports the missing permission.
func Exists(path string) bool {
	for _, name := range []string{databaseFile, elsewhereFile} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil || errors.Is(err, fs.ErrPermission) {
			return true
		}
	}
	return false
}

// settle makes sure that all runs of a data directory mean the same database: database is the name of one elsewhere, empty
// for the file in the directory.
func (l *Lock) settle(database string) error {
	_, err := os.Stat(l.path(databaseFile))
	here := err == nil
	text, err := os.ReadFile(l.path(elsewhereFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	elsewhere := strings.TrimSpace(string(text))
	switch {
	case database != "" && here:
		return fmt.Errorf("data directory %s has its own stacks: use another directory with --data for this database", l.directory)
	case database == "" && elsewhere != "":
		return fmt.Errorf("the stacks of data directory %s are in the database %s: start its server with pintle serve --database, "+
			"or use another directory with --data", l.directory, elsewhere)
	case database != elsewhere:
		return l.write(elsewhereFile, []byte(database+"\n"))
	}
	return nil
}

// KeyFile returns the path of the key file in a data directory.
func KeyFile(path string) string { return filepath.Join(path, keysFile) }

// Acquire makes the data directory if it is not there and locks it. It returns a [*HeldError] if another process has
// it.
func Acquire(path string) (*Lock, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	held, err := lock(file)
	if err == nil && !held {
		return nil, errors.Join(holder(path, file), file.Close())
	}
	l := &Lock{path, file}
	if err == nil {
		err = l.claim()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock data directory %s: %w", path, err), file.Close())
	}
	return l, nil
}

// claim removes files of the previous holder and records the new one.
func (l *Lock) claim() error {
	if err := os.Remove(l.path(recordFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if _, err := l.file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return err
	}
	ignore, err := os.OpenFile(l.path(ignoreFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = ignore.WriteString("*\n")
	return errors.Join(err, ignore.Close())
}

// holder returns the holder of the lock, as far as it is known.
func holder(path string, file *os.File) *HeldError {
	held := &HeldError{Directory: path}
	// The lock file names the holder; engine.json may still be that of the previous one.
	text, err := io.ReadAll(io.LimitReader(file, maxSmallFile))
	if err == nil {
		held.PID, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if record, err := ReadRecord(path); err == nil && record.PID == held.PID {
		held.URL = record.URL
	}
	return held
}

// Release gives the directory free. A second Release does nothing.
func (l *Lock) Release() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close() // which unlocks
	l.file = nil
	return err
}

func (l *Lock) path(name string) string { return filepath.Join(l.directory, name) }

// Record is the content of engine.json. It lets other commands of the same user reach the engine.
type Record struct {
	PID int `json:"pid"`
	// URL is on loopback.
	URL string `json:"url"`
	// Serving says that the engine runs for its own sake, and not for one command.
	Serving bool   `json:"serving"`
	Region  string `json:"region"`
	// Cloud says that it runs functions of templates, and has the APIs that go with them.
	Cloud bool `json:"cloud,omitempty"`
	// Owner is a key made for this run. Only a user that can read this directory has it, so its holder may also
	// define providers.
	Owner Credentials `json:"owner"`
	// Client is the key of the credentials file that AWS clients are to use.
	Client Credentials `json:"client"`
	// Webhook is the secret with which requests to URLs are signed, in the form of Standard Webhooks.
	Webhook Secret `json:"webhook"`
}

// Secret is a text that no log shows.
type Secret string

// Format prints a mask for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, value.Mask) }

// Credentials are an access key in clear.
type Credentials struct {
	ID     string `json:"accessKeyId"`
	Secret string `json:"secretAccessKey"`
}

// Format prints the id for every verb, so that no log shows the secret.
func (c Credentials) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "access key %s", c.ID) }

// ReadRecord reads engine.json in a data directory. Its process may have died: the record is reliable only while
// the directory is locked.
func ReadRecord(directory string) (Record, error) {
	file, err := os.Open(filepath.Join(directory, recordFile))
	if err != nil {
		return Record{}, err
	}
	defer func() { _ = file.Close() }() // read only
	text, err := io.ReadAll(io.LimitReader(file, maxSmallFile))
	if err != nil {
		return Record{}, err
	}
	var record Record
	if err := json.Unmarshal(text, &record); err != nil {
		return Record{}, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return record, nil
}

// publish writes engine.json.
func (l *Lock) publish(record Record) error {
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	return l.write(recordFile, append(text, '\n'))
}

// withdraw removes engine.json: from now on no one should begin to talk to this process.
func (l *Lock) withdraw() error {
	if err := os.Remove(l.path(recordFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lastPort returns the port that an earlier run noted, 0 if it is not known.
func (l *Lock) lastPort() int {
	text, err := os.ReadFile(l.path(portFile))
	if err != nil || len(text) >= 16 {
		return 0
	}
	port, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || port < 1 || port > 65535 {
		return 0
	}
	return port
}

// listenAt returns a listener on loopback, at that port if it can be had.
func listenAt(port int) (net.Listener, error) {
	if port != 0 {
		if listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return listener, nil
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// keepPort notes the port for the next run.
func (l *Lock) keepPort(port string) error {
	return l.write(portFile, []byte(port+"\n"))
}

// write replaces a file of the directory, readable by its owner only; readers see the old one or the new one.
func (l *Lock) write(name string, text []byte) error {
	draft, err := os.CreateTemp(l.directory, "."+name+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // nothing is left once it is renamed
	_, err = draft.Write(text)
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), l.path(name))
}
