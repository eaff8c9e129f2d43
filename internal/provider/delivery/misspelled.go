package delivery

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/suggest"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// unknown says that no local provider has a name, and suggests a declared name if one is similar.
func (rt *router) unknown(r store.Request, name string) string {
	text := fmt.Sprintf("no local provider named %q", name)
	if near := rt.nearest(name, suggest.Name); near != "" && !r.Body.Token.Secret() {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text
}

// declare says how to make a name that of a local provider.
func (rt *router) declare(name string) string {
	return fmt.Sprintf("add it to pintle.yaml under providers, or use --provider %s=./path", name)
}

// misspelled returns the reason not to send a request to a cloud: the name in its token is a typo away from a declared
// provider. It returns "" if the request may be sent. Only Creates and macros are refused, because existing resources
// were created with their token. Functions with a version or an alias are always sent, and so are all requests if
// FidelityAWS is set.
func (rt *router) misspelled(r store.Request, token wire.Token) string {
	if rt.config.FidelityAWS || r.Type != wire.Create && r.Type != store.TypeMacro || token.Name == "" || token.Qualifier != "" {
		return ""
	}
	near := rt.nearest(token.Name, suggest.Typo)
	switch {
	case near == "":
		return ""
	case r.Body.Token.Secret():
		return "the service token, which is a secret, misspells the name of a local provider: nothing was sent to the cloud, fix the token"
	}
	otherwise := "to send it to the cloud all the same, start with --fidelity aws"
	if token.Service == wire.Lambda && r.Type != store.TypeMacro {
		otherwise = fmt.Sprintf("if you mean the function in AWS, use %s:$LATEST", token.Text)
	}
	return fmt.Sprintf("no local provider named %q, did you mean %q? Nothing was sent to the cloud: fix the service token, or %s",
		token.Name, near, otherwise)
}

// nearest returns the declared name that is most similar to a name.
func (rt *router) nearest(name string, pick func(string, []string) string) string {
	declared := map[string]string{}
	var names []string
	for _, full := range rt.config.Declared() {
		short := full
		if token, err := wire.ParseToken(wire.ServiceToken(full)); err == nil && token.Name != "" {
			short = token.Name
		} else if i := strings.LastIndexAny(full, "/$"); i >= 0 && !strings.ContainsAny(name, "/$") {
			short = full[i+1:] // SERVICE/NAME of Function Compute
		}
		declared[short] = full
		names = append(names, short)
	}
	return declared[pick(name, names)]
}
