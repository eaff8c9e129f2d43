package s3api

import (
	"encoding/xml"
	"net/http"
	"time"
)

// namespace is that of S3's documents.
const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// sandbox makes a browser treat a page as one of no origin. Otherwise a script in an object could call this server as a page of its own,
// with an Authorization header that no other page can send.
const sandbox = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"

// reply is the answer on its way out.
type reply struct {
	http.ResponseWriter
	call   *call
	limits *http.ResponseController
	begun  bool // the status is written
}

// WriteHeader implements [http.ResponseWriter].
func (r *reply) WriteHeader(status int) {
	r.begun = true
	r.extend()
	r.Header().Set("Content-Security-Policy", sandbox)
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *reply) Write(p []byte) (int, error) {
	if !r.begun {
		r.WriteHeader(http.StatusOK)
	}
	r.extend()
	return r.ResponseWriter.Write(p)
}

// extend gives what is written next a time of its own.
func (r *reply) extend() {
	_ = r.limits.SetWriteDeadline(time.Now().Add(r.call.config.Idle)) // where there are no deadlines, none is missed
}

// document answers with a document.
func (r *reply) document(body any) error {
	text, err := xml.Marshal(body)
	if err != nil {
		return err
	}
	r.Header().Set("Content-Type", "application/xml")
	r.WriteHeader(http.StatusOK)
	_, _ = r.Write(append([]byte(xml.Header), text...)) // the client may have disconnected
	return nil
}

// nothing answers with a status alone.
func (r *reply) nothing(status int) error {
	r.WriteHeader(status)
	return nil
}
