package sns

import (
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/wire"
)

var topicName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// ARN returns the ARN of a topic, or of a subscription, whose name is TOPIC:ID.
func ARN(place registry.Scope, name string) string {
	return "arn:" + wire.Partition(place.Region) + ":sns:" + place.Region + ":" + place.Account + ":" + name
}

// ParseARN parses the ARN of a topic. For any other text it returns an [Error] about the parameter TopicArn.
func ParseARN(arn string) (registry.Scope, string, error) {
	return parse(arn, "TopicArn", 6)
}

// ParseSubscriptionARN parses the ARN of a subscription, whose name is TOPIC:ID. For any other text it returns an
// [Error] about the parameter SubscriptionArn.
func ParseSubscriptionARN(arn string) (registry.Scope, string, error) {
	return parse(arn, "SubscriptionArn", 7)
}

func parse(arn, parameter string, length int) (place registry.Scope, name string, err error) {
	fields := strings.Split(arn, ":")
	if len(fields) < 6 {
		return place, "", invalid("%s Reason: An ARN must have at least 6 elements, not %d", parameter, len(fields))
	}
	place = registry.Scope{Account: fields[4], Region: fields[3]}
	name = strings.Join(fields[5:], ":")
	if len(fields) != length || len(arn) > wire.MaxServiceToken || !topicName.MatchString(fields[5]) || !isWord(place.Account) || !isWord(place.Region) ||
		length == 7 && !isWord(fields[6]) || ARN(place, name) != arn {
		return place, "", invalid("%s", parameter)
	}
	return place, name, nil
}

func isWord(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-')
	})
}
