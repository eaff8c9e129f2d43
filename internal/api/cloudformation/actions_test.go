package cloudformation_test

import (
	"encoding/xml"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"
)

// actions are all actions of the API.
var actions = strings.Fields(`
	ActivateOrganizationsAccess ActivateType BatchDescribeTypeConfigurations CancelUpdateStack ContinueUpdateRollback
	CreateChangeSet CreateGeneratedTemplate CreateStack CreateStackInstances CreateStackRefactor CreateStackSet
	DeactivateOrganizationsAccess DeactivateType DeleteChangeSet DeleteGeneratedTemplate DeleteStack DeleteStackInstances
	DeleteStackSet DeregisterType DescribeAccountLimits DescribeChangeSet DescribeChangeSetHooks DescribeEvents
	DescribeGeneratedTemplate DescribeOrganizationsAccess DescribePublisher DescribeResourceScan
	DescribeStackDriftDetectionStatus DescribeStackEvents DescribeStackInstance DescribeStackRefactor
	DescribeStackResource DescribeStackResourceDrifts DescribeStackResources DescribeStackSet DescribeStackSetOperation
	DescribeStacks DescribeType DescribeTypeRegistration DetectStackDrift DetectStackResourceDrift DetectStackSetDrift
	EstimateTemplateCost ExecuteChangeSet ExecuteStackRefactor GetGeneratedTemplate GetHookResult GetStackPolicy
	GetTemplate GetTemplateSummary ImportStacksToStackSet ListChangeSets ListExports ListGeneratedTemplates
	ListHookResults ListImports ListResourceScanRelatedResources ListResourceScanResources ListResourceScans
	ListStackInstanceResourceDrifts ListStackInstances ListStackRefactorActions ListStackRefactors ListStackResources
	ListStackSetAutoDeploymentTargets ListStackSetOperationResults ListStackSetOperations ListStackSets ListStacks
	ListTypeRegistrations ListTypeVersions ListTypes PublishType RecordHandlerProgress RegisterPublisher RegisterType
	RollbackStack SetStackPolicy SetTypeConfiguration SetTypeDefaultVersion SignalResource StartResourceScan
	StopStackSetOperation TestType UpdateGeneratedTemplate UpdateStack UpdateStackInstances UpdateStackSet
	UpdateTerminationProtection ValidateTemplate`)

// TestActions calls every action. None may be unknown or cause a server error, and the documentation of the API must
// name all of them.
func TestActions(t *testing.T) {
	var methods []string
	client := reflect.TypeFor[*sdk.Client]()
	for i := range client.NumMethod() {
		if m := client.Method(i); m.Type.NumIn() == 4 && m.Type.IsVariadic() {
			methods = append(methods, m.Name)
		}
	}
	if diff := cmp.Diff(methods, actions); diff != "" {
		t.Errorf("the SDK and the table (-SDK +table):\n%s", diff)
	}
	page, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.FieldsFunc(string(page), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	w := newWorld(t)
	for _, action := range actions {
		status, body := w.post("Action=" + action)
		if status >= 500 || strings.Contains(body, "Could not find operation") {
			t.Errorf("%s: %d %s", action, status, body)
		}
		if !slices.Contains(words, action) {
			t.Errorf("docs/api.md does not name %s", action)
		}
	}
}

// FuzzForms sends arbitrary forms. Every error must be a client error, and the response must be XML.
func FuzzForms(f *testing.F) {
	for _, seed := range []string{
		"DescribeEvents&StackName=live&Filters.FailedEvents=true&NextToken=x", "DescribeEvents&OperationId=x&Filters=",
		"DescribeEvents&ChangeSetName=arn:x", "GetTemplateSummary&StackName=live&TemplateSummaryConfig=",
		"GetTemplateSummary&TemplateBody={}&TemplateSummaryConfig.TreatUnrecognizedResourceTypesAsWarnings=true",
		"CreateStack&StackName=new&ResourceTypes.member.1=*&DeploymentConfig.Mode=EXPRESS&TemplateBody=" + escape(fixed),
		"UpdateStack&StackName=live&UsePreviousTemplate=true&Tags.member.1.Key=k&Tags.member.1.Value=v&ClientRequestToken=t",
		"DetectStackDrift&StackName=live&LogicalResourceIds.member.1=R", "DescribeStackDriftDetectionStatus&StackDriftDetectionId=x",
		"DescribeStackResourceDrifts&StackName=live&StackResourceDriftStatusFilters.member.1=IN_SYNC&MaxResults=1",
		"CreateChangeSet&StackName=new&ChangeSetName=c&ChangeSetType=CREATE&OnStackFailure=DELETE&TemplateBody=" + escape(fixed),
		"CreateChangeSet&StackName=live&ChangeSetName=c&UsePreviousTemplate=true&Tags.member.1.Key=k&Tags.member.1.Value=v&ClientToken=t",
		"DescribeChangeSet&ChangeSetName=arn:x&IncludePropertyValues=true&NextToken=x", "ExecuteChangeSet&StackName=live&ChangeSetName=c&DisableRollback=true",
		"ListImports&ExportName=%25s%00", "ListExports&NextToken=AAAAAAAAAAAAAAAAAAAAAAAA", "DescribeAccountLimits",
	} {
		action, form, _ := strings.Cut(seed, "&")
		f.Add(uint(slices.Index(actions, action)), form)
	}
	f.Fuzz(func(t *testing.T, action uint, form string) {
		w := newWorld(t)
		w.create(&sdk.CreateStackInput{StackName: str("live"), TemplateBody: &fixed})
		status, body := w.post("Action=" + actions[action%uint(len(actions))] + "&" + form)
		var reply struct{ XMLName xml.Name }
		if err := xml.Unmarshal([]byte(body), &reply); err != nil || status >= 500 {
			t.Errorf("%d %v %s", status, err, body)
		}
	})
}
