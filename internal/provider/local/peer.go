package local

import (
	"crypto/rand"
	"crypto/subtle"
	"log/slog"
	"net"
	"net/netip"
	"strings"
)

// secret returns the secret in the address of a new process's Runtime API: the first element of its paths. Events
// contain secrets and response URLs, so other local users must not get them.
//
// All of Pintle's boot scripts accept a path in the address, and so does AWS's client for Java. Other programs may not.
// AWS's client for Python cannot report init errors to such an address. The one for Node drops the path for init errors
// and for streams. Many programs split the address at its colon. Programs therefore get no path if the system reports
// the user of a connection, which [peers] checks.
func (r *Runtime) secret(p Provider) string {
	kind := p.Target.Kind()
	if p.Serve == nil && (kind == Executable || kind == Folder || kind == GoPackage) && r.reportsUsers() {
		return ""
	}
	return rand.Text()
}

// address returns the address of the Runtime API for the process.
func (p *process) address() string {
	if p.secret == "" {
		return p.addr
	}
	return p.addr + "/" + p.secret
}

// admits reports whether a path begins with the process's secret.
func (p *process) admits(path string) bool {
	if p.secret == "" {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return subtle.ConstantTimeCompare([]byte(first), []byte(p.secret)) == 1
}

// peers is a loopback listener that refuses connections of other local users if the system reports the owner of a
// socket. It accepts only the user of this process, so a provider must not change its user before it connects.
type peers struct {
	net.Listener
	log       *slog.Logger
	isForeign func(net.Conn) (foreign bool, uid int, err error)
	// required refuses connections of unknown users, because no secret protects the listener.
	required bool
}

// Accept implements [net.Listener].
func (p *peers) Accept() (net.Conn, error) {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		foreign, uid, err := p.isForeign(conn)
		if err != nil {
			p.log.Debug("the user of a connection to the Runtime API is not known", "error", err)
		}
		if !foreign && (err == nil || !p.required) {
			return conn, nil
		}
		if foreign {
			p.log.Warn("refused a connection of another user to the Runtime API of a provider's process", "uid", uid)
		} else {
			p.log.Warn("refused a connection of an unknown user to the Runtime API of a provider's process", "error", err)
		}
		_ = conn.Close()
	}
}

// reportsUsers reports whether the system reports the owner of a connection, by testing one.
func reportsUsers(isForeign func(net.Conn) (bool, int, error)) bool {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return false
	}
	defer client.Close()
	conn, err := listener.Accept()
	if err != nil {
		return false
	}
	defer conn.Close()
	foreign, _, err := isForeign(conn)
	return err == nil && !foreign
}

// ends returns the addresses of both ends of a connection.
func ends(conn net.Conn) (local, remote netip.AddrPort, ok bool) {
	a, isTCP := conn.LocalAddr().(*net.TCPAddr)
	b, isTCPToo := conn.RemoteAddr().(*net.TCPAddr)
	if !isTCP || !isTCPToo {
		return local, remote, false
	}
	return a.AddrPort(), b.AddrPort(), true
}
