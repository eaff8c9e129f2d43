package store

// Macro is a macro in the form of a provider's definition: see [HeldMacro].
type Macro struct {
	// Function is the ARN of the macro's function.
	Function string `json:"function"`
	// The fields below are stored only to be described.
	Description  string `json:"description,omitempty"`
	LogGroupName string `json:"logGroupName,omitempty"`
	LogRoleARN   string `json:"logRoleARN,omitempty"`
}

// HeldMacro returns the name of the provider for a macro that a resource in an account and region defines. Its
// definition is a [Macro].
func HeldMacro(account, region, name string) string {
	return macroPrefix + account + ":" + region + ":" + name
}

// ServedMacro returns the name of the provider for a macro that the server's operator defines for all accounts and
// regions. Its definition has the form of any other provider's.
func ServedMacro(name string) string { return macroPrefix + name }

const macroPrefix = "macro:"
