package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
)

// provide sends the definitions of providers to the engine, and waits until they are built.
func (s *session) provide(ctx context.Context, list []provided) error {
	if len(list) == 0 || s.data == "" {
		return nil
	}
	for _, p := range list {
		if err := s.operator.define(ctx, p.name, p.definition); err != nil {
			return failed(fmt.Errorf("provider %s: %w", p.name, err))
		}
	}
	printed := map[string]string{}
	for wait := 5 * time.Millisecond; ; wait = min(wait*2, slowest) {
		states, err := s.operator.providers(ctx)
		if err != nil {
			return fmt.Errorf("providers: %w", err)
		}
		building := false
		for _, state := range states {
			if !slices.ContainsFunc(list, func(p provided) bool { return p.name == state.Name }) {
				continue
			}
			switch {
			case strings.HasPrefix(state.State, node.StateBuilding):
				building = true
				if printed[state.Name] != state.State && strings.Contains(state.State, "(") {
					s.say("%s", strings.ReplaceAll(state.State, s.cwd+string(filepath.Separator), ""))
				}
				printed[state.Name] = state.State
			case strings.HasPrefix(state.State, node.StateBroken):
				return failed(errors.New(strings.TrimPrefix(state.State, node.StateBroken+": ")),
					"fix the provider and "+s.again())
			}
		}
		if !building {
			return nil
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}
