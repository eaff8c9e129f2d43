package lambdaapi

import (
	"net/http"

	"github.com/pintle-dev/pintle/internal/cloud/lambda"
)

type listVersionsOutput struct{ Versions []configuration }

func (c *call) listVersions() (answer, error) {
	r, err := c.reference()
	if err != nil {
		return answer{}, err
	}
	i, err := c.config.Functions.Get(c.ctx, r.Scope, r.Name)
	if err != nil {
		return answer{}, err
	}
	versions, err := c.config.Functions.Versions(c.ctx, r.Scope, r.Name)
	if err != nil {
		return answer{}, err
	}
	out := listVersionsOutput{[]configuration{view(i, true)}}
	for _, v := range versions {
		out.Versions = append(out.Versions, view(v, true))
	}
	return answer{value: out}, nil
}

type publishInput struct {
	Description string
	CodeSha256  string
	RevisionId  string
}

func (c *call) publish() (answer, error) {
	in, err := decode[publishInput](c, maxBody, "PublishVersion")
	if err != nil {
		return answer{}, err
	}
	i, err := c.toChange(in.RevisionId)
	if err != nil {
		return answer{}, err
	}
	if in.CodeSha256 != "" && in.CodeSha256 != sha(i.Of.Code) {
		return answer{}, &lambda.Error{
			Code: "InvalidParameterValueException", Status: http.StatusBadRequest,
			Message: "CodeSHA256 (" + in.CodeSha256 + ") is different from current CodeSHA256 in $LATEST (" + sha(i.Of.Code) +
				"). Please try again with the CodeSHA256 in $LATEST.",
		}
	}
	version, err := c.config.Functions.Publish(c.ctx, i.Scope, i.Name, in.Description)
	if err != nil {
		return answer{}, err
	}
	v, err := c.config.Functions.Get(c.ctx, i.Scope, i.Name+":"+version)
	return answer{status: http.StatusCreated, value: view(v, true)}, err
}

func (c *call) putConcurrency() (answer, error) {
	in, err := decode[concurrency](c, maxBody, "PutFunctionConcurrency")
	if err != nil {
		return answer{}, err
	}
	if in.ReservedConcurrentExecutions == nil {
		return answer{}, constraint("reservedConcurrentExecutions", "null", "Member must not be null")
	}
	return answer{value: in}, c.reserve(in.ReservedConcurrentExecutions)
}

func (c *call) deleteConcurrency() (answer, error) {
	return answer{status: http.StatusNoContent}, c.reserve(nil)
}

func (c *call) reserve(n *int) error {
	i, err := c.toChange("")
	if err != nil {
		return err
	}
	i.Of.Concurrency = n
	_, err = c.config.Functions.Update(c.ctx, i, nil)
	return err
}
