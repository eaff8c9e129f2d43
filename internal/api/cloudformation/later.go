package cloudformation

import (
	"context"

	"github.com/pintle-dev/pintle/internal/api/query"
)

// later are the operations of the API that this version does not have, and what to do instead.
var later = map[string]string{
	"CreateChangeSet":                   stackOperations,
	"DeleteChangeSet":                   stackOperations,
	"DescribeAccountLimits":             noSubstitute,
	"DescribeChangeSet":                 stackOperations,
	"DescribeChangeSetHooks":            stackOperations,
	"DescribeEvents":                    "Use DescribeStackEvents.",
	"DescribeStackDriftDetectionStatus": noDrift,
	"DescribeStackResourceDrifts":       noDrift,
	"DetectStackDrift":                  noDrift,
	"DetectStackResourceDrift":          noDrift,
	"EstimateTemplateCost":              noSubstitute,
	"ExecuteChangeSet":                  stackOperations,
	"GetTemplateSummary":                "Use ValidateTemplate or GetTemplate.",
	"ListChangeSets":                    stackOperations,
	"ListExports":                       noSubstitute,
	"ListImports":                       noSubstitute,
	"SignalResource":                    noSubstitute,
}

const (
	stackOperations = "Change stacks with CreateStack, UpdateStack and DeleteStack."
	noDrift         = "The drift of a custom resource is not known."
	noSubstitute    = "Nothing stands in for it."
)

// refuseLater registers the operations that this version does not have, so that clients are told so instead of that they
// do not exist.
func refuseLater(service *query.Service) {
	for action, instead := range later {
		query.Handle(service, action, func(context.Context, query.None) (query.None, error) {
			return query.None{}, query.Fault("InvalidAction", "The action %s is not supported by this version of Pintle. %s", action, instead)
		})
	}
}
