package s3api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/pintle-dev/pintle/internal/cloud/objects"
	"github.com/pintle-dev/pintle/internal/cloud/objects/bucketevents"
)

// setting is a bucket setting that is recorded and returned as it was put.
type setting struct {
	root string // the root element of its document; empty for JSON
	// missing and message are the error of a bucket without the setting. document is returned instead, if set.
	missing, message, document string
}

// settings are the supported settings, by the name of the subresource.
var settings = map[string]setting{
	objects.SettingPolicy: {missing: "NoSuchBucketPolicy", message: "The bucket policy does not exist"},
	"encryption": {root: "ServerSideEncryptionConfiguration", document: `<Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>` +
		`</ApplyServerSideEncryptionByDefault><BucketKeyEnabled>false</BucketKeyEnabled></Rule>`},
	"publicAccessBlock": {root: "PublicAccessBlockConfiguration", missing: "NoSuchPublicAccessBlockConfiguration",
		message: "The public access block configuration was not found"},
	bucketevents.Setting: {root: "NotificationConfiguration"},
	"lifecycle":          {root: "LifecycleConfiguration", missing: "NoSuchLifecycleConfiguration", message: "The lifecycle configuration does not exist"},
	"cors":               {root: "CORSConfiguration", missing: "NoSuchCORSConfiguration", message: "The CORS configuration does not exist"},
	"website":            {root: "WebsiteConfiguration", missing: "NoSuchWebsiteConfiguration", message: "The specified bucket does not have a website configuration"},
	"logging":            {root: "BucketLoggingStatus"},
	objects.SettingOwnership: {root: "OwnershipControls", missing: "OwnershipControlsNotFoundError",
		message: "The bucket ownership controls were not found"},
}

// Limits of a setting, in bytes.
const (
	maxPolicy  = 20 << 10
	maxSetting = 128 << 10
)

// bucketSettings serves the calls for bucket settings and tags.
type bucketSettings struct{ *call }

// setting returns, records or removes a setting.
func (c bucketSettings) setting(name string) error {
	is, ok := settings[name]
	if !ok {
		return unserved(name)
	}
	switch c.r.Method {
	case http.MethodGet:
		return c.getSetting(name, is)
	case http.MethodPut:
		if err := c.readBody(); err != nil {
			return err
		}
		if err := is.check(c.body); err != nil {
			return err
		}
		if name == bucketevents.Setting {
			return c.putNotification()
		}
		if err := c.set(c.bucket, name, string(c.body)); err != nil {
			return err
		}
		if name == objects.SettingPolicy {
			return c.reply.nothing(http.StatusNoContent)
		}
		return c.reply.nothing(http.StatusOK)
	case http.MethodDelete:
		if err := c.set(c.bucket, name, ""); err != nil {
			return err
		}
		return c.reply.nothing(http.StatusNoContent)
	}
	return notAllowed
}

// check refuses an invalid document of a setting.
func (s setting) check(text []byte) error {
	if s.root == "" {
		var policy map[string]json.RawMessage
		switch {
		case len(text) > maxPolicy:
			return refuse(http.StatusBadRequest, "PolicyTooLarge", "A bucket policy has %d bytes at most.", maxPolicy)
		case json.Unmarshal(text, &policy) != nil || policy == nil:
			return refuse(http.StatusBadRequest, "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
		case len(policy["Statement"]) == 0:
			return refuse(http.StatusBadRequest, "MalformedPolicy", "Missing required field Statement")
		}
		return nil
	}
	if len(text) > maxSetting || rootOf(text) != s.root {
		return malformedXML
	}
	return nil
}

// rootOf returns the name of the root element of a document, or "" if the document is not well-formed.
func rootOf(text []byte) string {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	root, depth := "", 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return root
		}
		if err != nil {
			return ""
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				if root != "" {
					return "" // a second root
				}
				root = token.Name.Local
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.Directive: // a document type
			return ""
		}
	}
}

// getSetting returns a setting, or its default.
func (c bucketSettings) getSetting(name string, is setting) error {
	item, err := c.config.Objects.Bucket(c.ctx, c.bucket)
	if err != nil {
		return err
	}
	text := item.Of.Settings[name]
	kind := "application/json"
	if is.root != "" {
		kind = "application/xml"
		if !strings.HasPrefix(text, "<") {
			text = "" // from a template, in another format
		}
	}
	if text == "" {
		if is.missing != "" {
			return refuse(http.StatusNotFound, is.missing, "%s", is.message)
		}
		text = xml.Header + "<" + is.root + ` xmlns="` + namespace + `">` + is.document + "</" + is.root + ">"
	}
	c.reply.Header().Set("Content-Type", kind)
	_, err = io.WriteString(c.reply, text)
	return err
}
