package recorded

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// cognitoOperations are the operations of Cognito user pools. Source: Amazon Cognito user pools API Reference,
// version 2016-04-18.
var cognitoOperations = map[string]operation{
	"DescribeUserPoolClient": describePoolClient,
	"DescribeUserPoolDomain": describePoolDomain,
}

const (
	poolClientType = "AWS::Cognito::UserPoolClient"
	poolDomainType = "AWS::Cognito::UserPoolDomain"
)

const clientSecretState = "clientSecret"

// describePoolClient describes a client. The first call generates and stores its secret.
func describePoolClient(c *call) (object, error) {
	id := strings.TrimSuffix(text(c.in, "ClientId"), ".ClientId")
	secret, generated := "", false
	r, err := c.get(poolClientType, id)
	if err == nil && text(r.properties, "UserPoolId") != text(c.in, "UserPoolId") {
		err = registry.ErrNotFound
	}
	if generated = err == nil && fmt.Sprint(r.properties["GenerateSecret"]) == "true"; generated {
		r, err = c.change(poolClientType, id, func(r *record) error {
			secret = ""
			if err := r.state(clientSecretState, &secret); err != nil || secret != "" {
				return err
			}
			secret = strings.ToLower(rand.Text() + rand.Text())[:51]
			return r.attach(clientSecretState, secret)
		})
	}
	if errors.Is(err, registry.ErrNotFound) {
		return nil, awsapi.Refuse("ResourceNotFoundException", "User pool client %.128s does not exist.", id)
	}
	if err != nil {
		return nil, err
	}
	name := text(r.properties, "ClientName")
	if name == "" {
		name = r.id
	}
	client := object{
		"UserPoolId": text(r.properties, "UserPoolId"), "ClientId": r.id, "ClientName": name, "CreationDate": r.Of.Made, "LastModifiedDate": r.Of.Made,
	}
	if generated {
		client["ClientSecret"] = secret
	}
	return object{"UserPoolClient": client}, nil
}

// describePoolDomain describes a domain. As on AWS, the description of an unknown domain is empty.
func describePoolDomain(c *call) (object, error) {
	domain := text(c.in, "Domain")
	r, err := c.get(poolDomainType, domain)
	if errors.Is(err, registry.ErrNotFound) {
		var list []record
		if list, err = c.all(poolDomainType); err != nil {
			return nil, err
		}
		for _, other := range list {
			if text(other.properties, "Domain") == domain {
				r = other
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if r.id == "" {
		return object{"DomainDescription": object{}}, nil
	}
	sum := sha256.Sum256([]byte(c.place.Account + " " + r.id))
	return object{"DomainDescription": object{
		"Domain": text(r.properties, "Domain"), "UserPoolId": text(r.properties, "UserPoolId"), "AWSAccountId": c.place.Account, "Status": "ACTIVE",
		"CloudFrontDistribution": "d" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:13] + ".cloudfront.net",
	}}, nil
}
