package template

import (
	"strings"

	"github.com/pintle-dev/pintle/internal/value"
)

func rosNetworkNamed(name string) (function, bool) {
	switch name {
	case "Fn::Cidr":
		return function{places: rosAnywhere, check: checkCidr, evaluate: evaluateCidr}, true
	case "Fn::GetAZs":
		return oneArgument(name, "a region", wantText, rosZones)
	}
	return function{}, false
}

// rosZones returns the zones of a region; "" is the stack's own. Where none are known there are three.
func rosZones(e *evaluation, at Node, v value.Value) (value.Value, error) {
	region := v.Text()
	if region == "" {
		region = e.scope.Pseudo.Region
	}
	if zones, ok := e.scope.Outside.Zones[region]; ok {
		return value.Strs(zones...).Tainted(v.Secrecy()), nil
	}
	if strings.ContainsFunc(region, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
		return value.Value{}, e.fail(at, "Fn::GetAZs takes a region, such as cn-hangzhou: here is no name of one.")
	}
	return value.Strs(region+"-a", region+"-b", region+"-c").Tainted(v.Secrecy()), nil
}
