package local

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/wire"
)

// Match returns the name under which a provider that has answers for the service token: the token itself, or the name
// of the topic, queue or function in it. Partition, region, account and a qualifier do not matter. Of a function of Function
// Compute 2.0, SERVICE/NAME and SERVICE$NAME come before the name alone. It returns false when there is none.
func Match(token wire.ServiceToken, has func(name string) bool) (name string, ok bool) {
	if token != "" && has(string(token)) {
		return string(token), true
	}
	parsed, err := wire.ParseToken(token)
	if err != nil || parsed.Name == "" {
		return "", false
	}
	names := []string{parsed.Name}
	if parsed.FCService != "" {
		names = []string{parsed.FCService + "/" + parsed.Name, parsed.FCService + "$" + parsed.Name, parsed.Name}
	}
	for _, name := range names {
		if has(name) {
			return name, true
		}
	}
	return "", false
}

// FunctionName returns the Lambda function name of a provider: its name, or the one in it if it is a whole token.
func FunctionName(provider string) string {
	if parsed, err := wire.ParseToken(wire.ServiceToken(provider)); err == nil && parsed.Name != "" {
		return parsed.Name
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(":/ ", r) {
			return '-'
		}
		return r
	}, provider)
}

// ContractOf returns how the provider behind a service token is called if it does not say so itself: as Function Compute
// calls its functions for the tokens of ROS, as Lambda does for all others.
func ContractOf(token wire.ServiceToken) bootstrap.Contract {
	parsed, err := wire.ParseToken(token)
	if err != nil {
		return bootstrap.Lambda
	}
	switch parsed.Service {
	case wire.FC, wire.Queue, wire.Topic, wire.Web:
		return bootstrap.FC
	case wire.Lambda, wire.SNS, wire.HTTP, wire.Other:
	}
	return bootstrap.Lambda
}
