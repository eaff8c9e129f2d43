package objects

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
)

// assets matches the buckets that the CDK's bootstrap makes for assets, of which those of every account and region are there from
// the start.
var assets = regexp.MustCompile(`^cdk-[a-z0-9]{1,10}-assets-([0-9]{12})-([a-z]{2,4}(?:-[a-z]+)+-[0-9]{1,2})$`)

// Names of the settings of a bucket that have a form of their own. All others are the documents that S3 has for them, by the name of
// the sub-resource, such as "encryption"; what is no XML is as if it were not there.
const (
	// SettingPolicy is the bucket policy, JSON.
	SettingPolicy = "policy"
	// SettingVersioning is Enabled or Suspended.
	SettingVersioning = "versioning"
	// SettingOwnership says who owns objects, S3's XML: see [Ownership].
	SettingOwnership = "ownershipControls"
)

// Ownership returns the [SettingOwnership] of one rule: BucketOwnerEnforced, BucketOwnerPreferred or ObjectWriter; false for any
// other. Only with the last two a bucket takes access control lists.
func Ownership(rule string) (setting string, ok bool) {
	switch rule {
	case "BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter":
		return `<OwnershipControls xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ObjectOwnership>` + rule +
			`</ObjectOwnership></Rule></OwnershipControls>`, true
	}
	return "", false
}

// Make makes a bucket of the item's name and owner. The owner is Of.Owner or, if that is empty, the item's Place. One that is there
// and has the same holder is brought to what is asked; another is [registry.ErrExists]. A bucket for assets that no caller has asked
// for yet is taken over by the first of its account who does; to all other accounts it is there.
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
		// A bucket that was removed may have left uploads behind.
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

// Bucket returns a bucket, or [ErrNoBucket]. A bucket for the CDK's assets, `cdk-QUALIFIER-assets-ACCOUNT-REGION`, is always there, if
// only with version 0: it is made when something is put into it, or it is changed.
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

// ensure is Bucket of one that is about to be written to.
func (s *Store) ensure(ctx context.Context, name string) (registry.Item[registry.Bucket], error) {
	item, err := s.Bucket(ctx, name)
	if err != nil || item.Version > 0 {
		return item, err
	}
	item, err = s.Make(ctx, item)
	if errors.Is(err, registry.ErrExists) || errors.Is(err, registry.ErrChanged) { // somebody else was faster
		return s.Bucket(ctx, name)
	}
	return item, err
}

// Buckets returns up to limit buckets of an account, by name, after one of them (empty: from the first).
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

// Update changes a bucket from the version that the item has: [registry.ErrChanged] if it is at another, [ErrNoBucket] if it is not
// there. Its owner and the time it was made stay.
func (s *Store) Update(ctx context.Context, item registry.Item[registry.Bucket]) (registry.Item[registry.Bucket], error) {
	is, err := s.config.Buckets.Get(ctx, registry.Global, item.Name)
	if errors.Is(err, registry.ErrNotFound) {
		return item, ErrNoBucket
	}
	if err != nil {
		return item, err
	}
	if item.Version == 0 { // 0 would make a new one
		return item, fmt.Errorf("update bucket %s: no version is given", item.Name)
	}
	item.Scope, item.Of.Owner, item.Of.Made = registry.Global, is.Of.Owner, is.Of.Made
	item, err = s.config.Buckets.Put(ctx, item)
	if errors.Is(err, registry.ErrNotFound) {
		return item, ErrNoBucket
	}
	return item, err
}

// Change changes a bucket as change does, which may be called again with the bucket as it is then. Its error is returned as it is,
// and nothing is changed.
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

// Remove removes an empty bucket of the account of place. It returns [ErrNotEmpty], or [ErrNoBucket] if that account has no bucket of
// the name. Uploads that are not complete go with it.
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
	// A crash between the two leaves uploads of no bucket, which Make removes.
	if err := s.config.Buckets.Delete(ctx, registry.Global, name, is.Version); err != nil {
		if errors.Is(err, registry.ErrNotFound) {
			return ErrNoBucket
		}
		return err
	}
	return cleanError("remove what was left", name, s.root.RemoveAll(bucketDir(name)))
}

// bucketDir is the directory of a bucket, whose name is valid.
func bucketDir(bucket string) string { return bucketsDir + "/" + encodeName(bucket) }
