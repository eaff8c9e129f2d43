package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // the driver that data are changed with

	"github.com/pintle-dev/pintle/internal/dev/pgtest"
)

// passed makes the request in flight in the data expire, independent of the local clock.
const passed = " SET due = 1 WHERE due IS NOT NULL"

// maxData bounds the unpacked size of an archive of earlier data, in bytes.
const maxData = 16 << 20

// unpack unpacks the data of an earlier version into a directory. tools/upgradedata makes and describes them.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	packed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	tape := tar.NewReader(io.LimitReader(zip, maxData))
	for {
		header, err := tape.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tape)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, filepath.Base(header.Name), string(text), 0o600)
	}
}

// execute runs SQL in a database of SQLite.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// kept is the provider behind the stacks of earlier versions. It records its requests.
type kept struct {
	mu    sync.Mutex
	asked []keptRequest
}

type keptRequest struct {
	RequestType, LogicalResourceID, PhysicalResourceID string
	StackID, RequestID                                 string
	ResourceProperties, OldResourceProperties          struct{ Word, Size, Text string }
}

func (p *kept) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request keptRequest
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.asked = append(p.asked, request)
	p.mu.Unlock()
	id := request.PhysicalResourceID
	if request.RequestType != "Delete" {
		id = "thing-" + request.LogicalResourceID + request.ResourceProperties.Size
	}
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client disconnected if this fails
		"Status": "SUCCESS", "StackId": request.StackID, "RequestId": request.RequestID,
		"LogicalResourceId": request.LogicalResourceID, "PhysicalResourceId": id,
		"Data": map[string]string{"Text": request.ResourceProperties.Text},
	})
}

// of returns the requests about the resources of a stack, in order.
func (p *kept) of(stack string) (list []keptRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, request := range p.asked {
		if strings.Contains(request.StackID, ":stack/"+stack+"/") {
			list = append(list, request)
		}
	}
	return list
}

// TestUpgrade opens the data of the oldest versions, on SQLite and PostgreSQL, and continues their operations.
func TestUpgrade(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join("testdata", "upgrade", "*.tar.gz"))
	if err != nil || len(archives) < 2 {
		t.Fatalf("%v: there are the data %q, want those of both databases", err, archives)
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		t.Run(name, func(t *testing.T) {
			dir, data := t.TempDir(), t.TempDir()
			provider := &kept{}
			server := httptest.NewServer(provider)
			t.Cleanup(server.Close)
			args := []string{"--provider", "Thing=" + server.URL}
			if strings.HasPrefix(name, "postgres-") {
				postgres := pgtest.Start(t, pgtest.Options{})
				dsn := postgres.Database(t)
				unpack(t, archive, dir)
				dump, err := os.ReadFile(filepath.Join(dir, "dump.sql"))
				if err != nil {
					t.Fatal(err)
				}
				postgres.Exec(t, "test1", string(dump))
				postgres.Exec(t, "test1", "UPDATE pintle.request"+passed)
				args = append(args, "--database", dsn, "--key-file", filepath.Join(dir, "keys"), "--credentials", filepath.Join(dir, "credentials"))
			} else {
				unpack(t, archive, data)
				execute(t, filepath.Join(data, "pintle.db"), "UPDATE request"+passed)
			}
			goOn(t, dir, serve(t, data, args...), provider)
		})
	}
}

// goOn uses the stacks of an earlier version.
func goOn(t *testing.T, dir string, s *served, provider *kept) {
	t.Helper()
	run := func(args ...string) string {
		t.Helper()
		out, err := runIn(t, dir, append(args, "--data", s.dir)...)
		if err != nil {
			t.Fatalf("pintle %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		if strings.Contains(out, "hunter2") {
			t.Errorf("pintle %s shows the secret:\n%s", args[0], out)
		}
		return out
	}
	list := run("list")
	for stack, status := range map[string]string{"kept": "UPDATE_COMPLETE", "failed": "ROLLBACK_COMPLETE"} {
		if !strings.Contains(strings.Join(strings.Fields(list), " "), stack+" "+status) {
			t.Errorf("%s is not %s:\n%s", stack, status, list)
		}
	}
	if strings.Contains(list, "gone") {
		t.Errorf("a deleted stack is on the list:\n%s", list)
	}
	if out := run("describe", "kept"); !strings.Contains(out, "thing-Second2") {
		t.Errorf("the output is lost:\n%s", out)
	}
	if out := run("events", "kept"); !strings.Contains(out, "thing-Second1") || !strings.Contains(out, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS") {
		t.Errorf("the events are lost:\n%s", out)
	}

	// The operation that was in flight times out, and is rolled back.
	s.until("the operation that was in flight has ended", func() bool {
		return strings.Contains(run("describe", "busy"), "ROLLBACK_COMPLETE")
	})
	var types []string
	for _, request := range provider.of("busy") {
		types = append(types, request.RequestType+" "+request.LogicalResourceID)
	}
	if diff := cmp.Diff([]string{"Delete Second", "Delete First"}, types); diff != "" {
		t.Errorf("the rollback asked the provider:\n%s", diff)
	}

	// An update has the old values at hand, the secret too.
	run("deploy", "--stack", "kept", "--template", changed(t, dir), "--parameter", "Size=2")
	if got := provider.of("kept"); len(got) != 2 || got[0].RequestType != "Update" || got[0].PhysicalResourceID != "thing-First" ||
		got[0].ResourceProperties.Word != "hunter2" || got[0].OldResourceProperties.Text != "kept" || got[1].LogicalResourceID != "Second" {
		t.Errorf("the update asked the provider %+v", got)
	}
	for _, stack := range []string{"kept", "failed", "busy"} {
		run("delete", "--stack", stack)
	}
	deleted := provider.of("kept")[2:]
	if len(deleted) != 2 || slices.ContainsFunc(deleted, func(r keptRequest) bool { return r.RequestType != "Delete" }) {
		t.Errorf("the delete asked the provider %+v", deleted)
	}
	if out := run("list"); strings.Contains(out, "COMPLETE") {
		t.Errorf("stacks are left:\n%s", out)
	}
}

// changed writes a template that changes the stack kept, and returns its path.
func changed(t *testing.T, dir string) string {
	t.Helper()
	write(t, dir, "kept.yaml", `
Parameters:
  Word: {Type: String, NoEcho: true}
  Size: {Type: Number}
Resources:
  First:
    Type: Custom::Thing
    Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Thing", Word: !Ref Word, Text: changed}
  Second:
    Type: Custom::Thing
    Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Thing", Size: !Ref Size, Text: !GetAtt First.Text}
`, 0o600)
	return filepath.Join(dir, "kept.yaml")
}

// TestFutureData starts on the data of a version that is not there yet: they are refused, and stay as they are.
func TestFutureData(t *testing.T) {
	const sets = "UPDATE %schema SET version = 999"
	t.Run("sqlite", func(t *testing.T) {
		dir, data := t.TempDir(), t.TempDir()
		leave(t, serve(t, data))
		path := filepath.Join(data, "pintle.db")
		execute(t, path, strings.Replace(sets, "%", "", 1))
		before := sum(t, path)
		wantFuture(t, dir, "serve", "--dev", "--listen", "127.0.0.1:0", "--data", data)
		wantFuture(t, dir, "list", "--data", data)
		if sum(t, path) != before {
			t.Error("the data were changed")
		}
	})
	t.Run("postgres", func(t *testing.T) {
		postgres := pgtest.Start(t, pgtest.Options{})
		dir, dsn := t.TempDir(), postgres.Database(t)
		args := []string{"--database", dsn, "--key-file", filepath.Join(dir, "keys")}
		leave(t, serve(t, filepath.Join(dir, "data"), args...))
		postgres.Exec(t, "test1", strings.Replace(sets, "%", "pintle.", 1))
		wantFuture(t, dir, append([]string{"serve", "--dev", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data")}, args...)...)
		// An earlier version that migrated the schema would have set its own number.
		postgres.Exec(t, "test1", `DO $$ BEGIN IF (SELECT version FROM pintle.schema) <> 999 THEN RAISE 'the data were changed'; END IF; END $$`)
	})
}

// leave ends a server as one is ended.
func leave(t *testing.T, s *served) {
	t.Helper()
	if err := errors.Join(s.cmd.Process.Signal(os.Interrupt), s.cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	<-s.done
	s.cmd = nil
}

func wantFuture(t *testing.T, dir string, args ...string) {
	t.Helper()
	out, err := runIn(t, dir, args...)
	if err == nil || !strings.Contains(out, "its schema is 999, and this version of Pintle knows those up to ") ||
		!strings.Contains(out, "use the version that wrote it, or a newer one") {
		t.Errorf("pintle %s: %v\n%s", args[0], err, out)
	}
}

func sum(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(text)
}
