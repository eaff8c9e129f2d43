package cloudformation

import (
	"context"
	"math"

	"github.com/pintle-dev/pintle/internal/api/query"
	"github.com/pintle-dev/pintle/internal/language/template"
)

type describeAccountLimitsInput struct{ pageInput }

// accountLimitView is the structure AccountLimit.
type accountLimitView struct {
	Name  string
	Value int
}

type describeAccountLimitsOutput struct {
	AccountLimits []accountLimitView
}

// noLimit is the value of a limit that does not exist. Clients compare numbers with it.
const noLimit = math.MaxInt32

// describeAccountLimits returns the limits of this server: outputs are limited, but stacks and concurrent resources are
// not.
func (f *handler) describeAccountLimits(_ context.Context, in describeAccountLimitsInput) (describeAccountLimitsOutput, error) {
	if in.NextToken != nil { // all limits are on one page, so no token is valid
		return describeAccountLimitsOutput{}, f.position(in.pageInput, "DescribeAccountLimits", new(query.None))
	}
	return describeAccountLimitsOutput{AccountLimits: []accountLimitView{
		{"StackLimit", noLimit},
		{"StackOutputsLimit", template.Quotas().Outputs},
		{"ConcurrentResourcesLimit", noLimit},
	}}, nil
}
