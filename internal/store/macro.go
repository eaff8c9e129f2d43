package store

// Macro is what a macro is, as a definition of a provider: see [HeldMacro].
type Macro struct {
	// Function is the ARN of the function that is called.
	Function string `json:"function"`
	// What follows is kept for those who ask.
	Description  string `json:"description,omitempty"`
	LogGroupName string `json:"logGroupName,omitempty"`
	LogRoleARN   string `json:"logRoleARN,omitempty"`
}

// HeldMacro is the name of the provider that is a macro of an account and region, held by the resource that made it. Its definition
// is a [Macro].
func HeldMacro(account, region, name string) string {
	return macroPrefix + account + ":" + region + ":" + name
}

// ServedMacro returns the name of the provider for a macro that the server's operator defines, for all accounts and
// regions. Its definition has the form of any other provider's.
func ServedMacro(name string) string { return macroPrefix + name }

const macroPrefix = "macro:"
