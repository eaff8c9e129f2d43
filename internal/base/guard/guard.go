// Package guard refuses connections to private networks and to the metadata services of clouds.
package guard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// AddressError reports an address that URLs in templates and calls must not use.
type AddressError struct {
	addr     netip.Addr
	metadata bool
}

// Error implements error.
func (e *AddressError) Error() string {
	if e.metadata {
		return fmt.Sprintf("%s is the address of a cloud's metadata service, which has credentials of this machine: no URL may lead there", e.addr)
	}
	return fmt.Sprintf("%s is not a public address, and a template may not reach into private networks: "+
		"name the URL as a provider, or allow private targets", e.addr)
}

// Public is the Control func of a [net.Dialer] that connects to public internet addresses only. It checks the address
// after name resolution, so a name cannot resolve to another address between check and connection. The error is an
// [*AddressError].
func Public(network, address string, c syscall.RawConn) error {
	if err := Anywhere(network, address, c); err != nil {
		return err
	}
	if addr := addressOf(address); !public(addr) {
		return &AddressError{addr: addr}
	}
	return nil
}

// Anywhere is the Control func of a [net.Dialer] that also connects to private networks, but not to metadata
// services.
func Anywhere(_, address string, _ syscall.RawConn) error {
	addr := addressOf(address)
	switch {
	case !addr.IsValid():
		return fmt.Errorf("check the address %s: it is not an IP address and a port", address)
	case slices.Contains(metadata, addr):
		return &AddressError{addr: addr, metadata: true}
	}
	return nil
}

// Transport returns a transport that uses [Public], or [Anywhere] if private. It uses no proxy, because the dialer
// would check the address of the proxy instead.
func Transport(private bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: Public}
	if private {
		dialer.Control = Anywhere
	}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
	}
}

// addressOf returns the IP address of an address with a port, or the zero address if the text is invalid.
func addressOf(address string) netip.Addr {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Addr{}
	}
	return target.Addr().WithZone("").Unmap()
}

// metadata are the addresses of metadata and credential services. Source: the documentation of EC2, ECS, EKS, Azure,
// Google Cloud, Alibaba Cloud, Oracle Cloud and OpenStack.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"),    // most clouds
	netip.MustParseAddr("fd00:ec2::254"),      // EC2
	netip.MustParseAddr("169.254.170.2"),      // ECS
	netip.MustParseAddr("169.254.170.23"),     // EKS
	netip.MustParseAddr("fd00:ec2::23"),       // EKS
	netip.MustParseAddr("168.63.129.16"),      // Azure; a public address
	netip.MustParseAddr("fd20:ce::254"),       // Google Cloud
	netip.MustParseAddr("100.100.100.200"),    // Alibaba Cloud
	netip.MustParseAddr("192.0.0.192"),        // Oracle Cloud
	netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Oracle Cloud
	netip.MustParseAddr("fe80::a9fe:a9fe"),    // OpenStack
}

// reserved are further networks that are not part of the public internet, or that embed IPv4 addresses. net/netip
// does not know them. Source: IANA special-purpose address registries.
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

// public reports whether an address belongs to the public internet.
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
