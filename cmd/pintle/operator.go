package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/pintle-dev/pintle/cmd/pintle/internal/node"
	"github.com/pintle-dev/pintle/internal/api/operator"
	"github.com/pintle-dev/pintle/internal/author/catalogue"
	"github.com/pintle-dev/pintle/internal/cloud/forward"
)

// maxDocument bounds the size of a response, in bytes.
const maxDocument = 16 << 20

// errNoOperator says that the other side does not speak Pintle's own API: it may be another service.
var errNoOperator = errors.New("the server has no operator's face")

// operatorClient is a client of Pintle's own API.
type operatorClient struct {
	base   string
	region string
	keys   aws.CredentialsProvider
	now    func() time.Time
	// dialect is that of the stacks that are asked about, empty for CloudFormation.
	dialect string
}

func (c *operatorClient) requests(ctx context.Context, stack string) ([]operator.Request, error) {
	var out operator.Requests
	err := c.do(ctx, http.MethodGet, "stacks/"+url.PathEscape(stack)+"/requests", nil, &out)
	return out.Requests, err
}

func (c *operatorClient) left(ctx context.Context, stack string) (left operator.LeftBehind, err error) {
	err = c.do(ctx, http.MethodGet, "stacks/"+url.PathEscape(stack)+"/left", nil, &left)
	return left, err
}

func (c *operatorClient) respond(ctx context.Context, stack, resource string, in operator.Response) (
	done operator.Responded, err error,
) {
	body, err := json.Marshal(in)
	if err != nil {
		return done, err
	}
	path := "stacks/" + url.PathEscape(stack) + "/resources/" + url.PathEscape(resource) + "/response"
	err = c.do(ctx, http.MethodPost, path, body, &done)
	return done, err
}

func (c *operatorClient) audit(ctx context.Context, stack string) ([]auditDocument, error) {
	var out operator.Audits
	err := c.do(ctx, http.MethodGet, "stacks/"+url.PathEscape(stack)+"/audit", nil, &out)
	list := make([]auditDocument, len(out.Audit))
	for i, entry := range out.Audit {
		list[i] = auditDocument{entry, catalogue.OfRemark(entry.Text)}
	}
	return list, err
}

// outputs returns outputs of a stack with their secrets; no keys means all of them.
func (c *operatorClient) outputs(ctx context.Context, stack string, keys []string) ([]operator.SecretOutput, error) {
	body, err := json.Marshal(operator.OutputReading{Keys: keys})
	if err != nil {
		return nil, err
	}
	var out operator.SecretOutputs
	err = c.do(ctx, http.MethodPost, "stacks/"+url.PathEscape(stack)+"/outputs", body, &out)
	return out.Outputs, err
}

func (c *operatorClient) logs(ctx context.Context, stack, request string) ([]string, error) {
	var out operator.Logs
	path := "stacks/" + url.PathEscape(stack) + "/logs?request=" + url.QueryEscape(request)
	err := c.do(ctx, http.MethodGet, path, nil, &out)
	return out.Lines, err
}

// stackLogs returns stored lines of a stack.
func (c *operatorClient) stackLogs(ctx context.Context, stack string, in operator.LogQuery) (page operator.LogPage, err error) {
	query := url.Values{"resource": {string(in.Resource)}, "after": {in.After}}
	if in.Tail > 0 {
		query.Set("tail", strconv.Itoa(in.Tail))
	}
	err = c.do(ctx, http.MethodGet, "stacks/"+url.PathEscape(stack)+"/logs?"+query.Encode(), nil, &page)
	return page, err
}

// consoleLink returns the address of a page that begins a session of the console.
func (c *operatorClient) consoleLink(ctx context.Context) (string, error) {
	var out operator.ConsoleLink
	if err := c.do(ctx, http.MethodPost, "console/link", nil, &out); err != nil {
		return "", err
	}
	return strings.TrimSuffix(c.base, "/") + out.Path, nil
}

// forwards returns the rules by which the server forwards resource types.
func (c *operatorClient) forwards(ctx context.Context) ([]forward.Rule, error) {
	var out operator.Version
	if err := c.do(ctx, http.MethodGet, "version", nil, &out); err != nil {
		return nil, err
	}
	var rules []forward.Rule
	for _, text := range out.Forward {
		rule, err := forward.ParseRule(text)
		if err != nil {
			return nil, fmt.Errorf("the rule %q of the server: %w", text, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func (c *operatorClient) providers(ctx context.Context) ([]operator.Provider, error) {
	var out operator.Providers
	err := c.do(ctx, http.MethodGet, "providers", nil, &out)
	return out.Providers, err
}

func (c *operatorClient) sealingKeys(ctx context.Context) (out operator.Keys, err error) {
	err = c.do(ctx, http.MethodGet, "keys", nil, &out)
	return out, err
}

func (c *operatorClient) define(ctx context.Context, name string, d node.Definition) error {
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPut, "providers/"+url.PathEscape(name), body, nil)
}

// schema returns the schema that a provider publishes. An [operator.Error] says why there is none.
func (c *operatorClient) schema(ctx context.Context, name string) (out json.RawMessage, err error) {
	err = c.do(ctx, http.MethodGet, "providers/"+url.PathEscape(name)+"/schema", nil, &out)
	return out, err
}

// do sends one signed request. It returns errors of the server with their original text.
func (c *operatorClient) do(ctx context.Context, method, path string, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if c.dialect != "" {
		between := "?"
		if strings.Contains(path, "?") {
			between = "&"
		}
		path += between + "dialect=" + c.dialect
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+operator.Prefix+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	keys, err := c.keys.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	hash := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, keys, request, hex.EncodeToString(hash[:]), "pintle", c.region, c.now()); err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument))
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		if out == nil {
			return nil
		}
		if err := json.Unmarshal(text, out); err == nil {
			return nil
		}
		return errNoOperator
	}
	var parsed struct{ Error string }
	if err := json.Unmarshal(text, &parsed); err != nil || parsed.Error == "" {
		return errNoOperator
	}
	return &operator.Error{Status: response.StatusCode, Message: parsed.Error}
}
