package template

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// record is a stored [Resource]. Trees are plain JSON. Places has the line and column of each node, in the order in
// which the nodes are read.
type record struct {
	LogicalID           string          `json:"id"`
	Type                string          `json:"type"`
	Language            string          `json:"language,omitempty"`
	DependsOn           []string        `json:"dependsOn,omitempty"`
	Condition           string          `json:"condition,omitempty"`
	DeletionPolicy      string          `json:"deletionPolicy,omitempty"`
	UpdateReplacePolicy string          `json:"updateReplacePolicy,omitempty"`
	Properties          json.RawMessage `json:"properties,omitempty"`
	Metadata            json.RawMessage `json:"metadata,omitempty"`
	CreationPolicy      json.RawMessage `json:"creationPolicy,omitempty"`
	Parameters          []string        `json:"parameters,omitempty"`
	Places              []int           `json:"at"`
}

// MarshalJSON returns the whole declaration for storage, with the order of members, the text of numbers, and the
// position of every node.
func (r Resource) MarshalJSON() ([]byte, error) {
	places := []int{r.Line, r.Column}
	properties, places := encodeNode(r.Properties, places)
	metadata, places := encodeNode(r.Metadata, places)
	policy, places := encodeNode(r.CreationPolicy, places)
	language := ""
	if r.language != CloudFormation {
		language = r.language.String()
	}
	return json.Marshal(record{
		r.LogicalID, r.Type, language, r.DependsOn, r.Condition, r.DeletionPolicy, r.UpdateReplacePolicy,
		properties, metadata, policy, r.parameters, places,
	})
}

// UnmarshalJSON reverses [Resource.MarshalJSON].
func (r *Resource) UnmarshalJSON(data []byte) error {
	var stored record
	if err := json.Unmarshal(data, &stored); err != nil {
		return fmt.Errorf("read a stored resource: %w", err)
	}
	if len(stored.Places) < 2 {
		return errors.New("read a stored resource: its place is missing")
	}
	read := Resource{
		LogicalID: stored.LogicalID, Type: stored.Type, DependsOn: stored.DependsOn, Condition: stored.Condition,
		DeletionPolicy: stored.DeletionPolicy, UpdateReplacePolicy: stored.UpdateReplacePolicy,
		Line: stored.Places[0], Column: stored.Places[1], parameters: stored.Parameters,
	}
	if stored.Language == ROS.String() {
		read.language = ROS
	}
	d := &decoder{places: stored.Places[2:], language: read.language}
	read.Properties = d.tree(stored.Properties, inProperties)
	read.Metadata = d.tree(stored.Metadata, inMetadata)
	read.CreationPolicy = d.tree(stored.CreationPolicy, inCreationPolicy)
	if d.err == nil && len(d.places) > 0 {
		d.err = errors.New("more places than nodes")
	}
	if d.err != nil {
		return fmt.Errorf("read the stored resource %s: %w", stored.LogicalID, d.err)
	}
	*r = read
	return nil
}

// Policies returns the DeletionPolicy and the UpdateReplacePolicy of a result of [Resource.MarshalJSON], without
// decoding the rest.
func Policies(stored []byte) (deletion, updateReplace string, err error) {
	var policies struct {
		Deletion      string `json:"deletionPolicy"`
		UpdateReplace string `json:"updateReplacePolicy"`
	}
	if err := json.Unmarshal(stored, &policies); err != nil {
		return "", "", fmt.Errorf("read the policies of a stored resource: %w", err)
	}
	return policies.Deletion, policies.UpdateReplace, nil
}

func encodeNode(n Node, places []int) (json.RawMessage, []int) {
	if n.IsZero() {
		return nil, places
	}
	return n.Value().JSON(), appendPlaces(places, n)
}

func appendPlaces(places []int, n Node) []int {
	places = append(places, n.line, n.column)
	for _, item := range n.items {
		places = appendPlaces(places, item)
	}
	for _, m := range n.members {
		places = appendPlaces(places, m.Value)
	}
	return places
}

// decoder turns stored trees back into nodes. After an error it does nothing more.
type decoder struct {
	places   []int
	language Language
	err      error
}

func (d *decoder) tree(data json.RawMessage, in place) Node {
	if d.err != nil || len(data) == 0 {
		return Node{}
	}
	v, err := value.Parse(data)
	if err != nil {
		d.err = err
		return Node{}
	}
	n := d.node(v)
	if d.err == nil {
		s := &shapes{problems: &problems{}, language: d.language, in: in, linked: true, extended: true}
		s.node(n, nil)
		d.err = s.found.orNil()
	}
	return n
}

// node recurses no deeper than value.Parse did.
func (d *decoder) node(v value.Value) Node {
	if len(d.places) < 2 || v.IsNull() {
		if d.err == nil {
			d.err = errors.New("a tree does not fit its places")
		}
		return Node{}
	}
	n := Node{kind: v.Kind(), text: v.Text(), line: d.places[0], column: d.places[1]}
	d.places = d.places[2:]
	for _, item := range v.Items() {
		n.items = append(n.items, d.node(item))
	}
	for _, m := range v.Members() {
		n.members = append(n.members, Member{Key: m.Key, Value: d.node(m.Value)})
	}
	return n
}
