package native

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/protocol/responseurl"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// waitConditionHandle is AWS::CloudFormation::WaitConditionHandle: a URL for signals. The engine stores the signals
// with the resource.
//
// Anyone who knows the URL can signal, so the value of Ref is a secret. The physical ID is the URL without its
// signature.
type waitConditionHandle struct {
	signalURL func(key responseurl.ResponseKey, region string) (string, error)
}

// WaitConditionHandle is the name of the type whose resources accept signals at a URL.
const WaitConditionHandle = "AWS::CloudFormation::WaitConditionHandle"

var waitConditionHandleSchema = Schema{Name: WaitConditionHandle, Fixed: true}

// Schema implements [Type].
func (waitConditionHandle) Schema() *Schema { return &waitConditionHandleSchema }

// Serve implements [Type]. A Create that is served twice returns two valid URLs, of which the engine keeps one.
func (t waitConditionHandle) Serve(_ context.Context, r *store.Request) (Result, error) {
	if r.Type != wire.Create {
		return Result{}, nil
	}
	key := responseurl.ResponseKey{StackID: r.Body.StackID, LogicalID: r.Logical, RequestID: r.ID}
	signed, err := t.signalURL(key, r.Body.Region)
	if err != nil {
		return Result{}, fmt.Errorf("make the URL of the handle: %w", err)
	}
	open, _, _ := strings.Cut(signed, "?")
	return Result{PhysicalID: wire.PhysicalID(open), Ref: value.SecretStr(signed)}, nil
}

// handleKey returns the key in the URL of a handle.
func handleKey(text string) (responseurl.ResponseKey, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return responseurl.ResponseKey{}, false
	}
	at := strings.LastIndex(u.Path, "/arn:") // start of the stack's ARN, behind the path of the server
	if at < 0 {
		return responseurl.ResponseKey{}, false
	}
	key, err := responseurl.ParseResponseKey(u.Path[at+1:])
	return key, err == nil
}
