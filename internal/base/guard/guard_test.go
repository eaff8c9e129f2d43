package guard_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/pintle-dev/pintle/internal/base/guard"
)

func TestGuard(t *testing.T) {
	refused := []string{
		"127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "::", "10.1.2.3", "172.16.0.1", "192.168.1.1", "fd00:ec2::254",
		"169.254.169.254", "fe80::1", "fe80::1%eth0", "224.0.0.1", "239.1.1.1", "ff02::1", "255.255.255.255", "240.0.0.1",
		"168.63.129.16", "::ffff:168.63.129.16", "100.64.0.1", "100.100.100.200", "198.18.0.1", "192.0.0.192", "0.1.2.3", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
		"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "fec0::1", "2001:db8::1",
	}
	for _, text := range refused {
		if guard.Public("tcp", netip.AddrPortFrom(netip.MustParseAddr(text), 80).String(), nil) == nil {
			t.Errorf("%s is let through", text)
		}
	}
	for _, text := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2600:1f18::1", "2a00:1450::1", "::ffff:8.8.8.8"} {
		if err := guard.Public("tcp", netip.AddrPortFrom(netip.MustParseAddr(text), 443).String(), nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if guard.Public("tcp", "example.com:80", nil) == nil {
		t.Error("a name is let through")
	}
}

func TestGuardMetadata(t *testing.T) {
	dial := func(text string) error {
		return guard.Anywhere("tcp", netip.AddrPortFrom(netip.MustParseAddr(text), 80).String(), nil)
	}
	for _, text := range []string{
		"169.254.169.254", "::ffff:169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "fd00:ec2::254", "fe80::a9fe:a9fe%eth0",
	} {
		if _, ok := errors.AsType[*guard.AddressError](dial(text)); !ok {
			t.Errorf("%s is let through", text)
		}
	}
	for _, text := range []string{"127.0.0.1", "::1", "10.1.2.3", "100.100.100.110", "169.254.1.1", "8.8.8.8"} {
		if err := dial(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
