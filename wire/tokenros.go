package wire

import (
	"errors"
	"fmt"
	"strings"
)

// isROSToken reports whether a token has one of the formats of ROS.
func isROSToken(text string) bool {
	for _, prefix := range []string{"acs:fc:", "acs:mns:", "web:", "web["} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// parseROSToken parses the formats of ROS. Source: ROS, ALIYUN::ROS::CustomResource, ServiceToken. Its CDK also allows a
// slash before queues and topics.
func parseROSToken(token ServiceToken) (Token, error) {
	text := string(token)
	if len(text) > MaxROSServiceToken {
		return Token{}, fmt.Errorf("service token is %d bytes long, %d are allowed for one of ROS", len(text), MaxROSServiceToken)
	}
	if rest, ok := strings.CutPrefix(text, "web"); ok {
		return parseWebToken(token, rest)
	}
	fields := strings.SplitN(text, ":", 5)
	if len(fields) < 5 {
		fields = append(fields, "", "", "")
	}
	t := Token{Text: token, Partition: fields[0], Region: fields[2], Account: fields[3]}
	path := strings.Split(fields[4], "/")
	switch {
	case fields[1] == "fc" && len(path) == 2 && path[0] == "functions":
		t.Service, t.Name = FC, path[1]
	case fields[1] == "fc" && len(path) == 4 && path[0] == "services" && path[2] == "functions":
		t.Service, t.Name = FC, path[3]
		t.FCService, t.Qualifier, _ = strings.Cut(path[1], ".")
		if t.FCService == "" {
			return Token{}, fmt.Errorf("service token names no service of its function: %q", short(text))
		}
	case fields[1] == "fc":
		return Token{}, fmt.Errorf("service token is not a function, want acs:fc:REGION:ACCOUNT:functions/NAME "+
			"or acs:fc:REGION:ACCOUNT:services/SERVICE/functions/NAME, got %q", short(text))
	default:
		if len(path) == 3 && path[0] == "" {
			path = path[1:]
		}
		switch {
		case len(path) == 2 && path[0] == "queues":
			t.Service, t.Name = Queue, path[1]
		case len(path) == 2 && path[0] == "topics":
			t.Service, t.Name = Topic, path[1]
		default:
			return Token{}, fmt.Errorf("service token is not a queue or topic, want acs:mns:REGION:ACCOUNT:queues/NAME "+
				"or acs:mns:REGION:ACCOUNT:topics/NAME, got %q", short(text))
		}
	}
	for _, f := range []struct{ what, text, allowed string }{
		{"region", t.Region, "-"}, {"account", t.Account, ""}, {"name", t.Name, "-_."}, {"service", t.FCService, "-_"},
		{"qualifier", t.Qualifier, "-_"},
	} {
		if !isName(f.text, f.allowed) || f.text == "" && f.what != "service" && f.what != "qualifier" {
			return Token{}, fmt.Errorf("%s %q in service token %q must be letters, digits and %q",
				f.what, short(f.text), short(text), f.allowed)
		}
	}
	return t, nil
}

// parseWebToken parses the part after "web": optional options in brackets, a colon, and the URL.
func parseWebToken(token ServiceToken, rest string) (Token, error) {
	var sync, idempotent bool
	if options, ok := strings.CutPrefix(rest, "["); ok {
		options, rest, ok = strings.Cut(options, "]")
		if !ok || !strings.HasPrefix(rest, ":") {
			return Token{}, errors.New("service token has no ]: after its options, want web[OPTIONS]:URL")
		}
		for option := range strings.SplitSeq(options, ",") {
			flag := &sync
			switch option {
			case "sync":
			case "idempotent":
				flag = &idempotent
			default:
				return Token{}, fmt.Errorf("service token has the option %q, it may have sync and idempotent", short(option))
			}
			if *flag {
				return Token{}, fmt.Errorf("service token has the option %s twice", option)
			}
			*flag = true
		}
	}
	address := strings.TrimPrefix(rest, ":")
	if scheme, _, ok := strings.Cut(address, "://"); !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return Token{}, errors.New("service token has no http or https URL after its colon")
	}
	t, err := parseURLToken(ServiceToken(address))
	if err != nil {
		return Token{}, err
	}
	t.Text, t.Service, t.Sync, t.Idempotent = token, Web, sync, idempotent
	return t, nil
}
