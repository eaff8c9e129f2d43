package delivery

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// isROS reports whether a request belongs to a ROS stack. ROS has different tokens, documents and transports than
// CloudFormation.
func isROS(r store.Request) bool { return r.Body.Dialect == wire.ROS.String() }

// sendROS sends a ROS request that no provider on this machine serves.
func (rt *router) sendROS(soft, hard context.Context, s *send, hide *redactor, token wire.Token) Outcome {
	r := s.request
	if r.Type == store.TypeNotification && token.Service == wire.HTTP {
		return rt.notifyROS(soft, hard, s, hide, token)
	}
	switch token.Service {
	case wire.Web:
		return rt.sendWebROS(soft, hard, s, hide, token)
	case wire.FC, wire.Queue, wire.Topic:
		return rt.sendAlibaba(soft, hard, s, hide, token)
	case wire.HTTP:
		return Refused{Text: hide.text("in a template of ROS a service token that is a URL begins with web: or web[sync]:, as in web:https://example.com/hook")}
	case wire.Lambda, wire.SNS, wire.Other:
	}
	text := string(token.Text)
	return Refused{Text: hide.text(rt.unknown(r, text) + ", and ROS knows no such service token: " + rt.declare(text))}
}

// notifyROS notifies a URL of NotificationURLs that a stack operation has finished. The body is the unsigned message.
// Source: ROS, CreateStack, NotificationURLs.
func (rt *router) notifyROS(soft, hard context.Context, s *send, hide *redactor, token wire.Token) Outcome {
	body, _, err := rt.document(s.request)
	if err != nil {
		return Refused{Text: hide.text(err.Error())}
	}
	p := post{
		client: rt.web.guarded, url: token.URL, secret: s.request.Body.Token.Secret(), hide: hide,
		make: func(time.Time) ([]byte, http.Header, error) {
			return body, http.Header{"Content-Type": {contentJSON}}, nil
		},
		taken: func(post, context.Context, *http.Response, bool) attemptResult {
			return attemptResult{outcome: Accepted{}}
		},
	}
	p.silence = func() string { return fmt.Sprintf("%s: no response within %s", p.name(), s.request.Body.Timeout) }
	if rt.config.AllowPrivate {
		p.client = rt.web.open
	}
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult { return rt.web.post(ctx, p) })
}
