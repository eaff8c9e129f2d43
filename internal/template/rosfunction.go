package template

// rosFunctionNamed returns a function of the language of ROS; false for a name that is none.
// Source: ROS, template functions.
func rosFunctionNamed(name string) (function, bool) {
	switch name {
	case "Ref":
		return function{places: anywhere | inRules, check: checkRef, evaluate: evaluateRef}, true
	case "Fn::GetAtt":
		return function{places: anywhere &^ inConditions, check: checkGetAtt, evaluate: evaluateGetAtt}, true
	}
	return function{}, false
}
