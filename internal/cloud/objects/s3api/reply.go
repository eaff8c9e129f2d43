package s3api

import (
	"encoding/xml"
	"net/http"
	"time"
)

// namespace is the XML namespace of S3 documents.
const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// sandbox makes a browser treat a page as having no origin. Otherwise a script in an object could call this server
// from a page of the same origin, with an Authorization header that no other page can send.
const sandbox = "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts"

// reply is a response in progress.
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

// extend sets a new deadline for the next write.
func (r *reply) extend() {
	_ = r.limits.SetWriteDeadline(time.Now().Add(r.call.config.Idle)) // a connection without deadlines does not need one
}

// document writes a document.
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

// nothing writes a status without a body.
func (r *reply) nothing(status int) error {
	r.WriteHeader(status)
	return nil
}
