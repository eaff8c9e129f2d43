package engine

import (
	"context"
	"sync"

	"github.com/pintle-dev/pintle/wire"
)

// mostAskedAtOnce bounds how many providers are asked at once, for what they declare or for plans. The limit is Pintle's own.
const mostAskedAtOnce = 8

// DeclaredTypes reports whether a provider declares a request for a resource type. Nil means that it declares the request for none.
type DeclaredTypes func(resourceType string) bool

// has reports whether the request is declared for a type.
func (d DeclaredTypes) has(resourceType string) bool { return d != nil && d(resourceType) }

// askOnce calls ask once for each token and several times at once, and returns the results by token.
func askOnce[T any](tokens []string, ask func(wire.ServiceToken) T) map[string]T {
	results := map[string]T{}
	var mu sync.Mutex // guards results
	var wait sync.WaitGroup
	slots := make(chan struct{}, mostAskedAtOnce)
	asked := set[string]{}
	for _, token := range tokens {
		if asked[token] {
			continue
		}
		asked.add(token)
		slots <- struct{}{}
		wait.Go(func() { // ends with ask
			defer func() { <-slots }()
			result := ask(wire.ServiceToken(token))
			mu.Lock()
			defer mu.Unlock()
			results[token] = result
		})
	}
	wait.Wait()
	return results
}

// declaredReads is what a provider declares about Reads.
type declaredReads struct {
	types DeclaredTypes
	// problem is the reason why the provider could not be asked for its declaration; "" if it could.
	problem string
}

// declareReads returns, by token, for which resource types the providers declare Read. It may take seconds.
func (run *runner) declareReads(ctx context.Context, tokens []string) map[string]declaredReads {
	if run.reads == nil {
		return nil
	}
	return askOnce(tokens, func(token wire.ServiceToken) (r declaredReads) {
		var err error
		if r.types, err = run.reads(ctx, token); err != nil {
			r.problem = err.Error()
		}
		return r
	})
}
