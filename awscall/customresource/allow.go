package customresource

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/awscall"
)

// Rule allows calls. In its texts * matches any characters, and case is ignored.
type Rule struct {
	// Calls are a service and actions, e.g. "ssm:GetParameter", "s3:Put*" or "*:*". The service has any name that
	// [awscall.Client.Call] accepts.
	Calls string
	// Regions are the allowed regions. Empty means all.
	Regions []string
	// Roles are ARNs of roles that may be assumed, e.g. "arn:aws:iam::123456789012:role/deploy-*". Empty means that calls
	// use only the client's own credentials.
	Roles []string
	// Accounts are the accounts of the stacks that the rule applies to. Empty means all.
	Accounts []string
}

// rule is a Rule whose service has its name in the models.
type rule struct {
	Rule
	service, action string
}

func compile(client *awscall.Client, rules []Rule) ([]rule, error) {
	out := make([]rule, 0, len(rules))
	for _, r := range rules {
		service, action, found := strings.Cut(strings.ToLower(r.Calls), ":")
		if !found || service == "" || action == "" {
			return nil, fmt.Errorf("customresource: a rule is service:action, as in ssm:GetParameter, and not %q", r.Calls)
		}
		if !strings.Contains(service, "*") {
			name, actions, err := client.Name(service, action)
			var unknown *awscall.UnknownActionError
			switch {
			case errors.As(err, &unknown) && strings.Contains(action, "*"):
				name = unknown.Service
			case err != nil:
				return nil, fmt.Errorf("customresource: the rule %q: %w", r.Calls, err)
			default:
				action = strings.ToLower(actions)
			}
			service = name
		}
		for _, pattern := range slices.Concat([]string{service, action}, r.Regions, r.Roles, r.Accounts) {
			if strings.ContainsAny(pattern, `?[]\`) {
				return nil, fmt.Errorf("customresource: the rule %q: only * is special, and ?, [, ] and \\ are not allowed", r.Calls)
			}
		}
		out = append(out, rule{r, service, action})
	}
	return out, nil
}

// allowed returns an error unless a rule allows the call.
func (p *provider) allowed(account, service, action, region, role string) error {
	if p.config.AllowAll {
		return nil
	}
	for _, r := range p.rules {
		if match(r.service, service) && match(r.action, action) && (len(r.Regions) == 0 || matchAny(r.Regions, region)) &&
			(role == "" || matchAny(r.Roles, role)) && (len(r.Accounts) == 0 || matchAny(r.Accounts, account)) {
			return nil
		}
	}
	what := fmt.Sprintf("the call %s:%s in %.80s", service, action, region)
	if role != "" {
		what += fmt.Sprintf(" as %.200s", role)
	}
	if slices.ContainsFunc(p.rules, func(r rule) bool { return len(r.Accounts) > 0 }) {
		what += fmt.Sprintf(" for stacks of account %.20s", account)
	}
	return fmt.Errorf("%s is not allowed by this provider: its operator can add a rule for it", what)
}

func matchAny(patterns []string, text string) bool {
	for _, pattern := range patterns {
		if match(pattern, text) {
			return true
		}
	}
	return false
}

// match compares text with a pattern. In the pattern, * also matches slashes.
func match(pattern, text string) bool {
	slashless := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(slashless.Replace(strings.ToLower(pattern)), slashless.Replace(strings.ToLower(text)))
	return ok && err == nil
}
