package recorded

import (
	"crypto/rand"
	"errors"
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// cloudfrontOperations are the operations of CloudFront. Source: Amazon CloudFront API Reference, version 2020-05-31.
var cloudfrontOperations = map[string]operation{
	"CreateInvalidation": createInvalidation,
	"GetInvalidation":    getInvalidation,
}

const distributionType = "AWS::CloudFront::Distribution"

const invalidationsState = "invalidations"

// maxInvalidations is the number of stored invalidations of a distribution, and maxPaths the maximum number of paths
// of one (AWS allows 3,000).
const (
	maxInvalidations = 20
	maxPaths         = 3000
)

// invalidation is a requested invalidation. It is complete at once, because nothing is cached.
type invalidation struct {
	ID, Reference string
	Paths         []string
	Made          time.Time
}

func (i invalidation) out() object {
	return object{
		"Id": i.ID, "Status": "Completed", "CreateTime": i.Made, "InvalidationBatch": object{
			"CallerReference": i.Reference, "Paths": object{"Quantity": int64(len(i.Paths)), "Items": anys(i.Paths)},
		},
	}
}

func noDistribution() error {
	return missing(http.StatusNotFound, "NoSuchDistribution", "The specified distribution does not exist.")
}

func createInvalidation(c *call) (object, error) {
	batch := child(c.in, "InvalidationBatch")
	asked := invalidation{ID: "I" + rand.Text()[:13], Reference: text(batch, "CallerReference"), Paths: texts(child(batch, "Paths"), "Items"), Made: c.now()}
	switch {
	case asked.Reference == "" || len(asked.Paths) == 0:
		return nil, awsapi.Refuse("InvalidArgument", "An invalidation needs a caller reference and a path.")
	case len(asked.Paths) > maxPaths:
		return nil, awsapi.Refuse("TooManyInvalidationsInProgress", "An invalidation has at most %d paths.", maxPaths)
	}
	id := text(c.in, "DistributionId")
	_, err := c.change(distributionType, id, func(r *record) error {
		var list []invalidation
		if err := r.state(invalidationsState, &list); err != nil {
			return err
		}
		for _, there := range list {
			if there.Reference == asked.Reference {
				asked = there
				return nil
			}
		}
		list = append(list, asked)
		return r.attach(invalidationsState, list[max(0, len(list)-maxInvalidations):])
	})
	if errors.Is(err, registry.ErrNotFound) {
		return nil, noDistribution()
	}
	if err != nil {
		return nil, err
	}
	location := "https://cloudfront.amazonaws.com/2020-05-31/distribution/" + id + "/invalidation/" + asked.ID
	return object{"Location": location, "Invalidation": asked.out()}, nil
}

func getInvalidation(c *call) (object, error) {
	r, err := c.get(distributionType, text(c.in, "DistributionId"))
	if errors.Is(err, registry.ErrNotFound) {
		return nil, noDistribution()
	}
	var list []invalidation
	if err == nil {
		err = r.state(invalidationsState, &list)
	}
	if err != nil {
		return nil, err
	}
	for _, there := range list {
		if there.ID == text(c.in, "Id") {
			return object{"Invalidation": there.out()}, nil
		}
	}
	return nil, missing(http.StatusNotFound, "NoSuchInvalidation", "The specified invalidation does not exist.")
}
