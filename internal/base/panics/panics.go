// Package panics describes recovered panics in logs and errors without the values that they carry. What code passes to panic may
// quote its input, and so a secret that nothing at the place of the recovery knows.
package panics

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
)

// Cause describes the value of a recovered panic. The text of an error of Go's runtime, such as an index out of range, holds numbers and
// names of types only, and is returned whole. Of any other value only the type is named: the stack shows which call of panic it was.
func Cause(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T, which is left out because it may hold secrets", cause)
}

// Handler serves with next and logs its panics. The connection of a request that panicked is closed.
func Handler(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch cause := recover(); cause {
			case nil:
			case http.ErrAbortHandler:
				panic(cause)
			default:
				log.ErrorContext(r.Context(), "panic while serving", "method", r.Method, "cause", Cause(cause), "stack", string(debug.Stack()))
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
