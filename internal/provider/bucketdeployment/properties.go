package bucketdeployment

import (
	"encoding/json"
	"fmt"
	"strings"
)

// source is an archive, or a file if the deployment doesn't extract.
type source struct {
	bucket, key string
	markers     map[string]string // replacements by marker, in UTF-8
}

// properties are the properties of a request, with defaults.
type properties struct {
	sources          []source
	bucket, prefix   string
	arn              any
	extract, prune   bool
	retain           bool
	exclude, include []string
	user, system     map[string]string // metadata, by names in lower case
	distribution     string
	paths            []string
	wait             bool
	outputKeys       bool
	versions         bool
}

// raw reads properties. CloudFormation sends scalars as strings, but other clients may not.
type raw map[string]any

func (r raw) text(name, fallback string) string {
	if v, ok := r[name]; ok && v != nil {
		return text(v)
	}
	return fallback
}

func (r raw) flag(name string, fallback bool) bool {
	return strings.EqualFold(r.text(name, fmt.Sprint(fallback)), "true")
}

func (r raw) list(name string) (list []string, ok bool, err error) {
	v, ok := r[name]
	if !ok || v == nil {
		return nil, false, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, false, fmt.Errorf("invalid request: property %s is not a list", name)
	}
	for _, item := range items {
		list = append(list, text(item))
	}
	return list, true, nil
}

func (r raw) texts(name string) (map[string]string, error) {
	v, ok := r[name]
	if !ok || v == nil {
		return nil, nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid request: property %s is not an object", name)
	}
	m := map[string]string{}
	for key, value := range object {
		m[strings.ToLower(key)] = text(value)
	}
	return m, nil
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(v)
}

func parseOld(properties json.RawMessage) (old struct{ bucket, prefix string }, err error) {
	r := raw{}
	if len(properties) > 0 {
		err = json.Unmarshal(properties, &r)
	}
	old.bucket, old.prefix = r.text("DestinationBucketName", ""), rootless(r.text("DestinationBucketKeyPrefix", ""))
	return old, err
}

// rootless returns a prefix, or "" for "/".
func rootless(prefix string) string {
	if prefix == "/" {
		return ""
	}
	return prefix
}

// folder returns a prefix with a trailing slash, as the AWS CLI adds it.
func folder(prefix string) string {
	if prefix == "" || strings.HasSuffix(prefix, "/") {
		return prefix
	}
	return prefix + "/"
}

func parse(declared json.RawMessage) (p properties, err error) {
	r := raw{}
	if err := json.Unmarshal(declared, &r); err != nil {
		return p, fmt.Errorf("invalid request: the properties are not an object: %w", err)
	}
	for _, name := range []string{"SourceBucketNames", "SourceObjectKeys", "DestinationBucketName"} {
		if _, ok := r[name]; !ok {
			return p, fmt.Errorf("missing request resource property '%s'", name)
		}
	}
	p.bucket = r.text("DestinationBucketName", "")
	if p.bucket == "" {
		return p, fmt.Errorf("invalid request: property DestinationBucketName is empty")
	}
	p.prefix = r.text("DestinationBucketKeyPrefix", "")
	p.paths, _, err = r.list("DistributionPaths")
	if err != nil {
		return p, err
	}
	if p.paths == nil {
		p.paths = []string{"/" + strings.TrimPrefix(strings.TrimSuffix(p.prefix, "/")+"/", "/") + "*"}
	}
	p.prefix = rootless(p.prefix)
	p.arn = r["DestinationBucketArn"]
	p.extract, p.prune, p.retain = r.flag("Extract", true), r.flag("Prune", true), r.flag("RetainOnDelete", true)
	p.outputKeys, p.versions = r.flag("OutputObjectKeys", true), r.flag("OutputObjectVersionIds", false)
	p.distribution, p.wait = r.text("DistributionId", ""), r.flag("WaitForDistributionInvalidation", true)
	if p.exclude, _, err = r.list("Exclude"); err != nil {
		return p, err
	}
	if p.include, _, err = r.list("Include"); err != nil {
		return p, err
	}
	if p.user, err = r.texts("UserMetadata"); err != nil {
		return p, err
	}
	if p.system, err = r.texts("SystemMetadata"); err != nil {
		return p, err
	}
	p.sources, err = r.sources()
	return p, err
}

// sources returns the sources. There must be as many buckets as keys.
func (r raw) sources() ([]source, error) {
	buckets, _, err := r.list("SourceBucketNames")
	if err != nil {
		return nil, err
	}
	keys, _, err := r.list("SourceObjectKeys")
	if err != nil {
		return nil, err
	}
	sources := make([]source, min(len(buckets), len(keys)))
	objects := func(name string) []any { v, _ := r[name].([]any); return v }
	markers, configs := objects("SourceMarkers"), objects("SourceMarkersConfig")
	if len(markers) > len(sources) {
		return nil, fmt.Errorf("Can never have more SourceMarkers (%d) than SourceObjectKeys (%d)", len(markers), len(sources)) //nolint:staticcheck // the handler's text
	}
	for i := range sources {
		s := source{bucket: buckets[i], key: keys[i]}
		if i < len(markers) {
			var config map[string]any
			if i < len(configs) {
				config, _ = configs[i].(map[string]any)
			}
			given, _ := markers[i].(map[string]any)
			s.markers = map[string]string{}
			for marker, value := range given {
				if s.markers[marker], err = encodeMarker(marker, value, config); err != nil {
					return nil, err
				}
			}
		}
		sources[i] = s
	}
	return sources, nil
}
