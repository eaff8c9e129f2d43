package operator

import "net/http"

// ConsoleLink is the answer of console/link.
type ConsoleLink struct {
	// Path is the path of the page on this server. It begins one session for the first client that requests it within
	// two minutes.
	Path string `json:"path"`
}

func (f *handler) consoleLink(r *http.Request) (any, error) {
	caller, ok := f.Caller(r.Context())
	if !ok {
		return nil, errNoCaller
	}
	if f.Hooks.Console == nil {
		return nil, &Error{http.StatusNotFound, "this server has no console: start it without --console=false"}
	}
	path, err := f.Hooks.Console(r.Context(), caller)
	return ConsoleLink{path}, err
}
