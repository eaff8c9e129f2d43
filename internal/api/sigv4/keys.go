package sigv4

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/secretfile"
)

const (
	maxKeysFile  = 1 << 20 // bytes
	maxKeysLine  = 4 << 10 // bytes
	minSecret    = 16      // characters
	maxRole      = 2048    // bytes, as an ARN in IAM
	defaultEntry = "default"
)

// Secret is the secret part of an access key. It is printed and logged as "****". Convert it to string to get the
// value.
type Secret string

// String hides the secret.
func (Secret) String() string { return "****" }

// GoString hides the secret.
func (Secret) GoString() string { return "****" }

// LogValue hides the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue("****") }

// MarshalText hides the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte("****"), nil }

// Key is one access key.
type Key struct {
	Profile string // the section of the file
	ID      string
	Secret  Secret
	Account string // twelve letters or digits
	Role    string // a role's name or ARN; empty means the account's root
	Console string // viewer or operator: the key's role in the console; empty means the console's default
	// Token is the token of a session of another service, required in every request. It may be empty.
	Token Secret
}

// goesWith reports whether the tokens of a request match the key.
func (k Key) goesWith(tokens []string) bool {
	if k.Token == "" {
		return len(tokens) == 0
	}
	return len(tokens) == 1 && hmac.Equal([]byte(tokens[0]), []byte(k.Token))
}

// Keys are the access keys of a server, read from a credentials file. They are immutable and safe for concurrent use.
//
// The file has the format of the AWS tools, so that AWS_SHARED_CREDENTIALS_FILE can point to it:
//
//	[default]
//	aws_access_key_id = AKIAEXAMPLEEXAMPLE22
//	aws_secret_access_key = at least 16 characters
//	aws_account_id = 000000000000
//	pintle_role = deployer
//	pintle_console = operator
//
// Each section is one key. aws_account_id is optional and defaults to [DefaultAccount]. pintle_role is optional: the
// name or ARN of the role that the key acts as. pintle_console is optional: viewer or operator. Lines that start with #
// or ; are comments. Any other line is an error, which names the line. The file must be readable only by its owner
// (mode 0600); see package secretfile.
type Keys struct {
	all  []Key
	byID map[string]int
}

// Load reads the credentials file at path.
func Load(path string) (*Keys, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read credentials: %s is not a regular file", path)
	}
	if !secretfile.Private(info) {
		return nil, fmt.Errorf("credentials %s can be reached by other users (mode %04o): run chmod 600 %s", path, info.Mode().Perm(), path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxKeysFile+1))
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	keys, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("credentials %s: %w", path, err)
	}
	return keys, nil
}

// LoadOrCreate reads the credentials file at path. If the file does not exist, it creates one with a random key and
// returns true. The caller holds the lock of the directory, so that two processes cannot create it at the same time.
func LoadOrCreate(path string) (keys *Keys, created bool, err error) {
	keys, err = Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, false, err
	}
	text := "# The access key of this Pintle server. Further sections are further keys; restart the server to add one.\n" +
		"[" + defaultEntry + "]\n" +
		"aws_access_key_id = AKIA" + rand.Text()[:16] + "\n" +
		"aws_secret_access_key = " + (rand.Text() + rand.Text())[:40] + "\n" +
		"aws_account_id = " + DefaultAccount + "\n"
	if err := writeNew(path, text); err != nil {
		return nil, false, fmt.Errorf("create credentials: %w", err)
	}
	keys, err = Load(path)
	return keys, err == nil, err
}

// writeNew writes a file atomically: after a crash, it is complete or does not exist.
func writeNew(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".credentials-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // no-op after the rename
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// Parse parses the text of a credentials file. Its errors name the line and never quote a value.
func Parse(data []byte) (*Keys, error) {
	if len(data) > maxKeysFile {
		return nil, fmt.Errorf("the file is longer than %d bytes", maxKeysFile)
	}
	p := keysParser{keys: &Keys{byID: map[string]int{}}, profiles: map[string]bool{}}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, maxKeysLine)
	for lines.Scan() {
		p.line++
		if err := p.add(strings.TrimSpace(lines.Text())); err != nil {
			return nil, err
		}
	}
	if lines.Err() != nil {
		return nil, fmt.Errorf("line %d is longer than %d bytes", p.line+1, maxKeysLine)
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if len(p.keys.all) == 0 {
		return nil, errors.New("there is no key in it: add a section with aws_access_key_id and aws_secret_access_key")
	}
	return p.keys, nil
}

// Lookup returns the key with an access key ID, or false.
func (k *Keys) Lookup(id string) (Key, bool) {
	i, ok := k.byID[id]
	if !ok {
		return Key{}, false
	}
	return k.all[i], true
}

// Accounts returns the distinct accounts of the keys, in the order of the file.
func (k *Keys) Accounts() []string {
	var accounts []string
	for _, key := range k.all {
		if !slices.Contains(accounts, key.Account) {
			accounts = append(accounts, key.Account)
		}
	}
	return accounts
}

// Default returns the key of the section "default", or else the first key.
func (k *Keys) Default() Key {
	for _, key := range k.all {
		if key.Profile == defaultEntry {
			return key
		}
	}
	return k.all[0]
}

// keysParser holds the current section.
type keysParser struct {
	keys     *Keys
	profiles map[string]bool
	line     int
	section  int // the line where it began; 0 before the first
	seen     map[string]bool
	key      Key
}

func (p *keysParser) add(line string) error {
	if line == "" || line[0] == '#' || line[0] == ';' {
		return nil
	}
	if name, ok := strings.CutPrefix(line, "["); ok {
		name, ok = strings.CutSuffix(name, "]")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return fmt.Errorf("line %d: a section is written as [name]", p.line)
		}
		if err := p.finish(); err != nil {
			return err
		}
		if p.profiles[name] {
			return fmt.Errorf("line %d: there is a section of this name already", p.line)
		}
		p.profiles[name] = true
		p.section, p.seen, p.key = p.line, map[string]bool{}, Key{Profile: name, Account: DefaultAccount}
		return nil
	}
	name, value, ok := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok {
		return fmt.Errorf("line %d: want name = value, a [section] or a # comment", p.line)
	}
	if p.section == 0 {
		return fmt.Errorf("line %d: values stand in a section, e.g. [%s]", p.line, defaultEntry)
	}
	if p.seen[name] {
		return fmt.Errorf("line %d: this name is given twice in its section", p.line)
	}
	p.seen[name] = true
	return p.set(name, value)
}

func (p *keysParser) set(name, value string) error {
	switch name {
	case "aws_access_key_id":
		if !isWord(value, "-_.+@=", maxScopePart) {
			return fmt.Errorf("line %d: aws_access_key_id must be letters and digits", p.line)
		}
		if _, taken := p.keys.byID[value]; taken {
			return fmt.Errorf("line %d: another section has this aws_access_key_id", p.line)
		}
		p.key.ID = value
	case "aws_secret_access_key":
		if len(value) < minSecret {
			return fmt.Errorf("line %d: aws_secret_access_key must have at least %d characters", p.line, minSecret)
		}
		p.key.Secret = Secret(value)
	case "aws_account_id":
		if len(value) != len(DefaultAccount) || !isWord(value, "", len(DefaultAccount)) {
			return fmt.Errorf("line %d: aws_account_id must be %d letters or digits", p.line, len(DefaultAccount))
		}
		p.key.Account = value
	case "pintle_role":
		if !isWord(value, "-_.+@=,:/", maxRole) {
			return fmt.Errorf("line %d: pintle_role must be a role's name or its ARN", p.line)
		}
		p.key.Role = value
	case "pintle_console":
		if value != "viewer" && value != "operator" {
			return fmt.Errorf("line %d: pintle_console must be viewer or operator", p.line)
		}
		p.key.Console = value
	default:
		return fmt.Errorf("line %d: unknown name; known are aws_access_key_id, aws_secret_access_key, aws_account_id, pintle_role and "+
			"pintle_console", p.line)
	}
	return nil
}

// finish adds the section that has been read, if any.
func (p *keysParser) finish() error {
	if p.section == 0 {
		return nil
	}
	if p.key.ID == "" || p.key.Secret == "" {
		return fmt.Errorf("line %d: the section needs both aws_access_key_id and aws_secret_access_key", p.section)
	}
	p.keys.byID[p.key.ID] = len(p.keys.all)
	p.keys.all = append(p.keys.all, p.key)
	return nil
}
