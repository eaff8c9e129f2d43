package local

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// isForeign reports whether the other end of a local connection belongs to another user. It returns an error if the
// system does not report the user. Source: proc_pid_net(5), /proc/net/tcp.
func isForeign(conn net.Conn) (foreign bool, uid int, err error) {
	local, remote, ok := ends(conn)
	if !ok {
		return false, 0, errors.New("not a TCP connection")
	}
	for range lookups {
		uid, found, err := lookUp(remote, local)
		if found || err != nil {
			return found && uid != os.Geteuid(), uid, err
		}
	}
	return true, -1, nil // already closed, or in another network namespace
}

// lookups is the number of attempts to find a socket: a table that changes during the read may miss lines.
const lookups = 50

// Socket tables of the kernel.
const (
	tcp4 = "/proc/self/net/tcp"
	tcp6 = "/proc/self/net/tcp6"
)

// lookUp returns the user of the socket with these addresses.
func lookUp(local, remote netip.AddrPort) (uid int, found bool, err error) {
	for _, name := range []string{tcp4, tcp6} {
		file, openErr := os.Open(name)
		if name == tcp6 && errors.Is(openErr, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		uid, found, scanErr := socketUser(file, local, remote)
		file.Close()
		if found {
			return uid, true, nil
		}
		err = errors.Join(err, scanErr)
	}
	return 0, false, err
}

// socketUser finds the socket with these addresses in a socket table.
func socketUser(table io.Reader, local, remote netip.AddrPort) (uid int, found bool, err error) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || !isAddress(fields[1], local) || !isAddress(fields[2], remote) {
			continue
		}
		if uid, err = strconv.Atoi(fields[7]); err != nil {
			return 0, false, fmt.Errorf("a socket's user: %w", err)
		}
		return uid, true, nil
	}
	return 0, false, lines.Err()
}

// isAddress reports whether a table entry is an address. Its hexadecimal digits are four-byte words in the machine's
// byte order.
func isAddress(text string, want netip.AddrPort) bool {
	if !isPort(text, want.Port()) {
		return false
	}
	host, _, _ := strings.Cut(text, ":")
	address := make([]byte, 0, 16)
	for word := range slices.Chunk([]byte(host), 8) {
		n, err := strconv.ParseUint(string(word), 16, 32)
		if err != nil {
			return false
		}
		address = binary.NativeEndian.AppendUint32(address, uint32(n))
	}
	found, ok := netip.AddrFromSlice(address)
	return ok && found.Unmap() == want.Addr().Unmap()
}

// isPort reports whether a table entry has a port.
func isPort(text string, want uint16) bool {
	_, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	return err == nil && uint16(n) == want
}

// listensForeign reports whether a program of another user listens on a local address. It returns false if no program
// listens there or if the system does not report it. Source: proc_pid_net(5).
func listensForeign(at net.Addr) bool {
	where, ok := at.(*net.TCPAddr)
	if !ok {
		return false
	}
	port := where.AddrPort().Port()
	for _, name := range []string{tcp4, tcp6} {
		table, err := os.ReadFile(name)
		if err != nil {
			continue // a kernel without IPv6, or a hidden table
		}
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line)
			if len(fields) < 8 || fields[3] != listening || !isPort(fields[1], port) {
				continue
			}
			if uid, err := strconv.Atoi(fields[7]); err == nil && uid != os.Geteuid() {
				return true
			}
		}
	}
	return false
}

// listening is the state TCP_LISTEN.
const listening = "0A"
