package local

import (
	"errors"
	"net"
)

// HideUsers has a runtime behave as on a system that does not report the user of a connection. No event was accepted before.
func (r *Runtime) HideUsers() {
	r.isForeign = func(net.Conn) (bool, int, error) { return false, 0, errors.ErrUnsupported }
}
