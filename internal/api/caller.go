package api

// Caller is on whose behalf a call is answered, as its verified signature says. It sees what its account has in its region.
type Caller struct {
	// Account has 12 digits for AWS, 16 for Alibaba Cloud.
	Account string
	// Region is that of the signature, e.g. eu-west-1.
	Region string
	// KeyID is the ID of the access key.
	KeyID string
	// ARN is that of the role's session, or of the account's root if the key has no role.
	ARN string
	// UserID is the account, or for a role its ID and the name of the session.
	UserID string
	// Function says that a function or a local provider calls.
	Function bool
}
