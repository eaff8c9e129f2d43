package delivery

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/provider/local"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// Error names of failures outside the function. Source: AWS Step Functions Developer Guide, error names; Lambda.
const (
	noSuchFunction = "Lambda.ResourceNotFoundException"
	noConnection   = "Lambda.SdkClientException"
	unknownError   = "Lambda.Unknown"
	timedOut       = "States.Timeout"
)

// tryID returns the request ID that the function gets for a try of an execution's task. It is the same each time the
// try is sent, and different for the next try.
func tryID(r store.Request) wire.RequestID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d", r.ID, r.Execution.Try))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a custom UUID, version 8
	return wire.RequestID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

func taskPayload(r store.Request) []byte {
	payload, _ := r.Body.Properties.Get("Payload")
	return []byte(payload.Text())
}

// sendTask calls the function of an execution's task and waits for its result. The function is a local process, a URL
// that the operator has mapped, or a function of AWS Lambda. Any error is a failure of the task.
func (rt *router) sendTask(soft, hard context.Context, s *send) Outcome {
	began := time.Now()
	hide := &redactor{} // the texts are data of the execution
	outcome := rt.callTask(soft, hard, s, hide)
	refused, ok := outcome.(Refused)
	if !ok {
		return outcome
	}
	died := Died{Text: refused.Text, Delivered: refused.Delivered, Error: noConnection, Cause: refused.Text}
	if limit := s.request.Body.Timeout; limit > 0 && time.Since(began) >= limit {
		died.Error, died.Cause = timedOut, ""
	}
	return died
}

func (rt *router) callTask(soft, hard context.Context, s *send, hide *redactor) Outcome {
	named := s.request.Body.ServiceToken()
	if provider, ok := rt.match(s.request, named); ok {
		if provider.URL != "" {
			return rt.postMacro(soft, hard, s, hide, provider.URL, taskPayload(s.request))
		}
		return rt.sendLocal(soft, s, hide, provider)
	}
	token, err := wire.ParseToken(named)
	if err != nil || token.Service != wire.Lambda {
		return failed(noSuchFunction, fmt.Sprintf("%s is not a known function", named))
	}
	if err := rt.config.Allowed(accountOf(s.request), invokeAction); err != nil {
		return failed("Lambda.AccessDeniedException", err.Error())
	}
	c, err := rt.cloud.client(hard, token.Region)
	switch {
	case err != nil && soft.Err() != nil:
		return nil
	case err != nil:
		return Refused{Text: hide.text(fmt.Sprintf("no local function is named %q and there are no AWS credentials: %v", token.Name, err))}
	}
	params := invocation(named, token, synchronous, taskPayload(s.request))
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		out, err := c.invoke(ctx, params)
		api, refused := errors.AsType[*awscall.Error](err)
		switch {
		case refused: // the state machine decides about retries
			return attemptResult{outcome: failed("Lambda."+api.Code, api.Message)}
		case err != nil:
			return rt.judge(err, invoke, token, hide)
		case out.failed:
			return attemptResult{outcome: functionFailure(out.payload)}
		}
		return attemptResult{outcome: Returned{Body: out.payload}}
	})
}

// failed returns a failure of a task.
func failed(name, cause string) Died {
	return Died{Text: name, Delivered: true, Error: name, Cause: cause}
}

// functionFailure returns a failure that a function has reported. Its cause is the whole report.
func functionFailure(said []byte) Died {
	var parsed struct {
		Type string `json:"errorType"`
	}
	_ = json.Unmarshal(said, &parsed) // any other payload has no name
	return failed(cmp.Or(parsed.Type, unknownError), string(said))
}

// taskEnded returns the outcome to report after a task's invocation, or nil for none.
func (ls *localSender) taskEnded(of asking, name string, o local.Outcome) Outcome {
	ls.config.Log.Debug("the task of an execution has ended", "function", name, "execution", of.id, "how", o.Kind.String())
	kind, message := o.Type, "RequestId: "+string(of.about)+" Error: "+o.Message
	switch o.Kind {
	case local.Returned:
		return Returned{Body: o.Result}
	case local.Stopped:
		return nil // this node is stopping; the node that takes over its rows sends the task again
	case local.Errored, local.InitFailed:
		if o.Result != nil {
			return functionFailure(o.Result)
		}
		kind, message = cmp.Or(kind, "Runtime.ExitError"), o.Message
	case local.Exited, local.Crashed:
		kind = "Runtime.ExitError"
	case local.TimedOut:
		kind = "Sandbox.Timedout"
	case local.Waiting: // it was not asked to wait
		kind = unknownError
	}
	said, err := json.Marshal(map[string]string{"errorType": kind, "errorMessage": message})
	if err != nil {
		panic(err) // strings always marshal
	}
	return functionFailure(said)
}
