package local

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/provider/bootstrap"
	"github.com/pintle-dev/pintle/wire"
)

// Match returns the name of the provider that serves the service token: the token itself, or the name of the topic,
// queue or function in it. Partition, region, account and qualifier are ignored. For a function of Function Compute
// 2.0, SERVICE/NAME and SERVICE$NAME take precedence over the name alone. Match returns false if no provider has one of
// these names.
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

// FunctionName returns the Lambda function name of a provider: its name, or the name within it if it is a complete
// token.
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

// ContractOf returns the contract of the provider behind a service token if the provider has none: Function Compute for
// ROS tokens, Lambda for all others.
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
