package sqs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

var queueARN = regexp.MustCompile(`^arn:[a-z-]+:sqs:([a-z0-9-]+):([A-Za-z0-9]+):([A-Za-z0-9_-]{1,75}(?:\.fifo)?|[A-Za-z0-9_-]{76,80})$`)

// ParseARN returns the scope and the name of a queue.
func ParseARN(arn string) (registry.Scope, string, error) {
	parts := queueARN.FindStringSubmatch(arn)
	if parts == nil {
		return registry.Scope{}, "", fmt.Errorf("%.200q is not the ARN of an SQS queue", arn)
	}
	return registry.Scope{Account: parts[2], Region: parts[1]}, parts[3], nil
}

// FIFO reports whether the ARN or the name of a queue is that of a FIFO queue.
func FIFO(queue string) bool { return strings.HasSuffix(queue, ".fifo") }
