package delivery_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/wire"
)

func TestDoor(t *testing.T) {
	const document = `{"RequestType":"Create"}`
	for name, test := range map[string]struct {
		token string
		reply func(http.ResponseWriter)
		want  string // of the error; empty for none
	}{
		"function":         {function, lambdaAccepts, ""},
		"topic":            {topic, snsAccepts, ""},
		"missing function": {function, lambdaFails(404, "ResourceNotFoundException", "Function not found: x"), "Function not found: x (Service: Lambda, Status Code: 404"},
		"throttled":        {function, lambdaFails(429, "TooManyRequestsException", "Rate Exceeded."), "Rate Exceeded."},
		"something else":   {"acs:fc:cn-beijing:1:functions/x", lambdaAccepts, "neither a Lambda function nor an SNS topic"},
	} {
		t.Run(name, func(t *testing.T) {
			server, calls := fakeAWS(t, test.reply)
			configureAWS(t, server.URL, "key")
			var door delivery.Sender
			request := wire.Request{RequestType: wire.Create, ServiceToken: wire.ServiceToken(test.token), ResponseURL: "http://127.0.0.1:1/response"}
			err := door.Send(t.Context(), request, []byte(document))
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("got %v, want %s", err, test.want)
			case test.want == "":
				if c := <-calls; !strings.Contains(c.body, "RequestType") {
					t.Errorf("the service got %s", c.body)
				}
			}
		})
	}
}

// TestDoorLoopback checks that a response URL on loopback is refused before a request is sent, because a provider in
// AWS cannot reach it.
func TestDoorLoopback(t *testing.T) {
	configureAWS(t, "", "key")
	var door delivery.Sender
	err := door.Send(t.Context(), wire.Request{ServiceToken: function, ResponseURL: "http://127.0.0.1:1/response"}, nil)
	if err == nil || !strings.Contains(err.Error(), "--public-url") {
		t.Errorf("got %v, want advice", err)
	}
}
