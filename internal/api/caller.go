package api

// Caller is the verified sender of a call. It sees the stacks of its account in its region.
type Caller struct {
	// Account has 12 digits on AWS and 16 on Alibaba Cloud.
	Account string
	// Region is the region of the signature, e.g. eu-west-1.
	Region string
	// KeyID is the ID of the access key.
	KeyID string
	// ARN is the ARN of the role's session, or of the account's root for a key without a role.
	ARN string
	// UserID is the account, or the role's ID and the session name.
	UserID string
	// Function means that a function or a local provider is calling.
	Function bool
}
