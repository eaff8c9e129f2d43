package node

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/pintle-dev/pintle/awscall"
	"github.com/pintle-dev/pintle/internal/api/sigv4"
	"github.com/pintle-dev/pintle/internal/base/guard"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/engine/native"
	"github.com/pintle-dev/pintle/internal/provider/awsconfig"
)

// openForward makes the types that are forwarded to other endpoints, and checks that those have the account of this node. A Reader sends
// nothing, so it checks nothing.
func (b *builder) openForward(ctx context.Context) error {
	if len(b.config.Forward) == 0 {
		return nil
	}
	made, err := forward.New(forward.Config{
		Rules: b.config.Forward, Catalog: registry.New(b.store), Key: b.store.Root().Derive("digests of forwarded resources"), Account: b.account,
		AccountHint: "set aws_account_id in " + b.credentialsPath() + ", or use the endpoint's credentials of that account",
		Own:         b.record.URL, Client: forwardClient, HTTP: &http.Client{Transport: guard.Transport(true)}, Allowed: b.accounts.allowed, Log: b.log,
	})
	if err != nil {
		return err
	}
	b.forward = made
	if b.config.Role == Reader {
		return nil
	}
	return made.Verify(ctx, b.config.Region)
}

// forwarding is the native.Forward of the node, nil for none.
func (b *builder) forwarding() native.Forward {
	if b.forward == nil {
		return nil
	}
	return b.forward
}

// handlerEndpoints returns the endpoints of forwarded services for handlers of an account, by environment variable. It
// returns none for an account that has no forwarded resources. environ is the environment of the server. inherits says
// that the handlers use the keys in it: they are not those of rules with another profile.
func (n *Node) handlerEndpoints(account string, environ []string, inherits bool) map[string]string {
	if len(n.config.Forward) == 0 || account != n.account || n.accounts.allowed(account, "cloudformation:CreateStack") != nil {
		return nil
	}
	if _, ok := n.accountKey(account); !ok && !inherits && account != sigv4.DefaultAccount && isNumber(account) {
		return nil // the key of the handlers leads to another account
	}
	profile := ""
	for _, pair := range environ {
		if name, text, _ := strings.Cut(pair, "="); name == "AWS_PROFILE" {
			profile = text
		}
	}
	urls := map[string]string{}
	for name, e := range forward.HandlerEndpoints(n.config.Forward) {
		if !inherits || e.Profile == "" || e.Profile == profile {
			urls[name] = e.URL
		}
	}
	return urls
}

// processKey returns the key of a local provider or function that may call the endpoints of forwarded services.
func (n *Node) processKey(account, name string) sigv4.Key {
	if key, ok := n.accountKey(account); ok && !strings.HasPrefix(name, fcNames) {
		return key
	}
	return n.processKeys.issue(account, name)
}

// accountKey returns the key that the handlers of an account share if types are forwarded and the account is not the
// default one. Ministack and LocalStack take an ID of 12 digits as the account, and the default account for any other
// key. ok is false for other accounts, and if the credentials file has a key with that ID.
func (n *Node) accountKey(account string) (key sigv4.Key, ok bool) {
	if account != n.account || account == sigv4.DefaultAccount || !isNumber(account) || len(forward.HandlerEndpoints(n.config.Forward)) == 0 {
		return sigv4.Key{}, false
	}
	if _, taken := n.fileKeys.Lookup(account); taken {
		return sigv4.Key{}, false
	}
	return sigv4.Key{ID: account, Secret: sigv4.Secret(hex.EncodeToString(n.store.Root().Derive("handlers of " + account))), Account: account}, true
}

// isNumber reports whether an account consists of digits only.
func isNumber(account string) bool {
	return account != "" && strings.Trim(account, "0123456789") == ""
}

// credentialsWithin bounds the search for credentials.
const credentialsWithin = 10 * time.Second

// forwardClient makes a client for an endpoint, with the configuration of the AWS SDK in the environment of this process.
func forwardClient(ctx context.Context, r forward.Rule, region string) (*awscall.Client, error) {
	options := []func(*config.LoadOptions) error{awsconfig.MetadataIfAsked}
	if r.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(r.Profile))
	}
	c, err := awsconfig.Load(ctx, region, options...)
	if err != nil {
		return nil, err
	}
	c.MaxAttempts = 1 // the caller retries
	if r.Endpoint != forward.AWS {
		c.Endpoint, c.Endpoints = r.Endpoint, nil
		c.HTTP = &http.Client{Transport: guard.Transport(true), Timeout: c.HTTP.Timeout}
	}
	if c.Credentials == nil {
		return nil, errNoForwardKeys
	}
	bounded, cancel := context.WithTimeout(ctx, credentialsWithin)
	defer cancel()
	if _, err := c.Credentials.Retrieve(bounded); err != nil {
		return nil, errNoForwardKeys
	}
	client, err := awscall.New(c)
	if err != nil {
		return nil, fmt.Errorf("the AWS configuration is invalid: %w", err)
	}
	return client, nil
}

var errNoForwardKeys = errors.New("there are no AWS credentials for it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile")
