package engine

import "strings"

// rosAccountDigits is the length of the account IDs that Pintle uses for Alibaba Cloud.
const rosAccountDigits = 16

// ROSAccount returns the account of ROS stacks for an account in a credentials file. It is longer than an AWS
// account, so the stack names of the two dialects never collide.
func ROSAccount(account string) string {
	return strings.Repeat("0", max(0, rosAccountDigits-len(account))) + account
}
