package local

import (
	"errors"
	"net"
	"slices"
)

// Idle returns how many workers of the provider wait for an event.
func (r *Runtime) Idle(provider string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pools[provider].idle)
}

// HideUsers makes the runtime behave as on a system that does not report the user of a connection. Call it before the
// first event.
func (r *Runtime) HideUsers() {
	r.isForeign = func(net.Conn) (bool, int, error) { return false, 0, errors.ErrUnsupported }
}

// TakePorts assigns the ports of the listeners to the next processes, as if programs of another user had taken them in
// the meantime.
func (r *Runtime) TakePorts(listeners ...net.Listener) {
	var taken []string
	for _, l := range listeners {
		_, port, _ := net.SplitHostPort(l.Addr().String()) // it is a TCP address
		taken = append(taken, port)
	}
	r.listensForeign = func(at net.Addr) bool {
		_, port, _ := net.SplitHostPort(at.String())
		return slices.Contains(taken, port)
	}
	next := 0
	r.pickPort = func() string {
		if next++; next > len(taken) {
			return r.port()
		}
		return taken[next-1]
	}
}
