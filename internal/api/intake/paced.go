package intake

import (
	"io"
	"net/http"
	"time"
)

// Paced returns a body with a deadline of idle for each read, instead of one for the whole body. control is that of the
// request.
func Paced(body io.ReadCloser, control *http.ResponseController, idle time.Duration) io.ReadCloser {
	return &paced{body, control, idle}
}

type paced struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
}

// Read implements [io.Reader].
func (p *paced) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(p.idle)) // a connection without deadlines does not need one
	n, err := p.ReadCloser.Read(b)
	if err != nil {
		// The server continues to read, to notice when a client disconnects. A deadline would end the call during a
		// long copy.
		_ = p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}
