package delivery

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/template"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// MaxReturned is the maximum number of bytes that are read of a macro's result: one more than the limit of Lambda.
// Source: AWS Lambda, quotas, the response of an invocation.
const MaxReturned = 6<<20 + 1

// sendMacro calls a macro and waits for its result. The macro is a local process, a URL that the operator has mapped,
// or a function of AWS Lambda.
func (rt *router) sendMacro(soft, hard context.Context, s *send, hide *redactor) Outcome {
	named := s.request.Body.ServiceToken()
	if rt.config.Serverless != nil && string(named) == store.ServedMacro(template.Serverless) {
		return rt.expandServerless(soft, hard, s, hide)
	}
	provider, ok := rt.match(s.request, named)
	if ok && provider.Function != "" {
		named = provider.Function
		provider, ok = rt.match(s.request, named)
	}
	switch {
	case ok && provider.Function != "":
		return Refused{Text: hide.text(fmt.Sprintf("%s stands for %s, which is another function's name", named, provider.Function))}
	case ok && provider.URL != "":
		return rt.postMacro(soft, hard, s, hide, provider.URL, macroEvent(s.request))
	case ok:
		return rt.sendLocal(soft, s, hide, provider)
	}
	token, err := wire.ParseToken(named)
	if err != nil || token.Service != wire.Lambda {
		return Refused{Text: hide.text(fmt.Sprintf("%s is not a known function: add it to pintle.yaml under macros, or give "+
			"--macro NAME=./path", strings.TrimPrefix(string(named), "macro:")))}
	}
	return rt.callMacro(soft, hard, s, hide, token, named)
}

// expandServerless expands a SAM template on this node.
func (rt *router) expandServerless(soft, hard context.Context, s *send, hide *redactor) Outcome {
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		reply, err := rt.config.Serverless(ctx, macroEvent(s.request))
		if err != nil {
			return attemptResult{text: hide.text(err.Error()), delivered: true}
		}
		return attemptResult{outcome: Returned{Body: reply}}
	})
}

// macroEvent returns the event for a macro.
func macroEvent(r store.Request) []byte { return r.Body.Properties.JSON() }

// postMacro calls a macro, or another function that only returns, behind a URL. The result is the body of the response.
func (rt *router) postMacro(soft, hard context.Context, s *send, hide *redactor, target string, body []byte) Outcome {
	r := s.request
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" {
		return Refused{Text: "its target is not a valid http(s) URL"}
	}
	name := "POST " + (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
		if err != nil {
			return refused("its target is not a valid http(s) URL")
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("User-Agent", "pintle")
		SignWebhook(request.Header, rt.config.WebhookSecret, string(r.ID), rt.config.Now(), body)
		response, err := rt.web.open.Do(request)
		if err != nil {
			if wrapped, ok := errors.AsType[*url.Error](err); ok {
				err = wrapped.Err // without the URL
			}
			return attemptResult{text: hide.text(name + ": " + err.Error()), delivered: true}
		}
		defer response.Body.Close()
		reply, err := io.ReadAll(io.LimitReader(response.Body, MaxReturned))
		switch status := response.StatusCode; {
		case status == http.StatusTooManyRequests || status >= 500:
			return attemptResult{text: hide.text(name + ": " + statusText(response)), delivered: true, wait: retryAfter(response)}
		case status < 200 || status > 299:
			text := name + ": " + statusText(response)
			if why := hide.excerpt(string(reply), shown); why != "" {
				text += ": " + why
			}
			return attemptResult{delivered: true, outcome: Refused{Text: hide.text(text)}}
		case err != nil:
			return attemptResult{text: hide.text(name + ": " + err.Error()), delivered: true}
		}
		return attemptResult{outcome: Returned{Body: reply}}
	})
}

// callMacro calls a function of AWS Lambda.
func (rt *router) callMacro(soft, hard context.Context, s *send, hide *redactor, token wire.Token, named wire.ServiceToken) Outcome {
	r := s.request
	if text := rt.misspelled(r, token); text != "" {
		return Refused{Text: hide.text(text)}
	}
	if err := rt.config.Allowed(accountOf(r), invokeAction); err != nil {
		return Refused{Text: hide.text(fmt.Sprintf("%s, and %v", rt.unknown(r, token.Name), err))}
	}
	c, err := rt.cloud.client(hard, r.Body.Region)
	switch {
	case err != nil && soft.Err() != nil:
		return nil
	case err != nil:
		return Refused{Text: hide.text(fmt.Sprintf("%s and no AWS credentials: %v. Add it to pintle.yaml under "+
			"providers, or use --provider %s=./path, or configure AWS credentials", rt.unknown(r, token.Name), err, token.Name))}
	case token.Region != r.Body.Region:
		return Refused{Text: hide.text(fmt.Sprintf("%s is in %s, and a macro's function must be in the region of its stack, %s",
			named, token.Region, r.Body.Region))}
	}
	params := invocation(named, token, synchronous, macroEvent(r))
	params["LogType"] = "Tail"
	return rt.persist(soft, hard, s, func(ctx context.Context) attemptResult {
		out, err := c.invoke(ctx, params)
		switch {
		case err != nil:
			return rt.judge(err, invoke, token, hide)
		case !out.failed:
			return attemptResult{outcome: Returned{Body: out.payload}}
		}
		return attemptResult{outcome: functionFailed(out, hide)}
	})
}

// functionFailed returns the outcome for an error of a function. Source: AWS Lambda, Invoke.
func functionFailed(out invoked, hide *redactor) Outcome {
	var parsed struct{ ErrorType, ErrorMessage string }
	_ = json.Unmarshal(out.payload, &parsed) // any other payload leaves the fields empty
	died := Died{Text: hide.text("the function reported an error: " + join(parsed.ErrorType, parsed.ErrorMessage)), Delivered: true}
	if log, err := base64.StdEncoding.DecodeString(out.log); err == nil {
		for line := range strings.Lines(string(log)) {
			died.Log = append(died.Log, hide.text(strings.TrimRight(line, "\r\n")))
		}
		if len(died.Log) > shownLines {
			died.Log = died.Log[len(died.Log)-shownLines:]
		}
	}
	return died
}

// shownLines is the number of log lines to show, the same as for a local process.
const shownLines = 20
