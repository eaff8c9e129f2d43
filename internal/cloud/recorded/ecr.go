package recorded

import (
	"errors"
	"strings"

	"github.com/pintle-dev/pintle/internal/base/awsapi"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// ecrOperations are the operations of ECR. Repositories have no images. Source: Amazon ECR API Reference, version
// 2015-09-21.
var ecrOperations = map[string]operation{
	"DescribeRepositories": describeRepositories,
	"ListTagsForResource":  listRepositoryTags,
	"ListImages":           func(c *call) (object, error) { return noImages(c, "imageIds") },
	"DescribeImages":       describeImages,
	"BatchDeleteImage":     deleteImages,
}

const repositoryType = "AWS::ECR::Repository"

func (c *call) repository(name string) (record, error) {
	r, err := c.get(repositoryType, name)
	if errors.Is(err, registry.ErrNotFound) {
		err = awsapi.Refuse("RepositoryNotFoundException", "The repository with name '%.256s' does not exist in the registry with id '%s'", name, c.place.Account)
	}
	return r, err
}

func describeRepositories(c *call) (object, error) {
	var list []record
	next := ""
	if names := texts(c.in, "repositoryNames"); len(names) > 0 {
		if len(names) > 100 {
			return nil, awsapi.Refuse("InvalidParameterException", "repositoryNames has more than 100 names.")
		}
		for _, name := range names {
			r, err := c.repository(name)
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
	} else {
		all, err := c.all(repositoryType)
		if err != nil {
			return nil, err
		}
		limit, set := integer(c.in, "maxResults")
		if !set {
			limit = 100
		}
		if list, next, err = page(all, func(r record) string { return r.id }, text(c.in, "nextToken"), limit, 1000); err != nil {
			return nil, awsapi.Refuse("InvalidParameterException", "The next token is not valid.")
		}
	}
	out := []any{}
	for _, r := range list {
		mutability := text(r.properties, "ImageTagMutability")
		if mutability == "" {
			mutability = "MUTABLE"
		}
		out = append(out, object{
			"repositoryName": r.id, "repositoryArn": c.arn("ecr", "repository/"+r.id), "registryId": c.place.Account, "createdAt": r.Of.Made,
			"repositoryUri": c.place.Account + ".dkr.ecr." + c.place.Region + ".amazonaws.com/" + r.id, "imageTagMutability": mutability,
		})
	}
	answer := object{"repositories": out}
	if next != "" {
		answer["nextToken"] = next
	}
	return answer, nil
}

func listRepositoryTags(c *call) (object, error) {
	_, name, ok := strings.Cut(text(c.in, "resourceArn"), ":repository/")
	if !ok {
		return nil, awsapi.Refuse("InvalidParameterException", "Invalid parameter at 'resourceArn' failed to satisfy constraint: 'Invalid ARN'")
	}
	r, err := c.repository(name)
	if err != nil {
		return nil, err
	}
	return object{"tags": r.tagList()}, nil
}

// noImages returns an empty list of images.
func noImages(c *call, member string) (object, error) {
	if _, err := c.repository(text(c.in, "repositoryName")); err != nil {
		return nil, err
	}
	return object{member: []any{}}, nil
}

func describeImages(c *call) (object, error) {
	out, err := noImages(c, "imageDetails")
	if err == nil && len(items(c.in, "imageIds")) > 0 {
		return nil, awsapi.Refuse("ImageNotFoundException", "The image does not exist within the repository with name '%.256s' in the registry with id '%s'",
			text(c.in, "repositoryName"), c.place.Account)
	}
	return out, err
}

func deleteImages(c *call) (object, error) {
	out, err := noImages(c, "imageIds")
	if err != nil {
		return nil, err
	}
	var failures []object
	for _, id := range items(c.in, "imageIds") {
		failures = append(failures, object{"imageId": id, "failureCode": "ImageNotFound", "failureReason": "Requested image not found"})
	}
	out["failures"] = anys(failures)
	return out, nil
}
