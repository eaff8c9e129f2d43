package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/language/value"
	"github.com/pintle-dev/pintle/internal/store"
	"github.com/pintle-dev/pintle/wire"
)

// The properties of a custom resource of ROS. Source: ROS, ALIYUN::ROS::CustomResource; HttpConfig is only in its
// resource schema.
const (
	rosToken      = "ServiceToken"
	rosTimeout    = "Timeout"
	rosParameters = "Parameters"
	rosHTTPConfig = "HttpConfig"
)

// request splits the properties of a custom resource. Only its Parameters are sent, with their types.
func (ros) request(properties value.Value) (asked, error) {
	var problems []string
	add := func(err error) {
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	ask := asked{properties: value.Object(), timeout: wire.DefaultROSTimeout}
	var err error
	for _, p := range properties.Members() {
		switch p.Key {
		case rosToken:
			ask.token = p.Value
		case rosTimeout:
			ask.timeout, err = rosTime(p.Value)
			add(err)
		case rosParameters:
			switch p.Value.Kind() {
			case value.Map:
				ask.properties = p.Value
			case value.Null: // the same as not set
			case value.Bool, value.Number, value.String, value.List:
				problems = append(problems, "Parameters must be a map, not "+p.Value.Kind().String())
			}
		case rosHTTPConfig:
			ask.httpConfig, err = httpConfig(p.Value)
			add(err)
		default:
			problems = append(problems, rosNoProperty(p.Key))
		}
	}
	switch token := ask.token; {
	case token.IsNull():
		problems = append(problems, rosNoToken)
	case rosTokenProblem(token) != "":
		problems = append(problems, rosTokenProblem(token))
	default:
		// A text that is not a token is reported when the provider is called.
		if parsed, err := wire.ParseToken(wire.ServiceToken(token.Text())); err == nil && parsed.Sync {
			ask.timeout = wire.ROSSyncTimeout
		}
	}
	if problems != nil {
		return asked{}, errors.New(strings.Join(problems, "; "))
	}
	return ask, nil
}

const rosNoToken = "ServiceToken is missing"

// rosTokenProblem explains why a value cannot be a service token, "" if it can.
func rosTokenProblem(v value.Value) string {
	switch {
	case v.Kind() != value.String || v.Text() == "":
		return "ServiceToken must be a string that is not empty"
	case len(v.Text()) > wire.MaxROSServiceToken:
		return fmt.Sprintf("ServiceToken has %d bytes, at most %d are allowed", len(v.Text()), wire.MaxROSServiceToken)
	}
	return ""
}

// rosNoProperty returns the error for a property that a custom resource does not have.
func rosNoProperty(name string) string {
	return name + " is not a property of a custom resource, which has ServiceToken, Timeout, Parameters and HttpConfig; " +
		"put the values for its provider under Parameters"
}

func rosTime(v value.Value) (time.Duration, error) {
	timeout, err := wire.ROS.ParseTimeout(v.JSON())
	if err != nil && v.HasSecret() { // the error quotes the value
		return 0, fmt.Errorf("Timeout must be a whole number of seconds from %d to %d", //nolint:staticcheck // a property's name
			int(wire.MinROSTimeout.Seconds()), int(wire.MaxROSTimeout.Seconds()))
	}
	return timeout, err
}

// httpConfig checks an HttpConfig. It makes the signing key secret, and also headers with secret names.
func httpConfig(v value.Value) (value.Value, error) {
	if v.IsNull() {
		return value.Value{}, nil
	}
	if v.Kind() != value.Map {
		return value.Value{}, errors.New("HttpConfig must be a map of SignKey, ContentType and Headers")
	}
	var members []value.Member
	for _, p := range v.Members() {
		if p.Value.IsNull() {
			continue
		}
		switch p.Key {
		case "SignKey":
			if n := utf8.RuneCountInString(p.Value.Text()); p.Value.Kind() != value.String || n < 1 || n > wire.MaxROSSignKey {
				return value.Value{}, fmt.Errorf("HttpConfig.SignKey must be a string of 1 to %d characters", wire.MaxROSSignKey)
			}
			p.Value = p.Value.Tainted(value.OfAttribute)
		case "ContentType":
			switch p.Value.Text() {
			case "application/json", "application/x-www-form-urlencoded":
			default:
				return value.Value{}, errors.New("HttpConfig.ContentType must be application/json or application/x-www-form-urlencoded")
			}
		case "Headers":
			if p.Value.Kind() != value.Map {
				return value.Value{}, errors.New("HttpConfig.Headers must be a map of strings")
			}
			headers := slices.Clone(p.Value.Members())
			for i, header := range headers {
				if header.Value.Kind() != value.String {
					return value.Value{}, fmt.Errorf("HttpConfig.Headers must be a map of strings, and %s is none", header.Key)
				}
				if store.IsSecretName(header.Key) {
					headers[i].Value = header.Value.Tainted(value.OfAttribute)
				}
			}
			p.Value = value.Object(headers...)
		default:
			return value.Value{}, fmt.Errorf("HttpConfig has no %s: it has SignKey, ContentType and Headers", p.Key)
		}
		members = append(members, p)
	}
	return value.Object(members...), nil
}

// shown joins the parts that request split.
func (ros) shown(a asked) value.Value {
	if a.token.IsNull() { // a native type
		return a.properties
	}
	members := []value.Member{
		{Key: rosToken, Value: a.token},
		{Key: rosTimeout, Value: value.Num(fmt.Sprint(int(a.timeout.Seconds())))},
		{Key: rosParameters, Value: a.properties},
	}
	if !a.httpConfig.IsNull() {
		members = append(members, value.Member{Key: rosHTTPConfig, Value: a.httpConfig})
	}
	return value.Object(members...)
}
