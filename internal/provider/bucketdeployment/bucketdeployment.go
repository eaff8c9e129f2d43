// Package bucketdeployment is the provider of BucketDeployment of the AWS CDK: it unpacks archives from buckets into
// another bucket.
//
// The CDK's handler runs `aws s3 sync` from a Lambda layer of 22 MB. This package makes the same S3 calls itself, with
// [awscall], so it needs neither Python nor the AWS CLI.
//
// # Limits
//
// Archives are read from an anonymous temporary file and are never extracted to disk, so no entry can be written
// outside the bucket. Memory holds a few parts of 8 MiB and the list of file names. See the constants for the size
// limits.
//
// # Differences from the CDK's handler
//
// The physical ID of a new resource derives from the request, so a request that is delivered twice gets the same one. A
// WaitForDistributionInvalidation of false is respected; the handler treats the text "false" as true. An update without
// OldResourceProperties deploys; the handler stops without an answer if RetainOnDelete is false. Error messages don't
// repeat the properties. CloudFront invalidations are only logged where Pintle itself answers for CloudFront.
//
// Source: aws-cdk-lib, custom-resource-handlers/dist/aws-s3-deployment/bucket-deployment-handler/index.py; AWS CLI, s3
// sync.
package bucketdeployment

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle"
	"github.com/pintle-dev/pintle/awscall"
)

// Limits of a deployment.
const (
	MaxArchive  = 5 << 30  // bytes of one source
	MaxContents = 10 << 30 // bytes of all files of all sources before markers are replaced: Lambda's largest temporary storage
	MaxFiles    = 200_000  // entries of all archives
)

// DefaultTimeout is the timeout of the CDK's function.
const DefaultTimeout = 15 * time.Minute

const (
	partSize     = 8 << 20          // bytes; the AWS CLI uploads larger objects in parts of this size
	rangeSize    = 4 << 20          // bytes of one read of a source
	workers      = 4                // concurrent uploads
	pollInterval = 20 * time.Second // between checks of an invalidation
	maxPolls     = 39               // 13 minutes
)

// Caller makes AWS calls. [awscall.Client] is one.
type Caller interface {
	Call(ctx context.Context, service, action string, params map[string]any) (map[string]any, error)
}

// Handler is the provider. It is safe for concurrent use.
type Handler struct {
	// AWS makes the calls. Required.
	AWS Caller
	// TempDir is the directory of temporary files. Empty means [os.TempDir].
	TempDir string
	// Sleep waits between checks of an invalidation. Nil waits for real.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Handle implements [pintle.Handler].
func (h Handler) Handle(ctx context.Context, r *pintle.Request) (pintle.Answer, error) {
	answer := pintle.Answer{ID: r.ID}
	if r.Type == pintle.Create {
		sum := sha256.Sum256([]byte(string(r.StackID) + "\n" + string(r.LogicalID) + "\n" + string(r.RequestID)))
		id, err := uuid.FromBytes(sum[:16])
		if err != nil {
			return answer, err
		}
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80 // a version 4 UUID
		answer.ID = pintle.PhysicalID("aws.cdk.s3deployment." + id.String())
	}
	p, err := parse(r.RawProperties)
	if err != nil {
		return answer, err
	}
	old, err := parseOld(r.RawOldProperties)
	if err != nil {
		return answer, err
	}
	d := deployment{Handler: h, properties: p, log: r.Log()}
	var versions []any
	switch r.Type {
	case pintle.Delete:
		err = d.remove(ctx)
	case pintle.Create, pintle.Update:
		if r.Type == pintle.Update && !p.retain && old.bucket != "" && (old.bucket != p.bucket || old.prefix != p.prefix) {
			err = d.empty(ctx, old.bucket, old.prefix)
		}
		if err == nil {
			err = d.deploy(ctx)
		}
		if err == nil && p.versions {
			versions, err = d.objectVersions(ctx)
		}
	case pintle.Read, pintle.Plan: // functions never get a Read
	}
	if err == nil && p.distribution != "" {
		err = d.invalidate(ctx, string(r.RequestID))
	}
	if err != nil {
		return answer, err
	}
	answer.Attributes = map[string]any{"DestinationBucketArn": p.arn, "SourceObjectKeys": []any{}}
	if p.outputKeys {
		keys := make([]any, len(p.sources))
		for i, s := range p.sources {
			keys[i] = s.key
		}
		answer.Attributes["SourceObjectKeys"] = keys
	}
	if p.versions {
		answer.Attributes["SourceObjectVersionIds"] = append([]any{}, versions...)
	}
	return answer, nil
}

// deployment is the work of one request.
type deployment struct {
	Handler
	properties
	log *slog.Logger
}

// remove deletes the deployed objects, unless they are retained or another deployment owns them.
func (d deployment) remove(ctx context.Context) error {
	if d.retain || d.owned(ctx) {
		return nil
	}
	return d.empty(ctx, d.bucket, d.prefix)
}

// ownerTag begins the tags of buckets that deployments own. The CDK sets one for each deployment of the stack, so the
// bucket loses it when the deployment leaves the template, but keeps it when the resource is replaced.
const ownerTag = "aws-cdk:cr-owned"

// owned reports whether a tag of the bucket says that a deployment owns the prefix.
func (d deployment) owned(ctx context.Context) bool {
	out, err := d.AWS.Call(ctx, "s3", "GetBucketTagging", map[string]any{"Bucket": d.bucket})
	if err != nil {
		d.log.Info("the tags of the bucket cannot be read", "bucket", d.bucket, "error", err)
		return false
	}
	tag := ownerTag
	if d.prefix != "" {
		tag += ":" + d.prefix
	}
	set, _ := out["TagSet"].([]any)
	for _, t := range set {
		pair, _ := t.(map[string]any)
		if strings.HasPrefix(text(pair["Key"]), tag) {
			return true
		}
	}
	return false
}

// objectVersions returns the version IDs of the deployed objects, or "" for an object without one.
func (d deployment) objectVersions(ctx context.Context) ([]any, error) {
	var list []any
	for _, s := range d.sources {
		out, err := d.AWS.Call(ctx, "s3", "HeadObject", map[string]any{"Bucket": d.bucket, "Key": folder(d.prefix) + baseName(s.key)})
		if failed, ok := errors.AsType[*awscall.Error](err); ok && failed.Status == 404 {
			out, err = nil, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, text(out["VersionId"]))
	}
	return list, nil
}

// invalidate invalidates paths of the distribution's cache, and waits for completion if the properties ask for that.
func (d deployment) invalidate(ctx context.Context, request string) error {
	paths := make([]any, len(d.paths))
	for i, p := range d.paths {
		paths[i] = p
	}
	out, err := d.AWS.Call(ctx, "cloudfront", "CreateInvalidation", map[string]any{
		"DistributionId": d.distribution,
		"InvalidationBatch": map[string]any{
			"Paths": map[string]any{"Quantity": len(paths), "Items": paths}, "CallerReference": request,
		},
	})
	if failed, ok := errors.AsType[*awscall.Error](err); ok && strings.Contains(failed.Message, "AWS_ENDPOINT_URL_CLOUDFRONT") {
		// Pintle answers this itself if it does not emulate CloudFront.
		d.log.Info("recorded: CloudFront invalidation; set AWS_ENDPOINT_URL_CLOUDFRONT of the server to send it",
			"distribution", d.distribution, "paths", strings.Join(d.paths, " "))
		return nil
	}
	if err != nil || !d.wait {
		return err
	}
	created, _ := out["Invalidation"].(map[string]any)
	for range maxPolls {
		got, err := d.AWS.Call(ctx, "cloudfront", "GetInvalidation", map[string]any{"DistributionId": d.distribution, "Id": text(created["Id"])})
		if err != nil {
			return err
		}
		if state, _ := got["Invalidation"].(map[string]any); text(state["Status"]) == "Completed" {
			return nil
		}
		if err := d.sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
	return fmt.Errorf("unable to confirm that the cache invalidation of distribution %s was successful after 13 minutes", d.distribution)
}

func (h Handler) sleep(ctx context.Context, d time.Duration) error {
	if h.Sleep != nil {
		return h.Sleep(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
