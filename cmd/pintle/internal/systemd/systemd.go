// Package systemd notifies the service manager when the process is ready and when it stops. So a unit with
// Type=notify is active only once the server is ready, units ordered after it can rely on the server, and the manager
// recognizes a slow stop.
//
// The protocol is that of sd_notify(3): a datagram of NAME=VALUE lines to the socket that [Variable] names. Other managers,
// such as Podman and s6, use it too.
package systemd

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// Variable is the environment variable that names the manager's socket: a path, or @ and the name of an abstract one.
// It is not set if no such manager started the process.
const Variable = "NOTIFY_SOCKET"

// patience bounds one message: a manager whose queue is full must not hold up the server.
const patience = 5 * time.Second

// Manager is the service manager that started this process. The zero Manager ignores notifications.
type Manager struct{ socket string }

// New returns the manager that listens at socket, the value of [Variable]. An empty socket gives the zero Manager. A socket of another
// kind (vsock:… in some virtual machines) is an error.
func New(socket string) (Manager, error) {
	if socket != "" && !strings.HasPrefix(socket, "/") && !strings.HasPrefix(socket, "@") {
		return Manager{}, fmt.Errorf("%s is %q: use a path, or @ and a name", Variable, socket)
	}
	return Manager{socket}, nil
}

// Ready reports that the service is ready, with a status line for people.
func (m Manager) Ready(status string) error { return m.notify("READY=1", "STATUS="+line(status)) }

// Stopping says that the service has begun to stop.
func (m Manager) Stopping() error { return m.notify("STOPPING=1", "STATUS=stopping") }

func (m Manager) notify(lines ...string) error {
	if m.socket == "" {
		return nil
	}
	conn, err := net.DialTimeout("unixgram", m.socket, patience)
	if err != nil {
		return fmt.Errorf("service manager: %w", err)
	}
	defer func() { _ = conn.Close() }() // a datagram has been sent by then, or has not
	if err := conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("service manager: %w", err)
	}
	if _, err := conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("service manager: %w", err)
	}
	return nil
}

// line keeps a text on one line, because a new line would be another assignment.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }
