package delivery_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/provider/delivery"
	"github.com/pintle-dev/pintle/internal/store"
)

const elsewhere = "arn:aws:lambda:us-east-1:222222222222:function:theirs"

// TestFunctionOfAnotherAccount checks that only stacks of an account can use its functions and topics. For other stacks
// they do not exist.
func TestFunctionOfAnotherAccount(t *testing.T) {
	configureAWS(t, "", "")
	theirs := named{"theirs": {Name: "theirs", URL: "http://127.0.0.1:1/", Account: "222222222222"}}
	topics := &someTopics{others: 1}
	for _, r := range []store.Request{
		request("a", 1, elsewhere), macroRequest(elsewhere), taskRequest(elsewhere, 1),
		request("a", 1, strings.Replace(subscribedTopic, "000000000000", "222222222222", 1)),
	} {
		w := start(t, func(c *delivery.Config, _ *world) { c.Local, c.Topics = theirs, topics })
		w.Dispatch([]store.Request{r})
		text := ""
		outcome := w.next(t).Outcome
		if poll, ok := outcome.(delivery.Poll); ok {
			outcome = poll.Outcome
		}
		switch o := outcome.(type) {
		case delivery.Refused:
			text = o.Text
		case delivery.Died:
			text = o.Text
		}
		if !strings.Contains(text, "no AWS credentials") || len(topics.published) > 0 {
			t.Errorf("%s of %s: %+v", r.Type, r.Body.ServiceToken(), outcome)
		}
	}
}
