package delivery

import (
	"net"
	"testing"
)

// connection is a connection between two addresses.
type connection struct {
	net.Conn
	local, remote string
}

func (c connection) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.ParseIP(c.local)} }
func (c connection) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.remote)} }

func TestOutOfReach(t *testing.T) {
	const here = "http://127.0.0.1:1/response"
	for _, test := range []struct {
		url, local, remote string
		want               bool
	}{
		{here, "127.0.0.1", "127.0.0.1", false}, {here, "10.0.0.5", "10.0.0.5", false}, {here, "10.0.0.5", "10.0.0.6", true},
		{"https://pintle.example.com/response", "10.0.0.5", "10.0.0.6", false},
	} {
		if got := OutOfReach(test.url, connection{local: test.local, remote: test.remote}); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
}

func TestOnLoopback(t *testing.T) {
	tests := map[string]bool{
		"http://127.0.0.1:4600/response": true, "http://localhost/": true, "http://LOCALHOST.:1": true, "http://[::1]:80/": true,
		"http://x.localhost": true, "http://0.0.0.0:1": true, "https://pintle.example.com": false, "http://10.0.0.1": false,
		"http://localhost.example.com": false, "": false, "http://[": false,
	}
	for text, want := range tests {
		if got := onLoopback(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
