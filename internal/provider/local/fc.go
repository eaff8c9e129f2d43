package local

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Environment variables of Function Compute that this package uses, and their common prefix. Source: Function Compute,
// environment variables; the runtime that Alibaba Cloud publishes for Go.
const (
	fcPrefix     = "FC_"
	fcRuntimeAPI = "FC_RUNTIME_API"

	fcKeyID         = "ALIBABA_CLOUD_ACCESS_KEY_ID"
	fcKeySecret     = "ALIBABA_CLOUD_ACCESS_KEY_SECRET"
	fcSecurityToken = "ALIBABA_CLOUD_SECURITY_TOKEN"
)

// fcIdentity identifies a provider as a function of Function Compute.
type fcIdentity struct{ name, service, qualifier, region, account string }

// fcIdentity returns the identity of the function. Missing parts come from the service token of the event, then from
// the configuration.
func (p Provider) fcIdentity(config *Config, token string) fcIdentity {
	var f Function
	if p.Function != nil {
		f = *p.Function
	}
	t, err := wire.ParseToken(wire.ServiceToken(token))
	if err != nil || t.Service != wire.FC {
		t = wire.Token{Region: t.Region, Account: t.Account} // the token of a queue or topic, or no valid token
	}
	return fcIdentity{
		name:      cmp.Or(f.Name, t.Name, FunctionName(p.Name)),
		service:   cmp.Or(f.Service, t.FCService),
		qualifier: cmp.Or(f.Version, t.Qualifier, "LATEST"),
		region:    cmp.Or(f.Region, t.Region, config.Region),
		account:   cmp.Or(f.Account, t.Account, config.Account),
	}
}

// memory returns the reported memory size of the function in MB.
func (p Provider) memory() string {
	if p.Function == nil {
		return "128"
	}
	return strconv.Itoa(cmp.Or(p.Function.Memory, 128))
}

// addFC adds the variables that Function Compute sets.
func addFC(env map[string]string, config *Config, provider Provider, at surroundings) {
	id := provider.fcIdentity(config, at.token)
	var instance [16]byte
	_, _ = rand.Read(instance[:]) // never fails
	for name, text := range map[string]string{
		fcRuntimeAPI:              at.addr,
		"FC_FUNC_CODE_PATH":       at.dir,
		"FC_FUNCTION_NAME":        id.name,
		"FC_FUNCTION_HANDLER":     provider.handler(),
		"FC_FUNCTION_MEMORY_SIZE": provider.memory(),
		"FC_INITIALIZER_HANDLER":  provider.Initializer,
		"FC_REGION":               id.region,
		"FC_ACCOUNT_ID":           id.account,
		"FC_SERVICE_NAME":         id.service,
		"FC_QUALIFIER":            id.qualifier,
		"FC_SERVER_PORT":          at.port,
		"FC_CUSTOM_LISTEN_PORT":   at.port,
		"FC_INSTANCE_ID":          "c-" + hex.EncodeToString(instance[:]),
	} {
		if text != "" {
			env[name] = text
		}
	}
}

// Range of the ports for processes. It is below the ports that systems assign to other programs: from 32768 on Linux
// and from 49152 on other systems. A free port therefore stays free until the process listens, unless another program
// asks for this port.
const (
	firstPort = 20000
	lastPort  = 32767
)

// port returns a free local port for one process, or "". The caller returns the port with release. Until then no other
// process of this runtime gets it, so that a process never receives the events of another one.
func (r *Runtime) port() string {
	for range 1000 {
		port := strconv.Itoa(firstPort + mathrand.IntN(lastPort-firstPort+1)) // need not be hard to guess
		if !vacant(port) {
			continue
		}
		r.mu.Lock()
		free := !r.ports[port]
		if free {
			r.ports[port] = true
		}
		r.mu.Unlock()
		if free {
			return port
		}
	}
	return ""
}

// vacant reports whether no program listens on a port of any local address.
func vacant(port string) bool {
	for _, host := range []string{"", "127.0.0.1"} { // a program may listen on one address only
		l, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// release returns a port.
func (r *Runtime) release(port string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ports, port)
}

// fcFunction holds the data that a Function Compute process gets with each event.
type fcFunction struct {
	identity    func(token string) fcIdentity
	fixed       http.Header // the headers that are equal for all events
	initializer string
	timeout     time.Duration
	port        string // where the process may listen; empty for none

	// The following fields are about the initializer. process.mu guards them.
	began bool          // the process got the initializer's event
	done  chan struct{} // closed when the initializer has returned or does not exist
}

func newFCFunction(config *Config, provider Provider, env map[string]string, port string) *fcFunction {
	f := &fcFunction{
		identity:    func(token string) fcIdentity { return provider.fcIdentity(config, token) },
		fixed:       http.Header{},
		initializer: provider.Initializer,
		timeout:     provider.Timeout,
		port:        port,
		done:        make(chan struct{}),
	}
	if f.initializer == "" {
		f.began = true
		close(f.done)
	}
	function := Function{}
	if provider.Function != nil {
		function = *provider.Function
	}
	for name, text := range map[string]string{
		"x-fc-access-key-id":          env[fcKeyID],
		"x-fc-access-key-secret":      env[fcKeySecret],
		"x-fc-security-token":         env[fcSecurityToken],
		"x-fc-function-handler":       provider.handler(),
		"x-fc-function-memory":        provider.memory(),
		"x-fc-function-timeout":       seconds(provider.Timeout),
		"x-fc-function-initializer":   provider.Initializer,
		"x-fc-initialization-timeout": seconds(config.InitTimeout),
		"x-fc-service-logproject":     function.LogProject,
		"x-fc-service-logstore":       function.LogStore,
		"x-fc-retry-count":            "0",
	} {
		if text != "" {
			f.fixed.Set(name, text)
		}
	}
	return f
}

// seconds returns a duration in whole seconds, at least one.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64(d.Round(time.Second)/time.Second)), 10)
}

// minSecret is the minimum length of a secret to redact: redacting shorter ones would make logs unreadable.
const minSecret = 8

// secrets returns the values to redact in logs.
func (f *fcFunction) secrets() []string {
	var secrets []string
	for _, name := range []string{"x-fc-access-key-secret", "x-fc-security-token"} {
		if text := f.fixed.Get(name); len(text) >= minSecret {
			secrets = append(secrets, text)
		}
	}
	return secrets
}

// The types of events. Source: the runtime that Alibaba Cloud publishes for Go.
const (
	fcHandle     = "0"
	fcInitialize = "1"
)

// setHeaders sets the headers of an event. token is the event's service token.
func (f *fcFunction) setHeaders(h http.Header, kind, id, token string, deadline time.Time) {
	for name, values := range f.fixed {
		h[name] = values
	}
	identity := f.identity(token)
	for name, text := range map[string]string{
		"x-fc-request-id":        id,
		"x-fc-function-type":     kind,
		"x-fc-function-deadline": strconv.FormatInt(deadline.UnixMilli(), 10),
		"x-fc-function-name":     identity.name,
		"x-fc-service-name":      identity.service,
		"x-fc-qualifier":         identity.qualifier,
		"x-fc-region":            identity.region,
		"x-fc-account-id":        identity.account,
	} {
		if text != "" {
			h.Set(name, text)
		}
	}
}
