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

// noLimit is what a limit is that does not exist. Clients compare what they count with it.
const noLimit = math.MaxInt32

// describeAccountLimits reports what is checked here: outputs are limited, stacks and resources at work are not.
func (f *handler) describeAccountLimits(_ context.Context, in describeAccountLimitsInput) (describeAccountLimitsOutput, error) {
	if in.NextToken != nil { // there is one page, so no token was ever given out
		return describeAccountLimitsOutput{}, f.position(in.pageInput, "DescribeAccountLimits", new(query.None))
	}
	return describeAccountLimitsOutput{AccountLimits: []accountLimitView{
		{"StackLimit", noLimit},
		{"StackOutputsLimit", template.Quotas().Outputs},
		{"ConcurrentResourcesLimit", noLimit},
	}}, nil
}
