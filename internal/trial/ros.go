package trial

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// signROS makes the response URLs of a request of ROS, in the form that the engine's have. Nobody signs anything: the
// signature is a password for this one request.
func (t *trial) signROS(address net.Addr) {
	var random [20]byte
	_, _ = rand.Read(random[:]) // never fails
	t.signature = hex.EncodeToString(random[:])
	r := &t.config.Request
	query := url.Values{
		"stackname": {r.StackName}, "stackid": {string(r.StackID)}, "resource": {string(r.LogicalResourceID)}, "requestid": {string(r.RequestID)},
		"expire": {strconv.FormatInt(time.Now().Add(t.config.Timeout+lastWords).Unix(), 10)}, "signature": {t.signature},
	}
	r.ResponseURL = (&url.URL{Scheme: "http", Host: address.String(), Path: "/ros/response", RawQuery: query.Encode()}).String()
	r.IntranetResponseURL = r.ResponseURL
}

// serveROS takes the answer, as an engine's response URL of ROS does.
func (t *trial) serveROS(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code, message string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"Code": code, "Message": message}) // who does not read it has the status
	}
	given := r.URL.Query().Get("signature")
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "ROS takes answers by POST, unlike CloudFormation")
		return
	case r.URL.Path != "/ros/response" || subtle.ConstantTimeCompare([]byte(given), []byte(t.signature)) != 1:
		refuse(http.StatusForbidden, "SignatureDoesNotMatch", "this is not the response URL of the request")
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxResponse+1))
	if err != nil {
		refuse(http.StatusBadRequest, "IncompleteBody", "the body ended early")
		return
	}
	t.take(body, int(r.ContentLength))
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}\n") // likewise
}
