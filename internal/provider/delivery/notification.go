package delivery

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/wire"
)

// Notifications makes and signs the notifications that SNS posts to HTTP endpoints. It is safe for concurrent use.
type Notifications interface {
	// Post returns the body and the headers of a notification, signed now. The id identifies the message: a second
	// delivery has the same id. An error is temporary and contains no secret.
	Post(ctx context.Context, topicARN, id, subject, message string) (body []byte, header http.Header, err error)
}

// sendMapped sends the request to a provider's URL: as a notification if the service token is an SNS topic, otherwise
// as the request document.
func (rt *router) sendMapped(soft, hard context.Context, s *send, hide *redactor, provider Provider) Outcome {
	r := s.request
	token, err := wire.ParseToken(r.Body.ServiceToken())
	if err != nil || token.Service != wire.SNS || isROS(r) || provider.Webhook || rt.config.Notifications == nil {
		return rt.sendWeb(soft, hard, s, hide, provider.URL, true)
	}
	message, p, err := rt.newPost(s, hide, provider.URL, true)
	if err != nil {
		return Refused{Text: hide.text(err.Error())}
	}
	p.taken = func(p post, _ context.Context, response *http.Response, here bool) attemptResult {
		// The reply is only checked for a hint, so a read error does not matter.
		if reply, _ := io.ReadAll(io.LimitReader(response.Body, MaxAnswer)); IsAnswer(reply, wire.MaxResponse) {
			rt.config.Progress(r.ID, hide.text(p.name()+": its reply is a response document, which SNS ignores: PUT it to the ResponseURL, "+
				"or give the provider delivery: webhook in pintle.yaml"))
		}
		return p.accepted(here)
	}
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		body, header, err := rt.config.Notifications.Post(ctx, string(r.Body.ServiceToken()), string(r.ID), subject(r), string(message))
		if err != nil {
			return attemptResult{text: hide.text("sign the notification: " + err.Error())}
		}
		p := p
		p.make = func(time.Time) ([]byte, http.Header, error) { return body, header, nil }
		return rt.web.post(ctx, p)
	})
}
