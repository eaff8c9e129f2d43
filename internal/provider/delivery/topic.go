package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Topics are the local topics. The methods are safe for concurrent use.
type Topics interface {
	// Subscribers reports whether a topic is local, which functions have subscribed to it, and how many other confirmed
	// subscriptions it has. An error is temporary.
	Subscribers(ctx context.Context, arn string) (known bool, functions []string, others int, err error)
	// Publish sends a message to all subscribers of a topic. An error is final if its method Temporary returns false,
	// and temporary otherwise. It contains no secret.
	Publish(ctx context.Context, arn, subject, message string) error
}

// subscribed is the result of Topics.Subscribers.
type subscribed struct {
	functions []string
	others    int
}

func (subscribed) outcome() {}

// sendTopic sends the request to a local topic in the stack's account. It returns false if the token names no such
// topic. A single function gets the request like a local provider, so that its outcome is known. Several subscribers
// get it as from SNS, and their outcomes are unknown.
func (rt *router) sendTopic(soft, hard context.Context, s *send, hide *redactor) (Outcome, bool) {
	r := s.request
	named := r.Body.ServiceToken()
	token, err := wire.ParseToken(named)
	if rt.config.Topics == nil || err != nil || token.Service != wire.SNS || token.Account != accountOf(r) {
		return nil, false
	}
	unknown := false
	outcome := rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		known, functions, others, err := rt.config.Topics.Subscribers(ctx, string(named))
		if err != nil {
			return attemptResult{text: hide.text(fmt.Sprintf("%s: %v", named, err))}
		}
		unknown = !known
		return attemptResult{outcome: subscribed{functions, others}}
	})
	s.resume()
	to, ok := outcome.(subscribed)
	switch {
	case !ok:
		return outcome, true
	case unknown:
		return nil, false
	case token.Region != r.Body.Region:
		return Refused{Text: hide.text(rt.elsewhere(r, token, publish))}, true
	}
	refuse := func(format string, args ...any) (Outcome, bool) {
		if rt.config.FidelityAWS {
			return Accepted{}, true // like SNS, which drops the message
		}
		return Refused{Text: hide.text(string(named) + fmt.Sprintf(format, args...))}, true
	}
	switch {
	case len(to.functions)+to.others == 0:
		if r.Type == store.TypeNotification {
			return Accepted{}, true
		}
		return refuse(" has no confirmed subscription, so nothing would receive the request: subscribe a function to the topic")
	case len(to.functions) > 1 || to.others > 0:
		if r.Type == store.TypeIsComplete {
			return nil, false
		}
		return rt.publish(soft, hard, s, hide), true
	}
	function := to.functions[0]
	provider, ok := rt.match(r, wire.ServiceToken(function))
	switch {
	case !ok && r.Type == store.TypeIsComplete, ok && provider.URL != "" && r.Type == store.TypeIsComplete:
		return nil, false
	case !ok:
		return refuse(" has one subscription, for %s, and no local function has this name", function)
	case provider.URL != "":
		return rt.sendWeb(soft, hard, s, hide, provider.URL, true), true
	}
	s.function = function
	return rt.sendLocal(soft, s, hide, provider), true
}

// publish sends the request to all subscribers.
func (rt *router) publish(soft, hard context.Context, s *send, hide *redactor) Outcome {
	r := s.request
	body, _, err := rt.document(r)
	if err != nil {
		return Refused{Text: hide.text(err.Error())}
	}
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		err := rt.config.Topics.Publish(ctx, string(r.Body.ServiceToken()), subject(r), string(body))
		if err == nil {
			return attemptResult{outcome: Accepted{}}
		}
		text := hide.text(fmt.Sprintf("%s: %v", r.Body.ServiceToken(), err))
		var temporary interface{ Temporary() bool }
		if errors.As(err, &temporary) && !temporary.Temporary() {
			return refused(text)
		}
		return attemptResult{text: text}
	})
}
