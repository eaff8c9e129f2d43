package store

import "slices"

// Forwarded is the part of a declaration, apart from properties and tags, that the endpoint of a forwarded type needs.
type Forwarded struct {
	// Attributes are the names of the attributes that the rest of the stack reads, sorted.
	Attributes []string `json:"attributes,omitempty"`
	// DeletionPolicy and UpdateReplacePolicy are the declared policies. Each is empty if it is not declared.
	DeletionPolicy      string `json:"deletionPolicy,omitempty"`
	UpdateReplacePolicy string `json:"updateReplacePolicy,omitempty"`
}

// Covers reports whether a resource that was confirmed with f already has everything that wanted requires. A nil
// wanted requires nothing.
func (f *Forwarded) Covers(wanted *Forwarded) bool {
	if wanted == nil {
		return true
	}
	if f == nil || f.DeletionPolicy != wanted.DeletionPolicy || f.UpdateReplacePolicy != wanted.UpdateReplacePolicy {
		return false
	}
	return !slices.ContainsFunc(wanted.Attributes, func(name string) bool { return !slices.Contains(f.Attributes, name) })
}
