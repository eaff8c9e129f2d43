package delivery

import "testing"

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
