package ros

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pintle-dev/pintle/internal/api/rpc"
	"github.com/pintle-dev/pintle/internal/engine"
	"github.com/pintle-dev/pintle/internal/store"
)

// The kinds of entries of stored templates: one entry for a template, and one for each of its versions. A template
// belongs to an account and has no region. It lists the entries of its versions, which are written first. A crash in
// between leaves an entry that is never read.
const (
	templateKind  = "ros-template"
	versionKind   = "ros-template-version"
	templatePlace = "-"
)

// maxVersions is the maximum number of versions of a template. Source: ROS, UpdateTemplate.
const maxVersions = 100

// maxBody is the maximum size of a stored template in bytes. Source: ROS, CreateTemplate.
const maxBody = 524288

// keptTemplate is the stored form of a template.
type keptTemplate struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Created     time.Time   `json:"created"`
	Updated     time.Time   `json:"updated,omitzero"`
	Tags        []store.Tag `json:"tags,omitempty"`
	Group       string      `json:"group,omitempty"` // the resource group
	// Latest is the number of the latest version. Versions are the entry names of the versions up to Latest, in
	// ascending order.
	Latest   int      `json:"latest"`
	Versions []string `json:"versions"`
}

// version returns the entry name of a version, or false if the version does not exist.
func (k *keptTemplate) version(number int) (string, bool) {
	at := len(k.Versions) - 1 - (k.Latest - number)
	if number > k.Latest || at < 0 {
		return "", false
	}
	return k.Versions[at], true
}

// keptVersion is the stored form of a version.
type keptVersion struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Created     time.Time `json:"created"`
	Body        string    `json:"body"`
}

func templateKey(account, id string) store.EntryKey {
	return store.EntryKey{Account: account, Region: templatePlace, Kind: templateKind, Name: strings.ToLower(id)}
}

func versionKey(account, name string) store.EntryKey {
	return store.EntryKey{Account: account, Region: templatePlace, Kind: versionKind, Name: name}
}

// noTemplate is the error for a missing template. The misspelling is ROS's own.
func noTemplate(id, version string) error {
	if version != "" {
		version = " with version (" + version + ")"
	}
	return &rpc.Error{
		Code: "TemplateNotFound", Status: http.StatusNotFound,
		Message: "The Tempalte (" + id + ")" + version + " could not be found.", //nolint:misspell // the service's own spelling
	}
}

// storedTemplates answers the actions on stored templates.
type storedTemplates struct{ *handler }

// templateOf returns a template of the caller, and its entry.
func (f storedTemplates) templateOf(ctx context.Context, id string) (keptTemplate, store.Entry, error) {
	var kept keptTemplate
	caller, err := f.who(ctx)
	if err != nil {
		return kept, store.Entry{}, err
	}
	entry, err := f.rows.Entry(ctx, templateKey(caller.Account, id))
	if errors.Is(err, store.ErrNotFound) {
		return kept, entry, noTemplate(id, "")
	}
	if err == nil {
		err = json.Unmarshal(entry.Definition, &kept)
	}
	return kept, entry, err
}

// bodyOf returns a version of a template. version is v and a number, or empty for the latest.
func (f storedTemplates) bodyOf(ctx context.Context, id, version string) (keptTemplate, keptVersion, string, error) {
	var of keptVersion
	kept, entry, err := f.templateOf(ctx, id)
	if err != nil {
		return kept, of, "", err
	}
	number := kept.Latest
	if version != "" {
		digits, ok := strings.CutPrefix(version, "v")
		if number, err = strconv.Atoi(digits); err != nil || !ok {
			return kept, of, "", noTemplate(id, version)
		}
	}
	name, ok := kept.version(number)
	if !ok {
		return kept, of, "", noTemplate(id, version)
	}
	held, err := f.rows.Entry(ctx, versionKey(entry.Account, name))
	if errors.Is(err, store.ErrNotFound) { // it has just been deleted
		return kept, of, "", noTemplate(id, version)
	}
	if err == nil {
		err = json.Unmarshal(held.Definition, &of)
	}
	return kept, of, "v" + strconv.Itoa(number), err
}

// put stores a value under a key. version is the version that was read, or 0 for a new entry.
func (f storedTemplates) put(ctx context.Context, key store.EntryKey, version int64, of any) error {
	text, err := json.Marshal(of)
	if err != nil {
		return err
	}
	_, err = f.rows.PutEntry(ctx, store.Entry{EntryKey: key, Version: version, Definition: text})
	return err
}

// changed applies a change to a template. It retries if another call has changed the template in the meantime.
func (f storedTemplates) changed(ctx context.Context, id string, change func(kept *keptTemplate) error) error {
	for {
		kept, entry, err := f.templateOf(ctx, id)
		if err != nil {
			return err
		}
		if err := change(&kept); err != nil {
			return err
		}
		switch err := f.put(ctx, entry.EntryKey, entry.Version, kept); {
		case errors.Is(err, store.ErrNotFound):
			return noTemplate(id, "")
		case !errors.Is(err, store.ErrChanged):
			return err
		}
	}
}

// checkBody returns an error for a text that is too long or not a ROS template.
func (f storedTemplates) checkBody(text string) error {
	if len(text) > maxBody {
		return rpc.Invalid("TemplateBody", "it has %d bytes, at most %d are allowed", len(text), maxBody)
	}
	_, err := f.engine.CheckIn(engine.ROS, text)
	return err
}

type createTemplateInput struct {
	region
	TemplateName  string `rpc:",required" length:",255" pattern:"[a-zA-Z0-9][-_a-zA-Z0-9]*"`
	Description   string `length:",256"`
	TemplateBody  string
	TemplateURL   string     `length:",1024"`
	Tags          []tagInput `length:",20"`
	ResourceGroup string     `rpc:"ResourceGroupId" length:",64" pattern:"[-_a-zA-Z0-9]*"`
}

type templateIDOutput struct {
	TemplateID      string `json:"TemplateId"`
	TemplateVersion string `json:",omitempty"`
}

// createTemplate stores a template with its first version.
func (f storedTemplates) createTemplate(ctx context.Context, in createTemplateInput) (templateIDOutput, error) {
	caller, err := f.who(ctx)
	if err != nil {
		return templateIDOutput{}, err
	}
	text, err := f.needed(ctx, templateInput{TemplateBody: in.TemplateBody, TemplateURL: in.TemplateURL})
	if err == nil {
		err = f.checkBody(text)
	}
	if err != nil {
		return templateIDOutput{}, err
	}
	id, first := uuid.NewString(), uuid.NewString()
	kept := keptTemplate{Name: in.TemplateName, Description: in.Description, Created: f.now(), Latest: 1, Versions: []string{first}, Group: in.ResourceGroup}
	for _, t := range in.Tags {
		kept.Tags = append(kept.Tags, store.Tag(t))
	}
	if refused := checkTags("Tags", kept.Tags); refused != nil {
		return templateIDOutput{}, refused
	}
	if err := f.put(ctx, versionKey(caller.Account, first), 0, keptVersion{kept.Name, kept.Description, kept.Created, text}); err != nil {
		return templateIDOutput{}, err
	}
	return templateIDOutput{TemplateID: id}, f.put(ctx, templateKey(caller.Account, id), 0, kept)
}

type updateTemplateInput struct {
	region
	TemplateID     string  `rpc:"TemplateId,required" length:",64"`
	TemplateName   string  `length:",255" pattern:"[a-zA-Z0-9][-_a-zA-Z0-9]*"`
	Description    *string `length:",256"`
	TemplateBody   string
	TemplateURL    string `length:",1024"`
	RotateStrategy string `enum:"None,DeleteOldestNonSharedVersionWhenLimitExceed"`
	IsDraft        bool
}

// updateTemplate changes a template. A different body creates a new version. Previous versions are kept.
func (f storedTemplates) updateTemplate(ctx context.Context, in updateTemplateInput) (templateIDOutput, error) {
	out := templateIDOutput{TemplateID: in.TemplateID}
	if in.IsDraft {
		return out, rpc.NotSupported("IsDraft", "Every version of a template is released: omit the parameter.")
	}
	text, given, err := f.text(ctx, templateInput{TemplateBody: in.TemplateBody, TemplateURL: in.TemplateURL})
	if err == nil && given {
		err = f.checkBody(text)
	}
	if err != nil {
		return out, err
	}
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	next, written, oldest := uuid.NewString(), false, ""
	err = f.changed(ctx, in.TemplateID, func(kept *keptTemplate) error {
		_, last, version, err := f.bodyOf(ctx, in.TemplateID, "")
		if err != nil {
			return err
		}
		if in.TemplateName != "" {
			kept.Name = in.TemplateName
		}
		if in.Description != nil {
			kept.Description = *in.Description
		}
		kept.Updated, oldest = f.now(), ""
		if out.TemplateVersion = version; !given || last.Body == text {
			return nil
		}
		if len(kept.Versions) == maxVersions {
			if in.RotateStrategy != "DeleteOldestNonSharedVersionWhenLimitExceed" {
				return rpc.Invalid("TemplateId", "the template has %d versions, which is the limit: RotateStrategy "+
					"DeleteOldestNonSharedVersionWhenLimitExceed deletes the oldest", maxVersions)
			}
			oldest, kept.Versions = kept.Versions[0], kept.Versions[1:]
		}
		if !written {
			err = f.put(ctx, versionKey(caller.Account, next), 0, keptVersion{kept.Name, kept.Description, kept.Updated, text})
		}
		written = written || err == nil
		kept.Latest, kept.Versions = kept.Latest+1, append(kept.Versions, next)
		out.TemplateVersion = "v" + strconv.Itoa(kept.Latest)
		return err
	})
	if err != nil && written {
		oldest = next
	}
	if oldest != "" {
		if dropped := f.rows.DropEntry(ctx, versionKey(caller.Account, oldest), 0); err == nil && !errors.Is(dropped, store.ErrNotFound) {
			err = dropped
		}
	}
	return out, err
}

type templateIDInput struct {
	region
	TemplateID string `rpc:"TemplateId,required" length:",64"`
}

// deleteTemplate deletes a template, and then its versions. Its stacks are not affected.
func (f storedTemplates) deleteTemplate(ctx context.Context, in templateIDInput) (rpc.None, error) {
	kept, entry, err := f.templateOf(ctx, in.TemplateID)
	if err != nil {
		return rpc.None{}, err
	}
	if err := f.rows.DropEntry(ctx, entry.EntryKey, 0); errors.Is(err, store.ErrNotFound) {
		return rpc.None{}, noTemplate(in.TemplateID, "")
	} else if err != nil {
		return rpc.None{}, err
	}
	for _, name := range kept.Versions {
		err := f.rows.DropEntry(ctx, versionKey(entry.Account, name), 0)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return rpc.None{}, err
		}
	}
	return rpc.None{}, nil
}

// eachTemplate calls take for every template of the caller, in the order of their IDs.
func (f storedTemplates) eachTemplate(ctx context.Context, take func(id string, kept keptTemplate)) error {
	caller, err := f.who(ctx)
	if err != nil {
		return err
	}
	const some = 100
	for after := templateKey(caller.Account, ""); ; {
		page, err := f.rows.Entries(ctx, after, some)
		if err != nil {
			return err
		}
		for _, entry := range page {
			var kept keptTemplate
			if err := json.Unmarshal(entry.Definition, &kept); err != nil {
				return err
			}
			take(entry.Name, kept)
			after = entry.EntryKey
		}
		if len(page) < some {
			return nil
		}
	}
}

type listTemplatesInput struct {
	region
	PageNumber   int    `range:"1,"`
	PageSize     int    `range:"1,50"`
	TemplateName string `length:",255"`
	ShareType    string `enum:"Private,Shared,Official"`
	IncludeTags  string
	Tag          []tagFilter `length:",20"`
	// ResourceGroup selects the templates of a group.
	ResourceGroup string `rpc:"ResourceGroupId" length:",64"`
}

// templateView is a template in a response.
type templateView struct {
	TemplateID      string `json:"TemplateId"`
	TemplateName    string
	TemplateARN     string
	TemplateVersion string
	Description     string
	ShareType       string
	OwnerID         string `json:"OwnerId"`
	CreateTime      string
	UpdateTime      string    `json:",omitempty"`
	ResourceGroupID string    `json:"ResourceGroupId,omitempty"`
	Tags            []tagView `json:",omitempty"`
}

type listTemplatesOutput struct {
	Templates []templateView
	paged
}

func viewTemplate(account, id, version string, kept keptTemplate) templateView {
	return templateView{
		TemplateID: id, TemplateName: kept.Name, TemplateARN: "acs:ros:*:" + account + ":template/" + id, TemplateVersion: version,
		Description: kept.Description, ShareType: "Private", OwnerID: account,
		CreateTime: timeText(kept.Created), UpdateTime: timeText(kept.Updated), ResourceGroupID: kept.Group, Tags: viewTags(kept.Tags),
	}
}

// listTemplates lists templates, newest first.
func (f storedTemplates) listTemplates(ctx context.Context, in listTemplatesInput) (out listTemplatesOutput, err error) {
	caller, err := f.who(ctx)
	if err != nil {
		return out, err
	}
	var found []templateView
	err = f.eachTemplate(ctx, func(id string, kept keptTemplate) {
		if in.TemplateName != "" && in.TemplateName != kept.Name || in.ShareType != "" && in.ShareType != "Private" || !has(kept.Tags, in.Tag) ||
			in.ResourceGroup != "" && in.ResourceGroup != kept.Group {
			return
		}
		view := viewTemplate(caller.Account, id, "v"+strconv.Itoa(kept.Latest), kept)
		if in.IncludeTags != "Enabled" {
			view.Tags = nil
		}
		found = append(found, view)
	})
	slices.SortStableFunc(found, func(a, b templateView) int { return strings.Compare(b.CreateTime, a.CreateTime) })
	out.Templates, out.paged = page(paging{in.PageNumber, in.PageSize}, found)
	return out, err
}

type listTemplateVersionsInput struct {
	templateIDInput
	NextToken  string `length:",64"`
	MaxResults int    `range:"1,100"`
}

type templateVersionView struct {
	TemplateID      string `json:"TemplateId"`
	TemplateVersion string
	TemplateName    string
	Description     string
	CreateTime      string
	UpdateTime      string
}

type listTemplateVersionsOutput struct {
	Versions  []templateVersionView
	NextToken string `json:",omitempty"`
}

// listTemplateVersions lists the versions of a template, newest first. A token is the number of a page's first version.
func (f storedTemplates) listTemplateVersions(ctx context.Context, in listTemplateVersionsInput) (out listTemplateVersionsOutput, err error) {
	out.Versions = []templateVersionView{}
	kept, entry, err := f.templateOf(ctx, in.TemplateID)
	if err != nil {
		return out, err
	}
	number := kept.Latest
	if in.NextToken != "" {
		if number, err = strconv.Atoi(in.NextToken); err != nil || number < 1 || number > kept.Latest {
			return out, rpc.Invalid("NextToken", "it is not one that ListTemplateVersions has returned")
		}
	}
	for ; ; number-- {
		name, ok := kept.version(number)
		if !ok {
			return out, nil
		}
		if in.MaxResults > 0 && len(out.Versions) == in.MaxResults {
			out.NextToken = strconv.Itoa(number)
			return out, nil
		}
		held, err := f.rows.Entry(ctx, versionKey(entry.Account, name))
		if err != nil {
			return out, err
		}
		var of keptVersion
		if err := json.Unmarshal(held.Definition, &of); err != nil {
			return out, err
		}
		out.Versions = append(out.Versions, templateVersionView{
			TemplateID: entry.Name, TemplateVersion: "v" + strconv.Itoa(number), TemplateName: of.Name, Description: of.Description,
			CreateTime: timeText(of.Created), UpdateTime: timeText(of.Created),
		})
	}
}
