package ros_test

import (
	"strings"
	"testing"
)

// TestRefusedCalls checks that the actions without a local answer are refused by name, with an alternative.
func TestRefusedCalls(t *testing.T) {
	w := newWorld(t)
	for action := range strings.FieldsSeq(`CreateStackGroup ListStackGroups CreateStackInstances StopStackGroupOperation CreateTemplateScratch
		GenerateTemplateByScratch UpdateStackTemplateByResources ListResourceTypes RegisterResourceType CancelStackOperation SignalResource
		ListStackOperationRisks SetTemplatePermission GetFeatureDetails EnableServices StartChat GetTemplateEstimateCost
		GenerateTemplatePolicy GetTemplateRecommendParameters`) {
		status, reply := w.ask(action)
		remedy, _ := reply["Recommend"].(string)
		if status != 400 || reply["Code"] != "NotSupported" || reply["Message"] != action+" is not supported." || !strings.HasSuffix(remedy, ".") {
			t.Errorf("%s: %d %v", action, status, reply)
		}
	}
}
