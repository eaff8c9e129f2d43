package s3api

import (
	"encoding/xml"
	"net/http"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
)

// deleteObject removes an object, if it exists.
func (c *call) deleteObject() error {
	condition, err := c.writeCondition()
	if err != nil {
		return err
	}
	if err := c.config.Objects.Delete(c.ctx, c.bucket, c.key, condition); err != nil {
		return err
	}
	return c.reply.nothing(http.StatusNoContent)
}

// maxDeleted is the maximum number of objects in one call.
const maxDeleted = 1000

type objectName struct {
	Key       string
	VersionID string `xml:"VersionId,omitempty"`
}

// deletion is an object to remove. If ETag is set, the object must have that entity tag.
type deletion struct {
	objectName
	ETag string
}

type notDeleted struct {
	objectName
	Code, Message string
}

// deleteObjects removes the objects in the body. Missing objects count as removed.
func (c *call) deleteObjects() error {
	if err := c.readBody(); err != nil {
		return err
	}
	var document struct {
		XMLName xml.Name   `xml:"Delete"`
		Objects []deletion `xml:"Object"`
		Quiet   bool
	}
	if err := xml.Unmarshal(c.body, &document); err != nil || len(document.Objects) == 0 || len(document.Objects) > maxDeleted {
		return malformedXML
	}
	result := struct {
		XMLName   xml.Name `xml:"DeleteResult"`
		Namespace string   `xml:"xmlns,attr"`
		Deleted   []objectName
		Error     []notDeleted
	}{Namespace: namespace}
	var keys []string
	for _, o := range document.Objects {
		var err error
		switch {
		case o.VersionID != "" && o.VersionID != objects.NullVersion:
			err = objects.ErrNoVersion
		case o.ETag != "":
			err = c.config.Objects.Delete(c.ctx, c.bucket, o.Key, objects.Condition{IfMatch: o.ETag})
		default:
			keys = append(keys, o.Key)
		}
		if err != nil {
			f := c.of(err)
			result.Error = append(result.Error, notDeleted{o.objectName, f.code, f.message})
		} else if !document.Quiet {
			result.Deleted = append(result.Deleted, o.objectName)
		}
	}
	if err := c.config.Objects.DeleteAll(c.ctx, c.bucket, keys); err != nil {
		return err
	}
	return c.reply.document(result)
}
