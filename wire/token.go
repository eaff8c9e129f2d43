package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// MaxServiceToken is the length of the longest service token in bytes, inclusive. The limit is our own; ARNs are far
// shorter.
const MaxServiceToken = 2048

// Service is the kind of service that a service token addresses.
type Service string

// The services. [FC], [Queue], [Topic] and [Web] belong to ROS. [Other] is any other token; the component that delivers
// requests decides whether it can reach it.
const (
	Lambda Service = "lambda"
	SNS    Service = "sns"
	HTTP   Service = "http"      // a URL, http or https
	FC     Service = "fc"        // a function of Alibaba Cloud Function Compute
	Queue  Service = "mns-queue" // of Alibaba Cloud Simple Message Queue, formerly MNS
	Topic  Service = "mns-topic" // likewise
	Web    Service = "web"       // a URL after "web:" or "web[OPTIONS]:"
	Other  Service = "other"
)

// Token is a parsed service token.
type Token struct {
	// Text is the original token.
	Text ServiceToken
	// Service determines which of the other fields are set.
	Service Service
	// Partition, Region and Account are from the ARN of a function, topic or queue. Region and Account may be empty. An
	// Account has letters and digits: documentation shows accounts like "84969EXAMPLE". Partition is "acs" for ROS.
	Partition, Region, Account string
	// Name is the name of the function, topic or queue; empty for other services.
	Name string
	// FCService is the service of a function in Function Compute 2.0; empty for 3.0, which has none.
	FCService string
	// Qualifier is the version or alias of a function. It may be empty.
	Qualifier string
	// Sync means that the reply of a [Web] provider is the response. Idempotent means that its Create may be sent again.
	Sync, Idempotent bool
	// URL is where to send requests for [HTTP] and [Web], nil for other services. It may contain a password: print its
	// Redacted form.
	URL *url.URL
}

// ParseToken parses a service token. It rejects a token that is empty, too long, or contains spaces or control
// characters. It also rejects an ARN in Lambda, SNS, Function Compute or MNS that is not a function, topic or queue, and
// a URL that cannot be dialled. Any other text is a token of the service [Other]. Every partition whose name begins with
// "aws" is valid. Tokens of ROS begin with "acs:fc:", "acs:mns:", "web:" or "web[".
func ParseToken(token ServiceToken) (Token, error) {
	text := string(token)
	switch {
	case text == "":
		return Token{}, errors.New("service token is empty")
	case len(text) > MaxServiceToken:
		return Token{}, fmt.Errorf("service token is %d bytes long, %d are allowed", len(text), MaxServiceToken)
	}
	for _, c := range text {
		if c <= ' ' || c == 0x7F || c == '\uFFFD' {
			return Token{}, fmt.Errorf("service token holds the character %q: %q", c, short(text))
		}
	}
	scheme, _, _ := strings.Cut(text, "://")
	if strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") {
		return parseURLToken(token)
	}
	if isROSToken(text) {
		return parseROSToken(token)
	}
	fields := strings.Split(text, ":")
	if len(fields) < 3 || fields[0] != "arn" || !strings.HasPrefix(fields[1], "aws") {
		return Token{Text: token, Service: Other}, nil
	}
	switch Service(fields[2]) {
	case Lambda, SNS:
		return parseARNToken(token, fields)
	case HTTP, FC, Queue, Topic, Web, Other:
	}
	return Token{Text: token, Service: Other}, nil
}

// parseURLToken parses a URL. Its errors show only the scheme and host, because the URL may contain a password or a key.
func parseURLToken(token ServiceToken) (Token, error) {
	u, err := url.Parse(string(token))
	if err != nil {
		return Token{}, errors.New("service token is an http URL that cannot be read: look for stray % and : in it")
	}
	if u.Hostname() == "" {
		return Token{}, errors.New("service token is an http URL without a host")
	}
	return Token{Text: token, Service: HTTP, URL: u}, nil
}

func parseARNToken(token ServiceToken, fields []string) (Token, error) {
	t := Token{Text: token, Service: Service(fields[2])}
	if len(fields) > 5 {
		t.Partition, t.Region, t.Account = fields[1], fields[3], fields[4]
	}
	switch {
	case t.Service == Lambda && (len(fields) == 7 || len(fields) == 8) && fields[5] == "function":
		t.Name = fields[6]
		if len(fields) == 8 {
			t.Qualifier = fields[7]
			if t.Qualifier == "" {
				return Token{}, fmt.Errorf("service token ends in a colon, remove it or name a version: %q", short(string(token)))
			}
		}
	case t.Service == Lambda:
		return Token{}, fmt.Errorf("service token is not a function ARN, "+
			"want arn:aws:lambda:REGION:ACCOUNT:function:NAME, got %q", short(string(token)))
	case len(fields) == 6:
		t.Name = fields[5]
	default:
		return Token{}, fmt.Errorf("service token is not a topic ARN, "+
			"want arn:aws:sns:REGION:ACCOUNT:NAME, got %q", short(string(token)))
	}
	for _, f := range []struct{ what, text, allowed string }{
		{"partition", t.Partition, "-"}, {"region", t.Region, "-"}, {"account", t.Account, ""},
		{"name", t.Name, "-_."}, {"qualifier", t.Qualifier, "-_$"},
	} {
		if !isName(f.text, f.allowed) {
			return Token{}, fmt.Errorf("%s %q in service token %q may hold letters, digits and %q only",
				f.what, short(f.text), short(string(token)), f.allowed)
		}
	}
	if t.Name == "" {
		return Token{}, fmt.Errorf("service token names no function or topic: %q", short(string(token)))
	}
	return t, nil
}

// isName reports whether text holds only ASCII letters, digits and the allowed characters.
func isName(text, allowed string) bool {
	for _, c := range text {
		if !isAlnum(c) && !strings.ContainsRune(allowed, c) {
			return false
		}
	}
	return true
}
