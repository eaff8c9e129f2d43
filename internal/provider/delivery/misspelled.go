package delivery

import (
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/suggest"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// unknown says that no local provider has a name, and suggests the declared one that was perhaps meant.
func (d *Delivery) unknown(r store.Request, name string) string {
	text := fmt.Sprintf("no local provider named %q", name)
	if near := d.nearest(name, suggest.Name); near != "" && !r.Body.Token.Secret() {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text
}

// declare says how a name becomes that of a local provider.
func (d *Delivery) declare(name string) string {
	return fmt.Sprintf("add it to pintle.yaml under providers, or use --provider %s=./path", name)
}

// misspelled returns why a request is not sent to a cloud: the name in its token is a typing mistake away from a declared
// provider. It is empty if the request may be sent. Only Creates and macros are refused, because an existing resource was made with its
// token. A function with a version or alias is meant as it is written, and so is every token if answers are to be those of AWS.
func (d *Delivery) misspelled(r store.Request, token wire.Token) string {
	if d.config.FidelityAWS || r.Type != wire.Create && r.Type != store.TypeMacro || token.Name == "" || token.Qualifier != "" {
		return ""
	}
	near := d.nearest(token.Name, suggest.Typo)
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

// nearest returns the declared name that a name was perhaps meant to be.
func (d *Delivery) nearest(name string, pick func(string, []string) string) string {
	declared := map[string]string{}
	var names []string
	for _, full := range d.config.Declared() {
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
