package ros

// refusals are the actions that cannot be answered truthfully on this server, with the reason and an alternative.
var refusals = []struct{ actions, remedy string }{
	{"GetTemplateEstimateCost", "Only Alibaba Cloud knows its prices: ask the service itself."},
	{"GenerateTemplatePolicy", "Only Alibaba Cloud knows which permissions its types need: ask the service itself."},
	{"GetTemplateRecommendParameters", "Only Alibaba Cloud knows what can be bought where: pass values of your own."},
	{
		"CreateStackGroup UpdateStackGroup DeleteStackGroup GetStackGroup ListStackGroups DetectStackGroupDrift ImportStacksToStackGroup " +
			"CreateStackInstances UpdateStackInstances DeleteStackInstances GetStackInstance ListStackInstances " +
			"GetStackGroupOperation ListStackGroupOperations ListStackGroupOperationResults StopStackGroupOperation",
		"Stack groups need roles in other accounts of Alibaba Cloud: create a stack in each account and region.",
	},
	{
		"CreateTemplateScratch UpdateTemplateScratch DeleteTemplateScratch GetTemplateScratch ListTemplateScratches GenerateTemplateByScratch",
		"Scratches describe resources that an account of Alibaba Cloud has, which cannot be read here: write the template, and call CreateTemplate.",
	},
	{
		"UpdateStackTemplateByResources",
		"Pintle does not write templates: adjust the template to the differences of ListStackResourceDrifts, and call UpdateStack.",
	},
	{
		"ListResourceTypes GetResourceType GetResourceTypeTemplate ListResourceTypeVersions",
		"Only ROS has the schemas of all types: ValidateTemplate says whether the types of a template are known here.",
	},
	{
		"RegisterResourceType DeregisterResourceType SetResourceType ListResourceTypeRegistrations",
		"Only ROS expands modules: write their resources into the template, or use ALIYUN::ROS::Stack.",
	},
	{"CancelStackOperation", "Only updates can be cancelled: call CancelUpdateStack."},
	{"SignalResource", "Conditions wait for requests to the URL of their handle: run the command in its attribute CurlCli."},
	{"ListStackOperationRisks", "Only Alibaba Cloud knows the risks of its resources: PreviewStack and change sets say what would change."},
	{"SetTemplatePermission", "Templates are not shared with other accounts here: call CreateTemplate in each account."},
	{
		"EnableServiceAccess GetServiceAccess EnableServices GetServiceProvisions",
		"Services of Alibaba Cloud are not activated here: --unknown-types record keeps resources of any type as records.",
	},
	{"GetFeatureDetails ListSummaries", "They describe what ROS itself offers in a region: docs/ros-api.md lists what Pintle offers."},
	{
		"CreateAITask GetAITask ListAITasks ListAITaskEvents StartChat StopChat ListChatMessages ListChatSessions " +
			"CreateDiagnostic DeleteDiagnostic GetDiagnostic ListDiagnostics",
		"The assistants of ROS run in Alibaba Cloud only: ListStackEvents has the reason of each failure.",
	},
}
