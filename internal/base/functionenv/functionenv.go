// Package functionenv returns the environment of local functions: the endpoints of services and the credentials to
// call them. It is one rule for all of them, and pure.
//
// # Endpoints
//
// For a service that this server has ([Services]), the endpoint is this server, unless the server's own environment
// names another one with AWS_ENDPOINT_URL_S3 or a similar variable. Every other service uses AWS_ENDPOINT_URL of that
// environment. If that is not set, its calls go to this server too, which answers that it does not have the service.
// So no call leaves the machine unless the user configured an endpoint.
//
// # Keys
//
// If the server's environment names an endpoint, functions get the keys that it names, because the endpoint needs
// them. Otherwise they get keys of this server, which are valid nowhere else.
package functionenv

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The variables of AWS's SDKs that are decided here. Source: AWS SDKs and Tools reference guide, service-specific endpoints.
const (
	// Endpoint is of every service that has none of its own.
	Endpoint = "AWS_ENDPOINT_URL"
	// EndpointPrefix begins the variable of one service.
	EndpointPrefix = Endpoint + "_"

	ignore   = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
	keyID    = "AWS_ACCESS_KEY_ID"
	secret   = "AWS_SECRET_ACCESS_KEY"
	token    = "AWS_SESSION_TOKEN"
	metadata = "AWS_EC2_METADATA_DISABLED"

	configFile      = "AWS_CONFIG_FILE"
	credentialsFile = "AWS_SHARED_CREDENTIALS_FILE"
)

// Services are those that this server has, as the variables of their endpoints end.
func Services() []string {
	// EventBridge has two names: that of older clients is CloudWatch Events.
	return []string{"CLOUDFORMATION", "CLOUDWATCH_EVENTS", "CLOUDWATCH_LOGS", "EVENTBRIDGE", "LAMBDA", "S3", "SECRETS_MANAGER", "SFN", "SNS", "SSM", "STS"}
}

// sources are the variables by which SDKs find keys, other than those that hold them; each of them is enough.
var sources = []string{
	"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
	"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
}

// besides are the variables that belong to the server's own keys and endpoints.
var besides = []string{
	configFile, credentialsFile, "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
	"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_STS_REGIONAL_ENDPOINTS", metadata,
}

// Key is an access key. Token is that of a session, empty for none.
type Key struct{ ID, Secret, Token string }

// Config is what the rule is applied to.
type Config struct {
	// Environ is the server's own environment, as [os.Environ] returns it. Of a name that is there twice the last counts.
	Environ []string
	// URL is this server's, with an address for its host, so that clients put buckets into the path: http://127.0.0.1:4600.
	URL string
	// Key is one of this server, without a token.
	Key Key
}

// Variables returns what a function's environment is to have, beside what it has of itself. The map is the caller's. It holds keys.
func Variables(c Config) map[string]string {
	own := read(c.Environ)
	variables := map[string]string{Endpoint: c.URL, ignore: "false"}
	for _, service := range Services() {
		variables[EndpointPrefix+service] = c.URL
	}
	told := false
	if !strings.EqualFold(own[ignore], "true") {
		for name, text := range own {
			if name == Endpoint || strings.HasPrefix(name, EndpointPrefix) {
				variables[name], told = text, true
			}
		}
	}
	if told && own["AWS_CA_BUNDLE"] != "" {
		variables["AWS_CA_BUNDLE"] = own["AWS_CA_BUNDLE"]
	}
	if told && hasKeys(own) {
		for _, name := range slices.Concat([]string{keyID, secret, token}, sources, besides) {
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

// Own returns the key in the server's own environment, if functions get that: they sign with it what they ask this server too. ok is
// false if they do not, or if the environment only says where a key is.
func Own(environ []string) (key Key, ok bool) {
	variables := Variables(Config{Environ: environ})
	key = Key{ID: variables[keyID], Secret: variables[secret], Token: variables[token]}
	return key, key.ID != "" && key.Secret != ""
}

// Decides reports whether [Variables] decides about a variable: a process that gets those must not inherit it.
func Decides(name string) bool {
	return name == keyID || name == secret || name == token || name == ignore || name == Endpoint ||
		strings.HasPrefix(name, EndpointPrefix) || slices.Contains(sources, name) || slices.Contains(besides, name)
}

// Chooses reports whether variables choose where all AWS calls go or with which keys: by a key, by what leads to one, or by an endpoint
// of all services.
func Chooses(variables map[string]string) bool {
	return slices.ContainsFunc(slices.Concat([]string{keyID, Endpoint, configFile, credentialsFile}, sources), func(name string) bool {
		return variables[name] != ""
	})
}

// Configured returns what of an environment configures calls of AWS, for people, e.g. AWS_PROFILE or ~/.aws/credentials; empty if
// nothing does. home is the user's home directory, empty for none.
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

// onEC2 reports whether this machine is an EC2 instance, whose metadata service SDKs ask for keys. Source: EC2 User Guide, detect
// whether a host is an EC2 instance.
func onEC2() bool {
	for file, start := range map[string]string{"/sys/class/dmi/id/sys_vendor": "Amazon EC2", "/sys/hypervisor/uuid": "ec2"} {
		if text, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(text), start) {
			return true
		}
	}
	return false
}

// read returns the variables of AWS that are set to something.
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

// hasKeys reports whether an environment names keys, or where they are.
func hasKeys(own map[string]string) bool {
	return own[keyID] != "" && own[secret] != "" ||
		slices.ContainsFunc(sources, func(name string) bool { return own[name] != "" })
}
