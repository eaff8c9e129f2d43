package template

import "github.com/pintle-dev/pintle/internal/language/value"

func rosNetworkNamed(name string) (function, bool) {
	switch name {
	case "Fn::Cidr":
		return function{places: rosAnywhere, check: checkCidr, evaluate: evaluateCidr}, true
	case "Fn::GetAZs":
		return oneArgument(name, "a region", wantText, rosZones)
	}
	return function{}, false
}

// rosZones returns the zones of a region.
func rosZones(e *evaluation, at Node, v value.Value) (value.Value, error) {
	zones, ok := e.zones(v.Text(), "-")
	if !ok {
		return value.Value{}, e.fail(at, "Fn::GetAZs takes a region, such as cn-hangzhou: here is not a region name.")
	}
	return value.Strs(zones...).Tainted(v.Secrecy()), nil
}
