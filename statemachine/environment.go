package statemachine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
)

// FromEnvironment returns the waiter that the environment variables [EnvMachine] and one of [EnvKey], [EnvKeySecret] and
// [EnvKeyParameter] describe, or nil without the first. Each may hold several keys separated by spaces: the first
// encrypts, and all of them decrypt. A process fetches them once, when the first wait needs them. To change a key, first
// add the new one after the old one, then move it to the front, and remove the old one when no wait encrypted with it
// remains. Restart the functions after each step. A nil logger means text on standard error.
func FromEnvironment(log *slog.Logger) (*Waiter, error) {
	machine := os.Getenv(EnvMachine)
	if machine == "" {
		return nil, nil //nolint:nilnil // no waiter is configured
	}
	a, err := parseMachine(machine)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvMachine, err)
	}
	var source string
	for _, name := range []string{EnvKey, EnvKeySecret, EnvKeyParameter} {
		if os.Getenv(name) == "" {
			continue
		}
		if source != "" {
			return nil, fmt.Errorf("both %s and %s are set, want one of them", source, name)
		}
		source = name
	}
	if source == "" {
		return nil, fmt.Errorf("one of %s, %s and %s must be set, for the key that seals what waits", EnvKey, EnvKeySecret, EnvKeyParameter)
	}
	c := Config{Machine: machine, Logger: log}
	if source == EnvKey {
		c.Keys = split(os.Getenv(EnvKey))
	} else {
		c.LoadKeys = func(ctx context.Context) ([][]byte, error) {
			text, err := fetch(ctx, source, os.Getenv(source), a.region)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", source, err)
			}
			return split(text), nil
		}
	}
	return New(c)
}

func split(text string) (keys [][]byte) {
	for _, key := range strings.Fields(text) {
		keys = append(keys, []byte(key))
	}
	return keys
}

// fetch returns the text of a secret or parameter.
func fetch(ctx context.Context, source, name, region string) (string, error) {
	s, call, in := serviceSecrets, "GetSecretValue", map[string]any{"SecretId": name}
	if source == EnvKeyParameter {
		s, call, in = serviceSSM, "GetParameter", map[string]any{"Name": name, "WithDecryption": true}
	}
	c, err := newCaller(&http.Client{Timeout: callTimeout}, environmentCredentials, s, region, "")
	if err != nil {
		return "", err
	}
	var out struct {
		SecretString string
		Parameter    struct{ Value string }
	}
	if err := c.call(ctx, call, in, &out); err != nil {
		return "", err
	}
	if text := out.SecretString + out.Parameter.Value; text != "" { // a reply has one of them
		return text, nil
	}
	return "", errors.New("it has no text")
}
