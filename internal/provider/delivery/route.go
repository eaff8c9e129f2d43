package delivery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// router sends a request to its provider, wherever that is, and returns the outcome.
type router struct {
	*documents
	*localSender

	config Config
	web    *web
	cloud  *cloud
	acs    *alibaba
}

// send sends the request to its provider. It returns nil if the request stays ready in the table.
func (rt *router) send(soft, hard context.Context, s *send) Outcome {
	r := s.request
	if r.Owner != rt.config.Node() {
		return nil // taken over: another node sends it, or this node after a restart
	}
	if r.Type == store.TypeExecution {
		if rt.config.Away != nil {
			return rt.waitForCloud(s, string(r.ID))
		}
		return rt.sendTask(soft, hard, s)
	}
	secrets, outcome, ok := rt.resolve(soft, hard, s)
	if !ok {
		return outcome
	}
	r = s.request
	hide := newRedactor(r, secrets...)
	if r.Body.Dialect != wire.CloudFormation.String() && !isROS(r) {
		return Refused{Text: fmt.Sprintf("requests of the dialect %q cannot be delivered by this version", r.Body.Dialect)}
	}
	if r.Type == store.TypeMacro {
		return rt.sendMacro(soft, hard, s, hide)
	}
	if r.Body.Native() {
		return rt.sendNative(hard, s, hide)
	}
	provider, ok := rt.match(r, r.Body.ServiceToken())
	if !ok && !asksToRead(r) {
		if outcome, sent := rt.sendTopic(soft, hard, s, hide); sent {
			return outcome
		}
	}
	if r.Type == store.TypeIsComplete && (!ok || provider.URL != "") {
		return Refused{Text: hide.text(fmt.Sprintf("no process serves %s any more, one of which said that it was to be asked again",
			r.Body.ServiceToken()))}
	}
	if asksToRead(r) && (!ok || provider.URL != "") {
		return Refused{Text: hide.text(fmt.Sprintf("no process of Pintle serves %s any more, and only such a provider is asked to read",
			r.Body.ServiceToken()))}
	}
	if r.Type == store.TypeImport && rt.config.CheckImport != nil {
		switch err := rt.config.CheckImport(soft, &r); {
		case errors.Is(err, native.ErrAgain):
			rt.config.Progress(r.ID, hide.text(err.Error()))
			return nil
		case err != nil:
			return Refused{Text: hide.text(err.Error())}
		}
	}
	if ok {
		if text := rt.outOfRegion(r, provider); text != "" {
			return Refused{Text: hide.text(text)}
		}
		if provider.URL != "" {
			return rt.sendMapped(soft, hard, s, hide, provider)
		}
		return rt.sendLocal(soft, s, hide, provider)
	}
	token, err := wire.ParseToken(r.Body.ServiceToken())
	switch {
	case err != nil && r.Body.Token.Secret(): // the error quotes part of the secret, which no redactor knows
		return Refused{Text: "the service token, which is a secret, has none of the forms that there are"}
	case err != nil:
		return Refused{Text: hide.text(err.Error())}
	}
	inCloud := token.Service == wire.Lambda || token.Service == wire.SNS || token.Service == wire.FC
	if rt.config.Away != nil && inCloud && rt.config.Away(soft, r.Body.ServiceToken()) {
		return rt.waitForCloud(s, hide.text(string(r.Body.ServiceToken())))
	}
	if text := rt.misspelled(r, token); text != "" {
		return Refused{Text: hide.text(text)}
	}
	if isROS(r) {
		return rt.sendROS(soft, hard, s, hide, token)
	}
	switch token.Service {
	case wire.HTTP:
		return rt.sendWeb(soft, hard, s, hide, string(r.Body.ServiceToken()), rt.config.AllowPrivate)
	case wire.Lambda:
		return rt.sendCloud(soft, hard, s, hide, token, invoke)
	case wire.SNS:
		return rt.sendCloud(soft, hard, s, hide, token, publish)
	case wire.FC, wire.Queue, wire.Topic, wire.Web, wire.Other:
	}
	text := string(r.Body.ServiceToken())
	if token.Service != wire.Other {
		return Refused{Text: hide.text(rt.unknown(r, text) + ", and it is a service token of Alibaba Cloud ROS, whose " +
			"templates have ROSTemplateFormatVersion: this stack is CloudFormation's")}
	}
	return Refused{Text: hide.text(rt.unknown(r, text) + ", and it is not a Lambda function, an SNS topic or an " +
		"http(s) URL: " + rt.declare(text))}
}

// waitForCloud leaves a request in the table for a node with local cloud emulation.
func (rt *router) waitForCloud(s *send, what string) Outcome {
	rt.config.Progress(s.request.ID, what+" needs local cloud emulation, which is off: start the server with --dev or --run-functions")
	s.rests = true
	return nil
}

// documents makes the documents that providers get.
type documents struct {
	config Config
}

// document returns the document for the provider and the response URL, signed now. For a notification it returns the
// message and no URL.
func (ds *documents) document(r store.Request) (body []byte, responseURL string, err error) {
	if r.Type == store.TypeNotification {
		message, _ := r.Body.Properties.Get("Message")
		return []byte(message.Text()), "", nil
	}
	request, err := ds.requestOf(r)
	if err != nil {
		return nil, "", err
	}
	if body, err = request.Encode(); err != nil {
		return nil, "", errors.New("the request cannot be written as JSON: its properties hold an invalid number")
	}
	if len(body) > wire.MaxRequest {
		return nil, "", fmt.Errorf("the request is %d bytes long, %d are allowed: the properties of %s are too large",
			len(body), wire.MaxRequest, r.Logical)
	}
	return body, request.ResponseURL, nil
}

// requestOf returns the request document, with a response URL signed now.
func (ds *documents) requestOf(r store.Request) (wire.Request, error) {
	responseURL, err := ds.config.ResponseURL(r)
	if err != nil {
		return wire.Request{}, err
	}
	request := wire.Request{
		RequestType:        r.Type,
		ResponseURL:        responseURL,
		StackID:            r.Body.StackID,
		RequestID:          r.ID,
		LogicalResourceID:  r.Logical,
		ResourceType:       r.Body.ResourceType,
		ResourceProperties: r.Body.Properties.JSON(),
	}
	if isROS(r) {
		request.Dialect = wire.ROS
		request.IntranetResponseURL = responseURL // this server has only one address
		if ds.config.ROSInnerURL {
			request.InnerResponseURL = responseURL
		}
		request.StackName, request.RegionID = r.Body.StackName, r.Body.Region
		request.ResourceOwnerID, request.CallerID = r.Body.Account, r.Body.Caller
	} else {
		request.ServiceToken = r.Body.ServiceToken()
	}
	switch r.Type {
	case wire.Create:
	case wire.Update:
		request.PhysicalResourceID = r.Body.PhysicalID
		request.OldResourceProperties = r.Body.OldProperties.JSON()
	case wire.Delete:
		request.PhysicalResourceID = r.Body.PhysicalID
	case wire.Read, store.TypeImport: // an import reads the resource to import
		request.RequestType, request.PhysicalResourceID = wire.Read, r.Body.PhysicalID
	case wire.Plan: // which is never a row
		return wire.Request{}, errors.New("a Plan is not delivered")
	default:
		return wire.Request{}, fmt.Errorf("requests of the type %q cannot be delivered", string(r.Type))
	}
	return request, nil
}

// asksToRead reports whether a provider gets the request as a Read. Only local processes do, because other providers
// may not know this request type.
func asksToRead(r store.Request) bool {
	return r.Type == store.TypeRead || r.Type == store.TypeImport && !r.Body.Native()
}

// onLoopback reports whether a URL points to loopback.
func onLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.Unmap().IsLoopback() || addr.IsUnspecified())
}

// OutOfReach reports whether a response URL is on loopback while the provider's connection comes from another machine.
func OutOfReach(responseURL string, provider net.Conn) bool {
	return onLoopback(responseURL) && !sameMachine(provider)
}

// sameMachine reports whether the peer of a connection is on this machine: connected over loopback, or from the same
// address as the local one.
func sameMachine(c net.Conn) bool {
	remote, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return false
	}
	local, ok := c.LocalAddr().(*net.TCPAddr)
	return remote.IP.IsLoopback() || ok && local.IP.Equal(remote.IP)
}
