package oss

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
)

// Error is an error that a client of OSS sees.
type Error struct {
	Code, Message string
	Status        int
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Refuse answers a rejected call, with a new request ID.
func Refuse(w http.ResponseWriter, r *http.Request, e *Error) {
	id := NewRequestID()
	w.Header().Del("X-Amzn-Requestid")
	w.Header().Set("X-Oss-Request-Id", id)
	WriteError(w, r, id, "", "", e)
}

// WriteError answers a call with an error. id is the request ID. bucket and key are the request's object and may be
// empty. The response to a HEAD request has the error document in a header, where clients look for it.
func WriteError(w http.ResponseWriter, r *http.Request, id, bucket, key string, e *Error) {
	text, err := xml.Marshal(struct {
		XMLName    xml.Name `xml:"Error"`
		Code       string   `xml:"Code"`
		Message    string   `xml:"Message"`
		RequestID  string   `xml:"RequestId"`
		HostID     string   `xml:"HostId"`
		BucketName string   `xml:"BucketName,omitempty"`
		Key        string   `xml:"Key,omitempty"`
	}{Code: e.Code, Message: e.Message, RequestID: id, HostID: hostname(r.Host), BucketName: bucket, Key: key})
	if err != nil {
		panic(err) // strings always marshal
	}
	text = append([]byte(xml.Header), text...)
	h := w.Header()
	if e.Status == http.StatusNotModified {
		w.WriteHeader(e.Status)
		return
	}
	for _, name := range []string{"Content-Range", "Content-Encoding", "Accept-Ranges", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/xml")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method == http.MethodHead {
		h.Set("X-Oss-Err", base64.StdEncoding.EncodeToString(text))
	}
	w.WriteHeader(e.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // fails only if the client has disconnected
	}
}

// NewRequestID returns an ID in OSS's format, 24 hexadecimal digits.
func NewRequestID() string {
	var id [12]byte
	_, _ = rand.Read(id[:]) // never fails
	return fmt.Sprintf("%X", id)
}
