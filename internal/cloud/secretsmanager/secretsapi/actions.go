package secretsapi

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/internal/api/awsjson"
	"github.com/pintle-dev/pintle/internal/cloud/registry"
	"github.com/pintle-dev/pintle/internal/cloud/secretsmanager"
)

type tag struct{ Key, Value string }

func tagMap(list []tag) map[string]string {
	if len(list) == 0 {
		return nil
	}
	tags := make(map[string]string, len(list))
	for _, t := range list {
		tags[t.Key] = t.Value
	}
	return tags
}

func tagList(tags map[string]string) []tag {
	list := make([]tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, tag{key, tags[key]})
	}
	return list
}

// identity is the common part of most responses.
type identity struct {
	ARN       string
	Name      string
	VersionID string `json:"VersionId,omitempty"`
}

func identify(i secretsmanager.Item, version string) identity {
	return identity{secretsmanager.ARN(i), i.Name, version}
}

func required(id string) error {
	if id == "" {
		return awsjson.Refuse(secretsmanager.CodeValidation, "1 validation error detected: Value at 'secretId' failed to satisfy constraint: "+
			"Member must have length greater than or equal to 1")
	}
	if len(id) > 2048 {
		return awsjson.Refuse(secretsmanager.CodeValidation, "1 validation error detected: Value at 'secretId' failed to satisfy constraint: "+
			"Member must have length less than or equal to 2048")
	}
	return nil
}

type createInput struct {
	Name, ClientRequestToken, Description string
	KmsKeyID                              string `json:"KmsKeyId"`
	SecretString                          *string
	SecretBinary                          []byte
	Tags                                  []tag
	AddReplicaRegions                     []any
}

func (c *call) create(in createInput) (out identity, err error) {
	if len(in.AddReplicaRegions) > 0 {
		return out, awsjson.Refuse(secretsmanager.CodeParameter, "This version of Pintle does not replicate secrets: leave out AddReplicaRegions.")
	}
	made, err := c.Secrets.Create(c.ctx, secretsmanager.NewSecret{
		Place: c.place, Name: in.Name, Description: in.Description, Key: in.KmsKeyID, Tags: tagMap(in.Tags), Token: in.ClientRequestToken,
		Value: secretsmanager.Value{Text: in.SecretString, Binary: in.SecretBinary},
	})
	if err != nil {
		return out, err
	}
	version := ""
	if len(made.Of.Versions) > 0 {
		version = made.Of.Versions[0].ID
	}
	return identify(made, version), nil
}

type valueInput struct {
	SecretID     string `json:"SecretId"`
	VersionID    string `json:"VersionId"`
	VersionStage string
}

type valueOutput struct {
	identity
	SecretString  *string `json:",omitempty"`
	SecretBinary  []byte  `json:",omitempty"`
	VersionStages []string
	CreatedDate   *float64 `json:",omitempty"`
}

func (c *call) value(in valueInput) (out valueOutput, err error) {
	if err := required(in.SecretID); err != nil {
		return out, err
	}
	i, v, err := c.Secrets.Version(c.ctx, c.place, in.SecretID, in.VersionID, in.VersionStage)
	if err != nil {
		return out, err
	}
	return valueOutput{identify(i, v.ID), v.Text, v.Binary, stagesOf(v), seconds(v.Made)}, nil
}

func stagesOf(v registry.SecretVersion) []string { return append([]string{}, v.Stages...) }

type secretInput struct {
	SecretID string `json:"SecretId"`
}

// secretView is a secret in the output of DescribeSecret and ListSecrets.
type secretView struct {
	ARN             string
	Name            string
	Description     string   `json:",omitempty"`
	KmsKeyID        string   `json:"KmsKeyId,omitempty"`
	LastChangedDate *float64 `json:",omitempty"`
	DeletedDate     *float64 `json:",omitempty"`
	CreatedDate     *float64 `json:",omitempty"`
	Tags            []tag    `json:",omitempty"`
}

func view(i secretsmanager.Item) secretView {
	return secretView{
		ARN: secretsmanager.ARN(i), Name: i.Name, Description: i.Of.Description, KmsKeyID: i.Of.Key, LastChangedDate: seconds(i.Of.Changed),
		DeletedDate: seconds(i.Of.Deleted), CreatedDate: seconds(i.Of.Made), Tags: tagList(registry.TagsOf(i.Owner, i.Of.Tags)),
	}
}

// stages returns the versions with staging labels.
func stages(i secretsmanager.Item) map[string][]string {
	list := make(map[string][]string)
	for _, v := range i.Of.Versions {
		if len(v.Stages) > 0 {
			list[v.ID] = v.Stages
		}
	}
	return list
}

type describeOutput struct {
	secretView
	VersionIDsToStages map[string][]string `json:"VersionIdsToStages,omitempty"`
}

func (c *call) describe(in secretInput) (out describeOutput, err error) {
	if err := required(in.SecretID); err != nil {
		return out, err
	}
	i, err := c.Secrets.Find(c.ctx, c.place, in.SecretID)
	if err != nil {
		return out, err
	}
	return describeOutput{view(i), stages(i)}, nil
}

type listInput struct {
	Filters                []filter
	IncludePlannedDeletion bool
	MaxResults             *int
	NextToken              string
	SortOrder              string
}

type filter struct {
	Key    string
	Values []string
}

type listEntry struct {
	secretView
	SecretVersionsToStages map[string][]string `json:",omitempty"`
}

type listOutput struct {
	SecretList []listEntry
	NextToken  string `json:",omitempty"`
}

// maxList is the maximum page size. Source: Secrets Manager API Reference, ListSecrets.
const maxList = 100

// afterSecret is a position in a list of secrets, which is sorted by name.
type afterSecret struct {
	Name string `json:"n"`
}

// list returns secrets, sorted by name. Filters apply to the page that was read, so a page may be shorter than the
// limit.
func (c *call) list(in listInput) (out listOutput, err error) {
	out.SecretList = []listEntry{}
	limit := maxList
	if in.MaxResults != nil {
		limit = *in.MaxResults
	}
	if limit < 1 || limit > maxList {
		return out, awsjson.Refuse(secretsmanager.CodeParameter, "MaxResults must be from 1 to %d.", maxList)
	}
	if in.SortOrder == "desc" {
		return out, awsjson.Refuse(secretsmanager.CodeParameter, "This version of Pintle lists secrets by name, in ascending order: leave out SortOrder.")
	}
	for _, f := range in.Filters {
		if !slices.Contains([]string{"all", "name", "description", "tag-key", "tag-value"}, f.Key) {
			return out, awsjson.Refuse(secretsmanager.CodeValidation, "This version of Pintle filters secrets by all, name, description, tag-key and tag-value, not by %.64q.", f.Key)
		}
	}
	scope := "ListSecrets " + c.place.Account + " " + c.place.Region
	var at afterSecret
	if in.NextToken != "" {
		if err := c.Tokens.Decode(scope, in.NextToken, &at); err != nil {
			return out, awsjson.Refuse("InvalidNextTokenException", "The NextToken is not one that ListSecrets returned: start again without it.")
		}
	}
	page, more, err := c.Secrets.List(c.ctx, c.place, at.Name, limit)
	if err != nil {
		return out, err
	}
	for _, i := range page {
		if (in.IncludePlannedDeletion || i.Of.Due.IsZero()) && passes(i, in.Filters) {
			out.SecretList = append(out.SecretList, listEntry{view(i), stages(i)})
		}
	}
	if more {
		out.NextToken, err = c.Tokens.Encode(scope, afterSecret{page[len(page)-1].Name})
	}
	return out, err
}

// passes reports whether a secret passes all filters. For each filter, one of the values must be a prefix of a text
// for its key. "!" negates a value.
func passes(i secretsmanager.Item, filters []filter) bool {
	for _, f := range filters {
		var texts []string
		if f.Key == "name" || f.Key == "all" {
			texts = append(texts, i.Name)
		}
		if f.Key == "description" || f.Key == "all" {
			texts = append(texts, i.Of.Description)
		}
		for key, value := range registry.TagsOf(i.Owner, i.Of.Tags) {
			if f.Key == "tag-key" || f.Key == "all" {
				texts = append(texts, key)
			}
			if f.Key == "tag-value" || f.Key == "all" {
				texts = append(texts, value)
			}
		}
		if !slices.ContainsFunc(f.Values, func(value string) bool {
			prefix, negated := strings.CutPrefix(value, "!")
			return negated != slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, prefix) })
		}) {
			return false
		}
	}
	return true
}

type putInput struct {
	SecretID           string `json:"SecretId"`
	ClientRequestToken string
	SecretString       *string
	SecretBinary       []byte
	VersionStages      []string
}

type putOutput struct {
	identity
	VersionStages []string
}

func (c *call) put(in putInput) (out putOutput, err error) {
	if err := required(in.SecretID); err != nil {
		return out, err
	}
	i, added, err := c.Secrets.Put(c.ctx, c.place, in.SecretID, in.ClientRequestToken,
		secretsmanager.Value{Text: in.SecretString, Binary: in.SecretBinary}, in.VersionStages)
	if err != nil {
		return out, err
	}
	return putOutput{identify(i, added.ID), stagesOf(added)}, nil
}

type updateInput struct {
	SecretID           string `json:"SecretId"`
	ClientRequestToken string
	Description        *string
	KmsKeyID           *string `json:"KmsKeyId"`
	SecretString       *string
	SecretBinary       []byte
}

func (c *call) update(in updateInput) (out identity, err error) {
	if err := required(in.SecretID); err != nil {
		return out, err
	}
	i, version, err := c.Secrets.Update(c.ctx, c.place, in.SecretID, secretsmanager.Change{
		Description: in.Description, Key: in.KmsKeyID, Token: in.ClientRequestToken,
		Value: secretsmanager.Value{Text: in.SecretString, Binary: in.SecretBinary},
	})
	if err != nil {
		return out, err
	}
	return identify(i, version), nil
}

type moveInput struct {
	SecretID            string `json:"SecretId"`
	VersionStage        string
	RemoveFromVersionID string `json:"RemoveFromVersionId"`
	MoveToVersionID     string `json:"MoveToVersionId"`
}

func (c *call) moveStage(in moveInput) (out identity, err error) {
	if err := required(in.SecretID); err != nil {
		return out, err
	}
	i, err := c.Secrets.MoveStage(c.ctx, c.place, in.SecretID, in.VersionStage, in.RemoveFromVersionID, in.MoveToVersionID)
	if err != nil {
		return out, err
	}
	return identify(i, ""), nil
}

type removeInput struct {
	SecretID                   string `json:"SecretId"`
	RecoveryWindowInDays       *int
	ForceDeleteWithoutRecovery bool
}

type removeOutput struct {
	identity
	DeletionDate *float64
}

func (c *call) remove(in removeInput) (out removeOutput, err error) {
	if err := required(in.SecretID); err != nil {
		return out, err
	}
	if !in.ForceDeleteWithoutRecovery {
		i, err := c.Secrets.Delete(c.ctx, c.place, in.SecretID, in.RecoveryWindowInDays)
		if err != nil {
			return out, err
		}
		return removeOutput{identify(i, ""), seconds(i.Of.Due)}, nil
	}
	if in.RecoveryWindowInDays != nil {
		return out, awsjson.Refuse(secretsmanager.CodeParameter, "You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.")
	}
	i, at, err := c.Secrets.Remove(c.ctx, c.place, in.SecretID)
	if err != nil {
		return out, err
	}
	return removeOutput{identify(i, ""), seconds(at)}, nil
}

func (c *call) restore(in secretInput) (out identity, err error) {
	if err := required(in.SecretID); err != nil {
		return out, err
	}
	i, err := c.Secrets.Restore(c.ctx, c.place, in.SecretID)
	if err != nil {
		return out, err
	}
	return identify(i, ""), nil
}

type passwordInput struct {
	PasswordLength          *int
	ExcludeCharacters       string
	ExcludeNumbers          bool
	ExcludePunctuation      bool
	ExcludeUppercase        bool
	ExcludeLowercase        bool
	IncludeSpace            bool
	RequireEachIncludedType *bool
}

type passwordOutput struct{ RandomPassword string }

func (c *call) password(in passwordInput) (out passwordOutput, err error) {
	out.RandomPassword, err = secretsmanager.Password{
		Exclude: in.ExcludeCharacters, NoLowercase: in.ExcludeLowercase, NoUppercase: in.ExcludeUppercase, NoNumbers: in.ExcludeNumbers,
		NoPunctuation: in.ExcludePunctuation, Space: in.IncludeSpace, Length: in.PasswordLength,
		NotEach: in.RequireEachIncludedType != nil && !*in.RequireEachIncludedType,
	}.Generate()
	return out, err
}

type versionsInput struct {
	SecretID          string `json:"SecretId"`
	IncludeDeprecated bool
}

type versionView struct {
	VersionID     string   `json:"VersionId"`
	VersionStages []string `json:",omitempty"`
	CreatedDate   *float64
}

type versionsOutput struct {
	Versions []versionView
	identity
}

// versions returns all versions on one page, because a secret has only a few.
func (c *call) versions(in versionsInput) (out versionsOutput, err error) {
	if err := required(in.SecretID); err != nil {
		return out, err
	}
	i, err := c.Secrets.Find(c.ctx, c.place, in.SecretID)
	if err != nil {
		return out, err
	}
	out = versionsOutput{[]versionView{}, identify(i, "")}
	for _, v := range i.Of.Versions {
		if in.IncludeDeprecated || len(v.Stages) > 0 {
			out.Versions = append(out.Versions, versionView{v.ID, v.Stages, seconds(v.Made)})
		}
	}
	slices.SortStableFunc(out.Versions, func(a, b versionView) int { return cmp.Compare(*b.CreatedDate, *a.CreatedDate) })
	return out, nil
}

type tagInput struct {
	SecretID string `json:"SecretId"`
	Tags     []tag
}

func (c *call) tag(in tagInput) (none awsjson.None, err error) {
	if err := required(in.SecretID); err != nil {
		return none, err
	}
	return none, c.Secrets.Tag(c.ctx, c.place, in.SecretID, tagMap(in.Tags), nil)
}

type untagInput struct {
	SecretID string `json:"SecretId"`
	TagKeys  []string
}

func (c *call) untag(in untagInput) (none awsjson.None, err error) {
	if err := required(in.SecretID); err != nil {
		return none, err
	}
	return none, c.Secrets.Tag(c.ctx, c.place, in.SecretID, nil, in.TagKeys)
}
