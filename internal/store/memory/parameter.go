package memory

import (
	"context"

	"github.com/pintle-dev/pintle/internal/store"
)

// Parameter implements [store.Store].
func (s *Store) Parameter(ctx context.Context, key store.ParameterKey, version int64) (p store.Parameter, err error) {
	err = s.do(ctx, func() error {
		versions := s.parameters[key]
		for i := len(versions) - 1; i >= 0; i-- {
			if version == 0 || versions[i].Version == version {
				p = versions[i]
				return nil
			}
		}
		return store.ErrNotFound
	})
	return p, err
}

// PutParameter implements [store.Store].
func (s *Store) PutParameter(ctx context.Context, parameter store.Parameter, overwrite bool) (version int64, err error) {
	if err := parameter.Check(); err != nil {
		return 0, err
	}
	err = s.do(ctx, func() error {
		versions := s.parameters[parameter.ParameterKey]
		version = 1
		if len(versions) > 0 {
			if !overwrite {
				return store.ErrExists
			}
			version = versions[len(versions)-1].Version + 1
		}
		parameter.Version = version
		versions = append(versions, parameter)
		s.parameters[parameter.ParameterKey] = versions[max(0, len(versions)-store.ParameterVersions):]
		return nil
	})
	return version, err
}

// DeleteParameter implements [store.Store].
func (s *Store) DeleteParameter(ctx context.Context, key store.ParameterKey) error {
	return s.do(ctx, func() error {
		if s.parameters[key] == nil {
			return store.ErrNotFound
		}
		delete(s.parameters, key)
		return nil
	})
}
