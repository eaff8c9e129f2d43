package pintle

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/wire"
)

// plannedSite is a provider with Plan.
type plannedSite struct{ readableSite }

func (plannedSite) Plan(_ context.Context, r *PlanRequest[siteProperties]) (PlanResponse, error) {
	if r.Old != nil && r.Properties.Size < r.Old.Size {
		return PlanResponse{Replace: true, Reason: "a site cannot shrink"}, nil
	}
	return PlanResponse{}, nil
}

const planDocument = `{"RequestType": "Plan", "ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:p",
	"StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/s/1", "RequestId": "r", "LogicalResourceId": "Site",
	"PhysicalResourceId": "site", "ResourceType": "Custom::Site", "ResourceProperties": {"Size": "4"}, "OldResourceProperties": {"Size": "5"}}`

// The pintletest package tests Lambda and ROS. SNS has no reply, so a Plan over SNS has no answer.
func TestPlanOnOtherTransports(t *testing.T) {
	w := newWorld(t, New(plannedSite{}))
	w.web.unsigned = true
	reply := httptest.NewRecorder()
	w.ServeHTTP(reply, httptest.NewRequest(http.MethodPost, "http://p.test/", strings.NewReader(planDocument)))
	if got, err := wire.ParsePlanned(reply.Body.Bytes()); err != nil || got != (wire.Planned{Change: wire.Replace, Reason: "a site cannot shrink"}) {
		t.Errorf("HTTP: %+v, %v", got, err)
	}
	if len(w.answers) > 0 {
		t.Errorf("%d answers went to a response URL", len(w.answers))
	}
	result, err := w.Invoke(t.Context(), []byte(`{"RequestType": "Plan", "StackId": "s"}`))
	if err == nil || bytes.Contains(result, []byte("PintlePlan")) {
		t.Errorf("a Plan that is not valid is answered with %s, %v", result, err)
	}
}

func TestPlanIsDeclared(t *testing.T) {
	for name, test := range map[string]struct {
		handler Handler
		want    bool
	}{
		"with Plan":    {New(plannedSite{}), true},
		"without":      {New(readableSite{}), false},
		"AlwaysDelete": {AlwaysDelete(New(plannedSite{})), true},
	} {
		text, err := Schema(For("Custom::Site", test.handler))
		var schema struct {
			ResourceTypes map[string]struct{ Plans bool }
		}
		if err != nil || json.Unmarshal(text, &schema) != nil || schema.ResourceTypes["Custom::Site"].Plans != test.want {
			t.Errorf("%s: %v: %s", name, err, text)
		}
		if plans(For("Custom::Site", test.handler)) != test.want {
			t.Errorf("%s: the handler does not say whether it plans", name)
		}
	}
}

// A method Plan with another signature is an error; it is not ignored.
func TestPlanOfAnotherSignature(t *testing.T) {
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "its method Plan has another signature than the package calls, want Plan(context.Context, *pintle.PlanRequest[") {
			t.Errorf("New panics with %q", text)
		}
	}()
	New(misplanned{})
}

type misplanned struct{ readableSite }

func (misplanned) Plan(context.Context, *UpdateRequest[siteProperties]) (PlanResponse, error) {
	return PlanResponse{}, nil
}
