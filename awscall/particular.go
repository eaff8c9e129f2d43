package awscall

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/awscall/internal/shape"
)

// Special cases of services that their models do not describe.

// before changes parameters before they are coerced. It copies the maps that it changes.
func (c *call) before(params map[string]any) map[string]any {
	switch c.id() {
	case "S3":
		if c.operation.Name == "CreateBucket" && params["CreateBucketConfiguration"] == nil && c.region != "us-east-1" {
			params = with(params, "CreateBucketConfiguration", map[string]any{"LocationConstraint": c.region})
		}
		if c.operation.Name == "GetObject" && params["ChecksumMode"] == nil {
			params = with(params, "ChecksumMode", "ENABLED") // so that the reply includes the object's checksum
		}
	case "Glacier":
		if c.operation.Input != nil && c.operation.Input.Member("accountId") != nil && (params["accountId"] == nil || params["accountId"] == "") {
			params = with(params, "accountId", "-") // the account of the credentials
		}
	}
	return params
}

func with(params map[string]any, name string, v any) map[string]any {
	out := maps.Clone(params)
	if out == nil {
		out = map[string]any{}
	}
	out[name] = v
	return out
}

// after changes coerced parameters.
func (c *call) after(in *shape.Input) {
	switch c.id() {
	case "Route 53":
		in.Each(func(m *shape.Member, v any) {
			text, ok := v.(string)
			if !ok || !strings.HasSuffix(m.Name, "Id") {
				return
			}
			for _, prefix := range []string{"/hostedzone/", "/change/", "/delegationset/"} {
				if rest, found := strings.CutPrefix(text, prefix); found {
					in.Set(m.Name, rest) // other actions return the ID with the prefix
				}
			}
		})
	case "S3":
		for _, side := range []string{"", "CopySource"} {
			key := in.Text(side + "SSECustomerKey")
			if key == "" {
				continue
			}
			raw, err := base64.StdEncoding.DecodeString(key)
			if err != nil || len(raw) != 32 {
				raw = []byte(key)
				in.Set(side+"SSECustomerKey", base64.StdEncoding.EncodeToString(raw))
			}
			if in.Text(side+"SSECustomerKeyMD5") == "" {
				sum := md5.Sum(raw)
				in.Set(side+"SSECustomerKeyMD5", base64.StdEncoding.EncodeToString(sum[:]))
			}
		}
	}
}

// dress adds headers that some services require.
func (c *call) dress(h http.Header, body []byte) error {
	switch c.id() {
	case "API Gateway":
		h.Set("Accept", "application/json")
	case "Glacier":
		h.Set("X-Amz-Glacier-Version", c.service.shapes.Model.Metadata.APIVersion)
		if (c.operation.Name == "UploadArchive" || c.operation.Name == "UploadMultipartPart") && h.Get("X-Amz-Sha256-Tree-Hash") == "" {
			h.Set("X-Amz-Sha256-Tree-Hash", treeHash(body))
		}
	}
	return c.check(h, body)
}

// elsewhere sends a call to the region of the queue in its URL.
func (c *call) elsewhere(u *url.URL, t *target) error {
	host, region := c.queue()
	if host == "" {
		return nil
	}
	if err := c.mayLeaveFor(region); err != nil {
		return err
	}
	u.Host, t.region = host, region
	return nil
}

// queue returns the host and the region of the call's queue if its URL is one of SQS. Otherwise the host is empty.
func (c *call) queue() (host, region string) {
	if c.id() != "SQS" {
		return "", ""
	}
	text := c.input.Text("QueueUrl")
	queue, err := url.Parse(text)
	if text == "" || err != nil || queue.Scheme != "https" || queue.Port() != "" || queue.User != nil {
		return "", ""
	}
	labels, found := strings.CutSuffix(queue.Hostname(), "."+c.client.shared.partitions.DNSSuffix(c.region))
	region, regional := strings.CutPrefix(labels, "sqs.")
	if !found || !regional || !isRegion(region) { // do not send a request signed with our credentials to any other host
		return "", ""
	}
	return queue.Hostname(), region
}

// discover asks the service for the endpoint of the call if the service requires that.
func (c *call) discover(ctx context.Context, t *target) error {
	d := c.operation.Model.Discovery
	if d == nil || !d.Required || c.client.config.Endpoint != "" || c.client.config.Endpoints[c.service.entry.Name] != "" {
		return nil
	}
	type found struct {
		host  string
		until time.Time
	}
	now := c.client.config.clock.Now()
	key := c.service.entry.Name + " " + c.region
	if known, ok := c.client.shared.discovered.Load(key); ok {
		if f, ok := known.(found); ok && now.Before(f.until) {
			t.url.Host = f.host
			return nil
		}
	}
	out, err := c.client.WithRegion(c.region).Call(ctx, c.service.entry.Name, "DescribeEndpoints", nil)
	if err != nil {
		return fmt.Errorf("%s %s: its endpoint: %w", c.service.entry.Name, c.operation.Name, err)
	}
	list, _ := out["Endpoints"].([]any)
	if len(list) == 0 {
		return fmt.Errorf("%s %s: the service names no endpoint", c.service.entry.Name, c.operation.Name)
	}
	first, _ := list[0].(map[string]any)
	host, _ := first["Address"].(string)
	minutes, _ := first["CachePeriodInMinutes"].(int64)
	if !strings.HasSuffix(host, "."+c.client.shared.partitions.DNSSuffix(c.region)) || strings.ContainsAny(host, "/?#@:") {
		return fmt.Errorf("%s %s: the service names an endpoint outside AWS", c.service.entry.Name, c.operation.Name)
	}
	t.url.Host = host
	c.client.shared.discovered.Store(key, found{host, now.Add(time.Duration(max(1, min(minutes, 24*60))) * time.Minute)})
	return nil
}

// failedInside reports whether a response with a success status contains an error in its body. S3 sends these after a
// long copy.
func (c *call) failedInside(body []byte) bool {
	if c.id() != "S3" || c.operation.Output == nil {
		return false
	}
	for _, m := range c.operation.Output.Members {
		if m.Streaming || m.Payload && m.Type.Kind != shape.Structure {
			return false // the body is the object
		}
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name.Local == "Error"
		}
	}
}

// bucketRegion returns the region that S3 reports for a bucket, if the call failed because of the region. Otherwise it
// returns "".
func (c *call) bucketRegion(resp *http.Response, body []byte, e *Error) string {
	if c.id() != "S3" || c.input.Text("Bucket") == "" || c.client.config.Endpoint != "" || c.client.config.Endpoints[c.service.entry.Name] != "" {
		return ""
	}
	switch e.Status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest:
	default:
		return ""
	}
	region := resp.Header.Get("X-Amz-Bucket-Region")
	if region == "" {
		var parsed struct{ Region string }
		if xml.Unmarshal(body, &parsed) == nil {
			region = parsed.Region
		}
	}
	if !isRegion(region) || region == c.region {
		return ""
	}
	return region
}
