// Package functionenv returns the environment of local functions: the endpoints of services and the credentials to
// call them. The same rule applies to all functions. The package has no side effects.
//
// # Endpoints
//
// For a service that this server has ([Services]), the endpoint is this server, unless the server's own environment
// sets another one with AWS_ENDPOINT_URL_S3 or a similar variable. Every other service uses AWS_ENDPOINT_URL of that
// environment. If that is not set, its calls also go to this server, which replies that it does not have the service.
// So no call leaves the machine unless the user configured an endpoint.
//
// A service whose resources another endpoint creates uses that endpoint ([Config.Forwarded]), unless the environment of
// the server or the function's own variables set one for it. This does not change the keys: the server's own keys are
// not passed on for it.
//
// # Keys
//
// If the server's environment sets an endpoint, functions get the keys of that environment, because the endpoint
// needs them. Otherwise they get keys of this server, which are valid nowhere else.
package functionenv

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The AWS SDK variables that this package sets. Source: AWS SDKs and Tools reference guide, service-specific
// endpoints.
const (
	// Endpoint applies to every service without its own variable.
	Endpoint = "AWS_ENDPOINT_URL"
	// EndpointPrefix is the prefix of the variable of one service.
	EndpointPrefix = Endpoint + "_"

	ignore   = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
	keyID    = "AWS_ACCESS_KEY_ID"
	secret   = "AWS_SECRET_ACCESS_KEY"
	token    = "AWS_SESSION_TOKEN"
	metadata = "AWS_EC2_METADATA_DISABLED"

	configFile      = "AWS_CONFIG_FILE"
	credentialsFile = "AWS_SHARED_CREDENTIALS_FILE"
)

// Services lists the services that this server has, as suffixes of their endpoint variables.
func Services() []string {
	// EventBridge has two names: older clients call it CloudWatch Events.
	return []string{"CLOUDFORMATION", "CLOUDWATCH_EVENTS", "CLOUDWATCH_LOGS", "EVENTBRIDGE", "LAMBDA", "S3", "SECRETS_MANAGER", "SFN", "SNS", "SSM", "STS"}
}

// sources are the variables that lead SDKs to keys without containing them. One of them is enough.
var sources = []string{
	"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
}

// related lists the other variables that belong to the server's own keys and endpoints.
var related = []string{
	configFile, credentialsFile, "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_STS_REGIONAL_ENDPOINTS", metadata,
}

// Key is an access key. Token is the session token, if any.
type Key struct{ ID, Secret, Token string }

// Config is the input of [Variables].
type Config struct {
	// Environ is the server's own environment, as [os.Environ] returns it. The last entry of a repeated name counts.
	Environ []string
	// URL is the URL of this server, with an IP address as its host so that clients put buckets into the path:
	// http://127.0.0.1:4600.
	URL string
	// Key is a key of this server, without a token.
	Key Key
	// Forwarded maps endpoint variables of services, such as AWS_ENDPOINT_URL_SQS, to the URLs of the endpoints that have
	// their resources. Endpoints in Environ and Function take precedence.
	Forwarded map[string]string
	// Function is the function's own environment, which overrides the result. It may be nil.
	Function map[string]string
}

// Variables returns the variables to add to a function's own environment. They include keys. The caller owns the map.
func Variables(c Config) map[string]string {
	own := read(c.Environ)
	variables := map[string]string{Endpoint: c.URL, ignore: "false"}
	for _, service := range Services() {
		variables[EndpointPrefix+service] = c.URL
	}
	for name, url := range Forwarding(c) {
		variables[name] = url
	}
	hasEndpoint := hasEndpoints(own)
	if hasEndpoint {
		for name, text := range own {
			if isEndpoint(name) {
				variables[name] = text
			}
		}
	}
	if hasEndpoint && own["AWS_CA_BUNDLE"] != "" {
		variables["AWS_CA_BUNDLE"] = own["AWS_CA_BUNDLE"]
	}
	if hasEndpoint && hasKeys(own) {
		for _, name := range slices.Concat([]string{keyID, secret, token}, sources, related) {
			if own[name] != "" {
				variables[name] = own[name]
			}
		}
		return variables
	}
	maps.Copy(variables, map[string]string{
		keyID: c.Key.ID, secret: c.Key.Secret,
		// The user's files and the instance metadata service hold settings for AWS.
		configFile: os.DevNull, credentialsFile: os.DevNull, metadata: "true",
	})
	return variables
}

// Forwarding returns the variables of [Config.Forwarded] that apply: those of services for which neither Environ nor
// Function sets an endpoint. AWS_ENDPOINT_URL is an endpoint for the services that this server does not have. The caller
// owns the map.
func Forwarding(c Config) map[string]string {
	own := read(c.Environ)
	if strings.EqualFold(own[ignore], "true") {
		own = nil
	}
	variables := map[string]string{}
	for name, url := range c.Forwarded {
		forAll := own[Endpoint] != "" || c.Function[Endpoint] != ""
		if own[name] == "" && (!forAll || slices.Contains(Services(), strings.TrimPrefix(name, EndpointPrefix))) {
			variables[name] = url
		}
	}
	return variables
}

// Passes reports whether functions get the keys of the server's own environment, or the references to them.
func Passes(environ []string) bool {
	own := read(environ)
	return hasKeys(own) && hasEndpoints(own)
}

// Own returns the key in the server's own environment, if functions get that one. They sign their calls to this
// server with it too. ok is false if they do not, or if the environment only refers to a key.
func Own(environ []string) (key Key, ok bool) {
	variables := Variables(Config{Environ: environ})
	key = Key{ID: variables[keyID], Secret: variables[secret], Token: variables[token]}
	return key, key.ID != "" && key.Secret != ""
}

// Decides reports whether [Variables] controls a variable. A process with the result of Variables must not inherit
// it.
func Decides(name string) bool {
	return name == keyID || name == secret || name == token || name == ignore || name == Endpoint ||
		strings.HasPrefix(name, EndpointPrefix) || slices.Contains(sources, name) || slices.Contains(related, name)
}

// Chooses reports whether variables set the endpoint of all AWS calls or their keys: by a key, a reference to one, or
// an endpoint for all services.
func Chooses(variables map[string]string) bool {
	return slices.ContainsFunc(slices.Concat([]string{keyID, Endpoint, configFile, credentialsFile}, sources), func(name string) bool {
		return variables[name] != ""
	})
}

// Configured returns the name of the setting that configures AWS calls, such as AWS_PROFILE or ~/.aws/credentials, or
// "" if nothing configures them. home is the user's home directory, or empty.
func Configured(environ []string, home string) string {
	own := read(environ)
	for _, name := range slices.Concat([]string{keyID}, sources, []string{configFile, credentialsFile}) {
		if own[name] != "" {
			return name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if name == Endpoint || strings.HasPrefix(name, EndpointPrefix) {
			return name
		}
	}
	for _, name := range []string{"config", "credentials"} {
		if info, err := os.Stat(filepath.Join(home, ".aws", name)); home != "" && err == nil && info.Size() > 0 {
			return "~/.aws/" + name
		}
	}
	if !strings.EqualFold(own[metadata], "true") && onEC2() {
		return "the role of this EC2 instance"
	}
	return ""
}

// onEC2 reports whether this machine is an EC2 instance, where SDKs get keys from the metadata service. Source: EC2
// User Guide, detect whether a host is an EC2 instance.
func onEC2() bool {
	for file, start := range map[string]string{"/sys/class/dmi/id/sys_vendor": "Amazon EC2", "/sys/hypervisor/uuid": "ec2"} {
		if text, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(text), start) {
			return true
		}
	}
	return false
}

// read returns the AWS variables that are not empty.
func read(environ []string) map[string]string {
	set := map[string]string{}
	for _, pair := range environ {
		name, text, ok := strings.Cut(pair, "=")
		if !ok || !strings.HasPrefix(name, "AWS_") {
			continue
		}
		if text == "" {
			delete(set, name)
		} else {
			set[name] = text
		}
	}
	return set
}

// isEndpoint reports whether a variable is an endpoint.
func isEndpoint(name string) bool { return name == Endpoint || strings.HasPrefix(name, EndpointPrefix) }

// hasEndpoints reports whether an environment sets an endpoint.
func hasEndpoints(own map[string]string) bool {
	return !strings.EqualFold(own[ignore], "true") && slices.ContainsFunc(slices.Collect(maps.Keys(own)), isEndpoint)
}

// hasKeys reports whether an environment contains keys or refers to some.
func hasKeys(own map[string]string) bool {
	return own[keyID] != "" && own[secret] != "" ||
		slices.ContainsFunc(sources, func(name string) bool { return own[name] != "" })
}
