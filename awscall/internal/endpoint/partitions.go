package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// Partitions are the groups of regions, such as aws and aws-cn. They do not change after parsing, so they may be shared.
type Partitions struct {
	list []partition
}

type partition struct {
	regex   *regexp.Regexp
	regions map[string]struct{}
	outputs map[string]any
}

// ParsePartitions reads botocore's partitions.json.
func ParsePartitions(text []byte) (*Partitions, error) {
	var file struct {
		Partitions []struct {
			ID      string              `json:"id"`
			Regex   string              `json:"regionRegex"`
			Regions map[string]struct{} `json:"regions"`
			Outputs map[string]any      `json:"outputs"`
		} `json:"partitions"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("partitions: %w", err)
	}
	p := &Partitions{}
	for _, f := range file.Partitions {
		regex, err := regexp.Compile(f.Regex)
		if err != nil {
			return nil, fmt.Errorf("partition %s: %w", f.ID, err)
		}
		outputs := map[string]any{"name": f.ID}
		for name, v := range f.Outputs {
			outputs[name] = v
		}
		outputs["name"] = f.ID
		p.list = append(p.list, partition{regex, f.Regions, outputs})
	}
	if len(p.list) == 0 {
		return nil, errors.New("partitions: there are none")
	}
	return p, nil
}

// of returns the properties of a region's partition. For an unknown region it returns those of the first partition.
func (p *Partitions) of(region string) map[string]any {
	for _, q := range p.list {
		if _, ok := q.regions[region]; ok || q.regex.MatchString(region) {
			return q.outputs
		}
	}
	return p.list[0].outputs
}

// DNSSuffix returns the domain of a region's partition, e.g. "amazonaws.com".
func (p *Partitions) DNSSuffix(region string) string {
	suffix, _ := p.of(region)["dnsSuffix"].(string)
	return suffix
}

// GlobalRegion returns the region for the signatures of services without regions.
func (p *Partitions) GlobalRegion(region string) string {
	global, _ := p.of(region)["implicitGlobalRegion"].(string)
	return global
}
