package engine

import "strings"

// rosAccountDigits is how long the id of an account of Alibaba Cloud is here.
const rosAccountDigits = 16

// ROSAccount returns the account of stacks of ROS that stands for one of a credentials file. It is longer than those of AWS, so that
// stacks of the two dialects never have a name in common.
func ROSAccount(account string) string {
	return strings.Repeat("0", max(0, rosAccountDigits-len(account))) + account
}
