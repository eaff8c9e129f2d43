package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestROSUnsigned checks that an unsigned ROS call is refused in ROS's format, in the query and as a form.
func TestROSUnsigned(t *testing.T) {
	w := newWorld(t, nil)
	const call = "Action=ListStacks&Version=2019-09-10&RegionId=cn-hangzhou"
	for name, send := range map[string]func() (*http.Response, error){
		"query": func() (*http.Response, error) { return http.Get(w.url + "/?" + call) },
		"form": func() (*http.Response, error) {
			return http.Post(w.url+"/", "application/x-www-form-urlencoded", strings.NewReader(call))
		},
	} {
		reply, err := send()
		w.must(err)
		body, err := io.ReadAll(reply.Body)
		w.must(err)
		w.must(reply.Body.Close())
		if reply.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), `"Code":"MissingParameter"`) ||
			!strings.Contains(string(body), "AccessKeyId") {
			t.Errorf("%s: %d %s", name, reply.StatusCode, body)
		}
	}
}
