// Package secretsmanager is the local stand-in for Secrets Manager: secrets, their versions, and staging labels.
//
// Secrets are items of the catalog, so the store seals them. No error quotes a value.
//
// Source: Secrets Manager API Reference, version 2017-10-17; Secrets Manager User Guide, "What's in a Secrets Manager
// secret?".
package secretsmanager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/wire"
)

// Staging labels that Secrets Manager moves by itself.
const (
	Current  = "AWSCURRENT"
	Previous = "AWSPREVIOUS"
)

// Limits. Source: Secrets Manager quotas. maxUnstaged is our choice: AWS keeps about 100 versions without a label.
const (
	maxValue       = 64 << 10 // bytes
	maxStages      = 20       // labels of all versions of a secret
	maxUnstaged    = 10
	maxTags        = 50
	maxDescription = 2048
	maxKey         = 2048
	minWindow      = 7 // days
	maxWindow      = 30
)

// Error codes for clients.
const (
	CodeNotFound   = "ResourceNotFoundException"
	CodeExists     = "ResourceExistsException"
	CodeRequest    = "InvalidRequestException"
	CodeParameter  = "InvalidParameterException"
	CodeValidation = "ValidationException"
	CodeLimit      = "LimitExceededException"
)

// Error is a client error, with the code and the message for clients.
type Error struct{ Code, Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Missing reports whether the whole secret is missing, rather than one of its versions.
func (e *Error) Missing() bool { return e == errNotFound }

// Is reports that a missing secret, version or value is [registry.ErrNotFound], and an existing one
// [registry.ErrExists].
func (e *Error) Is(target error) bool {
	return target == registry.ErrNotFound && e.Code == CodeNotFound || target == registry.ErrExists && e.Code == CodeExists
}

func refuse(code, format string, args ...any) *Error {
	return &Error{code, fmt.Sprintf(format, args...)}
}

var (
	errNotFound = refuse(CodeNotFound, "Secrets Manager can't find the specified secret.")
	errDeleted  = refuse(CodeRequest, "You can't perform this operation on the secret because it was marked for deletion.")
)

// Item is a secret in the catalog.
type Item = registry.Item[registry.Secret]

// Secrets are the secrets of all accounts and regions. It is safe for concurrent use.
type Secrets struct {
	shelf *registry.Collection[registry.Secret]
	now   func() time.Time
}

// New returns the secrets of a catalog. A nil clock means the system clock.
func New(shelf *registry.Collection[registry.Secret], now func() time.Time) *Secrets {
	if now == nil {
		now = time.Now
	}
	return &Secrets{shelf, now}
}

// Value is the value of a secret version: Text or Binary, or neither.
type Value struct {
	Text   *string
	Binary []byte
}

func (v Value) empty() bool { return v.Text == nil && v.Binary == nil }

func (v Value) check() error {
	size := len(v.Binary)
	if v.Text != nil {
		size = len(*v.Text)
	}
	switch {
	case v.Text != nil && v.Binary != nil:
		return refuse(CodeParameter, "You can't specify both a binary secret value and a string secret value in the same secret.")
	case size > maxValue:
		return refuse(CodeValidation, "The secret value must have at most %d bytes.", maxValue)
	case v.Text != nil && *v.Text == "" || v.Binary != nil && size == 0:
		return refuse(CodeParameter, "The secret value must not be empty.")
	}
	return nil
}

func (v Value) is(version registry.SecretVersion) bool {
	switch {
	case v.Text != nil:
		return version.Text != nil && *v.Text == *version.Text
	default:
		return version.Binary != nil && bytes.Equal(v.Binary, version.Binary)
	}
}

// NewSecret describes a secret to create.
type NewSecret struct {
	Place             registry.Scope
	Name              string
	Description, Key  string
	Tags              map[string]string
	Value             Value
	Token             string // becomes the version ID; empty for a new one
	Holder            string // see registry.OwnerOf
	Rest              []byte
	GenerateIfMissing func() (Value, error) // called if Value is empty and the secret is new; may be nil
}

var (
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9/_+=.@!-]{1,512}$`)
	tokenForm = regexp.MustCompile(`^[\x21-\x7e]{32,64}$`)
)

// CheckName returns an [Error] if a secret name is invalid.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return refuse(CodeValidation, "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!")
	}
	return nil
}

func checkToken(token string) error {
	if token != "" && !tokenForm.MatchString(token) {
		return refuse(CodeParameter, "ClientRequestToken must be 32-64 characters long.")
	}
	return nil
}

func checkTexts(description, key string) error {
	if len([]rune(description)) > maxDescription || len(key) > maxKey {
		return refuse(CodeValidation, "Description and KmsKeyId must each have at most %d characters.", maxDescription)
	}
	return nil
}

func checkTags(tags map[string]string) error {
	for key, value := range tags {
		switch {
		case key == "" || len([]rune(key)) > 128 || len([]rune(value)) > 256:
			return refuse(CodeParameter, "A tag must have a key of 1 to 128 characters and a value of at most 256.")
		case strings.HasPrefix(strings.ToLower(key), "aws:"):
			return refuse(CodeParameter, "Tag keys that begin with aws: are reserved.")
		}
	}
	if len(tags) > maxTags {
		return refuse(CodeLimit, "A secret has at most %d tags.", maxTags)
	}
	return nil
}

// suffixLetters are the characters of the suffix of an ARN.
const suffixLetters = lowercase + uppercase + numbers

// Create creates a secret. A repeated call with the token of the first version and the same value returns the
// existing secret, and so does a repeated call with the same holder.
func (s *Secrets) Create(ctx context.Context, in NewSecret) (Item, error) {
	for _, err := range []error{CheckName(in.Name), in.Value.check(), checkToken(in.Token), checkTexts(in.Description, in.Key), checkTags(in.Tags)} {
		if err != nil {
			return Item{}, err
		}
	}
	there, err := s.get(ctx, in.Place, in.Name)
	switch {
	case err == nil:
		return s.again(there, in)
	case !errors.Is(err, registry.ErrNotFound):
		return there, err
	}
	if in.Value.empty() && in.GenerateIfMissing != nil {
		if in.Value, err = in.GenerateIfMissing(); err != nil {
			return there, err
		}
		if err := in.Value.check(); err != nil {
			return there, err
		}
	}
	now := s.now().UTC()
	suffix := make([]byte, 6)
	for i := range suffix {
		suffix[i] = pick(suffixLetters)
	}
	item := Item{Scope: in.Place, Name: in.Name, Owner: in.Holder, Of: registry.Secret{
		Suffix: string(suffix), Description: in.Description, Key: in.Key, Tags: in.Tags, Made: now, Changed: now, Rest: in.Rest,
	}}
	if !in.Value.empty() {
		item.Of.Versions = []registry.SecretVersion{version(in.Token, in.Value, []string{Current}, now)}
	}
	made, err := s.shelf.Put(ctx, item)
	if errors.Is(err, registry.ErrExists) {
		if there, err = s.get(ctx, in.Place, in.Name); err == nil {
			return s.again(there, in)
		}
	}
	return made, err
}

// again returns the result of a Create whose name is taken.
func (s *Secrets) again(there Item, in NewSecret) (Item, error) {
	switch {
	case in.Holder != "" && there.Owner == in.Holder:
		return there, nil
	case !there.Of.Due.IsZero():
		return there, refuse(CodeRequest, "You can't create this secret because a secret with this name is already scheduled for deletion.")
	case in.Holder == "" && in.Token != "" && !in.Value.empty():
		if i := slices.IndexFunc(there.Of.Versions, func(v registry.SecretVersion) bool { return v.ID == in.Token }); i >= 0 && in.Value.is(there.Of.Versions[i]) {
			return there, nil
		}
	}
	return there, refuse(CodeExists, "The operation failed because the secret %s already exists.", in.Name)
}

func version(id string, v Value, stages []string, now time.Time) registry.SecretVersion {
	if id == "" {
		id = uuid.NewString()
	}
	return registry.SecretVersion{ID: id, Stages: stages, Text: v.Text, Binary: v.Binary, Made: now}
}

// ARN returns the ARN of a secret.
func ARN(i Item) string { return arnPrefix(i.Scope) + i.Name + "-" + i.Of.Suffix }

func arnPrefix(place registry.Scope) string {
	return "arn:" + wire.Partition(place.Region) + ":secretsmanager:" + place.Region + ":" + place.Account + ":secret:"
}

// suffixSize is the length of the ARN suffix with its hyphen.
const suffixSize = 7

// Find returns a secret by its name, its ARN, or its ARN without the suffix, even if it is marked for deletion. It
// returns [registry.ErrNotFound] for a missing secret.
func (s *Secrets) Find(ctx context.Context, place registry.Scope, id string) (Item, error) {
	if !strings.HasPrefix(id, "arn:") {
		return s.get(ctx, place, id)
	}
	parts := strings.SplitN(id, ":", 7)
	if len(parts) != 7 || parts[2] != "secretsmanager" || parts[5] != "secret" {
		return Item{}, refuse(CodeParameter, "Invalid ARN: it must be arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME-SUFFIX.")
	}
	if parts[3] != place.Region || parts[4] != place.Account {
		return Item{}, errNotFound
	}
	rest := parts[6]
	if len(rest) > suffixSize {
		i, err := s.get(ctx, place, rest[:len(rest)-suffixSize])
		if err == nil && strings.HasSuffix(ARN(i), ":"+rest) || err != nil && !errors.Is(err, registry.ErrNotFound) {
			return i, err
		}
	}
	return s.get(ctx, place, rest)
}

// get returns a secret by its name. It first removes a secret whose recovery window is past.
func (s *Secrets) get(ctx context.Context, place registry.Scope, name string) (Item, error) {
	i, err := s.shelf.Get(ctx, place, name)
	if errors.Is(err, registry.ErrNotFound) {
		return i, errNotFound
	}
	if err == nil && s.over(i) {
		if err := s.shelf.Delete(ctx, place, name, i.Version); err != nil && !errors.Is(err, registry.ErrNotFound) && !errors.Is(err, registry.ErrChanged) {
			return i, err
		}
		return Item{}, errNotFound
	}
	return i, err
}

func (s *Secrets) over(i Item) bool { return !i.Of.Due.IsZero() && !i.Of.Due.After(s.now()) }

// List returns up to limit secrets in a scope, sorted by name, that come after a name. more reports whether there are
// others.
func (s *Secrets) List(ctx context.Context, place registry.Scope, after string, limit int) (list []Item, more bool, err error) {
	for {
		page, err := s.shelf.List(ctx, place, after, limit+1)
		if err != nil {
			return nil, false, err
		}
		for _, i := range page {
			switch after = i.Name; {
			case s.over(i):
			case len(list) == limit:
				return list, true, nil
			default:
				list = append(list, i)
			}
		}
		if len(page) <= limit {
			return list, false, nil
		}
	}
}

// change changes a secret that is not marked for deletion.
func (s *Secrets) change(ctx context.Context, place registry.Scope, id string, change func(*Item) error) (Item, error) {
	i, err := s.Find(ctx, place, id)
	if err != nil {
		return i, err
	}
	changed, err := s.shelf.Change(ctx, i.Scope, i.Name, func(there *Item) error {
		if there.Of.Suffix != i.Of.Suffix {
			return errNotFound
		}
		if !there.Of.Due.IsZero() {
			return errDeleted
		}
		return change(there)
	})
	if errors.Is(err, registry.ErrNotFound) {
		err = errNotFound
	}
	return changed, err
}

// Version returns a version of a secret by its ID or a staging label. If both are empty, it returns the current
// version.
func (s *Secrets) Version(ctx context.Context, place registry.Scope, id, versionID, stage string) (Item, registry.SecretVersion, error) {
	i, err := s.Find(ctx, place, id)
	switch {
	case err != nil:
		return i, registry.SecretVersion{}, err
	case !i.Of.Due.IsZero():
		return i, registry.SecretVersion{}, errDeleted
	}
	if versionID == "" && stage == "" {
		stage = Current
	}
	for _, v := range i.Of.Versions {
		if versionID != "" && v.ID != versionID || versionID == "" && !slices.Contains(v.Stages, stage) {
			continue
		}
		if stage != "" && !slices.Contains(v.Stages, stage) {
			return i, v, refuse(CodeRequest, "You provided a VersionStage that is not associated to the provided VersionId.")
		}
		return i, v, nil
	}
	if versionID != "" {
		return i, registry.SecretVersion{}, refuse(CodeNotFound, "Secrets Manager can't find the specified secret value for VersionId: %.64s", versionID)
	}
	return i, registry.SecretVersion{}, refuse(CodeNotFound, "Secrets Manager can't find the specified secret value for staging label: %.256s", stage)
}

// Put adds a version with staging labels. Without labels, the version gets AWSCURRENT. token becomes its ID. A
// repeated call with the same token and value changes nothing.
func (s *Secrets) Put(ctx context.Context, place registry.Scope, id, token string, v Value, stages []string) (i Item, added registry.SecretVersion, err error) {
	if v.empty() {
		return i, added, refuse(CodeRequest, "You must provide either SecretString or SecretBinary.")
	}
	for _, err := range []error{v.check(), checkToken(token), checkStages(stages)} {
		if err != nil {
			return i, added, err
		}
	}
	i, err = s.change(ctx, place, id, func(i *Item) (err error) {
		added, err = s.add(i, token, v, stages)
		return err
	})
	return i, added, err
}

func checkStages(stages []string) error {
	if len(stages) > maxStages {
		return refuse(CodeLimit, "A secret has at most %d staging labels.", maxStages)
	}
	for _, stage := range stages {
		if stage == "" || len(stage) > 256 {
			return refuse(CodeParameter, "A staging label must have 1 to 256 characters.")
		}
	}
	return nil
}

func (s *Secrets) add(i *Item, token string, v Value, stages []string) (registry.SecretVersion, error) {
	if at := slices.IndexFunc(i.Of.Versions, func(v registry.SecretVersion) bool { return v.ID == token }); at >= 0 {
		if v.is(i.Of.Versions[at]) {
			return i.Of.Versions[at], nil
		}
		return i.Of.Versions[at], refuse(CodeExists, "You can't use ClientRequestToken %s because that value is already in use for a version of secret %s.",
			token, ARN(*i))
	}
	if len(stages) == 0 {
		stages = []string{Current}
	}
	if len(i.Of.Versions) == 0 && !slices.Contains(stages, Current) {
		stages = append(slices.Clone(stages), Current) // the first version is always the current one
	}
	now := s.now().UTC()
	i.Of.Versions = append(i.Of.Versions, version(token, v, nil, now))
	for _, stage := range stages {
		move(i, stage, len(i.Of.Versions)-1)
	}
	if err := prune(i); err != nil {
		return registry.SecretVersion{}, err
	}
	i.Of.Changed = now
	return i.Of.Versions[len(i.Of.Versions)-1], nil
}

// move attaches a label to a version and removes it from the others. AWSPREVIOUS follows AWSCURRENT.
func move(i *Item, stage string, to int) {
	for at := range i.Of.Versions {
		v := &i.Of.Versions[at]
		had := slices.Contains(v.Stages, stage)
		switch {
		case at == to && !had:
			v.Stages = append(slices.Clone(v.Stages), stage)
		case at != to && had:
			v.Stages = slices.DeleteFunc(slices.Clone(v.Stages), func(s string) bool { return s == stage })
			if stage == Current {
				move(i, Previous, at)
			}
		}
	}
	if stage == Current {
		v := &i.Of.Versions[to]
		v.Stages = slices.DeleteFunc(slices.Clone(v.Stages), func(s string) bool { return s == Previous })
	}
}

// prune removes the oldest versions without a label, and returns an error if there are too many labels.
func prune(i *Item) error {
	stages, unstaged := 0, 0
	for _, v := range i.Of.Versions {
		if stages += len(v.Stages); len(v.Stages) == 0 {
			unstaged++
		}
	}
	if stages > maxStages {
		return refuse(CodeLimit, "A secret has at most %d staging labels.", maxStages)
	}
	i.Of.Versions = slices.DeleteFunc(i.Of.Versions, func(v registry.SecretVersion) bool {
		if len(v.Stages) > 0 || unstaged <= maxUnstaged {
			return false
		}
		unstaged--
		return true
	})
	return nil
}

// Change describes changes to a secret. Nil fields do not change.
type Change struct {
	Description, Key *string
	Tags             *map[string]string
	Value            Value
	Token            string
	Rest             *[]byte
}

// Update changes a secret. With a value, it adds a version, which becomes the current one, and returns the ID of that
// version. Otherwise the ID is "".
func (s *Secrets) Update(ctx context.Context, place registry.Scope, id string, c Change) (i Item, versionID string, err error) {
	description, key := "", ""
	if c.Description != nil {
		description = *c.Description
	}
	if c.Key != nil {
		key = *c.Key
	}
	for _, err := range []error{c.Value.check(), checkToken(c.Token), checkTexts(description, key)} {
		if err != nil {
			return i, "", err
		}
	}
	if c.Tags != nil {
		if err := checkTags(*c.Tags); err != nil {
			return i, "", err
		}
	}
	i, err = s.change(ctx, place, id, func(i *Item) error {
		if c.Description != nil {
			i.Of.Description = *c.Description
		}
		if c.Key != nil {
			i.Of.Key = *c.Key
		}
		if c.Tags != nil {
			i.Of.Tags = *c.Tags
		}
		if c.Rest != nil {
			i.Of.Rest = *c.Rest
		}
		i.Of.Changed = s.now().UTC()
		if c.Value.empty() {
			return nil
		}
		added, err := s.add(i, c.Token, c.Value, nil)
		versionID = added.ID
		return err
	})
	return i, versionID, err
}

// MoveStage attaches a staging label to version to and removes it from version from. One of them may be empty.
func (s *Secrets) MoveStage(ctx context.Context, place registry.Scope, id, stage, from, to string) (Item, error) {
	if err := checkStages([]string{stage}); err != nil {
		return Item{}, err
	}
	if from == "" && to == "" || stage == Current && to == "" {
		return Item{}, refuse(CodeParameter, "You must give MoveToVersionId, and RemoveFromVersionId if another version has the staging label.")
	}
	return s.change(ctx, place, id, func(i *Item) error {
		find := func(id string) int {
			return slices.IndexFunc(i.Of.Versions, func(v registry.SecretVersion) bool { return v.ID == id })
		}
		holder := slices.IndexFunc(i.Of.Versions, func(v registry.SecretVersion) bool { return slices.Contains(v.Stages, stage) })
		switch {
		case from != "" && find(from) < 0:
			return refuse(CodeNotFound, "Secrets Manager can't find the specified secret value for VersionId: %.64s", from)
		case to != "" && find(to) < 0:
			return refuse(CodeNotFound, "Secrets Manager can't find the specified secret value for VersionId: %.64s", to)
		case holder >= 0 && i.Of.Versions[holder].ID != from && i.Of.Versions[holder].ID != to, from != "" && holder != find(from):
			return refuse(CodeParameter, "The parameter RemoveFromVersionId must name the version that has the staging label %s.", stage)
		}
		if to == "" {
			v := &i.Of.Versions[holder]
			v.Stages = slices.DeleteFunc(slices.Clone(v.Stages), func(s string) bool { return s == stage })
		} else {
			move(i, stage, find(to))
		}
		i.Of.Changed = s.now().UTC()
		return prune(i)
	})
}

// Tag changes the tags of a secret: it adds or replaces put and removes the keys of drop.
func (s *Secrets) Tag(ctx context.Context, place registry.Scope, id string, put map[string]string, drop []string) error {
	_, err := s.change(ctx, place, id, func(i *Item) error {
		tags := make(map[string]string, len(i.Of.Tags)+len(put))
		for key, value := range i.Of.Tags {
			tags[key] = value
		}
		for key, value := range put {
			tags[key] = value
		}
		for _, key := range drop {
			delete(tags, key)
		}
		i.Of.Tags, i.Of.Changed = tags, s.now().UTC()
		return checkTags(tags)
	})
	return err
}

// Delete marks a secret for deletion after a number of days. Nil means 30. It returns the secret with the time of its
// removal.
func (s *Secrets) Delete(ctx context.Context, place registry.Scope, id string, days *int) (Item, error) {
	window := maxWindow
	if days != nil {
		window = *days
	}
	if window < minWindow || window > maxWindow {
		return Item{}, refuse(CodeParameter, "The RecoveryWindowInDays value must be between %d and %d days (inclusive).", minWindow, maxWindow)
	}
	return s.change(ctx, place, id, func(i *Item) error {
		i.Of.Deleted = s.now().UTC()
		i.Of.Due = i.Of.Deleted.AddDate(0, 0, window)
		return nil
	})
}

// Remove deletes a secret immediately, even if it is marked for deletion. It returns the previous secret and the
// time.
func (s *Secrets) Remove(ctx context.Context, place registry.Scope, id string) (Item, time.Time, error) {
	now := s.now().UTC()
	i, err := s.Find(ctx, place, id)
	if err != nil {
		return i, now, err
	}
	err = s.shelf.Delete(ctx, i.Scope, i.Name, 0)
	if errors.Is(err, registry.ErrNotFound) {
		err = errNotFound
	}
	return i, now, err
}

// Restore cancels a deletion within its recovery window. It does not change a secret that is not marked for deletion.
func (s *Secrets) Restore(ctx context.Context, place registry.Scope, id string) (Item, error) {
	i, err := s.Find(ctx, place, id)
	if err != nil {
		return i, err
	}
	return s.shelf.Change(ctx, i.Scope, i.Name, func(i *Item) error {
		i.Of.Deleted, i.Of.Due = time.Time{}, time.Time{}
		return nil
	})
}
