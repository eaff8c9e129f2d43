package asl

// Operators returns the names of all operators of a rule with a Variable.
func Operators() []string { return operators }
