package delivery

import (
	"context"
	"fmt"

	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// isROS reports whether a request is one of ROS, which knows other tokens, documents and ways than CloudFormation.
func isROS(r store.Request) bool { return r.Body.Dialect == wire.ROS.String() }

// sendROS sends a request of ROS for which this machine has no provider.
func (d *Delivery) sendROS(soft, hard context.Context, s *send, hide *scrubber, token wire.Token) Outcome {
	switch token.Service {
	case wire.Web:
		return d.sendWebROS(soft, hard, s, hide, token)
	case wire.FC, wire.Queue, wire.Topic:
		return d.sendAlibaba(soft, hard, s, hide, token)
	case wire.HTTP:
		return Refused{Text: hide.text("in a template of ROS a service token that is a URL begins with web: or web[sync]:, as in web:https://example.com/hook")}
	case wire.Lambda, wire.SNS, wire.Other:
	}
	text := string(token.Text)
	return Refused{Text: hide.text(fmt.Sprintf("no local provider named %q, and ROS knows no such service token: add it to pintle.yaml under "+
		"providers, or give --provider %s=./path", text, text))}
}
