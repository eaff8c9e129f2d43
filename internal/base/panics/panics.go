// Package panics describes recovered panics in logs and errors without their values. A panic value may quote input,
// and with it a secret that the recovering code does not know and cannot redact.
package panics

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
)

// Cause describes the value of a recovered panic. It returns the full text of a Go runtime error, such as an index
// out of range, because that contains only numbers and type names. For any other value it returns only the type. The
// stack shows which call panicked.
func Cause(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T, which is left out because it may hold secrets", cause)
}

// Handler serves with next and logs its panics. It closes the connection of a request that panicked.
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
