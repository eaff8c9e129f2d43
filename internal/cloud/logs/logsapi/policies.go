package logsapi

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// PolicyType is the prefix of record names of resource policies, including those of stacks.
const PolicyType = "AWS::Logs::ResourcePolicy"

// Limits of resource policies. Source: CloudWatch Logs API Reference, PutResourcePolicy.
const (
	maxPolicies = 10
	maxDocument = 5120
)

var policyName = regexp.MustCompile(`^[\w#+=/:,.@-]{1,255}$`)

type policyView struct {
	Name     string `json:"policyName"`
	Document string `json:"policyDocument"`
	Updated  int64  `json:"lastUpdatedTime"`
}

type policyInput struct {
	Name     string `json:"policyName"`
	Document string `json:"policyDocument"`
	Resource string `json:"resourceArn"`
}

type policyOutput struct {
	Policy policyView `json:"resourcePolicy"`
}

// policyProperties are the properties in the record of a policy.
type policyProperties struct {
	Name     string          `json:"PolicyName"`
	Document json.RawMessage `json:"PolicyDocument"`
	Updated  time.Time       `json:"Updated,omitzero"`
}

// putPolicy records a resource policy. It is not enforced.
func (f *handler) putPolicy(ctx context.Context, in policyInput) (out policyOutput, err error) {
	place, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	switch {
	case in.Resource != "":
		return out, invalid("This version of Pintle has no policies of single log groups (resourceArn).")
	case !policyName.MatchString(in.Name):
		return out, invalid("1 validation error detected: Value '%.64s' at 'policyName' failed to satisfy constraint: Member must have 1 to 255 characters", in.Name)
	case len(in.Document) > maxDocument || !json.Valid([]byte(in.Document)):
		return out, invalid("The policy document is not valid: it is JSON of at most %d characters.", maxDocument)
	}
	document, err := json.Marshal(in.Document)
	if err != nil {
		return out, err
	}
	now := f.Now().UTC()
	properties, err := json.Marshal(policyProperties{in.Name, document, now})
	if err != nil {
		return out, err
	}
	_, err = f.Records.Change(ctx, place, PolicyType+"/"+in.Name, func(i *registry.Item[registry.Record]) error {
		i.Of.Properties = properties
		return nil
	})
	if errors.Is(err, registry.ErrNotFound) {
		there, err := f.listPolicies(ctx, place)
		if err != nil {
			return out, err
		}
		if len(there) >= maxPolicies {
			return out, awsjson.Refuse("LimitExceededException", "Resource limit exceeded.")
		}
		_, err = f.Records.Put(ctx, registry.Item[registry.Record]{
			Scope: place, Name: PolicyType + "/" + in.Name, Of: registry.Record{Properties: properties, Made: now},
		})
		if err != nil {
			return out, apiError(err)
		}
	} else if err != nil {
		return out, apiError(err)
	}
	out.Policy = policyView{in.Name, in.Document, now.UnixMilli()}
	return out, nil
}

type policyNameInput struct {
	Name string `json:"policyName"`
}

func (f *handler) deletePolicy(ctx context.Context, in policyNameInput) (none awsjson.None, err error) {
	place, err := f.who(ctx)
	if err != nil {
		return none, err
	}
	err = f.Records.Delete(ctx, place, PolicyType+"/"+in.Name, 0)
	if errors.Is(err, registry.ErrNotFound) {
		return none, awsjson.Refuse("ResourceNotFoundException", "Policy with name [%.255s] does not exist", in.Name)
	}
	return none, err
}

type policiesInput struct {
	Limit *int    `json:"limit"`
	Token *string `json:"nextToken"`
}

type policiesOutput struct {
	Policies []policyView `json:"resourcePolicies"`
}

// describePolicies returns all policies. They always fit on one page.
func (f *handler) describePolicies(ctx context.Context, in policiesInput) (out policiesOutput, err error) {
	place, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	if in.Token != nil {
		return out, invalid("The specified nextToken is invalid.")
	}
	out.Policies, err = f.listPolicies(ctx, place)
	return out, err
}

func (f *handler) listPolicies(ctx context.Context, place registry.Scope) ([]policyView, error) {
	list := []policyView{}
	for after := PolicyType + "/"; ; {
		items, err := f.Records.List(ctx, place, after, maxPage)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if after = item.Name; !strings.HasPrefix(item.Name, PolicyType+"/") {
				return list, nil
			}
			list = append(list, viewPolicy(item))
		}
		if len(items) < maxPage {
			return list, nil
		}
	}
}

func viewPolicy(item registry.Item[registry.Record]) policyView {
	var p policyProperties
	view := policyView{Name: strings.TrimPrefix(item.Name, PolicyType+"/"), Updated: item.Of.Made.UnixMilli()}
	if json.Unmarshal(item.Of.Properties, &p) != nil {
		return view // from a template, in another format
	}
	if p.Name != "" {
		view.Name = p.Name
	}
	if !p.Updated.IsZero() {
		view.Updated = p.Updated.UnixMilli()
	}
	if json.Unmarshal(p.Document, &view.Document) != nil {
		view.Document = string(p.Document)
	}
	return view
}
