package local

import (
	"log/slog"
	"net"
	"net/netip"
)

// peers is a listener on loopback that refuses connections of other users of this machine: the events that a process asks for have secrets
// in them, and response URLs. The runtime clients of Lambda and Function Compute can't all carry a password, but the system knows whose a
// socket is.
//
// It accepts the user of this process only, so a provider must not give up that user before it connects. Where the system does not tell
// whose a socket is, every connection is accepted.
type peers struct {
	net.Listener
	log *slog.Logger
}

// Accept implements [net.Listener].
func (p *peers) Accept() (net.Conn, error) {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		foreign, uid, err := isForeign(conn)
		if err != nil {
			p.log.Debug("the user of a connection to the Runtime API is not known", "error", err)
		}
		if !foreign {
			return conn, nil
		}
		p.log.Warn("refused a connection of another user to the Runtime API of a provider's process", "uid", uid)
		_ = conn.Close()
	}
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
