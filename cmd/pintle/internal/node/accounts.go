package node

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/sigv4"
)

// AccountRule lets stacks of an account use the cloud credentials of the server for calls.
type AccountRule struct {
	// Account is an account, or * for every one.
	Account string
	// Calls are a service and actions, e.g. lambda:Invoke or s3:*.
	Calls string
}

// ParseAccountRule reads ACCOUNT=SERVICE:ACTION. In it * stands for any characters.
func ParseAccountRule(text string) (AccountRule, error) {
	account, calls, _ := strings.Cut(text, "=")
	service, action, found := strings.Cut(calls, ":")
	switch {
	case account == "" || !found || service == "" || action == "":
		return AccountRule{}, fmt.Errorf("%q is not ACCOUNT=SERVICE:ACTION, such as %s=lambda:Invoke", text, sigv4.DefaultAccount)
	case account != "*" && len(account) != len(sigv4.DefaultAccount):
		return AccountRule{}, fmt.Errorf("%q: an account has %d letters or digits; * stands for every account",
			text, len(sigv4.DefaultAccount))
	case strings.ContainsAny(calls, `?[]\/`):
		return AccountRule{}, fmt.Errorf(`%q: only * is special, and ?, [, ], \ and / are not allowed`, text)
	}
	return AccountRule{Account: account, Calls: strings.ToLower(calls)}, nil
}

// accounts decide which stacks may use the cloud credentials of the server. Its methods may be called concurrently.
type accounts struct {
	// sole says that the server has one account, which may do everything unless there are rules.
	sole  bool
	rules []AccountRule
	// known are the accounts of the credentials file.
	known []string
}

func newAccounts(keys *sigv4.Keys, rules []AccountRule) *accounts {
	known := keys.Accounts()
	return &accounts{sole: len(known) == 1 && len(rules) == 0, rules: rules, known: known}
}

// Accounts returns the accounts of the credentials file.
func (n *Node) Accounts() []string { return n.accounts.known }

// allowed returns an error that names the remedy if stacks of an account may not use the server's credentials for a call, such as
// lambda:Invoke. An account of ROS is that of CloudFormation with zeros before it.
func (a *accounts) allowed(account, call string) error {
	if a.sole {
		return nil
	}
	account = account[max(0, len(account)-len(sigv4.DefaultAccount)):]
	for _, rule := range a.rules {
		// The pattern is valid, since there is nothing special in it but *.
		if ok, _ := path.Match(rule.Calls, strings.ToLower(call)); ok && (rule.Account == "*" || rule.Account == account) {
			return nil
		}
	}
	if account == "" {
		account = "ACCOUNT"
	}
	return fmt.Errorf("the server may not use its own cloud credentials for %s in stacks of account %s: its operator can allow it "+
		"with --allow-account %s=%s", call, account, account, call)
}

// everything is the call that stands for all of them.
const everything = "*:*"

// environ returns the environment whose endpoints and keys functions of an account get. An account that may not make every call with
// the credentials of the server gets none of them.
func (a *accounts) environ(account string) []string {
	if a.sole || a.allowed(account, everything) == nil {
		return os.Environ()
	}
	return nil
}
