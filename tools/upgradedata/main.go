// Command upgradedata makes what the upgrade test of cmd/pintle starts from: the data of an earlier version of Pintle, with
// stacks at rest, one that failed, one that is gone, and one whose provider has not answered yet. A file is made of each release
// that changed a format, and committed:
//
//	cd tools
//	go run ./upgradedata -pintle /path/to/pintle-v0.1.0 -out ../cmd/pintle/testdata/upgrade/sqlite-v0.1.0.tar.gz
//	go run ./upgradedata -pintle /path/to/pintle-v0.1.0 -database postgres://… -out ../cmd/pintle/testdata/upgrade/postgres-v0.1.0.tar.gz
//
// The database must be empty, and pg_dump on PATH be of a version that it takes. The archive holds the key file and the credentials
// (made for this, and worth nothing), and pintle.db or dump.sql.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// patience bounds everything that is waited for.
const patience = time.Minute

const settled = `
Parameters:
  Word: {Type: String, NoEcho: true}
  Size: {Type: Number}
Resources:
  First:
    Type: Custom::Thing
    Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Thing", Word: !Ref Word, Text: kept}
  Second:
    Type: Custom::Thing
    Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Thing", Size: !Ref Size, Text: !GetAtt First.Text}
Outputs:
  Text: {Value: !GetAtt Second.Text}
  Second: {Value: !Ref Second}
`

const unsettled = `
Resources:
  First:
    Type: Custom::Thing
    Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Thing", Text: first}
  Second:
    Type: Custom::Thing
    Properties: {ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:Thing", Do: DO, Text: !GetAtt First.Text, ServiceTimeout: 10}
`

func main() {
	pintle := flag.String("pintle", "", "`program` of the version whose data are made")
	database := flag.String("database", "", "`URL` of an empty PostgreSQL database; empty makes data of SQLite")
	out := flag.String("out", "", "`file` to write, a .tar.gz")
	flag.Parse()
	if *pintle == "" || *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*pintle, *database, *out); err != nil {
		fmt.Fprintln(os.Stderr, "upgradedata:", err)
		os.Exit(1)
	}
}

func run(pintle, database, out string) (err error) {
	dir, err := os.MkdirTemp("", "upgradedata-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := &world{pintle: pintle, database: database, dir: dir, asked: make(chan struct{}, 1)}
	if err := w.play(); err != nil {
		return err
	}
	files := map[string]string{"keys": "data/keys", "credentials": "data/credentials", "pintle.db": "data/pintle.db"}
	if database != "" {
		files = map[string]string{"keys": "data/keys", "credentials": "data/credentials", "dump.sql": "dump.sql"}
		if err := w.dump(); err != nil {
			return err
		}
	}
	archive, err := pack(dir, files)
	if err != nil {
		return err
	}
	return os.WriteFile(out, archive, 0o600)
}

// world is a server of the earlier version, and the provider that it asks.
type world struct {
	pintle, database, dir string
	asked                 chan struct{} // a message when the provider leaves a request without an answer
}

// play brings the stacks about, and ends the server.
func (w *world) play() (err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	provider := &http.Server{Handler: http.HandlerFunc(w.provide), ReadHeaderTimeout: patience}
	go func() { _ = provider.Serve(listener) }() // until it is closed
	defer func() { err = errors.Join(err, provider.Close()) }()
	args := []string{
		"serve", "--dev", "--listen", "127.0.0.1:0", "--data", w.path("data"), "--provider", "Thing=http://" + listener.Addr().String() + "/",
	}
	if w.database != "" {
		args = append(args, "--database", w.database, "--key-file", w.path("data", "keys"))
	}
	server := exec.Command(w.pintle, args...)
	server.Stderr = os.Stderr
	if err := os.Mkdir(w.path("data"), 0o700); err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, server.Process.Signal(os.Interrupt), server.Wait())
	}()
	if err := w.ready(); err != nil {
		return err
	}
	for _, step := range []struct {
		stack, template string
		fails           bool
		args            []string
	}{
		{stack: "kept", template: settled, args: []string{"--parameter", "Word=hunter2", "--parameter", "Size=1"}},
		{stack: "kept", template: settled, args: []string{"--parameter", "Size=2"}},
		{stack: "failed", template: strings.ReplaceAll(unsettled, "DO", "fail"), fails: true},
		{stack: "gone", template: strings.ReplaceAll(unsettled, "DO", "nothing")},
	} {
		if err := w.deploy(step.stack, step.template, step.args...).Run(); (err != nil) != step.fails {
			return fmt.Errorf("deploy of %s: %v", step.stack, err)
		}
	}
	if err := exec.Command(w.pintle, "delete", "--stack", "gone", "--data", w.path("data")).Run(); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	busy := w.deploy("busy", strings.ReplaceAll(unsettled, "DO", "wait"))
	if err := busy.Start(); err != nil {
		return err
	}
	select {
	case <-w.asked:
	case <-time.After(patience):
		return errors.New("the provider was not asked")
	}
	if err := busy.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	_ = busy.Wait() // it says that the stack is not done
	return nil
}

// ready waits until the server serves.
func (w *world) ready() error {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(w.path("data", "engine.json"))
		if err != nil {
			continue
		}
		var record struct{ URL string }
		if json.Unmarshal(text, &record) != nil {
			continue
		}
		response, err := http.Get(record.URL + "/readyz")
		if err != nil {
			continue
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return errors.New("the server is not ready")
}

func (w *world) deploy(stack, template string, args ...string) *exec.Cmd {
	file := w.path(stack + ".yaml")
	cmd := exec.Command(w.pintle, append([]string{"deploy", "--stack", stack, "--template", file, "--data", w.path("data")}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Err = errors.Join(cmd.Err, os.WriteFile(file, []byte(template), 0o600))
	return cmd
}

// provide answers in the reply, or never.
func (w *world) provide(rw http.ResponseWriter, r *http.Request) {
	var request struct {
		RequestType, LogicalResourceID, PhysicalResourceID string
		StackID, RequestID                                 string
		ResourceProperties                                 struct{ Do, Size, Text string }
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&request); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	answer := map[string]any{
		"Status": "SUCCESS", "StackId": request.StackID, "RequestId": request.RequestID,
		"LogicalResourceId": request.LogicalResourceID, "PhysicalResourceId": request.PhysicalResourceID,
		"Data": map[string]string{"Text": request.ResourceProperties.Text},
	}
	if request.RequestType != "Delete" {
		answer["PhysicalResourceId"] = "thing-" + request.LogicalResourceID + request.ResourceProperties.Size
	}
	switch {
	case request.RequestType != "Create":
	case request.ResourceProperties.Do == "wait":
		w.asked <- struct{}{}
		rw.WriteHeader(http.StatusAccepted)
		return
	case request.ResourceProperties.Do == "fail":
		answer["Status"], answer["Reason"] = "FAILED", "there is no such thing"
	}
	_ = json.NewEncoder(rw).Encode(answer) // who asked has gone otherwise
}

// dump writes the database as statements that any client can run.
func (w *world) dump() error {
	cmd := exec.Command("pg_dump", "--inserts", "--no-owner", "--no-privileges", "--schema=pintle", w.database)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("pg_dump: %w", err)
	}
	var kept bytes.Buffer
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte(`\`)) { // for psql alone
			kept.Write(line)
		}
	}
	return os.WriteFile(w.path("dump.sql"), kept.Bytes(), 0o600)
}

func (w *world) path(elements ...string) string {
	return filepath.Join(append([]string{w.dir}, elements...)...)
}

// pack makes the archive of files, by their names in it.
func pack(dir string, files map[string]string) ([]byte, error) {
	var archive bytes.Buffer
	zip, err := gzip.NewWriterLevel(&archive, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tape := tar.NewWriter(zip)
	add := func(name string, text []byte) error {
		if err := tape.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text))}); err != nil {
			return err
		}
		_, err := tape.Write(text)
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(files[name])))
		if err == nil {
			err = add(name, text)
		}
		if err != nil {
			return nil, err
		}
	}
	err = errors.Join(tape.Close(), zip.Close())
	return archive.Bytes(), err
}
