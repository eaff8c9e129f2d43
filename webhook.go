package pintle

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// minWebhookSecret is the minimum length of a secret in bytes. Source: Standard Webhooks, signature scheme.
	minWebhookSecret = 24
	// webhookAge is the largest difference between the time of a request and now. Source: Standard Webhooks, reference
	// libraries.
	webhookAge = 5 * time.Minute
	// maxSignatures limits how many signatures of one request are checked.
	maxSignatures = 10
)

// webhookKeys are the accepted secrets of Standard Webhooks.
type webhookKeys [][]byte

func parseWebhookSecrets(secrets []string) (webhookKeys, error) {
	var keys webhookKeys
	for i, secret := range secrets {
		key := []byte(secret)
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			var err error
			if key, err = base64.StdEncoding.DecodeString(encoded); err != nil {
				return nil, fmt.Errorf("webhook secret %d is not base64 after whsec_", i+1)
			}
		}
		if len(key) < minWebhookSecret {
			return nil, fmt.Errorf("webhook secret %d has %d bytes, want %d at least", i+1, len(key), minWebhookSecret)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// verify checks the headers of Standard Webhooks v1 over the body.
func (k webhookKeys) verify(header http.Header, body []byte, now time.Time) error {
	if len(k) == 0 {
		return errors.New("this provider has no webhook secret, so it takes no request that is not from SNS: set PINTLE_WEBHOOK_SECRET")
	}
	id, stamp, signatures := header.Get("webhook-id"), header.Get("webhook-timestamp"), header.Get("webhook-signature")
	if id == "" || stamp == "" || signatures == "" {
		return errors.New("the request is not signed: webhook-id, webhook-timestamp or webhook-signature is missing")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return errors.New("webhook-timestamp is not a number of seconds")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > webhookAge || age < -webhookAge {
		return fmt.Errorf("webhook-timestamp is more than %v from now: is the clock right?", webhookAge)
	}
	for i, signature := range strings.Fields(signatures) {
		given, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
		if !strings.HasPrefix(signature, "v1,") || err != nil || i >= maxSignatures {
			continue
		}
		for _, key := range k {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(id + "." + stamp + "."))
			mac.Write(body)
			if hmac.Equal(given, mac.Sum(nil)) {
				return nil
			}
		}
	}
	return errors.New("webhook-signature does not fit: does PINTLE_WEBHOOK_SECRET hold the secret of the sender?")
}
