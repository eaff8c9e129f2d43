//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/dev/require"
)

// Pooler starts PgBouncer for the server, with settings such as "pool_mode = session". It returns the PgBouncer
// address of the database in dsn. PgBouncer is stopped when the test ends. Without PgBouncer the test is skipped; see
// package require.
func (s *Server) Pooler(t testing.TB, dsn string, settings ...string) string {
	t.Helper()
	program := require.PgBouncer(t)
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	p := folder(t, s.bin)
	for range 20 { // the port may be taken
		var ports []int
		if ports, err = free(1); err != nil {
			break
		}
		file := filepath.Join(p.dir, "pgbouncer.ini")
		lines := append([]string{
			"[databases]", fmt.Sprintf("* = host=127.0.0.1 port=%d user=%s", s.port, address.User.Username()),
			"[pgbouncer]", "listen_addr = 127.0.0.1", fmt.Sprintf("listen_port = %d", ports[0]), "unix_socket_dir =",
			"auth_type = any", "max_client_conn = 100",
		}, settings...)
		err = errors.Join(os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600), p.own(file))
		var d *daemon
		if err == nil {
			d, err = p.daemon(t, program, file)
		}
		if err == nil {
			err = d.listens(ports[0])
		}
		if err == nil {
			address.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
			return address.String()
		}
	}
	t.Fatal(err)
	return ""
}
