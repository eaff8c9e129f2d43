package cloudformation_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestStackInReview makes every call for a stack that has only change sets, and again after its deletion.
func TestStackInReview(t *testing.T) {
	w := newWorld(t)
	w.mustPost("Action=CreateChangeSet&StackName=s&ChangeSetName=c&ChangeSetType=CREATE&TemplateBody=" + escape(fixed))
	id := *w.describe("s").StackId
	const (
		refused = "400 ValidationError: "
		done    = "200"
	)
	notUpdatable := refused + "Stack:" + id + " is in REVIEW_IN_PROGRESS state and can not be updated."
	body := "&TemplateBody=" + escape(fixed)
	check := func(name string, calls [][2]string) {
		t.Helper()
		for _, call := range calls {
			status, reply := w.post("StackName=" + name + "&Action=" + call[0])
			got := fmt.Sprint(status)
			if status != http.StatusOK {
				got = w.refusal("StackName=" + name + "&Action=" + call[0])
			}
			if strings.HasPrefix(call[1], "<") && (status != http.StatusOK || !strings.Contains(reply, call[1])) || call[1][0] != '<' && got != call[1] {
				t.Errorf("%s: got %s %s\nwant %s", call[0], got, reply, call[1])
			}
		}
	}
	check("s", [][2]string{
		{"DescribeStacks", "<StackStatus>REVIEW_IN_PROGRESS</StackStatus><StackStatusReason>User Initiated</StackStatusReason>"},
		{"DescribeStackEvents", "<ResourceStatus>REVIEW_IN_PROGRESS</ResourceStatus>"},
		{"DescribeEvents", "<ResourceStatus>REVIEW_IN_PROGRESS</ResourceStatus>"},
		{"DescribeStackResources", "<StackResources/>"},
		{"ListStackResources", "<StackResourceSummaries/>"},
		{"DescribeStackResource&LogicalResourceId=R", refused + "Resource R does not exist for stack s"},
		{"GetTemplate", "<TemplateBody/>"}, // clients treat that as an empty template
		{"GetTemplate&TemplateStage=Processed", "<TemplateBody/>"},
		{"GetTemplateSummary", refused + "GetTemplateSummary cannot be called on REVIEW_IN_PROGRESS stacks."},
		{"GetStackPolicy", done},
		{"SignalResource&LogicalResourceId=R&UniqueId=u&Status=SUCCESS", refused + "Stack:" + id + " is in REVIEW_IN_PROGRESS state and can not be signaled."},
		{"UpdateStack" + body, notUpdatable},
		{"UpdateStack&UsePreviousTemplate=true", notUpdatable},
		{"CreateChangeSet&ChangeSetName=u" + body, notUpdatable},
		{"RollbackStack", refused + "RollbackStack cannot be called from current stack status"},
		{"CancelUpdateStack", refused + "CancelUpdateStack cannot be called from current stack status"},
		{"ContinueUpdateRollback", refused + "RollbackUpdatedStack cannot be called from current stack status"},
		{"DetectStackDrift", refused + "Stack:" + id + " is in REVIEW_IN_PROGRESS state and its drift can not be detected."},
		{"DetectStackResourceDrift&LogicalResourceId=R", refused + "Resource R does not exist for stack s"},
		{"DescribeStackResourceDrifts", done},
		{"DeleteStack&RetainResources.member.1=R", refused + "Invalid operation on stack [" + id + "]. When you delete a stack, " +
			"specify which resources to retain only when the stack is in the DELETE_FAILED state."},
		{"SetStackPolicy&StackPolicyBody=" + escape(`{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"}}`), done},
		{"UpdateTerminationProtection&EnableTerminationProtection=true", done},
		{"DeleteStack", refused + "Stack [s] cannot be deleted while TerminationProtection is enabled"},
		{"UpdateTerminationProtection&EnableTerminationProtection=false", done},
		{"DeleteStack", done},
	})
	check(id, [][2]string{
		{"DescribeStacks", "<StackStatus>DELETE_COMPLETE</StackStatus>"},
		{"DescribeStackEvents", "<ResourceStatus>DELETE_COMPLETE</ResourceStatus>"},
		{"DescribeStackResources", "<StackResources/>"},
		{"GetTemplate", "<TemplateBody/>"},
		{"GetTemplateSummary", refused + "Stack [" + id + "] never had a template: it held change sets only."},
		{"ListChangeSets", "<Summaries/>"},
		{"DescribeChangeSet&ChangeSetName=c", "404 ChangeSetNotFound: ChangeSet [c] does not exist"},
		{"ExecuteChangeSet&ChangeSetName=c", "404 ChangeSetNotFound: ChangeSet [c] does not exist"},
		{"CreateChangeSet&ChangeSetType=CREATE&ChangeSetName=c" + body, refused + "Stack [" + id + "] does not exist"},
		{"DeleteStack", done},
	})
}
