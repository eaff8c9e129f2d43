package s3api

import (
	"errors"
	"net/http"

	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
)

// putNotification changes the notification configuration of a bucket. An empty configuration disables all
// notifications.
func (c bucketSettings) putNotification() error {
	configuration, err := bucketevents.Parse(c.body)
	if err != nil {
		if _, ok := errors.AsType[*bucketevents.Error](err); !ok {
			return malformedXML
		}
		return err
	}
	item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	to := c.config.Notifications
	if to != nil && c.r.Header.Get("X-Amz-Skip-Destination-Validation") != "true" {
		if err := to.Check(c.ctx, item.Of.Owner, configuration); err != nil {
			return err
		}
	}
	text := ""
	if !configuration.Empty() {
		if text, err = configuration.XML(); err != nil {
			return err
		}
	}
	if err := c.set(c.bucket, bucketevents.Setting, text); err != nil {
		return err
	}
	if to != nil {
		to.Test(c.ctx, c.bucket, item.Of.Owner, configuration)
	}
	return c.reply.nothing(http.StatusOK)
}
