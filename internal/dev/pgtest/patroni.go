//go:build unix

package pgtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// Patroni is a cluster of two PostgreSQL servers with synchronous replication. Patroni keeps it available: when the
// leader fails, the other server becomes the leader. A Patroni is not safe for concurrent use.
type Patroni struct {
	t       testing.TB
	program string
	members []*member
}

// member is a server of a cluster, with the Patroni that controls it.
type member struct {
	*Server
	api     int // the port of Patroni's REST API
	control *daemon
}

// StartPatroni starts etcd and a cluster with a database, and returns when the leader has a synchronous standby.
// Everything is stopped and removed when the test ends. Without Patroni and etcd the test is skipped; see package
// require.
func StartPatroni(t testing.TB, database string) *Patroni {
	t.Helper()
	programs := require.Patroni(t)
	ports, err := free(6)
	if err != nil {
		t.Fatal(err)
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	place := folder(t, programs.Postgres)
	etcd, err := place.daemon(t, programs.Etcd, "--data-dir", place.data, "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	if err == nil {
		err = etcd.listens(ports[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &Patroni{t: t, program: programs.Patroni}
	for i := range 2 {
		m := &member{Server: folder(t, programs.Postgres), api: ports[2+2*i]}
		m.port = ports[3+2*i]
		name := fmt.Sprint("member", i)
		// The shortest times that Patroni accepts. Connections are local, so users have no password.
		config := map[string]any{
			"scope": "test", "name": name, "etcd3": map[string]any{"host": fmt.Sprintf("127.0.0.1:%d", ports[0])},
			"restapi": map[string]any{"listen": m.address(m.api), "connect_address": m.address(m.api)},
			"bootstrap": map[string]any{
				"dcs":    map[string]any{"ttl": 20, "loop_wait": 1, "retry_timeout": 3, "synchronous_mode": true, "postgresql": map[string]any{"use_pg_rewind": true}},
				"initdb": []any{map[string]any{"encoding": "UTF8"}, map[string]any{"locale": "C"}, "data-checksums"},
			},
			"postgresql": map[string]any{
				"listen": m.address(m.port), "connect_address": m.address(m.port), "data_dir": m.data, "bin_dir": m.bin,
				"pgpass":         filepath.Join(m.dir, "pgpass"),
				"authentication": map[string]any{"superuser": map[string]any{"username": "pintle"}, "replication": map[string]any{"username": "replica"}},
				"pg_hba":         []string{"host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"},
				"parameters":     map[string]any{"unix_socket_directories": "", "max_connections": 200},
			},
		}
		text, err := json.Marshal(config) // JSON is valid YAML
		file := filepath.Join(m.dir, "patroni.yml")
		if err = errors.Join(err, os.WriteFile(file, text, 0o600), m.own(file)); err != nil {
			t.Fatal(err)
		}
		p.members = append(p.members, m)
		p.start(m)
		t.Cleanup(func() {
			if err := m.kill(); err != nil {
				t.Error(err)
			}
		})
		if i == 0 {
			p.await("/leader", m)
		}
	}
	p.replicated()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	return p
}

// DSN returns the address of a database for clients that find the leader.
func (p *Patroni) DSN(database string) string {
	return Hosts(database, p.members[0].Server, p.members[1].Server)
}

// KillLeader kills the leader and its Patroni, as a machine crash would. The other member becomes the leader when the
// leader's lease expires.
func (p *Patroni) KillLeader() {
	p.t.Helper()
	if err := p.members[p.is("/leader")].kill(); err != nil {
		p.t.Fatal(err)
	}
}

// Restore restarts the member that KillLeader killed, and returns when it is the synchronous standby.
func (p *Patroni) Restore() {
	p.t.Helper()
	for _, m := range p.members {
		select {
		case <-m.control.ended:
			p.start(m)
		default:
		}
	}
	p.replicated()
}

func (p *Patroni) start(m *member) {
	p.t.Helper()
	var err error
	if m.control, err = m.daemon(p.t, p.program, filepath.Join(m.dir, "patroni.yml")); err != nil {
		p.t.Fatal(err)
	}
}

// replicated waits until one member is the leader and the other its synchronous standby.
func (p *Patroni) replicated() {
	p.t.Helper()
	p.await("/leader", p.members...)
	p.await("/synchronous", p.members...)
}

// await waits until a member has the role of a REST API path of Patroni.
func (p *Patroni) await(path string, members ...*member) {
	p.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		for _, m := range members {
			if m.says(path) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			p.t.Fatalf("no member is %s", path)
		}
	}
}

// is returns the index of the member that has the role of a path.
func (p *Patroni) is(path string) int {
	p.t.Helper()
	p.await(path, p.members...)
	if p.members[0].says(path) {
		return 0
	}
	return 1
}

func (m *member) address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func (m *member) says(path string) bool {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + m.address(m.api) + path)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// kill kills Patroni first, because it would restart PostgreSQL.
func (m *member) kill() error {
	if err := m.control.end(syscall.SIGKILL); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(m.data, "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	line, _, _ := strings.Cut(string(text), "\n")
	id, bad := strconv.Atoi(strings.TrimSpace(line))
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	if err := syscall.Kill(id, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
