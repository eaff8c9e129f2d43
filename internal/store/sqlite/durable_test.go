package sqlite_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/internal/store/sqlite"
	"github.com/pintle-dev/pintle/wire"
)

// childEnv makes the test binary run as the process that is killed; it names the database.
const childEnv = "PINTLE_TEST_DATABASE"

// fullEnv makes it run as the process whose disk is full; it names a directory.
const fullEnv = "PINTLE_TEST_FULL"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		child(path)
		return
	}
	if dir := os.Getenv(fullEnv); dir != "" {
		fullChild(dir)
		return
	}
	os.Exit(m.Run())
}

// childStacks is how many stacks the killed process writes at once.
const childStacks = 16

// child writes to many stacks forever and prints the acknowledged writes on its standard output.
func child(path string) {
	keys, err := store.NewKeys(store.Key{ID: "a", Secret: bytes.Repeat([]byte("a"), store.KeySize)})
	if err != nil {
		panic(err)
	}
	s, err := sqlite.Open(context.Background(), sqlite.Config{Path: path, Codec: store.NewCodec(keys)})
	if err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	for key := store.StackKey(1); key <= childStacks; key++ {
		all.Go(func() {
			target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: fmt.Sprint(key)}}
			for {
				var number int
				err := s.Apply(context.Background(), target, func(v *store.View) (store.Delta, error) {
					d := advance(key, v)
					number = d.Operation.Events
					return d, nil
				})
				if err != nil {
					panic(err)
				}
				fmt.Printf("%d %d\n", key, number) // one write, so that no line is torn
			}
		})
	}
	all.Wait()
}

// advance creates a stack, or advances it by an event and a request that replaces the previous one.
func advance(key store.StackKey, v *store.View) store.Delta {
	var d store.Delta
	o := v.Operation
	if v.Stack.Key == 0 {
		d.Stack = &store.Stack{Key: key, ID: wire.StackID(fmt.Sprint("arn:", key)), Account: "1", Region: "r", Name: fmt.Sprint(key), Live: true}
		o = store.Operation{Stack: key, Number: 1}
	}
	o.Version++
	o.Events++
	d.Operation = &o
	d.Events = []store.Event{{ID: fmt.Sprint(o.Events)}}
	for _, r := range v.Requests {
		r.State, r.Owner, r.Body = store.RequestSettled, 0, nil
		d.Requests = append(d.Requests, r)
	}
	d.Requests = append(d.Requests, store.Request{
		ID: wire.RequestID(fmt.Sprintf("%d-%d", key, o.Events)), Stack: key, State: store.RequestReady, Owner: 1,
		Body: &store.RequestBody{Properties: value.Object(value.Member{Key: "a", Value: value.SecretStr("b")})},
	})
	return d
}

func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pintle.db")
	acknowledged := make(map[store.StackKey]int)
	for range 3 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+path)
		cmd.Stderr = t.Output()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ { // read everything that it printed before it died
			var key store.StackKey
			var number int
			if _, err := fmt.Sscan(lines.Text(), &key, &number); err != nil {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			acknowledged[key] = max(acknowledged[key], number)
			if n == 500 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the process ended by itself")
		}
		checkChild(t, path, acknowledged)
	}
}

// checkChild reports acknowledged writes that are lost, and partial writes.
func checkChild(t *testing.T, path string, acknowledged map[store.StackKey]int) {
	t.Helper()
	s := open(t, path, nil)
	defer closeStore(t, s)
	ctx := context.Background()
	if len(acknowledged) == 0 {
		t.Fatal("nothing was acknowledged")
	}
	for key, number := range acknowledged {
		o, err := s.Operation(ctx, key, 1)
		if err != nil || o.Events < number {
			t.Errorf("stack %d: event %d was acknowledged, %d are there, error %v", key, number, o.Events, err)
		}
		events, err := s.Events(ctx, key, store.EventCursor{}, o.Events+1)
		if err != nil || len(events) != o.Events {
			t.Errorf("stack %d: it counts %d events and has %d, error %v", key, o.Events, len(events), err)
		}
		open, err := s.Requests(ctx, key)
		if want := fmt.Sprintf("%d-%d", key, o.Events); err != nil || len(open) != 1 || string(open[0].ID) != want {
			t.Errorf("stack %d: want request %s open, have %v, error %v", key, want, open, err)
		}
	}
	var integrity string
	db := connect(t, path)
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&integrity); err != nil || integrity != "ok" {
		t.Errorf("integrity check: %s, error %v", integrity, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestCopied opens a copy of the files that was taken while the store was open, like the files of a machine that lost
// power.
func TestCopied(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	s := open(t, filepath.Join(dir, "p.db"), nil)
	defer closeStore(t, s)
	target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: "1"}}
	for range 20 {
		err := s.Apply(context.Background(), target, func(v *store.View) (store.Delta, error) { return advance(1, v), nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"p.db", "p.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkChild(t, filepath.Join(copied, "p.db"), map[store.StackKey]int{1: 20})
}

func TestReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: "1"}}
	for n := 1; n <= 3; n++ {
		s := open(t, path, nil)
		err := s.Apply(context.Background(), target, func(v *store.View) (store.Delta, error) { return advance(1, v), nil })
		if err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if _, err := os.Stat(path + "-wal"); err == nil {
			t.Error("a closed store leaves its log behind")
		}
		checkChild(t, path, map[store.StackKey]int{1: n})
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the database: %v, error %v", info.Mode(), err)
	}
}

// TestNoSecretInFiles writes a secret into every field that can hold one and searches for it in all bytes on the disk.
func TestNoSecretInFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "p.db"), nil)
	const clear, public = "hunter2-hunter2", "in the open"
	secret := value.Object(value.Member{Key: "a", Value: value.SecretStr(clear)}, value.Member{Key: "b", Value: value.Str(public)},
		value.Member{Key: "c", Value: value.Items(value.Str("x"+clear), value.Num("1")).Tainted(value.OfAttribute)})
	target := store.Target{Name: store.StackName{Account: "1", Region: "r", Name: "1"}}
	err := s.Apply(context.Background(), target, func(v *store.View) (store.Delta, error) {
		d := advance(1, v)
		d.Stack.OutputValues = secret
		d.Revisions = []store.Revision{{Stack: 1, Number: 1, Template: public, Parameters: secret}}
		d.Instances = []store.Instance{{Stack: 1, Number: 1, Logical: "A", Role: store.RoleCurrent,
			Body: &store.InstanceBody{Properties: secret, Attempted: secret, Data: secret, Metadata: secret}}}
		d.Requests[0].Body = &store.RequestBody{Properties: secret, OldProperties: secret}
		return d, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	search := func() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var found []byte
		for _, entry := range entries {
			data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(data, []byte(clear)) {
				t.Errorf("%s holds a secret in clear", entry.Name())
			}
			found = append(found, data...)
		}
		if bytes.Count(found, []byte(public)) < 8 {
			t.Error("the search finds not even what is not sealed")
		}
	}
	search()
	closeStore(t, s)
	search()
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.db")
	closeStore(t, open(t, good, nil))
	with := func(name, script string) string {
		path := filepath.Join(dir, name)
		if _, err := connect(t, path).Exec(script); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	newer := write("newer.db", data)
	with("newer.db", "UPDATE schema SET version = 99")
	for i := 4096; i < len(data); i++ {
		data[i] ^= 0x55
	}
	for _, test := range []struct {
		name, path string
		codec      store.Codec
		want       string
	}{
		{"good", good, codec(t, 'a'), ""},
		{"empty file", write("empty.db", nil), codec(t, 'a'), ""},
		{"other keys", good, codec(t, 'b'), `key "a", which is not among the keys here (b)`},
		{"no keys", good, store.Codec{}, "needs keys"},
		{"no keys, new", filepath.Join(dir, "new.db"), store.Codec{}, "needs keys"},
		{"newer", newer, codec(t, 'a'), "its schema is 99"},
		{"database of another program", with("other.db", "CREATE TABLE t (a)"), codec(t, 'a'), "another program"},
		{"database of another program, marked", with("marked.db", "PRAGMA application_id = 7"), codec(t, 'a'), "another program"},
		{"text", write("text.db", bytes.Repeat([]byte("no database\n"), 1000)), codec(t, 'a'), "not a SQLite database"},
		{"damaged", write("damaged.db", data), codec(t, 'a'), "restore it from a copy"},
		{"no directory", filepath.Join(dir, "no", "p.db"), codec(t, 'a'), "no such file"},
		{"a directory", dir, codec(t, 'a'), "directory"},
	} {
		s, err := sqlite.Open(context.Background(), sqlite.Config{Path: test.path, Codec: test.codec})
		if err == nil {
			closeStore(t, s)
		}
		if test.want == "" && err == nil {
			continue
		}
		if test.want == "" || err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.path) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// TestConstraints writes impossible rows directly to the database.
func TestConstraints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	closeStore(t, open(t, path, nil))
	db := connect(t, path)
	request := "INSERT INTO request (id, stack, operation, logical, instance, type, state, owner, executor, due, plain) VALUES (%s, 1, 1, 'A', 1, 'Create', %s, '{}')"
	stack := "INSERT INTO stack VALUES (%s, 'arn', '1', 'r', %s, 0, '{}', 'null')"
	for _, test := range []struct {
		row   string
		legal bool
	}{
		{fmt.Sprintf(request, "'1'", "'ready', 1, 0, NULL"), true},
		{fmt.Sprintf(request, "'2'", "'waiting', 0, 1, 5"), true},
		{fmt.Sprintf(request, "'3'", "'delayed', 0, 0, 5"), true},
		{fmt.Sprintf(request, "'4'", "'settled', 0, 0, NULL"), true},
		{fmt.Sprintf(request, "'4'", "'settled', 0, 0, NULL"), false},
		{fmt.Sprintf(request, "'5'", "'ready', 0, 0, NULL"), false},
		{fmt.Sprintf(request, "'6'", "'ready', 1, 0, 5"), false},
		{fmt.Sprintf(request, "'7'", "'waiting', 0, 1, NULL"), false},
		{fmt.Sprintf(request, "'8'", "'waiting', 1, 0, 5"), false},
		{fmt.Sprintf(request, "'9'", "'delayed', 0, 0, NULL"), false},
		{fmt.Sprintf(request, "'10'", "'settled', 0, 0, 5"), false},
		{fmt.Sprintf(request, "'11'", "'settled', 1, 0, NULL"), false},
		{fmt.Sprintf(request, "'12'", "'lost', 0, 0, NULL"), false},
		{fmt.Sprintf(stack, "1", "'one', 1"), true},
		{fmt.Sprintf(stack, "0", "'zero', 1"), false},
		{strings.Replace(fmt.Sprintf(stack, "2", "'one', 1"), "arn", "other", 1), false},
		{strings.Replace(fmt.Sprintf(stack, "3", "'one', 0"), "arn", "other", 1), true},
		{fmt.Sprintf(stack, "4", "'four', 1"), false},
		{"INSERT INTO instance VALUES (1, 1, 1, 'A', 'current', '{}')", true},
		{"INSERT INTO instance VALUES (2, 1, 2, 'A', 'spare', '{}')", false},
		{"INSERT INTO instance VALUES (3, 1, 1, 'A', 'current', '{}')", false},
	} {
		if _, err := db.Exec(test.row); (err == nil) != test.legal {
			t.Errorf("%s: error %v", test.row, err)
		}
	}
}

// connect opens a database without the store.
func connect(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func closeStore(t testing.TB, s *sqlite.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
