package objects

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// assets matches the asset buckets of CDK bootstrap stacks. These exist from the start for every account and region.
var assets = regexp.MustCompile(`^cdk-[a-z0-9]{1,10}-assets-([0-9]{12})-([a-z]{2,4}(?:-[a-z]+)+-[0-9]{1,2})$`)

// Names of the bucket settings with a special format. All other settings are S3's XML documents, by the name of the
// subresource, such as "encryption". A setting that is not XML counts as missing.
const (
	// SettingPolicy is the bucket policy, JSON.
	SettingPolicy = "policy"
	// SettingVersioning is Enabled or Suspended.
	SettingVersioning = "versioning"
	// SettingOwnership is the object ownership, S3's XML: see [Ownership].
	SettingOwnership = "ownershipControls"
)

// Ownership returns the [SettingOwnership] for a rule: BucketOwnerEnforced, BucketOwnerPreferred or ObjectWriter. ok
// is false for any other rule. A bucket accepts access control lists only with the last two.
func Ownership(rule string) (setting string, ok bool) {
	switch rule {
	case "BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter":
		return `<OwnershipControls xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ObjectOwnership>` + rule +
			`</ObjectOwnership></Rule></OwnershipControls>`, true
	}
	return "", false
}

// Make creates a bucket with the item's name and owner. The owner is Of.Owner or, if that is empty, the item's Scope.
// If the bucket exists and has the same holder, Make updates it. With another holder, it returns
// [registry.ErrExists]. The first caller of its account takes over an unclaimed CDK asset bucket. For all other
// accounts that bucket already exists.
func (s *Store) Make(ctx context.Context, item registry.Item[registry.Bucket]) (registry.Item[registry.Bucket], error) {
	if err := checkBucketName(item.Name); err != nil {
		return item, err
	}
	if item.Of.Owner == (registry.Scope{}) {
		item.Of.Owner = item.Scope
	}
	item.Scope = registry.Global
	if item.Of.Made.IsZero() {
		item.Of.Made = s.now()
	}
	if match := assets.FindStringSubmatch(item.Name); match != nil && match[1] != item.Of.Owner.Account {
		return item, registry.ErrExists
	}
	lock := s.bucketLock(item.Name)
	lock.Lock()
	defer lock.Unlock()
	is, err := s.config.Buckets.Get(ctx, registry.Global, item.Name)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		// A removed bucket may have left uploads behind.
		if err := s.root.RemoveAll(bucketDir(item.Name)); err != nil {
			return item, cleanError("remove what was left", item.Name, err)
		}
		item.Version = 0
	case err != nil:
		return item, err
	case is.Owner == item.Owner && is.Of.Owner == item.Of.Owner,
		is.Owner == "" && is.Of.Owner.Account == item.Of.Owner.Account && assets.MatchString(item.Name):
		item.Version, item.Of.Made = is.Version, is.Of.Made
	default:
		return item, registry.ErrExists
	}
	return s.config.Buckets.Put(ctx, item)
}

// Bucket returns a bucket, or [ErrNoBucket]. A CDK asset bucket, `cdk-QUALIFIER-assets-ACCOUNT-REGION`, always
// exists, possibly with version 0. The first write or change creates its row.
func (s *Store) Bucket(ctx context.Context, name string) (registry.Item[registry.Bucket], error) {
	item, err := s.config.Buckets.Get(ctx, registry.Global, name)
	if !errors.Is(err, registry.ErrNotFound) {
		return item, err
	}
	match := assets.FindStringSubmatch(name)
	if match == nil || checkBucketName(name) != nil {
		return item, ErrNoBucket
	}
	item = registry.Item[registry.Bucket]{Scope: registry.Global, Name: name}
	item.Of.Owner = registry.Scope{Account: match[1], Region: match[2]}
	return item, nil
}

// ensure returns a bucket, and creates its row if necessary, before a write.
func (s *Store) ensure(ctx context.Context, name string) (registry.Item[registry.Bucket], error) {
	item, err := s.Bucket(ctx, name)
	if err != nil || item.Version > 0 {
		return item, err
	}
	item, err = s.Make(ctx, item)
	if errors.Is(err, registry.ErrExists) || errors.Is(err, registry.ErrChanged) { // another caller was faster
		return s.Bucket(ctx, name)
	}
	return item, err
}

// Buckets returns up to limit buckets of an account, sorted by name. It starts after a name, or with the first if
// after is empty.
func (s *Store) Buckets(ctx context.Context, account, after string, limit int) ([]registry.Item[registry.Bucket], error) {
	var list []registry.Item[registry.Bucket]
	for len(list) < limit {
		page, err := s.config.Buckets.List(ctx, registry.Global, after, pageSize)
		if err != nil || len(page) == 0 {
			return list, err
		}
		for _, item := range page {
			if item.Of.Owner.Account == account && len(list) < limit {
				list = append(list, item)
			}
		}
		after = page[len(page)-1].Name
	}
	return list, nil
}

// pageSize is how many buckets are read at a time.
const pageSize = 100

// Update changes a bucket. It returns [registry.ErrChanged] if the bucket does not have the item's version, and
// [ErrNoBucket] if it does not exist. Its owner and creation time do not change.
func (s *Store) Update(ctx context.Context, item registry.Item[registry.Bucket]) (registry.Item[registry.Bucket], error) {
	is, err := s.config.Buckets.Get(ctx, registry.Global, item.Name)
	if errors.Is(err, registry.ErrNotFound) {
		return item, ErrNoBucket
	}
	if err != nil {
		return item, err
	}
	if item.Version == 0 { // 0 would create a bucket
		return item, fmt.Errorf("update bucket %s: no version is given", item.Name)
	}
	item.Scope, item.Of.Owner, item.Of.Made = registry.Global, is.Of.Owner, is.Of.Made
	item, err = s.config.Buckets.Put(ctx, item)
	if errors.Is(err, registry.ErrNotFound) {
		return item, ErrNoBucket
	}
	return item, err
}

// Change applies change to a bucket. It calls change again, with the current bucket, after a concurrent change. If
// change returns an error, Change returns that error and changes nothing.
func (s *Store) Change(ctx context.Context, name string, change func(*registry.Bucket) error) error {
	const tries = 10
	for try := 1; ; try++ {
		item, err := s.ensure(ctx, name)
		if err != nil {
			return err
		}
		if err := change(&item.Of); err != nil {
			return err
		}
		_, err = s.Update(ctx, item)
		if !errors.Is(err, registry.ErrChanged) || try == tries {
			return err
		}
	}
}

// Remove removes an empty bucket in the account of place, with its incomplete uploads. It returns [ErrNotEmpty], or
// [ErrNoBucket] if the account has no such bucket.
func (s *Store) Remove(ctx context.Context, place registry.Scope, name string) error {
	if err := checkBucketName(name); err != nil {
		return ErrNoBucket
	}
	lock := s.bucketLock(name)
	lock.Lock()
	defer lock.Unlock()
	is, err := s.config.Buckets.Get(ctx, registry.Global, name)
	if errors.Is(err, registry.ErrNotFound) || err == nil && is.Of.Owner.Account != place.Account {
		return ErrNoBucket
	}
	if err != nil {
		return err
	}
	keys, err := s.keysOf(name)
	if err != nil {
		return err
	}
	if len(keys) > 0 {
		return ErrNotEmpty
	}
	// After a crash between the two steps, uploads without a bucket remain. Make removes them.
	if err := s.config.Buckets.Delete(ctx, registry.Global, name, is.Version); err != nil {
		if errors.Is(err, registry.ErrNotFound) {
			return ErrNoBucket
		}
		return err
	}
	return cleanError("remove what was left", name, s.root.RemoveAll(bucketDir(name)))
}

// bucketDir returns the directory of a bucket with a valid name.
func bucketDir(bucket string) string { return bucketsDir + "/" + encodeName(bucket) }
