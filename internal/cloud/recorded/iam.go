package recorded

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// iamOperations are the operations of IAM. Source: IAM API Reference, version 2010-05-08; IAM and STS quotas.
var iamOperations = map[string]operation{
	"CreateOpenIDConnectProvider":             createOIDC,
	"GetOpenIDConnectProvider":                getOIDC,
	"ListOpenIDConnectProviders":              listOIDC,
	"UpdateOpenIDConnectProviderThumbprint":   updateOIDCThumbprint,
	"AddClientIDToOpenIDConnectProvider":      addOIDCClient,
	"RemoveClientIDFromOpenIDConnectProvider": removeOIDCClient,
	"DeleteOpenIDConnectProvider":             deleteOIDC,
	"ListRoleTags":                            listRoleTags,
}

const oidcType = "AWS::IAM::OIDCProvider"

const (
	maxOIDC        = 100
	maxOIDCClients = 100
	maxThumbprints = 5
)

// oidc is the recorded OIDC provider, in the format of its resource type.
type oidc struct {
	URL         string   `json:"Url"`
	Clients     []string `json:"ClientIdList,omitempty"`
	Thumbprints []string `json:"ThumbprintList,omitempty"`
	Tags        []any    `json:"Tags,omitempty"`
}

// oidcOf parses a provider. Its ARN is derived from its URL.
func (c *call) oidcOf(r record) (p oidc, arn string, err error) {
	if err := json.Unmarshal(r.Of.Properties, &p); err != nil {
		return p, "", err
	}
	return p, c.arn("iam", "oidc-provider/"+strings.TrimPrefix(p.URL, "https://")), nil
}

func checkOIDC(p oidc) error {
	for _, print := range p.Thumbprints {
		if len(print) != 40 {
			return awsapi.Refuse("ValidationError", "1 validation error detected: Value at 'thumbprintList' failed to satisfy constraint: "+
				"Member must have length equal to 40")
		}
	}
	for _, client := range p.Clients {
		if client == "" || len(client) > 255 {
			return awsapi.Refuse("ValidationError", "1 validation error detected: Value at 'clientIDList' failed to satisfy constraint: "+
				"Member must have length between 1 and 255")
		}
	}
	switch {
	case len(p.Thumbprints) > maxThumbprints:
		return awsapi.Refuse("InvalidInput", "Thumbprint list must contain fewer than 5 entries.")
	case len(p.Clients) > maxOIDCClients:
		return missing(http.StatusConflict, "LimitExceeded", "Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: %d", maxOIDCClients)
	}
	return nil
}

func createOIDC(c *call) (object, error) {
	p := oidc{URL: text(c.in, "Url"), Clients: texts(c.in, "ClientIDList"), Thumbprints: texts(c.in, "ThumbprintList"), Tags: anys(items(c.in, "Tags"))}
	at, err := url.Parse(p.URL)
	if err != nil || at.Scheme != "https" || at.Host == "" || at.RawQuery != "" || len(p.URL) > 255 {
		return nil, awsapi.Refuse("ValidationError", "Invalid Open ID Connect Provider URL")
	}
	p.URL = strings.TrimSuffix(p.URL, "/")
	if err := checkOIDC(p); err != nil {
		return nil, err
	}
	list, err := c.all(oidcType)
	if err != nil {
		return nil, err
	}
	if len(list) >= maxOIDC {
		return nil, missing(http.StatusConflict, "LimitExceeded", "Cannot exceed quota for OpenIdConnectProvidersPerAccount: %d", maxOIDC)
	}
	arn := c.arn("iam", "oidc-provider/"+strings.TrimPrefix(p.URL, "https://"))
	_, err = c.findOIDC(arn)
	if err == nil || isExists(c.createUnless(err, oidcType, arn, p), &err) {
		return nil, missing(http.StatusConflict, "EntityAlreadyExists", "Provider with url %.255s already exists.", p.URL)
	}
	return object{"OpenIDConnectProviderArn": arn}, err
}

// createUnless creates a record if err means that it does not exist.
func (c *call) createUnless(err error, kind, id string, properties any) error {
	if !isNotFound(err) {
		return err
	}
	return c.create(kind, id, properties)
}

func isNotFound(err error) bool {
	refused, ok := errors.AsType[*awsapi.Error](err)
	return errors.Is(err, registry.ErrNotFound) || ok && refused.Code == "NoSuchEntity"
}

// isExists reports whether an error is [registry.ErrExists], and stores it.
func isExists(err error, into *error) bool {
	*into = err
	return errors.Is(err, registry.ErrExists)
}

// findOIDC finds a provider by its ARN. It also finds a provider from a template, whose record has another ID.
func (c *call) findOIDC(arn string) (record, error) {
	r, err := c.get(oidcType, arn)
	if !errors.Is(err, registry.ErrNotFound) {
		return r, err
	}
	list, err := c.all(oidcType)
	if err != nil {
		return r, err
	}
	for _, r := range list {
		if _, own, err := c.oidcOf(r); err == nil && (own == arn || r.id == arn) {
			return r, nil
		}
	}
	return r, missing(http.StatusNotFound, "NoSuchEntity", "OpenIDConnect Provider not found for arn %.300s", arn)
}

func getOIDC(c *call) (object, error) {
	r, err := c.findOIDC(text(c.in, "OpenIDConnectProviderArn"))
	if err != nil {
		return nil, err
	}
	p, _, err := c.oidcOf(r)
	out := object{
		"Url": strings.TrimPrefix(p.URL, "https://"), "ClientIDList": anys(p.Clients), "ThumbprintList": anys(p.Thumbprints), "CreateDate": r.Of.Made,
		"Tags": r.tagList(),
	}
	return out, err
}

// listRoleTags returns the tags of a role in one page.
func listRoleTags(c *call) (object, error) {
	name := text(c.in, "RoleName")
	r, err := c.get("AWS::IAM::Role", name)
	if errors.Is(err, registry.ErrNotFound) {
		err = missing(http.StatusNotFound, "NoSuchEntity", "The role with name %.64s cannot be found.", name)
	}
	return object{"Tags": r.tagList(), "IsTruncated": false}, err
}

func listOIDC(c *call) (object, error) {
	list, err := c.all(oidcType)
	if err != nil {
		return nil, err
	}
	var out []object
	for _, r := range list {
		_, arn, err := c.oidcOf(r)
		if err != nil {
			return nil, err
		}
		out = append(out, object{"Arn": arn})
	}
	slices.SortFunc(out, func(a, b object) int { return cmp.Compare(text(a, "Arn"), text(b, "Arn")) })
	return object{"OpenIDConnectProviderList": anys(out)}, nil
}

// changeOIDC changes the provider that a call names.
func changeOIDC(c *call, change func(*oidc)) (object, error) {
	r, err := c.findOIDC(text(c.in, "OpenIDConnectProviderArn"))
	if err != nil {
		return nil, err
	}
	_, err = c.change(oidcType, r.id, func(r *record) error {
		p, _, err := c.oidcOf(*r)
		if err != nil {
			return err
		}
		change(&p)
		if err := checkOIDC(p); err != nil {
			return err
		}
		r.Of.Properties, err = json.Marshal(p)
		return err
	})
	return nil, err
}

func updateOIDCThumbprint(c *call) (object, error) {
	return changeOIDC(c, func(p *oidc) { p.Thumbprints = texts(c.in, "ThumbprintList") })
}

func addOIDCClient(c *call) (object, error) {
	return changeOIDC(c, func(p *oidc) {
		if id := text(c.in, "ClientID"); !slices.Contains(p.Clients, id) {
			p.Clients = append(p.Clients, id)
		}
	})
}

func removeOIDCClient(c *call) (object, error) {
	return changeOIDC(c, func(p *oidc) {
		p.Clients = slices.DeleteFunc(p.Clients, func(id string) bool { return id == text(c.in, "ClientID") })
	})
}

// deleteOIDC deletes a provider. As on AWS, deleting a missing provider succeeds.
func deleteOIDC(c *call) (object, error) {
	r, err := c.findOIDC(text(c.in, "OpenIDConnectProviderArn"))
	if err == nil {
		err = c.drop(oidcType, r.id)
	}
	if isNotFound(err) {
		return nil, nil
	}
	return nil, err
}
