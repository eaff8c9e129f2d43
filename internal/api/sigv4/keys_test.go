package sigv4_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

func TestLoadOrCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials")
	if _, err := sigv4.Load(path); err == nil {
		t.Fatal("Load finds a file that is not there")
	}
	first, created, err := sigv4.LoadOrCreate(path)
	if err != nil || !created {
		t.Fatalf("first: created %v, %v", created, err)
	}
	key := first.Default()
	if !regexp.MustCompile(`^AKIA[A-Z2-7]{16}$`).MatchString(key.ID) || len(key.Secret) != 40 ||
		key.Account != "000000000000" || key.Role != "" || key.Profile != "default" {
		t.Errorf("created key %+v with a secret of %d characters", key, len(key.Secret))
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != fs.FileMode(0o600) {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	second, created, err := sigv4.LoadOrCreate(path)
	if err != nil || created {
		t.Fatalf("second: created %v, %v", created, err)
	}
	if diff := cmp.Diff(key, second.Default()); diff != "" {
		t.Errorf("second start has another key:\n%s", diff)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	other, _, err := sigv4.LoadOrCreate(filepath.Join(t.TempDir(), "credentials"))
	if err != nil || other.Default().ID == key.ID || other.Default().Secret == key.Secret {
		t.Errorf("two servers share a key (%v)", err)
	}
}

func TestLoadRefusesAnOpenFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	path := filepath.Join(t.TempDir(), "credentials")
	if _, _, err := sigv4.LoadOrCreate(path); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o604, 0o640, 0o660, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, created, err := sigv4.LoadOrCreate(path)
		if err == nil || created || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: created %v, error %v; want a refusal with the remedy", mode, created, err)
		}
	}
	if _, err := sigv4.Load(t.TempDir()); err == nil {
		t.Error("Load takes a directory")
	}
}

func TestParse(t *testing.T) {
	const text = `# comment
[ci]
aws_access_key_id=AKIACI
aws_secret_access_key = 0123456789abcdef=/+
aws_account_id = 84969EXAMPLE
pintle_role = arn:aws:iam::123456789012:role/path/deployer

; comment
[default]
aws_access_key_id = AKIADEFAULT
aws_secret_access_key = fedcba9876543210
`
	keys, err := sigv4.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]sigv4.Key{
		"AKIACI":      {Profile: "ci", ID: "AKIACI", Secret: "0123456789abcdef=/+", Account: "84969EXAMPLE", Role: "arn:aws:iam::123456789012:role/path/deployer"},
		"AKIADEFAULT": {Profile: "default", ID: "AKIADEFAULT", Secret: "fedcba9876543210", Account: "000000000000"},
	}
	for id, key := range want {
		got, ok := keys.Lookup(id)
		if diff := cmp.Diff(key, got); !ok || diff != "" {
			t.Errorf("Lookup(%s): %v (-want +got):\n%s", id, ok, diff)
		}
	}
	if _, ok := keys.Lookup("AKIAOTHER"); ok {
		t.Error("Lookup finds a key that is not there")
	}
	if got := keys.Default().ID; got != "AKIADEFAULT" {
		t.Errorf("Default is %s", got)
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "[a]\naws_access_key_id = A1\naws_secret_access_key = 0123456789abcdef\n"
	tests := []struct{ name, text, want string }{
		{"empty", "", "there is no key in it: add a section with aws_access_key_id and aws_secret_access_key"},
		{"no section", "aws_access_key_id = A", "line 1: values stand in a section, e.g. [default]"},
		{"open section", "[a", "line 1: a section is written as [name]"},
		{"unnamed section", "[ ]", "line 1: a section is written as [name]"},
		{"no value", good + "hello", "line 4: want name = value, a [section] or a # comment"},
		{"unknown name", good + "role = x", "line 4: unknown name; known are aws_access_key_id, aws_secret_access_key, aws_account_id, pintle_role and pintle_console"},
		{"twice", good + "aws_access_key_id = B", "line 4: this name is given twice in its section"},
		{"no secret", "\n[a]\naws_access_key_id = A", "line 2: the section needs both aws_access_key_id and aws_secret_access_key"},
		{"no secret, then another key", "[b]\naws_access_key_id = A\n" + good, "line 1: the section needs both aws_access_key_id and aws_secret_access_key"},
		{"short secret", "[a]\naws_secret_access_key = hunter2", "line 2: aws_secret_access_key must have at least 16 characters"},
		{"account", good + "aws_account_id = 12", "line 4: aws_account_id must be 12 letters or digits"},
		{"console", good + "pintle_console = root", "line 4: pintle_console must be viewer or operator"},
		{"role", good + "pintle_role = a b", "line 4: pintle_role must be a role's name or its ARN"},
		{"id", "[a]\naws_access_key_id = A/B", "line 2: aws_access_key_id must be letters and digits"},
		{"same section", good + good, "line 4: there is a section of this name already"},
		{"same id", good + strings.Replace(good, "[a]", "[b]", 1), "line 5: another section has this aws_access_key_id"},
		{"long line", good + "# " + strings.Repeat("x", 5000), "line 4 is longer than 4096 bytes"},
		{"long file", strings.Repeat("#\n", 1<<20), "the file is longer than 1048576 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := sigv4.Parse([]byte(test.text))
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	key := sigv4.Key{ID: "AKIA", Secret: "0123456789abcdef"}
	encoded, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "key", key, "secret", key.Secret)
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v %#v %q %s", key, key, key.Secret, key.Secret), string(encoded), log.String()} {
		if strings.Contains(text, "0123456789abcdef") || !strings.Contains(text, "****") {
			t.Errorf("printed: %s", text)
		}
	}
}

// FuzzParse checks that Parse never panics, and that every key it returns is usable.
func FuzzParse(f *testing.F) {
	f.Add([]byte("[default]\naws_access_key_id = A\naws_secret_access_key = 0123456789abcdef\naws_account_id = 000000000000\n"))
	f.Add([]byte("[a\n=\n#"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := sigv4.Parse(text)
		if err != nil {
			return
		}
		key := keys.Default()
		if got, ok := keys.Lookup(key.ID); !ok || got != key {
			t.Errorf("Lookup(%q) = %+v, %v", key.ID, got, ok)
		}
		if key.ID == "" || len(key.Secret) < 16 || len(key.Account) != 12 {
			t.Errorf("unusable key %+v", key)
		}
	})
}
