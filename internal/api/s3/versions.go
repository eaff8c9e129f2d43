package s3

import (
	"strings"

	"github.com/johannesboyne/gofakes3"

	"github.com/pintle-dev/pintle/internal/catalog"
	"github.com/pintle-dev/pintle/internal/objects"
)

// Objects have one version, null, also in a bucket whose versioning is enabled: that is recorded.

// VersioningConfiguration implements [gofakes3.VersionedBackend].
func (b backend) VersioningConfiguration(bucket string) (gofakes3.VersioningConfiguration, error) {
	item, err := b.config.Objects.Bucket(b.ctx, bucket)
	if err != nil {
		return gofakes3.VersioningConfiguration{}, b.fail(err)
	}
	var configuration gofakes3.VersioningConfiguration
	for _, status := range []gofakes3.VersioningStatus{gofakes3.VersioningEnabled, gofakes3.VersioningSuspended} {
		if strings.Contains(item.Of.Settings[objects.SettingVersioning], string(status)) { // a template may have put more
			configuration.Status = status
		}
	}
	return configuration, nil
}

// SetVersioningConfiguration implements [gofakes3.VersionedBackend].
func (b backend) SetVersioningConfiguration(bucket string, v gofakes3.VersioningConfiguration) error {
	return b.fail(b.set(bucket, objects.SettingVersioning, string(v.Status)))
}

// GetObjectVersion implements [gofakes3.VersionedBackend].
func (b backend) GetObjectVersion(bucket, key string, version gofakes3.VersionID, asked *gofakes3.ObjectRangeRequest) (*gofakes3.Object, error) {
	if version != objects.NullVersion {
		return nil, b.fail(objects.ErrNoVersion)
	}
	return b.GetObject(bucket, key, asked)
}

// HeadObjectVersion implements [gofakes3.VersionedBackend].
func (b backend) HeadObjectVersion(bucket, key string, version gofakes3.VersionID) (*gofakes3.Object, error) {
	if version != objects.NullVersion {
		return nil, b.fail(objects.ErrNoVersion)
	}
	return b.HeadObject(bucket, key)
}

// DeleteObjectVersion implements [gofakes3.VersionedBackend].
func (b backend) DeleteObjectVersion(bucket, key string, version gofakes3.VersionID) (gofakes3.ObjectDeleteResult, error) {
	if version != objects.NullVersion {
		return gofakes3.ObjectDeleteResult{}, nil
	}
	return b.DeleteObject(bucket, key)
}

// DeleteMultiVersions implements [gofakes3.VersionedBackend].
func (b backend) DeleteMultiVersions(bucket string, ids ...gofakes3.ObjectID) (gofakes3.MultiDeleteResult, error) {
	var result gofakes3.MultiDeleteResult
	var keys []string
	for _, id := range ids {
		if id.VersionID == "" || id.VersionID == objects.NullVersion {
			keys = append(keys, id.Key)
			result.Deleted = append(result.Deleted, id)
			continue
		}
		told := b.of(objects.ErrNoVersion)
		result.Error = append(result.Error, gofakes3.ErrorResult{Key: id.Key, Code: gofakes3.ErrorCode(told.code), Message: told.message})
	}
	return result, b.fail(b.config.Objects.DeleteAll(b.ctx, bucket, keys))
}

// ListBucketVersions implements [gofakes3.VersionedBackend].
func (b backend) ListBucketVersions(bucket string, prefix *gofakes3.Prefix, page *gofakes3.ListBucketVersionsPage) (*gofakes3.ListBucketVersionsResult, error) {
	var q objects.Query
	if prefix != nil {
		q.Prefix, q.Delimiter = prefix.Prefix, prefix.Delimiter
	}
	if page != nil {
		q.After, q.Limit = page.KeyMarker, int(page.MaxKeys)
	}
	found, err := b.config.Objects.List(b.ctx, bucket, q)
	if err != nil {
		return nil, b.fail(err)
	}
	result := gofakes3.NewListBucketVersionsResult(bucket, prefix, page)
	for _, info := range found.Objects {
		result.Versions = append(result.Versions, &gofakes3.Version{
			Key: info.Key, VersionID: objects.NullVersion, IsLatest: true, ETag: info.ETag, Size: info.Size,
			LastModified: gofakes3.NewContentTime(info.Modified), Owner: owner(b.caller.Account),
		})
	}
	for _, common := range found.Prefixes {
		result.AddPrefix(common)
	}
	if found.Next != "" {
		result.IsTruncated, result.NextKeyMarker, result.NextVersionIDMarker = true, found.Next, objects.NullVersion
	}
	return result, nil
}

// owner is an account, as S3 names owners.
func owner(account string) *gofakes3.UserInfo {
	return &gofakes3.UserInfo{ID: account, DisplayName: account}
}

// set changes a setting of a bucket; an empty one removes it.
func (c *call) set(bucket, name, text string) error {
	return c.config.Objects.Change(c.ctx, bucket, func(b *catalog.Bucket) error {
		settings := make(map[string]string, len(b.Settings)+1)
		for other, is := range b.Settings {
			if other != name {
				settings[other] = is
			}
		}
		if text != "" {
			settings[name] = text
		}
		b.Settings = settings
		return nil
	})
}
