package sns

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// maxAttribute is the maximum length of an attribute value in bytes. Source: SNS quotas, a policy has 30 KB.
const maxAttribute = 30 << 10

// errUnknown is the error for an unknown attribute.
var errUnknown = errors.New("there is no such attribute")

// feedback matches the attributes for delivery status logs.
var feedback = regexp.MustCompile(`^(?:Application|Firehose|HTTP|Lambda|SQS)(?:SuccessFeedbackRoleArn|FailureFeedbackRoleArn|SuccessFeedbackSampleRate)$`)

// checkTopicAttribute returns an error for an unsupported topic attribute. The error contains no secret.
func checkTopicAttribute(name, value string) error {
	if len(value) > maxAttribute {
		return fmt.Errorf("%s: the value is longer than %d bytes", name, maxAttribute)
	}
	switch name {
	case "DisplayName":
		if utf8.RuneCountInString(value) > 100 {
			return errors.New("DisplayName: Must be at most 100 characters long")
		}
		return nil
	case "Policy", "DeliveryPolicy":
		return checkJSON(name, value)
	case "SignatureVersion":
		if value != "" && value != "1" && value != "2" {
			return errors.New("SignatureVersion: Invalid value. Must be 1 or 2")
		}
		return nil
	case "TracingConfig":
		if value != "" && value != "PassThrough" && value != "Active" {
			return errors.New("TracingConfig: Invalid value. Must be PassThrough or Active")
		}
		return nil
	case "KmsMasterKeyId":
		return nil
	case "FifoTopic":
		if value != "" && value != "false" {
			return errors.New("FifoTopic: this version of Pintle has no FIFO topics")
		}
		return nil
	case "ContentBasedDeduplication", "ArchivePolicy", "FifoThroughputScope":
		return fmt.Errorf("%s: this version of Pintle has no FIFO topics", name)
	}
	if feedback.MatchString(name) {
		return nil
	}
	return errUnknown
}

// checkSubscriptionAttribute returns an error for an unsupported attribute of a subscription with a protocol.
func checkSubscriptionAttribute(protocol, name, value string) error {
	if len(value) > maxAttribute {
		return fmt.Errorf("%s: the value is longer than %d bytes", name, maxAttribute)
	}
	switch name {
	case "RawMessageDelivery":
		switch {
		case value != "" && value != "true" && value != "false":
			return fmt.Errorf("RawMessageDelivery: Invalid value [%.32s]. Must be true or false", value)
		case value == "true" && protocol == "lambda":
			return errors.New("RawMessageDelivery: Delivery protocol [lambda] does not support raw message delivery")
		}
		return nil
	case "DeliveryPolicy":
		return checkJSON(name, value)
	case "FilterPolicy", "FilterPolicyScope", "RedrivePolicy", "ReplayPolicy", "SubscriptionRoleArn":
		if value == "" || name == "FilterPolicy" && value == "{}" {
			return nil
		}
		return fmt.Errorf("%s: not supported by this version of Pintle", name)
	}
	return errUnknown
}

func checkJSON(name, value string) error {
	var object map[string]json.RawMessage
	if value != "" && json.Unmarshal([]byte(value), &object) != nil {
		return fmt.Errorf("%s: failed to parse JSON", name)
	}
	return nil
}

// defaultPolicy returns the default policy of a topic. Policies are recorded and not enforced.
func defaultPolicy(arn, account string) string {
	return `{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Effect":"Allow","Sid":"__default_statement_ID","Principal":{"AWS":"*"},` +
		`"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission","SNS:RemovePermission","SNS:DeleteTopic",` +
		`"SNS:Subscribe","SNS:ListSubscriptionsByTopic","SNS:Publish"],"Resource":"` + arn + `","Condition":{"StringEquals":{"AWS:SourceOwner":"` +
		account + `"}}}]}`
}
