package s3

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"strings"
	"time"
)

// namespace is that of S3's documents.
const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// sandbox has a browser take a page for one of nobody's: a script in an object could otherwise call this server as its own page,
// with the header Authorization that no other page can send.
const sandbox = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"

// reply is the answer on its way out.
type reply struct {
	http.ResponseWriter
	call   *call
	limits *http.ResponseController
	// begun says that the status is written, refused that the answer is an error of ours and the rest of what is written is not.
	begun, refused bool
	// theirs is the status of an error of gofakes3's own, of which text is the document: end makes it one of ours.
	theirs int
	text   bytes.Buffer
}

// WriteHeader implements [http.ResponseWriter]. It gives the answer our headers, or makes it the error that the objects returned.
func (r *reply) WriteHeader(status int) {
	if r.begun || r.theirs != 0 {
		return
	}
	if r.call.err == nil && status >= http.StatusBadRequest {
		r.theirs = status
		return
	}
	if r.call.err != nil {
		r.refused = true
		r.error(r.call.err)
		return
	}
	r.begin(status)
}

// begin writes the status, once all headers are as they should be.
func (r *reply) begin(status int) {
	r.begun = true
	r.extend()
	h := r.Header()
	for name := range h {
		// gofakes3 would let pages of browsers read its answers, and calls itself Amazon's.
		if strings.HasPrefix(name, "Access-Control-") || name == "Server" || name == "X-Amz-Id-2" || name == "X-Amz-Delete-Marker" {
			h.Del(name)
		}
	}
	h.Set("X-Amz-Request-Id", r.call.id)
	for name, values := range r.call.final {
		if h[name] = values; values[0] == "" {
			h.Del(name)
		}
	}
	h.Set("Content-Security-Policy", sandbox)
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *reply) Write(p []byte) (int, error) {
	if r.theirs != 0 {
		r.text.Write(p)
		return len(p), nil
	}
	if !r.begun && !r.refused {
		if r.Header().Get("Content-Type") == "" && bytes.HasPrefix(p, []byte("<?xml")) {
			r.Header().Set("Content-Type", "application/xml")
		}
		r.WriteHeader(http.StatusOK)
	}
	if r.refused {
		return len(p), nil
	}
	r.extend()
	return r.ResponseWriter.Write(p)
}

// extend gives what is written next a time of its own.
func (r *reply) extend() {
	_ = r.limits.SetWriteDeadline(time.Now().Add(r.call.config.Idle)) // where there are no deadlines, none is missed
}

// end writes the status of an answer without a body, or an error of gofakes3's own.
func (r *reply) end() {
	if r.theirs != 0 {
		var document struct{ Code, Message string }
		if err := xml.Unmarshal(r.text.Bytes(), &document); err != nil || document.Code == "" { // it did not go through its table
			document.Code, document.Message = "InvalidRequest", http.StatusText(r.theirs)
		}
		r.error(&fault{document.Code, document.Message, r.theirs})
		return
	}
	if !r.begun && !r.refused {
		r.WriteHeader(http.StatusOK)
	}
}

// document answers with a document.
func (r *reply) document(body any) error {
	text, err := xml.Marshal(body)
	if err != nil {
		return err
	}
	r.Header().Set("Content-Type", "application/xml")
	r.WriteHeader(http.StatusOK)
	_, _ = r.ResponseWriter.Write(append([]byte(xml.Header), text...)) // a client that is gone needs no answer
	return nil
}

// nothing answers with a status alone.
func (r *reply) nothing(status int) error {
	r.WriteHeader(status)
	return nil
}
