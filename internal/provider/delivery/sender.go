package delivery

import (
	"context"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Sender sends single requests to a Lambda function or an SNS topic, as a [Delivery] does, but without rows and without
// retries. The zero Sender is ready to use. It is safe for concurrent use.
type Sender struct{ cloud cloud }

// CheckTarget returns an error for a token that a [Sender] does not support.
func CheckTarget(token wire.ServiceToken) error {
	_, _, err := targetOf(token)
	return err
}

func targetOf(named wire.ServiceToken) (token wire.Token, to service, err error) {
	if token, err = wire.ParseToken(named); err != nil {
		return token, to, err
	}
	switch token.Service {
	case wire.Lambda:
		return token, invoke, nil
	case wire.SNS:
		return token, publish, nil
	case wire.HTTP, wire.FC, wire.Queue, wire.Topic, wire.Web, wire.Other:
	}
	return token, to, fmt.Errorf("%s is neither a Lambda function nor an SNS topic", named)
}

// Send sends a document to the target of the request's service token. The answer is expected at the request's response
// URL. Send returns when the service has accepted the document. The error is the service's own text, with secrets
// removed.
func (d *Sender) Send(ctx context.Context, request wire.Request, document []byte) error {
	token, to, err := targetOf(request.ServiceToken)
	if err != nil {
		return err
	}
	c, err := d.cloud.client(ctx, token.Region)
	if err != nil {
		return fmt.Errorf("no AWS credentials: %w", err)
	}
	if onLoopback(request.ResponseURL) && !onLoopback(c.endpoint(to.name)) {
		return fmt.Errorf("%s runs in AWS and cannot reach the response URL, which is on loopback: give --public-url",
			request.ServiceToken)
	}
	row := store.Request{ID: request.RequestID, Type: request.RequestType, Body: &store.RequestBody{
		Region: token.Region, Token: value.Str(string(request.ServiceToken)),
	}}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := to.call(ctx, c, token, row, document); err != nil {
		own := router{config: Config{FidelityAWS: true}} // with only the service's own texts
		v := own.judge(err, to, token, newRedactor(row))
		if refused, ok := v.outcome.(Refused); ok {
			return errors.New(refused.Text)
		}
		return errors.New(v.text)
	}
	return nil
}
