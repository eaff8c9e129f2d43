package cloudformation

import (
	"context"

	"github.com/pintle-dev/pintle/internal/api/query"
)

// later contains the operations that this version does not support, by the alternative to use.
var later = map[string][]string{
	"What a custom resource costs is known to its provider only.": {"EstimateTemplateCost"},
	"There are no stack sets: create a stack in each account and region.": {
		"ActivateOrganizationsAccess", "CreateStackInstances", "CreateStackSet", "DeactivateOrganizationsAccess",
		"DeleteStackInstances", "DeleteStackSet", "DescribeOrganizationsAccess", "DescribeStackInstance",
		"DescribeStackSet", "DescribeStackSetOperation", "DetectStackSetDrift", "ImportStacksToStackSet",
		"ListStackInstanceResourceDrifts", "ListStackInstances", "ListStackSetAutoDeploymentTargets",
		"ListStackSetOperationResults", "ListStackSetOperations", "ListStackSets", "StopStackSetOperation",
		"UpdateStackInstances", "UpdateStackSet",
	},
	"There is no registry of types: a custom resource names its provider by its ServiceToken, and its type is of your choice.": {
		"ActivateType", "BatchDescribeTypeConfigurations", "DeactivateType", "DeregisterType", "DescribePublisher",
		"DescribeType", "DescribeTypeRegistration", "ListTypeRegistrations", "ListTypeVersions", "ListTypes",
		"PublishType", "RecordHandlerProgress", "RegisterPublisher", "RegisterType", "SetTypeConfiguration",
		"SetTypeDefaultVersion", "TestType",
	},
	"There are no hooks.": {"GetHookResult", "ListHookResults"},
	"Templates are written by hand, or by the AWS CDK.": {
		"CreateGeneratedTemplate", "DeleteGeneratedTemplate", "DescribeGeneratedTemplate", "DescribeResourceScan",
		"GetGeneratedTemplate", "ListGeneratedTemplates", "ListResourceScanRelatedResources", "ListResourceScanResources",
		"ListResourceScans", "StartResourceScan", "UpdateGeneratedTemplate",
	},
	"To move a resource, retain it in one stack and let the provider adopt it in the other.": {
		"CreateStackRefactor", "DescribeStackRefactor", "ExecuteStackRefactor", "ListStackRefactorActions", "ListStackRefactors",
	},
}

// refuseLater registers the operations that this version does not support, so that clients get an explanation instead
// of an unknown action.
func refuseLater(service *query.Service) {
	for instead, actions := range later {
		for _, action := range actions {
			query.Handle(service, action, func(context.Context, query.None) (query.None, error) {
				return query.None{}, query.Fault("InvalidAction", "The action %s is not supported by this version of Pintle. %s", action, instead)
			})
		}
	}
}
