// Package guard keeps connections to addresses that others choose out of private networks.
package guard

import (
	"fmt"
	"net/netip"
	"syscall"
)

// PrivateError says that an address is none for a URL out of a template or a call.
type PrivateError struct{ addr netip.Addr }

// Error implements error.
func (e *PrivateError) Error() string {
	return fmt.Sprintf("%s is not a public address, and a template may not reach into private networks: "+
		"name the URL as a provider, or allow private targets", e.addr)
}

// Control is that of a net.Dialer: it sees the address after every name was looked up, so that no name can mean one thing
// when it is checked and another when it is dialled. What is not of the public internet is a [PrivateError].
func Control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("check the address %s: %w", address, err)
	}
	if addr := target.Addr().WithZone("").Unmap(); !public(addr) {
		return &PrivateError{addr}
	}
	return nil
}

// reserved are the networks beyond those net/netip knows that are no part of the public internet or carry IPv4
// addresses which would have to be checked. Source: IANA special-purpose address registries.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
	netip.MustParsePrefix("::/96"),           // IPv4-compatible
	netip.MustParsePrefix("64:ff9b::/96"),    // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64, local use
	netip.MustParsePrefix("100::/64"),        // discard
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4
	netip.MustParsePrefix("3fff::/20"),       // documentation
	netip.MustParsePrefix("5f00::/16"),       // segment routing
	netip.MustParsePrefix("fec0::/10"),       // site-local
}

// public reports whether an address is one of the public internet.
func public(addr netip.Addr) bool {
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, prefix := range reserved {
		if prefix.Contains(addr) {
			return false
		}
	}
	return true
}
