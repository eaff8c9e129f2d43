package recorded

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// opensearchOperations and elasticsearchOperations are the operations of OpenSearch Service and its older API.
// Source: Amazon OpenSearch Service API Reference, version 2021-01-01; Configuration API Reference, version
// 2015-01-01.
var (
	opensearchOperations = map[string]operation{
		"UpdateDomainConfig": func(c *call) (object, error) { return updateDomain(c, "AWS::OpenSearchService::Domain") },
	}
	elasticsearchOperations = map[string]operation{
		"UpdateElasticsearchDomainConfig": func(c *call) (object, error) { return updateDomain(c, "AWS::Elasticsearch::Domain") },
	}
)

// maxPolicy is the maximum length of an access policy in bytes. Source: OpenSearch Service quotas.
const maxPolicy = 100 << 10

// updateDomain stores the access policies of a domain.
func updateDomain(c *call, kind string) (object, error) {
	name, policies := text(c.in, "DomainName"), text(c.in, "AccessPolicies")
	for member := range c.in {
		if member != "DomainName" && member != "AccessPolicies" {
			return nil, awsapi.Refuse("ValidationException", "Of a recorded domain, Pintle changes only AccessPolicies, not %s.", member)
		}
	}
	if policies != "" && (!json.Valid([]byte(policies)) || len(policies) > maxPolicy) {
		return nil, awsapi.Refuse("ValidationException", "The access policies must be JSON of at most %d bytes.", maxPolicy)
	}
	r, err := c.change(kind, name, func(r *record) error { return r.attach("accessPolicies", policies) })
	if errors.Is(err, registry.ErrNotFound) {
		return nil, missing(http.StatusConflict, "ResourceNotFoundException", "Domain not found: %.64s", name)
	}
	if err != nil {
		return nil, err
	}
	status := object{"CreationDate": r.Of.Made, "UpdateDate": c.now(), "UpdateVersion": r.Version, "State": "Active", "PendingDeletion": false}
	return object{"DomainConfig": object{"AccessPolicies": object{"Options": policies, "Status": status}}}, nil
}
