//go:build !linux

package local

import (
	"errors"
	"net"
)

// isForeign reports whether the other end of a local connection belongs to another user.
func isForeign(conn net.Conn) (foreign bool, uid int, err error) {
	if _, _, ok := ends(conn); !ok {
		return false, 0, errors.New("not a TCP connection")
	}
	return false, 0, errors.ErrUnsupported
}

// listensForeign reports whether a program of another user listens on a local address. This system does not report
// that.
func listensForeign(net.Addr) bool { return false }
