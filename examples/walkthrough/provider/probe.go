package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

const (
	probeTimeout = 3 * time.Second
	maxBody      = 64 << 10 // bytes of a response that are read
	maxProblem   = 200      // bytes of an error on the page
)

// errElsewhere is the error for a host that is not this machine.
var errElsewhere = errors.New("not on this machine")

// verdict is the result of a probe.
type verdict string

const (
	passed    verdict = "passed"     // a response with a status below 400
	failed    verdict = "failed"     // another response, or none
	notProbed verdict = "not probed" // nothing was sent
)

// result is the verdict of a probe, with details.
type result struct {
	Verdict verdict
	Detail  string
}

// dialer opens a connection, as [net.Dialer.DialContext] does.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// prober sends requests to sites on this machine, and nowhere else.
type prober struct {
	client  *http.Client
	timeout time.Duration // per probe
}

func newProber(dial dialer) *prober {
	client := &http.Client{
		Transport: &http.Transport{ // without a proxy, which could be on another machine
			DialContext:            dial.loopback,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: maxBody,
		},
		// A redirect counts as a response.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &prober{client, probeTimeout}
}

// loopback dials loopback addresses only. Every connection goes through it. It does not look up names: a lookup would
// already send data to another machine, and the name may resolve to another address the next time.
func (d dialer) loopback(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	err = errElsewhere
	for i, addr := range loopbackAddrs(host) {
		conn, problem := d(ctx, network, net.JoinHostPort(addr.String(), port))
		if problem == nil {
			return conn, nil
		}
		if i == 0 {
			err = problem
		}
	}
	return nil, err
}

// loopbackAddrs returns the loopback addresses of a host. It returns none for an address of another machine and for a
// name other than localhost.
func loopbackAddrs(host string) []netip.Addr {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	addr, err := netip.ParseAddr(host)
	if addr = addr.WithZone("").Unmap(); err != nil || !addr.IsLoopback() {
		return nil
	}
	return []netip.Addr{addr}
}

// probe tests an endpoint once. A site that fails the test is a result. The error is the error of ctx if it ended first.
func (p *prober) probe(ctx context.Context, endpoint string) (result, error) {
	limited, cancel := context.WithTimeoutCause(ctx, p.timeout, fmt.Errorf("no answer within %s", p.timeout))
	defer cancel()
	start := time.Now()
	status, size, err := p.get(limited, endpoint)
	var with *url.Error
	switch {
	case err == nil:
		return result{verdictOf(status), fmt.Sprintf("%d %s, %s in %d ms",
			status, http.StatusText(status), size, time.Since(start).Milliseconds())}, nil
	case ctx.Err() != nil:
		return result{}, ctx.Err()
	case errors.Is(err, errElsewhere):
		return result{notProbed, errElsewhere.Error()}, nil
	case limited.Err() != nil:
		return result{failed, context.Cause(limited).Error()}, nil
	case errors.As(err, &with): // its text would repeat the URL
		return result{failed, brief(with.Err)}, nil
	}
	return result{failed, brief(err)}, nil
}

func verdictOf(status int) verdict {
	if status >= 400 {
		return failed
	}
	return passed
}

// get returns the status of a response and the size of its body as text.
func (p *prober) get(ctx context.Context, endpoint string) (status int, size string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return 0, "", err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return 0, "", err
	}
	size = fmt.Sprintf("%d bytes", n)
	if n > maxBody {
		size = fmt.Sprintf("more than %d bytes", maxBody)
	}
	return response.StatusCode, size, nil
}

// brief returns the text of an error, cut to fit a page. It may contain data from the site.
func brief(err error) string {
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) <= maxProblem {
		return text
	}
	return strings.ToValidUTF8(text[:maxProblem], "") + "…"
}
