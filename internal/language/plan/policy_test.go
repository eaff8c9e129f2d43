package plan_test

import (
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/internal/language/plan"
)

const allowAll = `{"Effect": "Allow", "Principal": "*", "Action": "Update:*", "Resource": "*"}`

func TestPolicy(t *testing.T) {
	deny := func(members string) string {
		return `{"Statement": [` + allowAll + `, {"Effect": "Deny", "Principal": "*", ` + members + `}]}`
	}
	for name, test := range map[string]struct {
		policy string
		denied string // denied actions on DB (Custom::DB) and Web (Custom::Web): Modify, Replace, Delete as initials
	}{
		"allow all":         {`{"Statement": [` + allowAll + `]}`, ""},
		"one statement":     {`{"Version": "2012-10-17", "Statement": ` + allowAll + `}`, ""},
		"nothing":           {`{"Statement": []}`, "DB:MRD Web:MRD"},
		"one action":        {deny(`"Action": "Update:Replace", "Resource": "LogicalResourceId/DB"`), "DB:R"},
		"actions":           {deny(`"Action": ["Update:Replace", "Update:Delete"], "Resource": ["LogicalResourceId/D*"]`), "DB:RD"},
		"not action":        {deny(`"NotAction": "Update:Modify", "Resource": "LogicalResourceId/Web"`), "Web:RD"},
		"not resource":      {deny(`"Action": "Update:*", "NotResource": "LogicalResourceId/Web"`), "DB:MRD"},
		"type":              {deny(`"Action": "Update:*", "Resource": "*", "Condition": {"StringEquals": {"ResourceType": ["Custom::DB"]}}`), "DB:MRD"},
		"type like":         {deny(`"Action": "Update:*", "Resource": "*", "Condition": {"StringLike": {"ResourceType": "*::We?"}}`), "Web:MRD"},
		"allow some":        {`{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "Update:Modify", "Resource": "LogicalResourceId/Web"}}`, "DB:MRD Web:RD"},
		"principal by kind": {`{"Statement": {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "*", "Resource": "*"}}`, ""},
	} {
		policy, err := plan.ParsePolicy(test.policy)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var denied []string
		for _, logical := range []string{"DB", "Web"} {
			letters := ""
			for _, action := range []plan.Action{plan.ActionModify, plan.ActionReplace, plan.ActionDelete} {
				if policy.Denies(action, logical, "Custom::"+logical) != "" {
					letters += strings.TrimPrefix(string(action), "Update:")[:1]
				}
			}
			if letters != "" {
				denied = append(denied, logical+":"+letters)
			}
		}
		if got := strings.Join(denied, " "); got != test.denied {
			t.Errorf("%s: denied %q, want %q", name, got, test.denied)
		}
	}
	var none *plan.Policy
	if got := none.Denies(plan.ActionDelete, "DB", "Custom::DB"); got != "" {
		t.Errorf("no policy: %s", got)
	}
	policy, err := plan.ParsePolicy(deny(`"Action": "Update:Replace", "Resource": "LogicalResourceId/VPC"`))
	if err != nil {
		t.Fatal(err)
	}
	const want = "Action denied by stack policy: Statement [#2] does not allow [Update:Replace] for resource [LogicalResourceId/VPC];"
	if got := policy.Denies(plan.ActionReplace, "VPC", ""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestPolicyRefused(t *testing.T) {
	for policy, want := range map[string]string{
		``:                           "EOF",
		`[]`:                         "the policy must not be a JSON array",
		`{"Statements": []}`:         `unknown field "Statements"`,
		`{"Id": "x"}`:                "no Statement",
		`{"Statement": "x"}`:         "list of objects",
		`{"Statement": []} {}`:       "more than one",
		`{"Statement": [{}]}`:        "statement #1: Effect",
		`{"Statement": [{"a": 1}]}`:  `statement #1: unknown field "a"`,
		strings.Repeat(" ", 16385):   "at most 16384",
		`{"Statement": [null]}`:      "statement #1",
		stated(`"Principal": "me"`):  "Principal",
		stated(`"Principal": ["*"]`): "Principal",
		stated(`"Principal": "*"`):   "one of Action",
		stated(`"Principal": "*", "Action": "Update:*", "NotAction": []`):                                               "one of Action",
		stated(`"Principal": "*", "Action": "Update:Add"`):                                                              "one of Resource",
		stated(`"Principal": "*", "Action": "Update:Add", "Resource": "*"`):                                             `no action "Update:Add"`,
		stated(`"Principal": "*", "Action": "*", "Resource": "VPC"`):                                                    `resource "VPC"`,
		stated(`"Principal": "*", "Action": "*", "Resource": 1`):                                                        "Resource must not be a JSON number",
		stated(`"Principal": "*", "Action": "*", "Resource": "*", "Condition": {"Bool": {}}`):                           `no condition "Bool"`,
		stated(`"Principal": "*", "Action": "*", "Resource": "*", "Condition": {"StringLike": {"ResourceTypes": "*"}}`): `no key "ResourceTypes"`,
	} {
		if _, err := plan.ParsePolicy(policy); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: error %v, want one about %q", policy, err, want)
		}
	}
}

func stated(members string) string { return `{"Statement": {"Effect": "Allow", ` + members + `}}` }

func FuzzPolicy(f *testing.F) {
	f.Add(`{"Statement": [`+allowAll+`]}`, "LogicalResourceId/a*b?")
	f.Add(stated(`"Principal": "*", "NotAction": [], "NotResource": [], "Condition": {"StringLike": {"ResourceType": ["*"]}}`), "x")
	f.Fuzz(func(t *testing.T, text, logical string) {
		policy, err := plan.ParsePolicy(text)
		if err != nil {
			return
		}
		first := policy.Denies(plan.ActionModify, logical, "Custom::A")
		if again := policy.Denies(plan.ActionModify, logical, "Custom::A"); again != first {
			t.Errorf("%s: first %q, then %q", text, first, again)
		}
	})
}

// TestPolicyCleared checks that clients clear a policy with the empty object.
func TestPolicyCleared(t *testing.T) {
	for _, text := range []string{"{}", " {\n} "} {
		policy, err := plan.ParsePolicy(text)
		if err != nil || policy.Denies(plan.ActionDelete, "A", "T") != "" {
			t.Errorf("%q: %v, error %v", text, policy, err)
		}
	}
}
